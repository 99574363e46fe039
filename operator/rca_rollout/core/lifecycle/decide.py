"""`decide(snapshot, now)`: the whole lifecycle of a component as one pure, total, idempotent function.

The order of the questions is the safety argument. What protects production comes first (finish what was begun, then
`mode: Shadow`, then a new revision), what needs evidence comes last, and each step either plans one thing or passes on.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from rca_rollout.api.common import ComponentPhase, ConditionType, EffectiveMode, Mode
from rca_rollout.api.reasons import Reason
from rca_rollout.core.clock import short
from rca_rollout.core.conditions import reason_of
from rca_rollout.core.epoch import context_of
from rca_rollout.core.lifecycle import (
    approval,
    block,
    confirmation,
    deletion,
    drift,
    evidence,
    finalizer,
    guard,
    harm,
    live,
    observation,
    promotion,
    revision,
    verbs,
)
from rca_rollout.core.lifecycle.draft import Draft
from rca_rollout.core.lifecycle.snapshot import Plan, Snapshot
from rca_rollout.core.problem import Problem
from rca_rollout.core.suites import SuiteFacts, for_guard
from rca_rollout.core.target import TargetView
from rca_rollout.core.workloads import engine_conflict

# ConfigMaps without our watch label send no events: what is missing or broken is looked for again.
POLL = timedelta(seconds=10)


def decide(snapshot: Snapshot, now: datetime) -> Plan:
    """The next step of one component at `now` (aware, UTC). Total: every snapshot has an answer."""
    draft = Draft(snapshot, now)
    if snapshot.component.metadata.deletion_timestamp:
        if not finalizer.held(snapshot.component.metadata):
            # Deleting a component retains the key: the user's ConfigMap stays as it is.
            return Plan(snapshot.component.status)
        deletion.advance(draft)
        return draft.plan()
    _advance(draft)
    live.tell(draft)
    _say_what_is_not_known(draft)
    revision.tell(draft)
    confirmation.tell(draft)
    deletion.keep_finalizer(draft, owns_key=snapshot.claimed_by is None)
    return draft.plan()


def _advance(draft: Draft) -> None:
    revision.look_again(draft)
    _settle_clocks(draft)
    evidence.doubt_the_future(draft)
    verbs.copy(draft)
    target = draft.snapshot.target
    if isinstance(target, Problem):
        _pending(draft, target)
        return
    draft.mode = draft.read_mode(target.value)
    if problem := _claim_problem(draft):
        _pending(draft, problem)
        return
    evidence.read_failure(draft)
    live.watch(draft)
    confirmation.watch(draft, target)
    if draft.intent and promotion.settle(draft, target):
        return
    if _put_back(draft, target):
        return
    if draft.mode is EffectiveMode.UNKNOWN:
        _pending(draft, _unknown_value(draft))
        return
    suite = _suite_of(draft)
    if isinstance(suite, Problem):
        if drift.settle(draft, target):
            return
        _without_suite(draft, suite)
        return
    _with_suite(draft, suite, target)


def _put_back(draft: Draft, target: TargetView) -> bool:
    """What ends the mode Active before evidence is asked for. True when the key is put back."""
    if draft.active and draft.spec.mode is Mode.SHADOW:
        promotion.demote(draft, target, Reason.SHADOW_REQUESTED, "spec.mode is Shadow")
        return True
    if draft.active and (asked := block.overdue(draft)):
        promotion.demote(draft, target, asked.reason, asked.message)
        return True
    if text := live.harm(draft):
        promotion.demote(draft, target, Reason.CONDITION_VIOLATED, text)
        return True
    if revision.settle(draft, target):
        return True
    if draft.active and (text := guard.failed(draft)):
        promotion.demote(draft, target, Reason.GUARD_FAILED, text)
        return True
    if text := confirmation.settle(draft):
        promotion.demote(draft, target, Reason.CONFIRMATION_FAILED, text)
        return True
    return False


def _suite_of(draft: Draft) -> SuiteFacts | Problem:
    """What measures the component now. What is not known to run cannot be measured."""
    running = draft.snapshot.what_runs
    if isinstance(running, Problem):
        return running
    suite = for_guard(draft.snapshot.suite) if draft.active else draft.snapshot.suite
    if isinstance(suite, Problem):
        return suite
    return engine_conflict(suite, running) or suite


def _with_suite(draft: Draft, suite: SuiteFacts, target: TargetView) -> None:
    revision.settle_epoch(draft, suite)
    _settle_context(draft)
    if drift.settle(draft, target):
        return
    approval.settle(draft)
    if not draft.active:
        guard.stop(draft)
    if _suspended(draft):
        return
    if draft.active:
        guard.advance(draft, target)
    elif block.standing(draft) is None and not evidence.follow(draft):
        observation.advance(draft, target)
    if not draft.active and (blocked := block.standing(draft)):
        # Asked again: the run that was read in this very step may be what blocks.
        _stay_blocked(draft, blocked.reason, blocked.message)
    evidence.prune(draft)


def _say_what_is_not_known(draft: Draft) -> None:
    """No condition that people look for is missing, also where the first thing to do is a write that is under way."""
    for kind in (ConditionType.READY, ConditionType.PROMOTED, ConditionType.TARGET_IN_SYNC):
        if reason_of(draft.conditions, kind) is None:
            text = f"not known yet: {draft.key} of ConfigMap {draft.config_map} is being looked at"
            draft.condition(kind, None, Reason.INITIALIZING, text)


def _claim_problem(draft: Draft) -> Problem | None:
    older = draft.snapshot.claimed_by
    if older is None:
        return None
    return Problem(
        Reason.TARGET_CLAIMED,
        f"the key {draft.key} belongs to the older RcaComponent {older} of the same ConfigMap or suite: "
        "give this one a key of its own, or delete the other",
        stalled=True,
    )


def _unknown_value(draft: Draft) -> Problem:
    values = draft.spec.target.values
    return Problem(
        Reason.UNKNOWN_VALUE,
        f"the key {draft.key} of ConfigMap {draft.config_map} holds neither {values.shadow} nor {values.active}: "
        f"set it to {values.shadow}; nothing is written before",
        stalled=True,
    )


def _settle_context(draft: Draft) -> None:
    """Other modes beside this one: the clock goes on, the runs that were counted do not count any more."""
    context = context_of(draft.snapshot.siblings)
    if draft.context == context:
        return
    if draft.context is not None and (draft.evidence.passing or draft.current_run):
        text = "another component of the suite changed: a fresh gate run is needed, and passing runs are counted anew"
        draft.announce(Reason.CONTEXT_CHANGED, text)
        draft.evidence = draft.evidence.evolve(passing=0)
        draft.current_run = None
        draft.retry = None
    if draft.context is not None and draft.active:
        # Beside what was promoted or demoted, what is Active has not been measured yet.
        draft.run_requested_at = draft.now
        harm.clear(draft)
    draft.context = context


def _settle_clocks(draft: Draft) -> None:
    """Suspension stops the clocks, whatever else may be wrong: what has passed of the period is kept, the pause is
    added to its end."""
    since = draft.suspended_at
    if draft.spec.suspend:
        draft.suspended_at = since or draft.now
        return
    if since is None:
        return
    draft.suspended_at = None
    draft.phase = ComponentPhase.PENDING
    if draft.observation and draft.observation.started_at:
        pause = max(
            timedelta(0), draft.now - since
        )  # a clock that was set back must not make the period shorter
        started = draft.observation.started_at + pause
        draft.observation = draft.observation.evolve(started_at=started)
    draft.guard = draft.guard and draft.guard.evolve(since=draft.now)
    draft.announce(Reason.RESUMED, f"spec.suspend was lifted after {short(draft.now - since)}")


def _suspended(draft: Draft) -> bool:
    if not draft.spec.suspend:
        return False
    text = "Active, guard stopped" if draft.active else "nothing is evaluated or promoted"
    reason = Reason.GUARD_STOPPED if draft.active else Reason.SUSPENDED
    if draft.phase is not ComponentPhase.SUSPENDED:
        draft.announce(reason, f"spec.suspend is true: {text}", warning=draft.active)
    draft.phase = ComponentPhase.SUSPENDED
    draft.ready(reason, f"spec.suspend is true: {text}")
    if reason_of(draft.conditions, ConditionType.PROMOTED) in (None, Reason.INITIALIZING):
        draft.condition(ConditionType.PROMOTED, draft.active, reason, f"spec.suspend is true: {text}")
    draft.in_sync()
    return True


def _stay_blocked(draft: Draft, reason: str, message: str) -> None:
    said = draft.transition and draft.transition.reason
    if draft.phase is not ComponentPhase.BLOCKED and said in (None, Reason.CONTEXT_CHANGED):
        draft.announce(reason, message, warning=True)
    draft.phase = ComponentPhase.BLOCKED
    draft.current_run = None
    draft.retry = None
    text = f"stays in Shadow until a new revision, or a retry: {verbs.how(draft, 'retry', verbs.REASON + '=...')}"
    draft.ready(Reason.AS_EXPECTED, text)
    if reason == Reason.ABORTED:
        draft.condition(ConditionType.EVALUATED, None, reason, message)
    if reason == Reason.GATE_FAILED:
        draft.condition(ConditionType.EVALUATED, False, reason, message)
    draft.condition(ConditionType.OBSERVED, False, Reason.NOT_OBSERVED, "this revision is blocked")
    draft.condition(ConditionType.PROMOTED, False, reason, message)
    draft.in_sync()


def _pending(draft: Draft, problem: Problem) -> None:
    if reason_of(draft.old.conditions, ConditionType.READY) != problem.reason:
        draft.announce(problem.reason, problem.message, warning=True)
    draft.phase = ComponentPhase.PENDING
    draft.wake_at(draft.now + POLL)
    draft.not_ready(problem)
    draft.condition(ConditionType.PROMOTED, draft.active, problem.reason, problem.message)
    draft.condition(ConditionType.TARGET_IN_SYNC, None, problem.reason, problem.message)


def _without_suite(draft: Draft, problem: Problem) -> None:
    """No suite, no evidence: in Shadow the component waits; an Active one stays, and says that nothing guards it."""
    if not draft.active:
        _pending(draft, problem)
        draft.in_sync()
        return
    text = f"nothing guards this Active component: {problem.message}"
    if reason_of(draft.old.conditions, ConditionType.READY) != problem.reason:
        draft.announce(problem.reason, text, warning=True)
    draft.phase = ComponentPhase.ACTIVE
    draft.wake_at(draft.now + POLL)
    draft.not_ready(Problem(problem.reason, text, problem.stalled))
    if not draft.spec.suspend:
        guard.degraded(draft)
    draft.in_sync()
