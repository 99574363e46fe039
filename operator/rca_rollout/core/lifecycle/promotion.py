"""The one write. Intent first, then a compare-and-set, then what was read back: each its own step, each repeatable."""

from __future__ import annotations

from datetime import timedelta

from rca_rollout.api.common import ComponentPhase, ConditionType, EffectiveMode, Mode
from rca_rollout.api.component_status import Demotion, Intent, Promotion
from rca_rollout.api.reasons import Reason
from rca_rollout.core.conditions import reason_of
from rca_rollout.core.lifecycle.draft import Draft
from rca_rollout.core.lifecycle.snapshot import WriteKey
from rca_rollout.core.problem import Problem
from rca_rollout.core.target import TargetView, write_conflict, write_patch

# Thrice what one request may take: after this a stale writer's intent is void, whoever writes then.
INTENT_LIFE = timedelta(seconds=30)


def promote(draft: Draft, target: TargetView) -> None:
    """All evidence is there: record the intent, unless something about the key or the suite stands in the way."""
    if conflict := write_conflict(target, draft.config_map, draft.key, towards_active=True):
        _say_conflict(draft, conflict)
        return
    other = next((s for s in draft.snapshot.siblings if s.promoting_since), None)
    if other:
        text = f"{other.name} is being promoted; one at a time per suite"
        draft.condition(ConditionType.PROMOTED, False, Reason.WAITING_FOR_TURN, text)
        draft.wake_at(draft.now + timedelta(seconds=5))
        return
    text = f"all evidence is there: {draft.key} of ConfigMap {draft.config_map} is switched to Active"
    _intend(draft, target, draft.spec.target.values.active, Reason.PROMOTED, text)
    draft.phase = ComponentPhase.PROMOTING
    draft.announce(Reason.PROMOTING, text)
    draft.condition(ConditionType.PROMOTED, False, Reason.PROMOTING, text)


def demote(draft: Draft, target: TargetView, cause: Reason, message: str) -> None:
    """Back to Shadow, at once. The key is set to its shadow value, never removed."""
    if conflict := write_conflict(target, draft.config_map, draft.key, towards_active=False):
        _say_conflict(draft, conflict)
        return
    _intend(draft, target, draft.spec.target.values.shadow, cause, message)
    draft.condition(ConditionType.PROMOTED, True, Reason.DEMOTING, message)


def settle(draft: Draft, target: TargetView) -> bool:
    """Carries the intent on. True while it is under way; False when it is void, and the world is looked at anew."""
    intent = draft.intent
    if intent is None:
        return False
    if target.value == intent.value:
        _record(draft, intent)
        return True
    void = (
        draft.now >= intent.not_after
        or target.uid != intent.target_uid
        or target.value != intent.observed
        or (intent.value == draft.spec.target.values.active and not _still_wanted(draft, intent))
    )
    if void:
        draft.intent = None
        return False
    patch = write_patch(target, draft.key, intent.value)
    draft.actions.append(WriteKey(draft.config_map, tuple(patch), intent.not_after))
    draft.wake_at(intent.not_after)
    return True


def _still_wanted(draft: Draft, intent: Intent) -> bool:
    """A promotion that was decided on may have been overtaken by a person, by data or by another component."""
    first = all(
        s.promoting_since is None or (intent.issued_at, draft.name) <= (s.promoting_since, s.name)
        for s in draft.snapshot.siblings
    )
    return (
        draft.spec.mode is Mode.ACTIVE
        and not draft.spec.suspend
        and intent.epoch == draft.epoch
        and draft.spec.revision == draft.revision
        and not draft.evidence.failing
        and first
    )


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
    if intent.value == draft.spec.target.values.active:
        draft.mode = EffectiveMode.ACTIVE
        _record_promotion(draft, intent)
    else:
        draft.mode = EffectiveMode.SHADOW
        _record_demotion(draft, intent)
    draft.in_sync()


def _record_promotion(draft: Draft, intent: Intent) -> None:
    last = draft.evidence.runs[-1] if draft.evidence.runs else None
    draft.promotion = Promotion(
        at=draft.now,
        revision=draft.revision,
        epoch=intent.epoch,
        run=last.name if last else None,
        scorecard_sha256=last.scorecard_sha256 if last else None,
        previous_value=intent.observed,
        cause=Reason.PROMOTED,
    )
    draft.demotion = None
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
    draft.demotion = Demotion(at=draft.now, cause=intent.cause, message=text, epoch=draft.epoch)
    draft.promotion = None
    regressed = intent.cause == Reason.GUARD_FAILED
    if not regressed:
        # A person or a new revision asked for it: whatever comes next is shown anew.
        draft.restart()
    draft.phase = ComponentPhase.BLOCKED if regressed else ComponentPhase.EVALUATING
    draft.condition(ConditionType.PROMOTED, False, intent.cause, text)
    draft.announce(
        Reason.DEMOTED,
        f"{draft.key} of ConfigMap {draft.config_map} is {intent.value}: {text}",
        warning=regressed,
    )


def _say_conflict(draft: Draft, problem: Problem) -> None:
    if reason_of(draft.old.conditions, ConditionType.STALLED) != problem.reason:
        draft.announce(problem.reason, problem.message, warning=True)
    draft.not_ready(problem)
    draft.condition(ConditionType.PROMOTED, draft.active, problem.reason, problem.message)
    draft.condition(ConditionType.TARGET_IN_SYNC, False, problem.reason, problem.message)
