"""The runs that a schedule makes: no component, the modes as they are, owned by the suite, never evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from rca_rollout.api.common import Trigger
from rca_rollout.api.meta import API_VERSION
from rca_rollout.api.suite import EvalSuite
from rca_rollout.core import names
from rca_rollout.core.owners import owned, owner_reference
from rca_rollout.core.schedule import run_name

type Body = Mapping[str, Any]


def made(suite: EvalSuite, moment: datetime) -> dict[str, Any]:
    """The run of one scheduled minute."""
    metadata = suite.metadata
    return {
        "apiVersion": API_VERSION,
        "kind": "EvalRun",
        "metadata": {
            "name": run_name(metadata.name, metadata.uid, moment),
            "namespace": metadata.namespace,
            "labels": {**names.MANAGED_BY, names.SUITE_LABEL: names.label_value(metadata.name)},
            "ownerReferences": [owner_reference("EvalSuite", metadata.name, metadata.uid)],
        },
        "spec": {"suiteRef": {"name": metadata.name}, "trigger": str(Trigger.SCHEDULED)},
    }


def under_way(runs: Iterable[Body], suite_uid: str) -> str | None:
    """The name of the scheduled run that has not ended: there is never a second one beside it."""
    return next((run["metadata"]["name"] for run in _mine(runs, suite_uid) if not _ended(run)), None)


def _mine(runs: Iterable[Body], suite_uid: str) -> Iterable[Body]:
    return (
        run
        for run in runs
        if (run.get("spec") or {}).get("trigger") == Trigger.SCHEDULED and owned(run, suite_uid)
    )


def _ended(run: Body) -> bool:
    return (run.get("status") or {}).get("phase") not in (None, "Pending", "Running")
