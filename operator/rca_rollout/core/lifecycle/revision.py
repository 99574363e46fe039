"""Another revision, another image, another input: what runs is not what was promoted any more.

What was promoted governs; whatever else runs has shown nothing. Where the word in the key does not name the revision, a new
one would read it as its own, so the key is set to Shadow as soon as anything else is seen, while the rollout is still under
way. Where it does, the new one reads it as Shadow by itself, and the word may be left (`onNewRevision: Hold`): rolled back,
the promoted one governs again on the evidence that it has. The word names no image and no input: when those change under
one name, the key is set to Shadow, whatever the policy.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from rca_rollout.api.common import ConditionType, EffectiveMode, Mode
from rca_rollout.api.component_status import Promotion
from rca_rollout.api.reasons import Reason
from rca_rollout.api.revision import EpochPart, OnNewRevision
from rca_rollout.api.watching import GuardStatus
from rca_rollout.core.epoch import TAG, changed_parts, epoch_parts, stored_parts
from rca_rollout.core.lifecycle import guard, promotion
from rca_rollout.core.lifecycle.draft import Draft
from rca_rollout.core.problem import Problem
from rca_rollout.core.revision import Running, Unsettled, active_value, bound, declared
from rca_rollout.core.suites import SuiteFacts
from rca_rollout.core.target import TargetView

_HOLD = " (onNewRevision Hold); "
POLL = timedelta(seconds=30)
POLL_ACTIVE = timedelta(seconds=10)
"""No event tells of a Pod's new image, or of a ConfigMap or Secret without our label."""


def look_again(draft: Draft) -> None:
    """Where what runs is more than the spec says, it is looked at again and again; what governs at once, the more often."""
    if draft.spec.workload_ref is None and not draft.spec.inputs:
        return
    governs = draft.old.mode is EffectiveMode.ACTIVE
    draft.wake_at(draft.now + (POLL_ACTIVE if governs else POLL))


def settle(draft: Draft, target: TargetView) -> bool:
    """Asked of what is Active, and of a word that is held. True when the key is put back, and nothing else is to be done."""
    if draft.held and target.value != _word(draft, draft.held):
        draft.held = None
    found = _displaced(draft, draft.promotion, target) if draft.promotion else None
    if found is None and draft.held:
        found = _held(draft, draft.held)
    if found is None:
        return False
    # A word that was held is our own: nobody is to be held to have written it.
    draft.promotion, draft.held = draft.promotion or draft.held, None
    promotion.demote(draft, target, *found)
    return True


def settle_epoch(draft: Draft, suite: SuiteFacts) -> None:
    """The world's epoch becomes the status's; in a new one all evidence is gathered anew."""
    running = draft.snapshot.what_runs
    epoch = draft.snapshot.epoch_on(suite)
    if epoch is None or isinstance(running, Problem):
        return
    pinned = draft.eval_image
    if pinned and pinned.image != suite.image:
        pinned = draft.eval_image = None
    parts = stored_parts(epoch_parts(draft.spec, suite, running, pinned))
    if draft.epoch == epoch:
        _identify(draft, running)
        draft.epoch_parts, draft.running, draft.image_digest = parts, running.identity, running.digest
        return
    moved = draft.epoch is not None and changed_parts(draft.epoch_parts, parts) == (TAG,)
    if draft.epoch is not None:
        what = _what_changed(draft, parts, running)
        if draft.transition is None or draft.transition.reason != Reason.GOVERNS_AGAIN:
            draft.announce(Reason.OBSERVATION_RESET, f"{what} changed: all evidence starts anew")
    if draft.revision != running.revision:
        draft.attempts = 0
    draft.epoch = epoch
    draft.revision = running.revision
    draft.epoch_parts, draft.running, draft.image_digest = parts, running.identity, running.digest
    draft.block = draft.block if draft.block and draft.block.epoch == epoch else None
    retry = draft.retry
    draft.restart()
    draft.retry = retry if moved else None


def _identify(draft: Draft, running: Running) -> None:
    """A record of before identities were kept gets that of what runs, once: from then on image and inputs count, too."""
    promoted = draft.promotion
    if draft.active and promoted and promoted.running is None and promoted.revision == running.revision:
        draft.promotion = promoted.evolve(
            running=running.identity, image_digest=promoted.image_digest or running.digest
        )


def tell(draft: Draft) -> None:
    """Shown at the end of a step in which an old word is held: it stands in the key, and governs nothing."""
    held = draft.held
    promoted = next((c for c in draft.conditions if c.type == ConditionType.PROMOTED), None)
    if held is None or draft.active or promoted is None:
        return
    said = promoted.message.rpartition(_HOLD)[2]
    text = (
        f"{draft.key} holds {_word(draft, held)}, which {draft.snapshot.revision or 'what runs'} reads as Shadow"
        f"{_HOLD}{said}"
    )
    reason = Reason.REVISION_HELD if promoted.reason == Reason.NOT_PROMOTED else promoted.reason
    draft.condition(ConditionType.PROMOTED, False, reason, text)


def _displaced(draft: Draft, promoted: Promotion, target: TargetView) -> tuple[str, str] | None:
    """Why what was promoted does not govern alone any more: (reason, sentence) of a demotion, or None."""
    running = draft.snapshot.what_runs
    if isinstance(running, Problem):
        return _half_displaced(draft, promoted, running) if isinstance(running, Unsettled) else None
    if _same(promoted, running):
        return None
    named = bound(draft.spec.target.values)
    if not draft.active:
        if target.value != _word(draft, promoted):
            return None  # somebody set the key to Shadow, or to another word: drift
        if text := guard.failed(draft):
            return Reason.GUARD_FAILED, f"{text}; the word of {promoted.revision} is not held"
        if _may_hold(draft):
            draft.held, draft.promotion = promoted, None
            return None
        return _replaced(draft, promoted, running)
    if named and promoted.revision != running.revision:
        # The word is that of what runs, and was not written by us: Active without evidence, as drift will find.
        draft.promotion = None
        return None
    return _replaced(draft, promoted, running)


def _half_displaced(draft: Draft, promoted: Promotion, running: Unsettled) -> tuple[str, str] | None:
    """While Pods are being rolled: what comes, and what runs beside the promoted one."""
    named = bound(draft.spec.target.values)
    others = [one for one in running.seen if not _runs_promoted(promoted, one)]
    if named and draft.spec.promotion.on_new_revision is OnNewRevision.HOLD:
        others = [one for one in others if one.revision == promoted.revision]
    elif not running.brings(promoted.revision):
        return (
            Reason.REVISION_CHANGED,
            f"{running.coming} is being rolled out in place of the promoted {promoted.revision}: it starts in Shadow",
        )
    if not others:
        return _inputs_displaced(draft, promoted, running)
    text = f"{_image(others[0])} runs beside the promoted {promoted.revision}: what was not measured starts in Shadow"
    return Reason.REVISION_CHANGED, text


def _inputs_displaced(draft: Draft, promoted: Promotion, running: Unsettled) -> tuple[str, str] | None:
    """Another prompt is another prompt for every Pod, however far a rollout has come."""
    if running.inputs is None or promoted.running is None:
        return None
    for pod in running.seen:
        now = replace(pod, inputs=running.inputs)
        if _runs_promoted(promoted, pod) and pod.digest == promoted.image_digest and not _same(promoted, now):
            return _replaced(draft, promoted, now)
    return None


def _held(draft: Draft, held: Promotion) -> tuple[str, str] | None:
    """What becomes of a word that is held: put back, or in force again."""
    if draft.spec.mode is Mode.SHADOW:
        return Reason.SHADOW_REQUESTED, "spec.mode is Shadow: the word of an earlier revision is not held"
    if draft.block and draft.block.reason == Reason.DEMOTE_REQUESTED:
        return Reason.DEMOTE_REQUESTED, draft.block.message
    if not _may_hold(draft):
        return (
            Reason.REVISION_CHANGED,
            f"onNewRevision is not Hold any more: {_word(draft, held)} is not held",
        )
    running = draft.snapshot.what_runs
    if isinstance(running, Problem):
        beside = [] if not isinstance(running, Unsettled) else list(running.seen)
    else:
        beside = [running]
    same_name = [one for one in beside if one.revision == held.revision]
    wrong = [one for one in same_name if not _runs_promoted(held, one)]
    if wrong:
        return (
            Reason.REVISION_CHANGED,
            f"{_image(wrong[0])} runs under the name {held.revision}, and was not measured: the word is not held",
        )
    if isinstance(running, Unsettled):
        return _inputs_displaced(draft, held, running)
    if isinstance(running, Problem) or not same_name:
        return None
    if not _same(held, running):
        return _replaced(draft, held, running)
    draft.held = None
    suite = draft.snapshot.suite
    if isinstance(suite, Problem) or draft.snapshot.epoch_on(suite) == held.epoch:
        _govern_again(draft, held)
    # Else its evidence is about other data: what stands there is Active without evidence, as drift will find.
    return None


def _govern_again(draft: Draft, held: Promotion) -> None:
    draft.promotion = held
    draft.run_requested_at = draft.now
    draft.guard = GuardStatus(since=draft.now)  # while it did not govern there was nothing to guard
    text = f"{held.revision} runs again, and {draft.key} still holds its word: it governs on its evidence, and is guarded at once"
    draft.announce(Reason.GOVERNS_AGAIN, text)


def _may_hold(draft: Draft) -> bool:
    asked = draft.block is not None and draft.block.reason == Reason.DEMOTE_REQUESTED
    hold = draft.spec.promotion.on_new_revision is OnNewRevision.HOLD and bound(draft.spec.target.values)
    leaving = draft.component.metadata.deletion_timestamp is not None
    return hold and draft.spec.mode is Mode.ACTIVE and not asked and not leaving


def _replaced(draft: Draft, promoted: Promotion, running: Running) -> tuple[str, str]:
    if promoted.revision != running.revision:
        text = f"revision {running.revision} replaces the promoted {promoted.revision}: it starts in Shadow"
        return Reason.REVISION_CHANGED, text
    if running.digest and promoted.image_digest != running.digest:
        text = (
            f"{_image(running)} runs under the name {running.revision}, which was promoted with another image"
        )
        return Reason.REVISION_CHANGED, f"{text}: it starts in Shadow"
    names = _inputs_changed(draft, running)
    return (
        Reason.INPUT_CHANGED,
        f"{names} changed under the promoted {promoted.revision}: it starts in Shadow",
    )


def _inputs_changed(draft: Draft, running: Running) -> str:
    now = stored_parts(dict(running.inputs))
    before = tuple(part for part in draft.epoch_parts if part.name.startswith("input "))
    return " and ".join(changed_parts(before, now)) or "what runs"


def _same(promoted: Promotion, running: Running) -> bool:
    """Whether exactly what was promoted runs. A record of before the identity was kept tells the revision only."""
    if promoted.running is not None:
        return promoted.running == running.identity
    return promoted.revision == running.revision


def _runs_promoted(promoted: Promotion, pod: Running) -> bool:
    """Whether a Pod runs the promoted image under the promoted name; inputs are asked elsewhere."""
    same_image = None in (promoted.image_digest, pod.digest) or promoted.image_digest == pod.digest
    return promoted.revision == pod.revision and same_image


def _what_changed(draft: Draft, parts: tuple[EpochPart, ...], running: Running) -> str:
    names = changed_parts(draft.epoch_parts, parts) if draft.epoch_parts else ()
    said = [f"{name} (now {running.revision})" if name == "the revision" else name for name in names]
    return ", ".join(said) or "what is measured"


def _image(running: Running) -> str:
    return f"an image {str(running.digest)[:19]}…" if running.digest else f"revision {running.revision}"


def _word(draft: Draft, promoted: Promotion) -> str:
    return active_value(draft.spec.target.values, promoted.revision or declared(draft.spec).revision)
