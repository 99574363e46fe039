"""Observation: time, runs, and a closing run that was started after the time was over."""

from __future__ import annotations

from datetime import datetime

from rca_rollout.api.common import ComponentPhase, ConditionType, Mode, Trigger
from rca_rollout.api.component_status import ObservationStatus
from rca_rollout.api.reasons import Reason
from rca_rollout.core.clock import earliest, short, stamp
from rca_rollout.core.lifecycle import approval, evidence, promotion, proof
from rca_rollout.core.lifecycle.draft import Draft
from rca_rollout.core.target import TargetView


def advance(draft: Draft, target: TargetView) -> None:
    """The step of a component in Shadow that no run keeps waiting."""
    if not _ready_to_promote(draft) and (later := evidence.not_before(draft)):
        evidence.rest(draft, later)
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
    complete = proof.enough(draft)
    if complete:
        text = f"{passing} passing runs over {wanted.period}, the last one started after its end"
        draft.condition(ConditionType.OBSERVED, True, Reason.OBSERVATION_COMPLETE, text)
    else:
        text = f"until {stamp(end)}, {passing} of at least {wanted.min_passing_runs} passing runs; then a closing run"
        draft.condition(ConditionType.OBSERVED, False, Reason.OBSERVATION_RUNNING, text)
    if _ready_to_promote(draft):
        promotion.promote(draft, target)
        return
    evidence.held_back(draft)
    _next_run(draft, end)


def _ready_to_promote(draft: Draft) -> bool:
    """A run that came after the evidence was complete, and gave no verdict, is not waited for again."""
    return draft.spec.mode is Mode.ACTIVE and proof.enough(draft) and approval.granted(draft)


def _begin(draft: Draft) -> datetime:
    """The end of the period; its start is recorded when the gate has passed."""
    wanted, passing = draft.spec.observation, draft.evidence.passing
    started = draft.observation.started_at if draft.observation else None
    if started is None or started > draft.now:  # in the future: by a clock that was wrong
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


def _next_run(draft: Draft, end: datetime) -> None:
    last, interval = evidence.last_started(draft), draft.spec.observation.interval.delta
    # The closing run comes as soon as the period is over, not an interval later.
    due = earliest(last + interval, end if last < end else None) if last else None
    if due and due > draft.now and not draft.run_requested_at:
        # The end counts also when the closing run is there already: a clock that was set back reaches it again.
        draft.wake_at(due, end if end > draft.now else None)
        return
    closing = draft.now >= end and not proof.enough(draft)
    evidence.start(draft, Trigger.CLOSING if closing else Trigger.OBSERVATION)
