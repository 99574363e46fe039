"""The one write. Intent first, then a compare-and-set, then what was read back: each its own step, each repeatable."""

from __future__ import annotations

from datetime import timedelta

from rca_rollout.api.common import ComponentPhase, ConditionType, EffectiveMode, Mode, Verdict
from rca_rollout.api.component_status import Demotion, Evidence, Intent, Promotion
from rca_rollout.api.reasons import Reason
from rca_rollout.core.conditions import reason_of
from rca_rollout.core.epoch import Sibling
from rca_rollout.core.lifecycle import approval, block, confirmation, contest, finalizer, live, proof
from rca_rollout.core.lifecycle.draft import Draft
from rca_rollout.core.lifecycle.snapshot import WriteKey
from rca_rollout.core.problem import Problem
from rca_rollout.core.revision import active_value
from rca_rollout.core.target import TargetView, write_conflict, write_patch

# Thrice what one request may take: after this a stale writer's intent is void, whoever writes then.
INTENT_LIFE = timedelta(seconds=30)


def promote(draft: Draft, target: TargetView) -> None:
    """All evidence is there: record the intent, unless something about the key or the suite stands in the way."""
    if conflict := write_conflict(target, draft.config_map, draft.key, towards_active=True):
        say_conflict(draft, conflict)
        return
    if others := _being_promoted(draft):
        text = f"{others[0].name} is being promoted; one at a time per suite"
        draft.condition(ConditionType.PROMOTED, False, Reason.WAITING_FOR_TURN, text)
        draft.wake_at(draft.now + timedelta(seconds=5))
        return
    if why := confirmation.owed(draft):
        confirmation.hold(draft, why)
        return
    text = f"all evidence is there: {draft.key} of ConfigMap {draft.config_map} is switched to Active"
    _intend(
        draft, target, active_value(draft.spec.target.values, draft.revision or ""), Reason.PROMOTED, text
    )
    draft.phase = ComponentPhase.PROMOTING
    if reason_of(draft.old.conditions, ConditionType.PROMOTED) != Reason.WRITE_FAILED:
        # A write that keeps being refused is intended again and again, and told once.
        draft.announce(Reason.PROMOTING, text)
    draft.condition(ConditionType.PROMOTED, False, Reason.PROMOTING, text)


def demote(draft: Draft, target: TargetView, cause: str, message: str) -> None:
    """Back to Shadow, at once. The key is set to its shadow value, never removed."""
    if draft.promotion is None:
        contest.notice(draft, target)
    conflict = write_conflict(target, draft.config_map, draft.key, towards_active=False)
    if conflict := conflict or contest.conflict(draft, target, cause):
        say_conflict(draft, conflict)
        return
    _intend(draft, target, draft.spec.target.values.shadow, cause, message)
    draft.condition(ConditionType.PROMOTED, True, Reason.DEMOTING, message)


def settle(draft: Draft, target: TargetView) -> bool:
    """Carries the intent on. True while it is under way; False when it is void, and the world is looked at anew."""
    intent = draft.intent
    if intent is None:
        return False
    same = target.uid == intent.target_uid and intent.value == _value(draft, intent)
    # Shadow is Shadow whoever wrote it; Active in an object that is not the one decided on was not our doing.
    if target.value == intent.value and (same or not _towards_active(intent)):
        _record(draft, intent)
        return True
    if draft.snapshot.written and same:
        return _settle_taken_back(draft, target, intent)
    void = (
        not same
        or draft.now >= intent.not_after
        or target.value != intent.observed
        or (_towards_active(intent) and not _still_wanted(draft, target, intent))
    )
    if void:
        draft.intent = None
        return False
    if _towards_active(intent) and _being_promoted(draft):
        # Ours is the older intent, but the other may have looked before it was there, and be writing now.
        draft.wake_at(draft.now + timedelta(seconds=1), intent.not_after)
        return True
    if _towards_active(intent) and finalizer.missing(draft):
        draft.wake_at(draft.now + timedelta(seconds=1), intent.not_after)
        return True
    patch = write_patch(target, draft.key, intent.value)
    draft.actions.append(WriteKey(draft.config_map, tuple(patch), intent.not_after))
    draft.wake_at(intent.not_after)
    return True


def _settle_taken_back(draft: Draft, target: TargetView, intent: Intent) -> bool:
    """The key was written and does not read so any more: no tug of war, with a person or with a webhook."""
    # Later than any intent is long: the clock was set back since.
    if not _towards_active(intent) and draft.now < intent.not_after <= draft.now + INTENT_LIFE:
        draft.wake_at(intent.not_after)
        return True
    draft.intent = None
    if not _towards_active(intent):
        contest.put_back(draft, target)
    if _towards_active(intent):
        # It was promoted, if only for a moment: what stands there now is somebody else's wish.
        draft.promotion = _promotion(draft, intent)
    return False


def _promotion(draft: Draft, intent: Intent) -> Promotion:
    last = draft.evidence.runs[-1] if draft.evidence.runs else None
    return Promotion(
        at=draft.now,
        revision=draft.revision,
        epoch=intent.epoch,
        run=last.name if last else None,
        scorecard_sha256=last.scorecard_sha256 if last else None,
        previous_value=intent.observed,
        cause=Reason.PROMOTED,
        approved_by=draft.approval.by if draft.approval else None,
        image_digest=draft.image_digest or (last.image_digest if last else None),
        running=draft.running,
    )


def _towards_active(intent: Intent) -> bool:
    return intent.cause == Reason.PROMOTED


def _value(draft: Draft, intent: Intent) -> str:
    """What the spec calls the mode that is intended, now."""
    values = draft.spec.target.values
    return active_value(values, draft.revision or "") if _towards_active(intent) else values.shadow


def _still_wanted(draft: Draft, target: TargetView, intent: Intent) -> bool:
    """A promotion that was decided on may have been overtaken by a person, by data or by another component: every
    condition is asked again, of the world as it is at the moment of the write."""
    first = all(
        s.promoting_since is None or (intent.issued_at, draft.name) <= (s.promoting_since, s.name)
        for s in _being_promoted(draft)
    )
    return (
        draft.spec.mode is Mode.ACTIVE
        and not draft.spec.suspend
        and draft.component.metadata.deletion_timestamp is None
        and proof.present(draft)
        and proof.enough(draft)
        and live.fresh(draft)
        and block.standing(draft) is None
        and confirmation.owed(draft) is None
        and approval.granted(draft)
        and first
        and write_conflict(target, draft.config_map, draft.key, towards_active=True) is None
    )


def _being_promoted(draft: Draft) -> list[Sibling]:
    """Others of the suite with an intent that can still be carried out. One that is too old is void, wherever it stands."""
    return [
        s
        for s in draft.snapshot.siblings
        if s.promoting_since is not None and abs(draft.now - s.promoting_since) < INTENT_LIFE
    ]


def _intend(draft: Draft, target: TargetView, value: str, cause: str, message: str) -> None:
    draft.intent = Intent(
        value=value,
        observed=target.value,
        target_uid=target.uid,
        epoch=draft.epoch,
        issued_at=draft.now,
        not_after=draft.now + INTENT_LIFE,
        cause=cause,
        message=message,
    )
    draft.wake_at(draft.now)


def _record(draft: Draft, intent: Intent) -> None:
    """The key reads as intended: the step is over."""
    draft.intent = None
    draft.wake_at(draft.now)
    if _towards_active(intent):
        draft.mode = EffectiveMode.ACTIVE
        _record_promotion(draft, intent)
    else:
        draft.mode = EffectiveMode.SHADOW
        _record_demotion(draft, intent)
    draft.in_sync()


def _record_promotion(draft: Draft, intent: Intent) -> None:
    draft.promotion = _promotion(draft, intent)
    draft.demotion = None
    draft.approval = None
    contest.over(draft)
    if confirmation.begin(draft, Mode.ACTIVE, intent.value):
        draft.phase = ComponentPhase.PROMOTING
        text = f"{draft.key} of ConfigMap {draft.config_map} is {intent.value}: every replica has to say that it has loaded it"
        draft.condition(ConditionType.PROMOTED, False, Reason.CONFIRMING, text)
        draft.announce(Reason.CONFIRMING, text)
        return
    draft.phase = ComponentPhase.ACTIVE
    text = (
        f"{draft.key} of ConfigMap {draft.config_map} is {intent.value}: revision {draft.revision} governs "
        "(consumers were not asked to confirm)"
    )
    draft.ready(Reason.AS_EXPECTED, text)
    draft.condition(ConditionType.PROMOTED, True, Reason.PROMOTED, text)
    draft.announce(Reason.PROMOTED, text)


def _record_demotion(draft: Draft, intent: Intent) -> None:
    text = intent.message or intent.cause
    draft.demotion = Demotion(
        at=draft.now, cause=intent.cause, message=text, epoch=draft.epoch, promotion=draft.promotion
    )
    draft.promotion = None
    confirmation.begin(draft, Mode.SHADOW, intent.value)
    contest.put_back(draft)
    regressed = intent.cause in (Reason.GUARD_FAILED, Reason.CONDITION_VIOLATED)
    if regressed:
        run = block.last_failed(draft)
        block.put(draft, intent.cause, text, epoch=draft.epoch, run=run.name if run else None)
    elif intent.cause not in (
        Reason.ACTIVE_WITHOUT_EVIDENCE,
        Reason.CONFIRMATION_FAILED,
    ):  # what was shown before somebody's write is as true as it was
        # A person or a new revision asked for it: whatever comes next is shown anew. What failed stays on record:
        # in this epoch it still blocks.
        failed = tuple(run for run in draft.evidence.runs if run.verdict is Verdict.FAILED)
        failing = draft.evidence.failing
        draft.restart()
        draft.evidence = Evidence(failing=failing, runs=failed)
    draft.phase = ComponentPhase.BLOCKED if block.standing(draft) else ComponentPhase.EVALUATING
    draft.condition(ConditionType.PROMOTED, False, intent.cause, text)
    draft.announce(
        Reason.DEMOTED,
        f"{draft.key} of ConfigMap {draft.config_map} is {intent.value}: {text}",
        warning=regressed or intent.cause == Reason.CONFIRMATION_FAILED,
    )


def say_conflict(draft: Draft, problem: Problem) -> None:
    if reason_of(draft.old.conditions, ConditionType.STALLED) != problem.reason:
        draft.announce(problem.reason, problem.message, warning=True)
    draft.not_ready(problem)
    draft.condition(ConditionType.PROMOTED, draft.active, problem.reason, problem.message)
    draft.condition(ConditionType.TARGET_IN_SYNC, False, problem.reason, problem.message)
