"""Conditions as Kubernetes defines them: one per type, a transition time that moves only when the status does."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rca_rollout.api.common import Condition, ConditionStatus, ConditionType

type Conditions = tuple[Condition, ...]

_STATUS = {True: ConditionStatus.TRUE, False: ConditionStatus.FALSE, None: ConditionStatus.UNKNOWN}


def set_condition(
    conditions: Sequence[Condition],
    kind: ConditionType,
    status: bool | None,
    reason: str,
    message: str,
    *,
    generation: int,
    now: datetime,
) -> Conditions:
    """The conditions with `kind` set; `status` None is Unknown. The order of first appearance is kept."""
    wanted = _STATUS[status]
    old = next((c for c in conditions if c.type == kind), None)
    new = Condition(
        type=kind,
        status=wanted,
        reason=str(reason),
        message=message,
        last_transition_time=old.last_transition_time if old and old.status == wanted else now,
        observed_generation=generation,
    )
    if old is None:
        return (*conditions, new)
    return tuple(new if c.type == kind else c for c in conditions)


def keep_times(old: Sequence[Condition], new: Sequence[Condition]) -> Conditions:
    """`new` with the transition times of `old` wherever the status is the same: a step may set one condition twice,
    and what counts is whether it differs from what stood before the step."""
    times = {(c.type, c.status): c.last_transition_time for c in old}
    return tuple(
        c.evolve(last_transition_time=times.get((c.type, c.status), c.last_transition_time)) for c in new
    )


def drop_conditions(conditions: Sequence[Condition], *kinds: ConditionType) -> Conditions:
    """Abnormal-true conditions (Reconciling, Stalled) are absent when there is nothing abnormal (kstatus)."""
    return tuple(c for c in conditions if c.type not in kinds)


def reason_of(conditions: Sequence[Condition], kind: ConditionType) -> str | None:
    """The reason of one condition, or None when it is not set."""
    return next((c.reason for c in conditions if c.type == kind), None)
