"""When what was seen is enough: the one rule that stands between Shadow and Active, asked before each step there."""

from __future__ import annotations

from datetime import datetime, timedelta

from rca_rollout.api.common import Verdict
from rca_rollout.api.component_status import EvidenceRun
from rca_rollout.core.epoch import context_of
from rca_rollout.core.lifecycle import live
from rca_rollout.core.lifecycle.draft import Draft
from rca_rollout.core.problem import Problem


def enough(draft: Draft) -> bool:
    """The period is over, enough runs passed, none failed, one that passed was started after the period, and what lives says
    nothing against it. By what is remembered: the write itself asks for fresh readings, too."""
    end = end_of_period(draft)
    if end is None or draft.evidence.failing:
        return False
    return (
        draft.now >= end
        and passing(draft) >= draft.spec.observation.min_passing_runs
        and closed(draft)
        and live.decided(draft)
    )


def end_of_period(draft: Draft) -> datetime | None:
    """When the period is over if nothing holds it; None before it began, and while its time does not count."""
    observed = draft.observation
    if observed is None or observed.started_at is None or observed.held_since is not None:
        return None
    return observed.started_at + draft.spec.observation.period.delta


def passing(draft: Draft) -> int:
    """How many runs count now: those that passed in the present context, and are not too old."""
    aged = draft.spec.observation.max_evidence_age is not None
    return len(_counted(draft)) if aged else draft.evidence.passing


def too_old(draft: Draft) -> int:
    """How many passing runs do not count any more for their age."""
    return draft.evidence.passing - passing(draft)


def closed(draft: Draft) -> bool:
    """Whether a run that passed was started after the period."""
    end = end_of_period(draft)
    return end is not None and any(
        run.started_at is not None and end <= run.started_at <= draft.now for run in _counted(draft)
    )


def ages_at(draft: Draft) -> datetime | None:
    """When the oldest run that still counts will not count any more."""
    age = draft.spec.observation.max_evidence_age
    starts = [run.started_at for run in _counted(draft) if run.started_at is not None]
    return min(starts) + age.delta + timedelta(seconds=1) if age and starts else None


def present(draft: Draft) -> bool:
    """Whether the evidence is about what stands now: the same epoch and the same context, in a suite that can be read."""
    suite = draft.snapshot.suite
    return (
        not isinstance(suite, Problem)
        and draft.epoch == draft.snapshot.epoch_on(suite)
        and draft.context == context_of(draft.snapshot.siblings)
    )


def newest(draft: Draft) -> EvidenceRun | None:
    """The newest run that counts: what a promotion is decided on."""
    counted = _counted(draft)
    return counted[-1] if counted else None


def _counted(draft: Draft) -> tuple[EvidenceRun, ...]:
    """The runs that count: the newest ones, as many as passed in the present context, and not older than they may be."""
    passing = draft.evidence.passing
    newest = draft.evidence.runs[-passing:] if passing else ()
    return tuple(run for run in newest if run.verdict is Verdict.PASSED and _young(draft, run))


def _young(draft: Draft, run: EvidenceRun) -> bool:
    age = draft.spec.observation.max_evidence_age
    if age is None:
        return True
    return run.started_at is not None and run.started_at <= draft.now <= run.started_at + age.delta
