"""An evaluation in shards: each part is recorded and kept as its shard ends, the whole is judged when all are."""

from __future__ import annotations

from datetime import datetime, timedelta

from rca_rollout.api.common import RunPhase
from rca_rollout.api.reasons import Reason
from rca_rollout.api.run_status import ShardResult
from rca_rollout.core.parts import Lost, PartReading, Unindexed, walls
from rca_rollout.core.problem import Problem
from rca_rollout.core.runs.conclude import conclude
from rca_rollout.core.runs.ending import conditions_of, end
from rca_rollout.core.runs.snapshot import RunPlan, RunSnapshot, StoreIndex, StorePart
from rca_rollout.core.shards import Collecting
from rca_rollout.core.suites import SuiteFacts

_LOOK_AGAIN = timedelta(seconds=5)


def collect(snapshot: RunSnapshot, found: Collecting, now: datetime) -> RunPlan:
    """One shard has ended well: its part is kept first, and recorded with what its container announced once it is."""
    run, part = snapshot.run, snapshot.part
    if isinstance(part, Problem):
        return end(snapshot, RunPhase.ERROR, part.reason, part.message, now)
    ended = next((one for at, one in found.ready if isinstance(part, PartReading) and at == part.index), None)
    if not isinstance(part, PartReading) or ended is None:
        return RunPlan(run.status, wake_at=now + _LOOK_AGAIN)
    if not part.stored:
        return RunPlan(run.status, (StorePart(part),), wake_at=now)
    result = ShardResult(
        index=part.index, sha256=part.sha256, seconds=tuple(int(wall) for wall in ended.wall_seconds)
    )
    count = run.status.inputs.shards if run.status.inputs else None
    job = run.status.job_ref.name if run.status.job_ref else ""
    status = run.status.evolve(
        shards=tuple(sorted((*run.status.shards, result), key=lambda shard: shard.index)),
        phase=RunPhase.RUNNING,
        reason=Reason.RUN_IN_PROGRESS,
        message=f"Job {job}: {found.done + 1} of {count} shards have ended",
    )
    return RunPlan(conditions_of(snapshot, status, now), wake_at=now)


def conclude_parts(snapshot: RunSnapshot, suite: SuiteFacts, now: datetime) -> RunPlan:
    """All parts are recorded: their index is kept, then the whole is judged from what is kept."""
    run = snapshot.run
    match snapshot.part:
        case Lost(index=index):
            # Kept nowhere: its Pod is asked once more, and without one it is missing.
            left = tuple(shard for shard in run.status.shards if shard.index != index)
            return RunPlan(run.status.evolve(shards=left), wake_at=now)
        case Unindexed():
            return RunPlan(run.status, (StoreIndex(),), wake_at=now + timedelta(seconds=1))
        case Problem() as problem:
            return end(snapshot, RunPhase.ERROR, problem.reason, problem.message, now)
    return conclude(snapshot, suite, walls(run), now)
