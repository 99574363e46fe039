"""Jobs that nobody waits for any more: of an older attempt, or of a run that is gone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rca_rollout.api.run import EvalRun
from rca_rollout.core import names
from rca_rollout.core.owners import owned

type Body = Mapping[str, Any]


def of_run(jobs: Iterable[Body], run: EvalRun) -> tuple[tuple[str, str], ...]:
    """(name, UID) of this run's Jobs of attempts that it has let go of: a crash came between the status that said so and
    the deletion. What an older run of the same name left without an owner goes, too.

    A Job of a later attempt is none: `run` may have been read before somebody else went on with it.
    """
    metadata, ref = run.metadata, run.status.job_ref
    tried = {
        names.job_name(metadata.name, metadata.uid, attempt) for attempt in range(1, run.status.attempts + 1)
    }
    let_go = tried - {ref.name if ref else ""}
    known = list(jobs)
    mine = [
        job
        for job in known
        if owned(job, metadata.uid) and job["metadata"]["name"] in let_go and not _going(job)
    ]
    return tuple(map(_ref, mine)) + orphans(
        job for job in known if not ref or job["metadata"]["name"] != ref.name
    )


def orphans(jobs: Iterable[Body]) -> tuple[tuple[str, str], ...]:
    """(name, UID) of those without any owner: their run was deleted with `--cascade=orphan`, and the garbage collector
    leaves them alone. What has an owner, whether or not it is still there, is the garbage collector's."""
    return tuple(_ref(job) for job in jobs if not job["metadata"].get("ownerReferences") and not _going(job))


def _ref(job: Body) -> tuple[str, str]:
    return str(job["metadata"]["name"]), str(job["metadata"]["uid"])


def _going(job: Body) -> bool:
    return bool(job["metadata"].get("deletionTimestamp"))
