"""Harm before doubt: what a guard run shows to be worse with the component counts, even in a run that proves nothing else.

Once it is a suspicion, and a second run starts at once; twice it is a regression. A higher time alone is treated so, too:
a busy node makes one slow run, not two. A lost incident in a valid run needs no second one.
"""

from __future__ import annotations

from datetime import datetime

from rca_rollout.api.reasons import Reason
from rca_rollout.api.run import EvalRun
from rca_rollout.api.run_status import CheckResult
from rca_rollout.api.watching import GuardStatus, Harm, Suspicion
from rca_rollout.core.lifecycle.draft import Draft

ENOUGH = 2


def watched(draft: Draft) -> GuardStatus:
    """The guard's memory; begins with the promotion or the adoption. A clock that was wrong does not lengthen it."""
    if draft.guard is None:
        promoted = draft.promotion.at if draft.promotion else draft.now
        draft.guard = GuardStatus(since=min(promoted, draft.now))
    last = draft.guard.last_verdict_at
    if max(draft.guard.since, last or draft.guard.since) > draft.now:
        known = last and min(last, draft.now)
        draft.guard = draft.guard.evolve(since=min(draft.guard.since, draft.now), last_verdict_at=known)
    return draft.guard


def verdict_at(draft: Draft, started: datetime) -> None:
    draft.guard = watched(draft).evolve(last_verdict_at=min(started, draft.now), without_verdict=0)


def no_verdict(draft: Draft) -> None:
    guard = watched(draft)
    draft.guard = guard.evolve(without_verdict=guard.without_verdict + 1)


def clear(draft: Draft) -> None:
    """A valid run has said what is true."""
    if draft.guard and draft.guard.suspicion:
        draft.guard = draft.guard.evolve(suspicion=None)


def doubtful(draft: Draft, run: EvalRun) -> bool:
    """A valid failed run that shows a higher time only, for the first time: another run has to show it."""
    if run.status.harm is not Harm.TIME or watched(draft).suspicion is not None:
        return False
    _suspect(draft, run, Harm.TIME)
    return True


def seen_in_doubt(draft: Draft, run: EvalRun) -> bool:
    """Records harm that a run without a verdict shows. True when a second run is needed at once."""
    if run.status.harm is None:
        return False
    _suspect(draft, run, run.status.harm)
    suspicion = watched(draft).suspicion
    return suspicion is not None and suspicion.times < ENOUGH


def suspected(draft: Draft) -> Suspicion | None:
    return draft.guard.suspicion if draft.guard else None


def confirmed(draft: Draft) -> Suspicion | None:
    """Harm that was seen in as many runs as it takes."""
    found = suspected(draft)
    return found if found and found.times >= ENOUGH else None


def _suspect(draft: Draft, run: EvalRun, harm: Harm) -> None:
    guard = watched(draft)
    times = (guard.suspicion.times if guard.suspicion else 0) + 1
    shown = next((c.message for c in run.status.checks if c.result is CheckResult.FAILED), None)
    text = shown or run.status.message or f"worse with the component ({harm})"
    if shown and run.status.message and shown != run.status.message:
        text = f"{shown}; the run itself: {run.status.message}"
    found = Suspicion(harm=harm, at=draft.now, run=run.metadata.name, message=text, times=times)
    draft.guard = guard.evolve(suspicion=found)
    if times < ENOUGH:
        draft.announce(Reason.HARM_SUSPECTED, f"a second run starts at once: {text}", warning=True)
