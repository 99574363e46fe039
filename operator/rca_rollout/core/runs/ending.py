"""How a run says that it waits, and that it has ended."""

from __future__ import annotations

from datetime import datetime, timedelta

from rca_rollout.api.common import ConditionType, RunPhase
from rca_rollout.api.reasons import Reason
from rca_rollout.api.run import EvalRunStatus
from rca_rollout.core.clock import earliest
from rca_rollout.core.conditions import drop_conditions, set_condition
from rca_rollout.core.runs.snapshot import RunPlan, RunSnapshot
from rca_rollout.core.runs.told import told_end

WAIT_FOR_SUITE = timedelta(seconds=30)


def wait(
    snapshot: RunSnapshot,
    reason: str,
    message: str,
    now: datetime,
    wake_at: datetime | None,
    *,
    phase: RunPhase | None = None,
) -> RunPlan:
    status = snapshot.run.status
    new = status.evolve(phase=phase or status.phase or RunPhase.PENDING, reason=reason, message=message)
    return RunPlan(conditions_of(snapshot, new, now), wake_at=earliest(wake_at))


def end(
    snapshot: RunSnapshot,
    phase: RunPhase,
    reason: str,
    message: str,
    now: datetime,
    *,
    status: EvalRunStatus | None = None,
    tail: str | None = None,
) -> RunPlan:
    new = (status or snapshot.run.status).evolve(
        phase=phase, reason=str(reason), message=message, finished_at=now, log_tail=tail or None
    )
    return RunPlan(conditions_of(snapshot, new, now), wake_at=now, event=told_end(new))


def conditions_of(snapshot: RunSnapshot, status: EvalRunStatus, now: datetime) -> EvalRunStatus:
    """Ready is True once the run has ended, whatever its verdict: the object has done what it is for."""
    generation = snapshot.run.metadata.generation
    reason, message = status.reason or Reason.INITIALIZING, status.message or ""
    final = bool(status.phase and status.phase.final)
    conditions = set_condition(
        status.conditions, ConditionType.READY, final, reason, message, generation=generation, now=now
    )
    if final:
        conditions = drop_conditions(conditions, ConditionType.RECONCILING)
    else:
        conditions = set_condition(
            conditions, ConditionType.RECONCILING, True, reason, message, generation=generation, now=now
        )
    return status.evolve(observed_generation=generation, conditions=conditions)
