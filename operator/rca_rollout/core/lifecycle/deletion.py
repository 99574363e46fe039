"""Deletion. Retain leaves the key as it is; RevertToShadow puts it back first, which takes a finalizer.

The finalizer is there only while the policy is set and the key is Active, or about to be: before the key is written, so that
no deletion can come in between. It never holds an object for long: what cannot be put back at all (no ConfigMap, an
immutable one, one that does not opt in any more) lets the object go at once, and anything else after `GIVE_UP`.
"""

from __future__ import annotations

from datetime import timedelta

from rca_rollout.api.common import DeletionPolicy, EffectiveMode
from rca_rollout.api.reasons import Reason
from rca_rollout.api.watching import DeletionStatus
from rca_rollout.core.lifecycle import promotion
from rca_rollout.core.lifecycle.draft import Draft
from rca_rollout.core.lifecycle.finalizer import finalizers_patch, held
from rca_rollout.core.lifecycle.snapshot import SetFinalizers
from rca_rollout.core.problem import Problem
from rca_rollout.core.revision import effective_mode, revision_in
from rca_rollout.core.target import write_conflict

GIVE_UP = timedelta(minutes=5)
"""A namespace or a `kubectl delete` waits no longer than this for a key that cannot be written, once an operator is there."""
LOOK_AGAIN = timedelta(seconds=5)


def keep_finalizer(draft: Draft, *, owns_key: bool) -> None:
    """Plans the finalizer of an object that is not being deleted, at the end of each step."""
    intent = draft.intent
    towards_active = intent is not None and intent.cause == Reason.PROMOTED
    policy = draft.spec.deletion_policy is DeletionPolicy.REVERT_TO_SHADOW
    wanted = policy and owns_key and (draft.active or towards_active or draft.held is not None)
    if wanted != held(draft.component.metadata):
        _plan(draft, wanted=wanted)


def advance(draft: Draft) -> None:
    """The step of an object that is being deleted. Without our finalizer nothing is done: the key stays as it is."""
    if not held(draft.component.metadata):
        return
    if draft.deletion is None:
        draft.deletion = DeletionStatus(since=draft.now)
        draft.wake_at(draft.now)
    if draft.deletion.since > draft.now:  # by a clock that was set back since
        draft.deletion = draft.deletion.evolve(since=draft.now)
    if draft.deletion.released is None and (done := _done(draft, draft.deletion)):
        reason, text = done
        draft.deletion = draft.deletion.evolve(released=reason, message=text)
        draft.announce(reason, text, warning=reason not in (Reason.REVERTED_TO_SHADOW, Reason.DELETED))
        draft.wake_at(draft.now)
    if draft.deletion.released is not None:
        draft.intent = None
        draft.actions.clear()
        _plan(draft, wanted=False)
        return
    draft.wake_at(draft.now + LOOK_AGAIN)


def _done(draft: Draft, deletion: DeletionStatus) -> tuple[str, str] | None:
    """Why the object may go now, or None while the key is being put back."""
    target = draft.snapshot.target
    if draft.spec.deletion_policy is DeletionPolicy.RETAIN:
        return Reason.DELETED, "deletionPolicy is Retain now: the key stays as it is"
    if isinstance(target, Problem):
        return target.reason, f"the key cannot be put back, the object goes without: {target.message}"
    if older := draft.snapshot.claimed_by:
        return (
            Reason.TARGET_CLAIMED,
            f"the key belongs to the older RcaComponent {older}: it is not ours to put back",
        )
    # Also a word of another revision, which nobody reads as Active now: it would be, rolled back.
    named = revision_in(target.value, draft.spec.target.values)
    draft.mode = effective_mode(target.value, draft.spec.target.values, now=named)
    if draft.mode is EffectiveMode.UNKNOWN:
        return Reason.UNKNOWN_VALUE, f"{draft.key} holds neither of the two values: it is not written"
    if conflict := write_conflict(target, draft.config_map, draft.key, towards_active=False):
        return conflict.reason, f"the key cannot be put back, the object goes without: {conflict.message}"
    if draft.intent and promotion.settle(draft, target):
        return _given_up(draft, deletion)
    if draft.active:
        text = f"{draft.key} is put back before the component is deleted (deletionPolicy RevertToShadow)"
        promotion.demote(draft, target, Reason.DELETED, text)
        return _given_up(draft, deletion)
    # A write towards Active that a process sent before it died may still be on its way.
    intent = draft.old.intent
    if intent and intent.cause == Reason.PROMOTED and draft.now < intent.not_after:
        draft.intent = intent
        draft.wake_at(intent.not_after)
        return None
    return Reason.REVERTED_TO_SHADOW, f"{draft.key} of ConfigMap {draft.config_map} reads Shadow"


def _given_up(draft: Draft, deletion: DeletionStatus) -> tuple[str, str] | None:
    end = deletion.since + GIVE_UP
    if draft.now < end:
        draft.wake_at(end)
        return None
    text = (
        f"{draft.key} of ConfigMap {draft.config_map} could not be put back for {GIVE_UP.seconds // 60} minutes: set it "
        f"to {draft.spec.target.values.shadow} by hand"
    )
    return Reason.REVERT_GIVEN_UP, text


def _plan(draft: Draft, *, wanted: bool) -> None:
    draft.actions.append(SetFinalizers(finalizers_patch(draft.component.metadata, wanted=wanted)))
    draft.wake_at(draft.now + LOOK_AGAIN)
