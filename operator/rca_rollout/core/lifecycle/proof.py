"""When what was seen is enough: the one rule that stands between Shadow and Active, asked before each step there."""

from __future__ import annotations

from rca_rollout.api.common import Verdict
from rca_rollout.api.component_status import EvidenceRun
from rca_rollout.core.epoch import context_of, epoch_of
from rca_rollout.core.lifecycle.draft import Draft
from rca_rollout.core.problem import Problem


def enough(draft: Draft) -> bool:
    """The period is over, enough runs passed, none failed, and one that passed was started after the period."""
    started = draft.observation.started_at if draft.observation else None
    if started is None or draft.evidence.failing:
        return False
    wanted = draft.spec.observation
    end = started + wanted.period.delta
    return (
        draft.now >= end
        and draft.evidence.passing >= wanted.min_passing_runs
        and any(run.started_at is not None and end <= run.started_at <= draft.now for run in _counted(draft))
    )


def present(draft: Draft) -> bool:
    """Whether the evidence is about what stands now: the same epoch and the same context, in a suite that can be read."""
    suite = draft.snapshot.suite
    return (
        not isinstance(suite, Problem)
        and draft.epoch == epoch_of(draft.spec, suite)
        and draft.context == context_of(draft.snapshot.siblings)
    )


def newest(draft: Draft) -> EvidenceRun | None:
    """The newest run that counts: what a promotion is decided on."""
    counted = _counted(draft)
    return counted[-1] if counted else None


def _counted(draft: Draft) -> tuple[EvidenceRun, ...]:
    """The runs that count: the newest ones, as many as passed in the present context."""
    passing = draft.evidence.passing
    newest = draft.evidence.runs[-passing:] if passing else ()
    return tuple(run for run in newest if run.verdict is Verdict.PASSED)
