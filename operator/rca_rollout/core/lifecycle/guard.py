"""After promotion: the same evaluation goes on, and a regression switches the component back."""

from __future__ import annotations

from rca_rollout.api.common import ComponentPhase, ConditionType, OnRegression, Trigger
from rca_rollout.api.reasons import Reason
from rca_rollout.core.lifecycle import evidence, promotion
from rca_rollout.core.lifecycle.draft import Draft
from rca_rollout.core.target import TargetView


def advance(draft: Draft, target: TargetView) -> None:
    """The step of an Active component."""
    _stay_active(draft)
    waiting = evidence.follow(draft)
    if draft.evidence.failing:
        _regressed(draft, target)
        return
    if waiting:
        return
    if later := evidence.not_before(draft):
        draft.wake_at(later)
        return
    # Adopted, or measured by something new: what governs has no evidence yet, so the first run is due at once.
    last = evidence.last_started(draft) if draft.evidence.passing else None
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


def _regressed(draft: Draft, target: TargetView) -> None:
    """A guard run failed its gate: With is worse than Without, or than the floor."""
    last = draft.evidence.runs[-1] if draft.evidence.runs else None
    message = (last and last.message) or "the guard run failed its gate"
    if draft.spec.guard.on_regression is OnRegression.DEMOTE:
        promotion.demote(draft, target, Reason.GUARD_FAILED, message)
        return
    if reason_of_promoted(draft) != Reason.GUARD_FAILED:
        draft.announce(
            Reason.GUARD_FAILED, f"{message} (guard.onRegression is Alert: nothing is switched)", warning=True
        )
    draft.condition(ConditionType.PROMOTED, True, Reason.GUARD_FAILED, message)


def reason_of_promoted(draft: Draft) -> str | None:
    """The reason that Promoted had before this step."""
    found = draft.old.condition(ConditionType.PROMOTED)
    return found.reason if found else None
