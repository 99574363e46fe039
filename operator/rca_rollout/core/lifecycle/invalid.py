"""The status of an object whose spec cannot be used."""

from __future__ import annotations

from datetime import datetime

from rca_rollout.api.common import ConditionType, Status
from rca_rollout.api.parse import InvalidSpec
from rca_rollout.api.reasons import Reason
from rca_rollout.core.conditions import drop_conditions, set_condition


def invalid_status[S: Status](invalid: InvalidSpec, model: type[S], now: datetime) -> S:
    """The old status with Ready=False and Stalled=True: what was measured before is kept."""
    old = invalid.status if isinstance(invalid.status, model) else model()
    generation = invalid.metadata.generation
    conditions = drop_conditions(old.conditions, ConditionType.RECONCILING)
    for kind, status in ((ConditionType.READY, False), (ConditionType.STALLED, True)):
        conditions = set_condition(
            conditions, kind, status, Reason.INVALID_SPEC, invalid.message, generation=generation, now=now
        )
    return old.evolve(observed_generation=generation, conditions=conditions)
