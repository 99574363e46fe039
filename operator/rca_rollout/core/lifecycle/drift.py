"""Writes of others to the key. Drift has a direction: towards Shadow it is respected, towards Active it is looked into.

Somebody who sets Shadow may know what nobody measured; that write is never taken back, and holds until a retry or a new
epoch. Somebody who sets Active has no evidence: `driftPolicy` says whether that is reported and measured at once, or
taken back. A key that was Active already when the component was first seen is adopted, whatever the policy.
"""

from __future__ import annotations

from rca_rollout.api.common import DriftPolicy, EffectiveMode, Mode
from rca_rollout.api.component_status import Demotion, Promotion
from rca_rollout.api.reasons import Reason
from rca_rollout.core.lifecycle import block, confirmation, contest, promotion
from rca_rollout.core.lifecycle.draft import Draft
from rca_rollout.core.problem import Problem
from rca_rollout.core.revision import Running
from rca_rollout.core.target import TargetView


def settle(draft: Draft, target: TargetView) -> bool:
    """True when a write is taken back, and nothing else is to be done in this step."""
    if draft.mode is EffectiveMode.SHADOW and draft.promotion:
        _external(draft, draft.promotion, target)
    elif draft.active and not draft.promotion:
        return _without_evidence(draft, target)
    return False


def _external(draft: Draft, promoted: Promotion, target: TargetView) -> None:
    who = target.manager or "somebody else"
    what = "Shadow"
    if target.value is not None and target.value != draft.spec.target.values.shadow:
        what = f"{target.value}, which {draft.snapshot.revision or draft.revision} reads as Shadow"
    text = f"{who} set {draft.key} to {what}: it stays there until a retry or a new revision"
    # It was about what governed: a revision that came since has not been judged by anybody.
    judged = promoted.revision == (draft.snapshot.revision or draft.revision)
    epoch = draft.epoch if judged else promoted.epoch
    draft.demotion = Demotion(at=draft.now, cause=Reason.EXTERNAL, epoch=epoch, message=text)
    if judged and (draft.block is None or draft.block.epoch != epoch):
        block.put(draft, Reason.EXTERNAL, text, epoch=epoch)
    draft.promotion = None
    confirmation.begin(draft, Mode.SHADOW, target.value or "")
    contest.over(draft)
    draft.announce(Reason.EXTERNAL, text, warning=True)


def _without_evidence(draft: Draft, target: TargetView) -> bool:
    # It has never been in charge of the key: neither by a run, nor by having seen it in Shadow.
    first = draft.old.epoch is None and draft.old.mode is not EffectiveMode.SHADOW
    contest.notice(draft, target)
    if first or draft.spec.drift_policy is DriftPolicy.REPORT:
        running = draft.snapshot.what_runs
        if not isinstance(running, Problem):  # else it is not known yet what is accepted
            _accept(draft, running, target, first=first)
        return False
    text = (
        f"{target.manager or 'somebody else'} set {draft.key} to Active without evidence (driftPolicy Revert)"
    )
    promotion.demote(draft, target, Reason.ACTIVE_WITHOUT_EVIDENCE, text)
    return True


def _accept(draft: Draft, running: Running, target: TargetView, *, first: bool) -> None:
    """It governs, so it is guarded, from this moment on."""
    cause = Reason.ADOPTED if first else Reason.ACTIVE_WITHOUT_EVIDENCE
    draft.promotion = Promotion(
        at=draft.now,
        revision=running.revision,
        epoch=draft.epoch,
        cause=cause,
        image_digest=running.digest,
        running=running.identity,
    )
    if first:
        text = f"{draft.key} was Active already, without evidence of ours"
    else:
        text = f"{target.manager or 'somebody else'} set {draft.key} to Active without evidence"
    draft.announce(cause, f"{text}: evaluated at once, and kept only if that passes", warning=True)
