"""What the spec asks for beside the evidence: a benefit that was seen, and a person's approval as the last word.

An approval is about one epoch, one context and the scorecard of one closing run. Whatever ends one of them ends it, too.
"""

from __future__ import annotations

from rca_rollout.api.common import ApprovalPolicy, ComponentPhase, ConditionType, Mode
from rca_rollout.api.decisions import Approval
from rca_rollout.api.reasons import Reason
from rca_rollout.core.conditions import reason_of
from rca_rollout.core.lifecycle import proof
from rca_rollout.core.lifecycle.draft import Draft
from rca_rollout.core.lifecycle.verbs import how


def settle(draft: Draft) -> None:
    """Drops a request, and the answer to it, that is about something else than what stands now."""
    asked = draft.approval
    if asked is None:
        return
    manual = draft.spec.promotion.approval is ApprovalPolicy.MANUAL
    here = (asked.epoch, asked.context) == (draft.epoch, draft.context)
    if manual and here and not draft.evidence.failing and not draft.active:
        return
    draft.approval = None


def granted(draft: Draft) -> bool:
    """Whether nothing but the evidence itself is asked for any more. Also asked at the moment of the write."""
    return beneficial(draft) and _approved(draft)


def beneficial(draft: Draft) -> bool:
    """With `requireBenefit`: the newest counted run explained an incident that was not explained without the component.

    A run that does not say so (of an older version) has shown nothing.
    """
    if not draft.spec.promotion.require_benefit:
        return True
    last = proof.newest(draft)
    return last is not None and bool(last.fixed)


def in_the_way(draft: Draft) -> bool:
    """All evidence is there, and this module's part is shown: it is asked for, or was given a moment ago."""
    complete = draft.spec.mode is Mode.ACTIVE and not draft.active and proof.enough(draft)
    return complete and (draft.approval is not None or not granted(draft))


def hold(draft: Draft, meanwhile: str = "") -> None:
    """Shown while everything is there but what this module asks for. Runs go on meanwhile, an interval apart."""
    if not beneficial(draft):
        last = proof.newest(draft)
        text = (
            "promotion.requireBenefit: no incident is explained with the component that is not explained without it"
            f" (run {last.name if last else '?'}); change the component, or the requirement"
        )
        if reason_of(draft.old.conditions, ConditionType.PROMOTED) != Reason.NO_BENEFIT:
            draft.announce(Reason.NO_BENEFIT, text)
        draft.condition(ConditionType.PROMOTED, False, Reason.NO_BENEFIT, text + meanwhile)
        return
    if draft.approval is None:
        _request(draft)
    _show(draft)


def _show(draft: Draft) -> None:
    """Phase and condition of a component that waits for a person. Ready: waves and waits of GitOps tools go on."""
    asked = draft.approval
    if asked is None:
        return
    digest = (asked.scorecard_sha256 or "")[:12]
    if asked.approved_at:
        text = f"approved by {asked.by or 'somebody unknown'} on the scorecard {digest}… of run {asked.run}"
    else:
        text = f"all evidence is there (run {asked.run}, scorecard {digest}…): approve it with {how(draft, 'approve')}"
    draft.phase = ComponentPhase.AWAITING_APPROVAL
    draft.condition(ConditionType.PROMOTED, False, Reason.AWAITING_APPROVAL, text)


def _request(draft: Draft) -> None:
    last = proof.newest(draft)
    draft.approval = Approval(
        requested_at=draft.now,
        epoch=draft.epoch,
        context=draft.context,
        run=last and last.name,
        scorecard_sha256=last and last.scorecard_sha256,
    )
    text = f"all evidence is there (run {last.name if last else '?'}): a person has to approve the promotion"
    draft.announce(Reason.AWAITING_APPROVAL, text)


def _approved(draft: Draft) -> bool:
    if draft.spec.promotion.approval is ApprovalPolicy.AUTOMATIC:
        return True
    asked = draft.approval
    return (
        asked is not None
        and asked.approved_at is not None
        and (asked.epoch, asked.context) == (draft.epoch, draft.context)
    )
