"""After promotion: the same evaluation goes on, and a regression switches the component back."""

from __future__ import annotations

from datetime import datetime

from rca_rollout.api.common import ComponentPhase, ConditionType, OnRegression, Trigger, Verdict
from rca_rollout.api.reasons import Reason
from rca_rollout.core.conditions import reason_of
from rca_rollout.core.lifecycle import evidence, promotion
from rca_rollout.core.lifecycle.draft import Draft
from rca_rollout.core.target import TargetView


def advance(draft: Draft, target: TargetView) -> None:
    """The step of an Active component."""
    _stay_active(draft)
    waiting = evidence.follow(draft)
    if draft.evidence.failing and draft.spec.guard.on_regression is OnRegression.DEMOTE:
        promotion.demote(draft, target, Reason.GUARD_FAILED, _regression(draft))
        return
    _alert(draft)
    if waiting:
        return
    if later := evidence.not_before(draft):
        draft.wake_at(later)
        return
    last = _last_guarded(draft)
    due = last + draft.spec.guard.interval.delta if last else draft.now
    if due > draft.now:
        draft.wake_at(due)
        return
    evidence.start(draft, Trigger.GUARD)


def _stay_active(draft: Draft) -> None:
    promoted = draft.promotion
    text = f"{draft.key} is Active"
    if promoted:
        text = f"{draft.key} is Active with revision {promoted.revision}"
    draft.phase = ComponentPhase.ACTIVE
    draft.ready(Reason.AS_EXPECTED, text)
    draft.condition(ConditionType.PROMOTED, True, promoted.cause if promoted else Reason.PROMOTED, text)
    draft.in_sync()


def _last_guarded(draft: Draft) -> datetime | None:
    """When what governs was last measured. None when it has no evidence yet and is measured at once: it is Active by
    somebody else's hand, or what is measured, or beside what, has changed."""
    last = evidence.last_started(draft) if draft.evidence.passing or draft.evidence.failing else None
    promoted = draft.promotion
    adopted = promoted is not None and promoted.cause == Reason.ADOPTED
    return None if last and promoted and adopted and last < promoted.at else last


def _regression(draft: Draft) -> str:
    """What the last failed run said: With is worse than Without, or than the floor."""
    failed = (run for run in reversed(draft.evidence.runs) if run.verdict is Verdict.FAILED)
    last = next(failed, None)
    return (last and last.message) or "the guard run failed its gate"


def _alert(draft: Draft) -> None:
    """`onRegression: Alert`: the regression is shown until a guard run passes, and the guard goes on."""
    last = draft.evidence.runs[-1] if draft.evidence.runs else None
    if last is None or last.verdict is not Verdict.FAILED:
        return
    message = _regression(draft)
    if reason_of(draft.old.conditions, ConditionType.PROMOTED) != Reason.GUARD_FAILED:
        draft.announce(
            Reason.GUARD_FAILED, f"{message} (guard.onRegression is Alert: nothing is switched)", warning=True
        )
    draft.condition(ConditionType.PROMOTED, True, Reason.GUARD_FAILED, message)
