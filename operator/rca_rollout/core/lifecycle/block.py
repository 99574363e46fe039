"""What keeps an epoch from being promoted until a person has it tried again, and what a retry does to it.

A block is one record in status, bound to its epoch. Nothing else ends it: no passing run, no restart, no other write.
"""

from __future__ import annotations

from rca_rollout.api.common import Verdict
from rca_rollout.api.component_status import EvidenceRun
from rca_rollout.api.decisions import FAILURES_REMEMBERED, Block, PastFailure
from rca_rollout.api.reasons import Reason
from rca_rollout.core.lifecycle.draft import Draft


def put(
    draft: Draft,
    reason: str,
    message: str,
    *,
    epoch: str | None,
    by: str | None = None,
    run: str | None = None,
) -> None:
    """Blocks `epoch` from now on. What was under way towards a promotion is over."""
    # Not older than what it is put against, whatever a clock that was set back says: `overdue` compares them.
    at = max(draft.now, draft.promotion.at) if draft.promotion else draft.now
    draft.block = Block(reason=str(reason), message=message, at=at, epoch=epoch, by=by, run=run)
    draft.approval = None
    draft.run_requested_at = None


def standing(draft: Draft) -> Block | None:
    """Why this epoch is not promoted, or None. Derived from what is recorded, so it survives a restart."""
    if draft.block and draft.block.epoch == draft.epoch:
        return draft.block
    if draft.evidence.failing:
        run = last_failed(draft)
        message = (run and run.message) or "an evaluation of this revision failed its gate"
        return Block(
            reason=Reason.GATE_FAILED,
            message=message,
            at=draft.now,
            epoch=draft.epoch,
            run=run.name if run else None,
        )
    return None


def last_failed(draft: Draft) -> EvidenceRun | None:
    """The newest counted run that failed."""
    return next((r for r in reversed(draft.evidence.runs) if r.verdict is Verdict.FAILED), None)


def overdue(draft: Draft) -> Block | None:
    """The block that an Active component has to be put back for: a person demoted it, or stopped the evaluation while
    the key was being written. Derived from status alone: a crash between the verb and the write loses nothing."""
    block, promoted = draft.block, draft.promotion
    if block is None or promoted is None:
        return None
    asked = block.reason == Reason.DEMOTE_REQUESTED and promoted.at <= block.at
    meanwhile = promoted.cause == Reason.PROMOTED and promoted.epoch == block.epoch
    return block if asked or meanwhile else None


def lift(draft: Draft, block: Block, *, by: str | None, why: str) -> None:
    """A new attempt at the same epoch. What failed stays on record, and all evidence is gathered anew."""
    failed = last_failed(draft)
    record = PastFailure(
        reason=block.reason,
        message=block.message,
        at=draft.now,
        by=by,
        retry_reason=why,
        epoch=block.epoch,
        run=block.run or (failed and failed.name),
        scorecard_sha256=failed and failed.scorecard_sha256,
    )
    draft.past_failures = (*draft.past_failures, record)[-FAILURES_REMEMBERED:]
    draft.attempts += 1
    draft.block = None
    draft.restart()
