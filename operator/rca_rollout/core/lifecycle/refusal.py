"""What the API server refused to do for a component (admission, quota, rights), shown for as long as it is wanted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from rca_rollout.api.common import Condition, ConditionType, EffectiveMode, EventType
from rca_rollout.api.component import RcaComponent
from rca_rollout.api.component_status import RcaComponentStatus, Transition
from rca_rollout.api.reasons import Reason
from rca_rollout.core.conditions import drop_conditions, reason_of, set_condition


@dataclass(frozen=True)
class Refusal:
    """The write of the key (WriteFailed) or the creation of a run (RunRefused); `message` is the server's sentence."""

    reason: Reason
    message: str

    def wanted(self, status: RcaComponentStatus) -> bool:
        """Whether `status` still plans what was refused."""
        if self.reason is Reason.WRITE_FAILED:
            return status.intent is not None
        return status.current_run is not None and status.current_run.uid is None


def show_refusal(
    component: RcaComponent, status: RcaComponentStatus, refusal: Refusal, now: datetime
) -> RcaComponentStatus:
    """`status`, as decided on, with the refusal in place of "it is being done". The same refusal is written once."""
    now, old = now.replace(microsecond=0), component.status
    if refusal.reason is Reason.WRITE_FAILED and status.intent:
        target = component.spec.target
        text = (
            f"the API server refused to set {target.key} of ConfigMap {target.config_map_ref.name} to "
            f"{status.intent.value}: {refusal.message}; change what refuses it (an admission policy, the operator's "
            "rights): it is tried again every minute"
        )
        # What cannot be written needs a person, as a key that Git owns does.
        shown: dict[ConditionType, bool | None] = {
            ConditionType.PROMOTED: status.mode is EffectiveMode.ACTIVE,
            ConditionType.READY: False,
            ConditionType.STALLED: True,
        }
    else:
        run = status.current_run.name if status.current_run else "?"
        text = (
            f"the API server refused EvalRun {run}: {refusal.message}; change what refuses it (a quota, an admission "
            "policy, the operator's rights): it is tried again every minute"
        )
        shown = {ConditionType.EVALUATED: None}
    conditions = status.conditions
    if ConditionType.STALLED in shown:
        conditions = drop_conditions(conditions, ConditionType.RECONCILING)
    for kind, value in shown.items():
        conditions = set_condition(
            conditions, kind, value, refusal.reason, text, generation=component.metadata.generation, now=now
        )
    new = reason_of(old.conditions, next(iter(shown))) != refusal.reason
    transition = Transition(reason=str(refusal.reason), message=text, type=EventType.WARNING, at=now)
    return status.evolve(
        conditions=tuple(_unmoved(condition, old) for condition in conditions),
        last_transition=transition if new else old.last_transition,
    )


def _unmoved(condition: Condition, old: RcaComponentStatus) -> Condition:
    """The time of a transition stays when the decision on the way here had only lifted what is shown again."""
    before = old.condition(ConditionType(condition.type))
    if before and before.status == condition.status:
        return condition.evolve(last_transition_time=before.last_transition_time)
    return condition
