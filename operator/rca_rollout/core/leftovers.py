"""Jobs that nobody waits for any more: of an older attempt, or of a run that is gone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rca_rollout.core.owners import owned

type Body = Mapping[str, Any]


def of_run(jobs: Iterable[Body], *, run_uid: str, current: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """(name, UID) of this run's Jobs other than those named `current`: a crash came between the status that let go of
    them and their deletion. What an older run of the same name left without an owner goes, too."""
    kept = set(current)
    old = [job for job in jobs if job["metadata"]["name"] not in kept]
    return tuple(_ref(job) for job in old if owned(job, run_uid) and not _going(job)) + orphans(old)


def orphans(jobs: Iterable[Body]) -> tuple[tuple[str, str], ...]:
    """(name, UID) of those without any owner: their run was deleted with `--cascade=orphan`, and the garbage collector
    leaves them alone. What has an owner, whether or not it is still there, is the garbage collector's."""
    return tuple(_ref(job) for job in jobs if not job["metadata"].get("ownerReferences") and not _going(job))


def _ref(job: Body) -> tuple[str, str]:
    return str(job["metadata"]["name"]), str(job["metadata"]["uid"])


def _going(job: Body) -> bool:
    return bool(job["metadata"].get("deletionTimestamp"))
