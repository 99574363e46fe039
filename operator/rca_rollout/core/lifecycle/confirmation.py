"""Confirmation in the life of a component: a written key is not a loaded one.

A promotion counts when every replica of the consumer has loaded the value; when that does not come in time, the key is put
back and the epoch is blocked, so that nothing goes round in circles. A demotion counts so, too: one that is not confirmed is
an alarm until it is, and nothing is promoted before. The key itself is never waited for: what has to become Shadow is
written at once, whatever anybody confirms.
"""

from __future__ import annotations

from datetime import timedelta

from rca_rollout.api.common import ComponentPhase, ConditionType, EffectiveMode, Mode
from rca_rollout.api.confirmation import ConfirmationState, ConfirmationStatus
from rca_rollout.api.reasons import Reason
from rca_rollout.core.clock import stamp
from rca_rollout.core.conditions import drop_conditions, reason_of
from rca_rollout.core.confirming import Answer, question
from rca_rollout.core.lifecycle import block
from rca_rollout.core.lifecycle.draft import Draft
from rca_rollout.core.problem import Problem
from rca_rollout.core.target import TargetView

EXTENSION = timedelta(minutes=1)
"""Once, for an operator that comes back after the deadline and has asked nobody yet."""

_OURS = frozenset({Reason.PROMOTING, Reason.PROMOTED, Reason.CONFIRMING})


def begin(draft: Draft, mode: Mode, value: str) -> bool:
    """The key was read back with `value`: from now on it is asked who has loaded it. False where nobody is to be asked."""
    asked = draft.spec.confirmation
    if asked is None or draft.component.metadata.deletion_timestamp:
        draft.confirmation = None
        return False
    deadline = draft.now + asked.timeout.delta
    draft.confirmation = ConfirmationStatus(mode=mode, value=value, since=draft.now, deadline=deadline)
    draft.wake_at(draft.now)
    return True


def watch(draft: Draft, target: TargetView) -> None:
    """Takes what is known into the status. Nothing follows from it yet for what is Active."""
    asked = draft.confirmation
    if asked is None:
        return
    if _void(draft, asked):
        draft.confirmation = None
        return
    if asked.state is ConfirmationState.CONFIRMED:
        return
    demotion = asked.mode is Mode.SHADOW
    if not demotion and draft.active and draft.old.mode is not EffectiveMode.ACTIVE:
        begin(
            draft, Mode.ACTIVE, asked.value
        )  # a word that was held governs again: it was not confirmed before
        return
    here = target.value or ""
    if demotion and draft.mode is EffectiveMode.SHADOW and here != asked.value:
        draft.confirmation = asked.evolve(value=here, since=draft.now)
        draft.wake_at(draft.now)
        return
    answer = _answer(draft)
    if answer is None:
        return
    draft.confirmation = asked = _noted(asked, answer)
    if demotion and answer.complete and draft.mode is EffectiveMode.SHADOW:
        if asked.state is ConfirmationState.OVERDUE:
            draft.announce(Reason.CONFIRMED, f"the demotion is confirmed: {answer.sentence}")
        draft.confirmation = asked.evolve(state=ConfirmationState.CONFIRMED)
        draft.wake_at(draft.now)


def settle(draft: Draft) -> str | None:
    """The step of a promotion that is not confirmed yet: confirmed, or why it is put back, or neither so far."""
    asked = draft.confirmation
    if asked is None or not _confirming(draft):
        return None
    answer = _answer(draft)
    if draft.spec.confirmation is None:
        _confirmed(draft, asked, "consumers are not asked to confirm any more")
        return None
    if answer and answer.complete:
        _confirmed(draft, asked, answer.sentence)
        return None
    if not _late(draft, asked):
        return None
    text = f"not confirmed within {draft.spec.confirmation.timeout}: {asked.message or 'no replica could be asked'}"
    epoch = draft.promotion.epoch if draft.promotion else draft.epoch
    block.put(draft, Reason.CONFIRMATION_FAILED, text, epoch=epoch)
    return text


def owed(draft: Draft) -> str | None:
    """Why nothing may be promoted: the last demotion is not confirmed, or was not when this step began. Asked again at the
    moment of the write."""
    return _owed(draft, draft.confirmation) or _owed(draft, draft.old.confirmation)


def _owed(draft: Draft, asked: ConfirmationStatus | None) -> str | None:
    if asked is None or draft.spec.confirmation is None or asked.mode is not Mode.SHADOW:
        return None
    if asked.state is ConfirmationState.CONFIRMED:
        return None
    return f"the last demotion is not confirmed: {asked.message or 'no replica was asked yet'}"


def hold(draft: Draft, why: str) -> None:
    """Shown where all evidence is there, and the last demotion is still owed."""
    late = draft.confirmation is not None and draft.confirmation.state is ConfirmationState.OVERDUE
    reason = Reason.DEMOTION_UNCONFIRMED if late else Reason.CONFIRMING
    draft.condition(ConditionType.PROMOTED, False, reason, f"waits for the consumer: {why}")


def words(draft: Draft) -> str:
    """` (2 of 2 replicas have loaded Active)`, for what is Active and was confirmed."""
    asked = draft.confirmation
    if asked is None or asked.mode is not Mode.ACTIVE or asked.state is not ConfirmationState.CONFIRMED:
        return ""
    return f" ({asked.message})" if asked.message else ""


def tell(draft: Draft) -> None:
    """At the end of each step: what is not confirmed is not called promoted, and a demotion that is late is an alarm."""
    if draft.confirmation is not None and _confirming(draft):
        _show_confirming(draft, draft.confirmation)
    _alarm(draft)


def _void(draft: Draft, asked: ConfirmationStatus) -> bool:
    """Whether it is about nothing any more: nobody is to be asked, or somebody else has set the key to Active since."""
    if asked.mode is Mode.SHADOW:
        return draft.spec.confirmation is None or draft.active
    return draft.active and draft.held is None and not _ours(draft)


def _ours(draft: Draft) -> bool:
    return draft.promotion is not None and draft.promotion.cause == Reason.PROMOTED


def _confirming(draft: Draft) -> bool:
    """Active by our hand, and not by the word of every replica yet."""
    asked = draft.confirmation
    waits = asked is not None and asked.mode is Mode.ACTIVE and asked.state is not ConfirmationState.CONFIRMED
    return waits and draft.active and _ours(draft)


def _answer(draft: Draft) -> Answer | None:
    """The answer to what stands in the stored status; any other is about a write of before."""
    answer = draft.snapshot.confirmation
    return answer if answer is not None and answer.question == question(draft.component) else None


def _noted(asked: ConfirmationStatus, answer: Answer) -> ConfirmationStatus:
    noted = asked.evolve(confirmed=answer.confirmed, total=answer.total, message=answer.sentence)
    return asked if noted == asked else noted.evolve(asked_at=answer.at)


def _confirmed(draft: Draft, asked: ConfirmationStatus, sentence: str) -> None:
    draft.confirmation = asked.evolve(state=ConfirmationState.CONFIRMED, message=sentence)
    text = f"{draft.key} of ConfigMap {draft.config_map} is {asked.value}: revision {draft.revision} governs ({sentence})"
    draft.phase = ComponentPhase.ACTIVE
    draft.ready(Reason.AS_EXPECTED, text)
    draft.condition(ConditionType.PROMOTED, True, Reason.PROMOTED, text)
    draft.announce(Reason.PROMOTED, text)
    draft.wake_at(draft.now)


def _late(draft: Draft, asked: ConfirmationStatus) -> bool:
    """Whether the deadline has passed. Absolute, and never further away than the time-out: a clock that was set back does
    not put it off."""
    spec = draft.spec.confirmation
    if spec is None:
        return False
    if asked.deadline > draft.now + max(spec.timeout.delta, EXTENSION):
        asked = asked.evolve(deadline=draft.now + spec.timeout.delta)
    elif draft.now >= asked.deadline and not asked.extended and _answer(draft) is None:
        asked = asked.evolve(deadline=draft.now + EXTENSION, extended=True)
    draft.confirmation = asked
    if draft.now >= asked.deadline:
        return True
    draft.wake_at(asked.deadline)
    return False


def _show_confirming(draft: Draft, asked: ConfirmationStatus) -> None:
    said = asked.message or "no replica was asked yet"
    text = f"{draft.key} of ConfigMap {draft.config_map} is {asked.value}, until {stamp(asked.deadline)} unless confirmed: {said}"
    if draft.phase is ComponentPhase.ACTIVE:
        draft.phase = ComponentPhase.PROMOTING
    held = {condition.type: condition for condition in draft.conditions}
    promoted, ready = held.get(ConditionType.PROMOTED), held.get(ConditionType.READY)
    if promoted is None or promoted.reason in _OURS:
        draft.condition(ConditionType.PROMOTED, False, Reason.CONFIRMING, text)
    else:  # what is said of it (it is being put back, say) stays, but promoted it is not
        draft.condition(ConditionType.PROMOTED, False, promoted.reason, promoted.message)
    fine = ready is None or ready.status == "True" or ready.reason == Reason.CONFIRMING
    if fine and not draft.spec.suspend:
        draft.not_ready(Problem(Reason.CONFIRMING, text))


def _alarm(draft: Draft) -> None:
    asked = draft.confirmation
    if (
        _owed(draft, asked)
        and asked is not None
        and asked.state is ConfirmationState.WAITING
        and _late(draft, asked)
    ):
        if draft.transition is not None:
            draft.wake_at(draft.now)  # one Event a step: this one has the next
        else:
            asked = asked.evolve(state=ConfirmationState.OVERDUE)
            draft.confirmation = asked
            text = f"the key reads {asked.value or 'nothing'}, but a replica may still act as if Active: {asked.message}"
            draft.announce(Reason.DEMOTION_UNCONFIRMED, text, warning=True)
    why = _owed(draft, draft.confirmation)
    if why and draft.confirmation and draft.confirmation.state is ConfirmationState.OVERDUE:
        draft.condition(ConditionType.DEGRADED, True, Reason.DEMOTION_UNCONFIRMED, why)
    elif reason_of(draft.conditions, ConditionType.DEGRADED) == Reason.DEMOTION_UNCONFIRMED:
        draft.conditions = drop_conditions(draft.conditions, ConditionType.DEGRADED)
