"""Runs without a verdict: how often they are repeated, and when a person has to look.

What the cluster does to a run mends without us, and is tried again for ever, at most every quarter of an hour: nobody
should have to reset anything because a registry was away over night. What the evaluation does to itself comes back each
time, for a replay is deterministic: after `LIMIT` such runs in a row a component in Shadow is blocked, in a state that
stays and names the way out. What is Active is not: an alarm says that nothing guards it (GuardBlind).
"""

from __future__ import annotations

from datetime import datetime

from rca_rollout.api.common import ConditionType
from rca_rollout.api.reasons import Reason
from rca_rollout.core.lifecycle import block, verbs
from rca_rollout.core.lifecycle.draft import Draft

LIMIT = 5
_WORDS = 200  # of a line of a log, in a message that says more

# What mends without a change of what is evaluated. A reason that is not named here counts: it may be any word of ours,
# and rather one block too many than a component that is never looked at.
MENDS_ITSELF = frozenset(
    {
        # the cluster, or its owner
        Reason.IMAGE_PULL_FAILED,
        Reason.UNSCHEDULABLE,
        Reason.START_TIMEOUT,
        Reason.JOB_REFUSED,
        Reason.POD_REFUSED,
        Reason.POD_REJECTED,
        Reason.POD_NOT_SET_UP,
        Reason.SCORECARD_REFUSED,
        Reason.LOG_UNAVAILABLE,
        # taken away
        Reason.EVICTED,
        Reason.PREEMPTED,
        Reason.TAINT_EVICTED,
        Reason.NODE_PRESSURE,
        Reason.NODE_LOST,
        Reason.POD_DELETED,
        Reason.JOB_LOST,
        Reason.RUN_LOST,
        # in the way by its name: the next run has another one
        Reason.JOB_CONFLICT,
        Reason.SCORECARD_CONFLICT,
        # changed meanwhile, or away
        Reason.DATASET_CHANGED,
        Reason.IMAGE_CHANGED,
        Reason.STORE_UNAVAILABLE,
        Reason.DATABASE_UNAVAILABLE,
        Reason.AGENT_UNAVAILABLE,
        # time alone
        Reason.BUDGET_EXCEEDED,
    }
)


def back_off(draft: Draft, reason: str, message: str) -> datetime:
    """Counts one run without a verdict; when the next may start."""
    before = draft.retry.errors if draft.retry else 0
    due = draft.back_off(reason, message)
    own = not draft.active and reason not in MENDS_ITSELF
    draft.retry = draft.retry and draft.retry.evolve(errors=before + own)
    return due


def limit(draft: Draft, run: str) -> None:
    """Blocks a component in Shadow once too many runs in a row have said nothing by their own fault."""
    retry = draft.retry
    if draft.active or retry is None or retry.errors < LIMIT:
        return
    text = (
        f"{retry.errors} runs in a row gave no verdict by their own fault, the last one {retry.reason}: {retry.message}"
        f"{_last_words(draft, run)}; mend that, then: {verbs.how(draft, 'retry', verbs.REASON + '=...')}"
    )
    block.put(draft, Reason.EVAL_ERRORS, text, epoch=draft.epoch, run=run)
    draft.condition(ConditionType.EVALUATED, None, Reason.EVAL_ERRORS, text)
    draft.announce(Reason.EVAL_ERRORS, text, warning=True)


def _last_words(draft: Draft, run: str) -> str:
    """What the container said last, which stays when its Pod, and with it the log, is gone."""
    ended = draft.snapshot.runs.get(run)
    lines = (ended.status.log_tail or "").split("\n") if ended and ended.status else []
    said = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f" (its log ended with: {said[:_WORDS]})" if said else ""
