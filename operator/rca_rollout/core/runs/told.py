"""The Event of a run that has ended, made from its status alone: the same one, by whichever process it is told."""

from __future__ import annotations

from rca_rollout.api.common import EventType, RunPhase
from rca_rollout.api.component_status import Transition
from rca_rollout.api.run import EvalRunStatus


def told_end(status: EvalRunStatus) -> Transition | None:
    """None where the run has not ended, or its status does not say why."""
    phase, reason, at = status.phase, status.reason, status.finished_at
    if phase is None or not phase.final or reason is None or at is None:
        return None
    kind = EventType.NORMAL if phase in (RunPhase.PASSED, RunPhase.SUPERSEDED) else EventType.WARNING
    return Transition(reason=str(reason), message=status.message or str(reason), type=kind, at=at)
