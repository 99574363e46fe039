"""Observation: time, runs, and a closing run that was started after the time was over."""

from __future__ import annotations

from datetime import datetime

from rca_rollout.api.common import ComponentPhase, ConditionType, Mode, Trigger
from rca_rollout.api.component_status import ObservationStatus
from rca_rollout.api.reasons import Reason
from rca_rollout.core.clock import earliest, short, stamp
from rca_rollout.core.lifecycle import approval, evidence, live, promotion, proof
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
    _begin(draft)
    end = proof.end_of_period(draft)
    draft.phase = ComponentPhase.OBSERVING
    draft.ready(Reason.AS_EXPECTED, "in Shadow; the old path governs")
    draft.in_sync()
    _show(draft, end)
    draft.wake_at(proof.ages_at(draft))
    if _ready_to_promote(draft):
        if live.fresh(draft):
            promotion.promote(draft, target)
        else:
            # Since the last start of the operator, say: the answers are on their way, and wake the component up.
            draft.condition(ConditionType.PROMOTED, False, Reason.NOT_PROMOTED, "waits for fresh readings")
        return
    evidence.held_back(draft)
    _next_run(draft, end)


def _ready_to_promote(draft: Draft) -> bool:
    """A run that came after the evidence was complete, and gave no verdict, is not waited for again."""
    return draft.spec.mode is Mode.ACTIVE and proof.enough(draft) and approval.granted(draft)


def _show(draft: Draft, end: datetime | None) -> None:
    """The condition: what is still missing, in one line."""
    wanted, passing = draft.spec.observation, proof.passing(draft)
    if proof.enough(draft):
        text = f"{passing} passing runs over {wanted.period}, the last one started after its end"
        if counted := live.decisions_missing(draft):
            text += f", {counted}"
        draft.condition(ConditionType.OBSERVED, True, Reason.OBSERVATION_COMPLETE, text)
        return
    parts = [f"{passing}/{wanted.min_passing_runs} runs"]
    if old := proof.too_old(draft):
        parts.append(f"{old} more are older than {wanted.max_evidence_age} and do not count")
    observed = draft.observation
    if observed and observed.held_since:
        counted = short(live.counted_of(observed))
        parts.append(f"{counted} of {wanted.period} counted, held since {stamp(observed.held_since)}")
    elif end and draft.now < end:
        parts.append(f"until {stamp(end)}")
    if not proof.closed(draft):
        parts.append("then a closing run")
    parts += [text for text in (live.decisions_missing(draft),) if text]
    parts += live.missing(draft)
    if len(parts) == 1:
        parts.append(f"the next one follows within {wanted.interval}")
    reason = Reason.OBSERVATION_HELD if observed and observed.held_since else Reason.OBSERVATION_RUNNING
    draft.condition(ConditionType.OBSERVED, False, reason, ", ".join(parts))


def _begin(draft: Draft) -> None:
    """The start of the period is recorded when the gate has passed."""
    wanted, passing = draft.spec.observation, draft.evidence.passing
    observed = draft.observation or ObservationStatus()
    started, held = observed.started_at, observed.held_since is not None
    if started is None or (started > draft.now and not held):  # in the future: by a clock that was wrong
        started = draft.now
        observed = ObservationStatus(began_at=draft.now)
        text = (
            f"the gate passed: observed for {wanted.period}, at least {wanted.min_passing_runs} passing runs"
        )
        draft.announce(Reason.OBSERVATION_STARTED, text)
    draft.observation = observed.evolve(
        began_at=observed.began_at or started,
        started_at=started,
        summary=f"{passing}/{wanted.min_passing_runs} runs, {short(wanted.period.delta)}",
    )
    live.settle_clock(draft)
    draft.observation = draft.observation.evolve(ends_at=proof.end_of_period(draft))


def _next_run(draft: Draft, end: datetime | None) -> None:
    last, interval = evidence.last_started(draft), draft.spec.observation.interval.delta
    # The closing run comes as soon as the period is over, not an interval later.
    due = earliest(last + interval, end if end and last < end else None) if last else None
    if due and due > draft.now and not draft.run_requested_at:
        # The end counts also when the closing run is there already: a clock that was set back reaches it again.
        draft.wake_at(due, end if end and end > draft.now else None)
        return
    closing = end is not None and draft.now >= end and not proof.enough(draft)
    evidence.start(draft, Trigger.CLOSING if closing else Trigger.OBSERVATION)
