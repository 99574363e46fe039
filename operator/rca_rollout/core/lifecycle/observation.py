"""Observation: time, runs, and a closing run that was started after the time was over."""

from __future__ import annotations

from datetime import datetime

from rca_rollout.api.common import ComponentPhase, ConditionType, Mode, Trigger, Verdict
from rca_rollout.api.component_status import EvidenceRun, ObservationStatus
from rca_rollout.api.reasons import Reason
from rca_rollout.core.clock import earliest, short, stamp
from rca_rollout.core.lifecycle import evidence, promotion
from rca_rollout.core.lifecycle.draft import Draft
from rca_rollout.core.target import TargetView


def advance(draft: Draft, target: TargetView) -> None:
    """The step of a component in Shadow that no run keeps waiting."""
    if later := evidence.not_before(draft):
        draft.wake_at(later)
        return
    if not draft.evidence.passing:
        evidence.start(draft, Trigger.GATE)
        return
    end = _begin(draft)
    wanted = draft.spec.observation
    passing = draft.evidence.passing
    draft.phase = ComponentPhase.OBSERVING
    draft.ready(Reason.AS_EXPECTED, "in Shadow; the old path governs")
    draft.in_sync()
    complete = draft.now >= end and passing >= wanted.min_passing_runs and _closed(draft, end)
    if complete:
        text = f"{passing} passing runs over {wanted.period}, the last one started after its end"
        draft.condition(ConditionType.OBSERVED, True, Reason.OBSERVATION_COMPLETE, text)
    else:
        text = f"until {stamp(end)}, {passing} of at least {wanted.min_passing_runs} passing runs; then a closing run"
        draft.condition(ConditionType.OBSERVED, False, Reason.OBSERVATION_RUNNING, text)
    if draft.spec.mode is Mode.SHADOW:
        draft.condition(
            ConditionType.PROMOTED, False, Reason.HELD, "spec.mode is Shadow: evaluated, and held back"
        )
    elif complete:
        promotion.promote(draft, target)
        return
    else:
        draft.condition(
            ConditionType.PROMOTED, False, Reason.NOT_PROMOTED, "waits for the end of the observation"
        )
    _next_run(draft, end)


def _begin(draft: Draft) -> datetime:
    """The end of the period; its start is recorded when the gate has passed."""
    wanted, passing = draft.spec.observation, draft.evidence.passing
    started = draft.observation.started_at if draft.observation else None
    if started is None:
        started = draft.now
        text = (
            f"the gate passed: observed for {wanted.period}, at least {wanted.min_passing_runs} passing runs"
        )
        draft.announce(Reason.OBSERVATION_STARTED, text)
    end = started + wanted.period.delta
    draft.observation = ObservationStatus(
        started_at=started,
        ends_at=end,
        summary=f"{passing}/{wanted.min_passing_runs} runs, {short(wanted.period.delta)}",
    )
    return end


def _closed(draft: Draft, end: datetime) -> bool:
    return any(
        run.verdict is Verdict.PASSED and run.started_at is not None and run.started_at >= end
        for run in _counted(draft)
    )


def _counted(draft: Draft) -> tuple[EvidenceRun, ...]:
    """The runs that count: the newest ones, as many as passed in the present context."""
    passing = draft.evidence.passing
    return draft.evidence.runs[-passing:] if passing else ()


def _next_run(draft: Draft, end: datetime) -> None:
    last = evidence.last_started(draft) or draft.now
    # The closing run comes as soon as the period is over, not an interval later.
    due = earliest(last + draft.spec.observation.interval.delta, end if last < end else None)
    if due and due > draft.now:
        draft.wake_at(due)
        return
    evidence.start(draft, Trigger.CLOSING if draft.now >= end else Trigger.OBSERVATION)
