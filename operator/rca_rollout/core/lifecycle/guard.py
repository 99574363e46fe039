"""After promotion: the same evaluation goes on, and a regression switches the component back.

Harm first, then validity: what is worse with the component than without it, in the same Job, is acted on before anybody asks
why the run was not valid. What cannot be pinned on the component, or cannot be seen, is an alarm (`Degraded`) and no switch.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from rca_rollout.api.common import ComponentPhase, ConditionType, OnRegression, Trigger, Verdict
from rca_rollout.api.reasons import Reason
from rca_rollout.core.clock import stamp
from rca_rollout.core.conditions import drop_conditions, reason_of
from rca_rollout.core.lifecycle import block, confirmation, evidence, harm, live, promotion
from rca_rollout.core.lifecycle.draft import Draft
from rca_rollout.core.problem import Problem
from rca_rollout.core.suites import StaleSuite, for_guard
from rca_rollout.core.target import TargetView

BLIND_RUNS = 3
UNPROVEN = frozenset({Reason.ADOPTED, Reason.ACTIVE_WITHOUT_EVIDENCE})
"""Causes of a component's being Active that are no evidence."""


def advance(draft: Draft, target: TargetView) -> None:
    """The step of an Active component."""
    harm.watched(draft)
    _stay_active(draft)
    waiting = evidence.follow(draft)
    found = _regression(draft)
    if found and draft.spec.guard.on_regression is OnRegression.DEMOTE:
        promotion.demote(draft, target, Reason.GUARD_FAILED, found)
        return
    _alert(draft)
    degraded(draft)
    if waiting:
        return
    if later := evidence.not_before(draft):
        draft.wake_at(later)
        return
    last = _last_guarded(draft)
    due = last + draft.spec.guard.interval.delta if last else draft.now
    suspected = harm.suspected(draft) is not None and harm.confirmed(draft) is None
    # A run that said nothing is repeated when its delay is over, also one that was asked for between two that are due.
    if due > draft.now and not (draft.run_requested_at or suspected or draft.retry):
        draft.wake_at(due)
        return
    evidence.start(draft, Trigger.GUARD)


def failed(draft: Draft) -> str | None:
    """What a component that was promoted is put back for, by its own evaluation. Asked before suite and epoch are: what it
    has shown of what runs does not become untrue when its suite goes, or its data change, in that very moment."""
    demote = draft.spec.guard.on_regression is OnRegression.DEMOTE
    return _regression(draft) if demote and draft.promotion and not draft.spec.suspend else None


def degraded(draft: Draft) -> None:
    """What makes the guard of an Active component less than it should be; ends by itself. One Event for each reason."""
    found = _alarm(draft)
    if found is None:
        draft.conditions = drop_conditions(draft.conditions, ConditionType.DEGRADED)
        return
    reason, text = found
    told_elsewhere = (
        Reason.HARM_SUSPECTED,
        Reason.ENGINE_REGRESSION,
        Reason.GUARD_FAILED,
        Reason.CONDITION_VIOLATED,
        Reason.CONDITION_NO_DATA,
    )
    if reason_of(draft.old.conditions, ConditionType.DEGRADED) != reason and reason not in told_elsewhere:
        draft.announce(reason, text, warning=True)
    draft.condition(ConditionType.DEGRADED, True, reason, text)


def stop(draft: Draft) -> None:
    """Not Active any more: there is nothing to guard."""
    draft.guard = None
    draft.conditions = drop_conditions(draft.conditions, ConditionType.DEGRADED)


def _alarm(draft: Draft) -> tuple[str, str] | None:
    if found := _regression(draft):
        return Reason.GUARD_FAILED, found
    if suspicion := harm.suspected(draft):
        return Reason.HARM_SUSPECTED, suspicion.message
    if blind := _blind(draft):
        return Reason.GUARD_BLIND, blind
    if draft.retry and draft.retry.reason == Reason.ENGINE_REGRESSION:
        return Reason.ENGINE_REGRESSION, draft.retry.message or "as bad without the component"
    suite = draft.snapshot.suite
    if found_live := live.alarm(draft):
        return found_live
    if isinstance(suite, StaleSuite):
        return Reason.BASELINE_STALE, f"guarded without the floor, With against Without only: {suite.message}"
    return None


def _blind(draft: Draft) -> str | None:
    """Guard runs that say nothing, or that do not come: what governs is not watched, whatever its last verdict was."""
    guard = harm.watched(draft)
    if guard.without_verdict >= BLIND_RUNS:
        why = f": {draft.retry.message}" if draft.retry and draft.retry.message else ""
        return f"{guard.without_verdict} guard runs in a row gave no verdict{why}"
    last = max(guard.since, guard.last_verdict_at or guard.since)
    too_old = last + _patience(draft)
    if draft.now < too_old:
        draft.wake_at(too_old)
        return None
    waits = evidence.waits_for(draft)
    why = f"; the present one: {waits[1]}" if waits else ""
    return f"no guard run has given a verdict since {stamp(last)}; one is due every {draft.spec.guard.interval}{why}"


def _patience(draft: Draft) -> timedelta:
    """Twice the interval, and never less than one interval and the longest that a run may take."""
    interval, suite = draft.spec.guard.interval.delta, for_guard(draft.snapshot.suite)
    if isinstance(suite, Problem):
        return 2 * interval
    job = suite.spec.job
    return max(2 * interval, interval + job.start_timeout.delta + job.timeout.delta)


def _stay_active(draft: Draft) -> None:
    promoted = draft.promotion
    text = f"{draft.key} is Active"
    if promoted:
        text = f"{draft.key} is Active with revision {promoted.revision}{confirmation.words(draft)}"
    draft.phase = ComponentPhase.ACTIVE
    draft.ready(Reason.AS_EXPECTED, text)
    draft.condition(ConditionType.PROMOTED, True, promoted.cause if promoted else Reason.PROMOTED, text)
    draft.in_sync()


def _last_guarded(draft: Draft) -> datetime | None:
    """When what governs was last measured. None when it has no evidence yet and is measured at once: it is Active by
    somebody else's hand, or what is measured, or beside what, has changed."""
    last = evidence.last_started(draft) if draft.evidence.passing or draft.evidence.failing else None
    promoted = draft.promotion
    unproven = promoted is not None and promoted.cause in UNPROVEN
    return None if last and promoted and unproven and last < promoted.at else last


def _regression(draft: Draft) -> str | None:
    """What shows that With is worse than Without: a counted run that failed, or harm that was seen again."""
    if draft.evidence.failing:
        # With onRegression Alert it is shown until a guard run passes.
        last = draft.evidence.runs[-1] if draft.evidence.runs else None
        alert = draft.spec.guard.on_regression is OnRegression.ALERT
        if not (alert and last and last.verdict is Verdict.PASSED):
            failed = block.last_failed(draft)
            return (failed and failed.message) or "the guard run failed its gate"
    suspicion = harm.confirmed(draft)
    return f"seen in {suspicion.times} runs: {suspicion.message}" if suspicion else None


def _alert(draft: Draft) -> None:
    """`onRegression: Alert`: the regression is shown until a guard run passes, and the guard goes on."""
    message = _regression(draft)
    if message is None:
        return
    if reason_of(draft.old.conditions, ConditionType.PROMOTED) != Reason.GUARD_FAILED:
        draft.announce(
            Reason.GUARD_FAILED, f"{message} (guard.onRegression is Alert: nothing is switched)", warning=True
        )
    draft.condition(ConditionType.PROMOTED, True, Reason.GUARD_FAILED, message)
