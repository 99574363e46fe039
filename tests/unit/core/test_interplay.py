"""Where the parts of the lifecycle meet: two things that are each right alone, at the same moment.

Aspects: a failed guard run beside a change of what it was about, wrong clocks in each waiting state, shards and the judge,
runs that cannot start before others that can, statuses of before, what a person is told.
"""

from __future__ import annotations

import copy
from datetime import timedelta
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rca_testing import job_states, samples, suites
from rca_testing.evidence import KEY
from rca_testing.lifecycle_world import START, World
from rca_testing.run_world import Road

from rca_rollout.api.common import ComponentPhase, ConditionType
from rca_rollout.api.reasons import Reason
from rca_rollout.api.revision import WorkloadKind, WorkloadRef
from rca_rollout.api.values import format_time
from rca_rollout.core.admission import ELSEWHERE, turns
from rca_rollout.core.budget import judged
from rca_rollout.core.problem import Problem
from rca_rollout.core.revision import Running, Unsettled
from rca_rollout.core.runs import CreateJob
from rca_rollout.core.suites import StaleSuite
from rca_rollout.core.workloads import REVISION_ANNOTATION, view_workload

A, B = ("sha256:" + letter * 64 for letter in "ab")
R6, R7 = Running("r6", f"agent@{A}", A), Running("r7", f"agent@{B}", B)
SIX = "agent:v6@sha256:aaaaaaaaaaaa"
TARGET = samples.minimal("RcaComponent")["spec"]["target"]
BOUND = {**TARGET, "values": {"shadow": "Shadow", "active": "Active@{revision}"}}
HOLD = {"onNewRevision": "Hold"}
GONE = Problem(Reason.SUITE_NOT_FOUND, "EvalSuite suite does not exist")


def guarded(**spec: Any) -> World:
    """Active, with a guard run under way."""
    live = World(**spec).promoted()
    live.settle()
    live.pass_time(hours=2)
    live.settle()
    assert live.status.current_run is not None
    assert live.status.current_run.trigger == "Guard"
    return live


def held(running: Running = R6) -> World:
    """Promoted under a word that names the revision, with onNewRevision Hold."""
    live = World(target=BOUND, promotion=HOLD)
    live.edit(revision=running.revision)
    live.running = running
    live.observe_to_the_end()
    assert live.value == f"Active@{running.revision}"
    return live


def roll(live: World, running: Running) -> None:
    live.running = running
    live.edit(revision=running.revision)
    live.pass_time(seconds=10)
    live.settle()


def promoted(live: World) -> str:
    found = live.status.condition(ConditionType.PROMOTED)
    assert found is not None
    return f"{found.reason}: {found.message}"


# -- a failed guard run, and in the same moment ...


@pytest.mark.parametrize("suite", [GONE, suites.other_dataset()])
def test_a_failed_guard_run_demotes_though_its_suite_went_or_changed_in_the_same_moment(suite: Any) -> None:
    live = guarded()
    live.end_run("Failed")
    live.suite = suite
    live.settle()
    assert live.value == "Shadow"
    assert live.status.demotion is not None
    assert live.status.demotion.cause == Reason.GUARD_FAILED


def test_a_failed_guard_run_demotes_though_it_is_not_known_what_runs_in_that_moment() -> None:
    live = guarded()
    live.end_run("Failed")
    live.running = Unsettled(Reason.WORKLOAD_NOT_RUNNING, "scaled to 0", stalled=True)
    live.settle()
    assert live.value == "Shadow"


def test_with_alert_a_failed_guard_run_switches_nothing_without_a_suite_either() -> None:
    live = guarded(guard={"interval": "1h", "onRegression": "Alert"})
    live.end_run("Failed")
    live.suite = GONE
    live.settle()
    assert live.value == "Active"
    assert live.why(ConditionType.DEGRADED) == ("True", Reason.GUARD_FAILED)


def test_a_revision_whose_guard_run_failed_as_it_was_replaced_is_not_held() -> None:
    live = held()
    live.pass_time(hours=2)
    live.settle()
    live.end_run("Failed")
    roll(live, R7)
    assert live.value == "Shadow"
    assert live.status.held is None
    roll(live, R6)
    assert live.status.mode == "Shadow"
    assert Reason.GOVERNS_AGAIN not in live.reasons


# -- clocks


@pytest.mark.parametrize("cause", ["adopted", "other data"])
def test_a_demotion_by_hand_is_carried_out_though_the_clock_was_set_back_since_the_promotion(
    cause: str,
) -> None:
    live = World()
    if cause == "adopted":
        live.write("Active")
        live.settle()
    else:
        live.promoted()
        live.suite = suites.other_dataset()
        live.settle()
    live.pass_time(hours=-1)
    live.ask("demote")
    live.settle()
    assert live.answer("demote").result == "Accepted"
    assert live.value == "Shadow"


def test_a_demotion_that_was_undone_is_made_again_soon_though_the_clock_was_set_back() -> None:
    live = World().promoted()
    live.edit(mode="Shadow")
    while not live.writes or live.writes[-1].value != "Shadow":
        live.step()
    assert live.status.intent is not None
    live.written = True
    live.write("Active")
    live.pass_time(hours=-1)
    live.step()
    live.written = False
    live.settle()
    assert live.value == "Shadow"


def test_a_deletion_is_not_kept_for_longer_by_a_clock_that_was_set_back() -> None:
    live = World(deletionPolicy="RevertToShadow").promoted()
    live.settle()
    live.delete()
    live.step()
    assert live.config_map is not None
    live.pass_time(hours=-1)
    for _ in range(90):
        live.write("Active")
        live.step()
        live.write("Active")
        live.pass_time(seconds=5)
        if live.gone:
            break
    assert live.gone


# -- somebody else's words


def test_a_word_for_active_that_comes_before_there_is_a_suite_is_taken_back_where_the_policy_says_so() -> (
    None
):
    live = World(driftPolicy="Revert")
    live.suite = GONE
    live.settle()
    assert live.status.mode == "Shadow"
    live.pass_time(minutes=5)
    live.write("Active")
    live.settle()
    assert live.value == "Shadow"


def test_a_switch_to_shadow_by_somebody_is_held_to_also_while_the_suite_is_missing() -> None:
    live = World().promoted()
    live.suite = GONE
    live.settle()
    live.pass_time(minutes=1)
    live.write("Shadow")
    live.settle()
    assert live.status.promotion is None
    assert live.status.block is not None
    assert live.status.block.reason == Reason.EXTERNAL
    live.suite = suites.facts()
    live.settle()
    assert live.phase is ComponentPhase.BLOCKED


# -- statuses of before


def test_what_was_promoted_before_its_identity_was_kept_is_put_back_when_an_input_changes() -> None:
    before, after = (
        Running("v1", None, None, (("input a", "1"),)),
        Running("v1", None, None, (("input a", "2"),)),
    )
    live = World()
    live.running = before
    live.promoted()
    live.settle()
    del live.component["status"]["promotion"]["running"]
    live.settle()
    live.running = after
    live.pass_time(seconds=10)
    live.settle()
    assert live.value == "Shadow"


# -- what a person is told


def test_a_run_that_waits_for_its_turn_or_a_budget_says_so_where_the_component_is_looked_at() -> None:
    live = World()
    live.run_and_pass()
    live.pass_time(minutes=31)
    live.settle()
    current = live.status.current_run
    assert current is not None
    text = "the budget of 2026-11 has no room for another run: it begins anew at 2026-12-01T00:00:00Z"
    waiting = {"phase": "Pending", "reason": "BudgetExceeded", "message": text}
    live.runs[current.name] = {**live.runs[current.name], "status": waiting}
    live.settle()
    assert promoted(live).startswith("BudgetExceeded: ")
    assert "begins anew at 2026-12-01" in promoted(live)
    writes = live.status_writes
    live.pass_time(minutes=1)
    live.settle()
    assert live.status_writes == writes


# -- a workload whose template is edited out of sight


def template(*containers: tuple[str, str], revision: str | None = None) -> dict[str, Any]:
    annotations = {REVISION_ANNOTATION: revision} if revision else {}
    return {
        "metadata": {"name": "agent", "uid": "w1", "generation": 3},
        "spec": {
            "template": {
                "metadata": {"annotations": annotations},
                "spec": {"containers": [{"name": name, "image": image} for name, image in containers]},
            }
        },
        "status": {"observedGeneration": 3},
    }


def viewed(body: dict[str, Any], *, container: str | None = None, named: bool = False) -> Running | Problem:
    ref = WorkloadRef(kind=WorkloadKind.DEPLOYMENT, name="agent", container=container)
    return view_workload(ref, body, (), START, named=named)


@pytest.mark.parametrize(
    ("found", "value"),
    [
        # The container that counts is gone, or another one may be it: what comes was not promoted.
        (viewed(template(("engine2", "agent:v7")), container="engine"), "Shadow"),
        (viewed(template(("engine", "agent:v7"), ("proxy", "proxy:1"))), "Shadow"),
        # What was promoted may still be there, and it is not known: no reason to switch.
        (viewed(template(("engine", "agent:v6"), ("proxy", "proxy:1"))), "Active"),
        (viewed(template(("engine", "agent:v6"), ("proxy", "proxy:1"), revision=SIX)), "Active"),
        (viewed(template(("engine", "agent:v6"), ("proxy", "proxy:1"), revision="r7")), "Shadow"),
    ],
)
def test_a_template_that_cannot_be_what_was_promoted_does_not_govern_for_want_of_a_container(
    found: Problem, value: str
) -> None:
    live = World()
    live.edit(revision=SIX)
    live.running = Running(SIX, f"agent@{A}", A)
    live.promoted()
    live.settle()
    live.running = found
    live.pass_time(seconds=10)
    live.settle()
    assert live.value == value
    assert found.reason == Reason.CONTAINER_NOT_FOUND
    assert found.message in str(live.status.condition(ConditionType.READY).message)  # type: ignore[union-attr]


def test_a_template_that_lost_its_name_does_not_govern_under_the_promoted_one() -> None:
    live = World(target=BOUND)
    live.edit(revision="r6")
    live.running = R6
    live.observe_to_the_end()
    assert live.value == "Active@r6"
    live.running = viewed(template(("engine", "agent:v7")), named=True)
    live.pass_time(seconds=10)
    live.settle()
    assert live.value == "Shadow"


# -- runs that cannot start, or cannot be judged, and those behind them


def waiting(uid: str, minutes: float, reason: str, **more: Any) -> dict[str, Any]:
    made = format_time(START + timedelta(minutes=minutes))
    status = {"phase": "Pending", "reason": reason, **more}
    return {"metadata": {"name": uid, "uid": uid, "creationTimestamp": made}, "spec": {}, "status": status}


def test_a_run_whose_workload_is_stuck_keeps_nobody_from_its_turn_and_has_its_own_when_it_is_not() -> None:
    stuck, behind = waiting("a", 0, "RolloutStuck"), waiting("b", 1, "WaitingForTurn")
    line = turns([stuck, behind], ())
    assert line.next(1) == ("b",)
    assert line.problem("b", 1) is None
    assert line.problem("a", 1) is None  # who asks does not wait for anything else any more
    running = {**behind, "status": {"phase": "Running"}}
    assert turns([stuck, running], ()).problem("a", 1) is not None
    assert turns([waiting("a", 2, "RolloutStuck"), behind], ()).problem("a", 1) is not None


def test_what_is_reserved_or_was_just_started_holds_its_place_whatever_the_watch_still_says() -> None:
    line = turns([waiting("a", 0, "ImagesDiffer"), waiting("b", 1, "WaitingForTurn")], (), reserved={"a"})
    assert line.holding == {"a"}
    assert line.next(1) == ()
    assert line.problem("a", 1) is None


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 2000), st.sampled_from(["RolloutStuck", "WaitingForTurn", "RunPending"])),
        min_size=1,
        max_size=12,
    ),
    st.integers(1, 4),
)
def test_whoever_steps_aside_never_more_start_than_may_and_no_place_stays_empty(
    made: list[tuple[int, str]], limit: int
) -> None:
    runs = [waiting(f"r{at}", minutes, reason) for at, (minutes, reason) in enumerate(made)]
    begun: set[str] = set()
    for body in [*runs, *runs]:  # each asks in turn, as one process lets them
        uid = body["metadata"]["uid"]
        if turns(runs, (), reserved=begun).problem(uid, limit) is None:
            begun.add(uid)
    assert len(begun) == min(limit, len(runs))


def test_a_job_that_began_holds_its_place_whatever_its_run_waits_for() -> None:
    job = waiting("a", 0, "RolloutStuck", jobRef={"name": "j"})
    assert turns([job], ()).holding == {"a"}


def test_every_reason_for_not_knowing_what_runs_stands_aside() -> None:
    views = [
        viewed(template(("e", "a:1")), container="x"),
        viewed(template(("e", "a:1")), named=True),
        viewed(template(("e", "a:1"))),
        view_workload(WorkloadRef(kind=WorkloadKind.DAEMON_SET, name="n"), None, (), START, named=False),
        R6,
    ]
    found = [one.reason for one in views if isinstance(one, Problem)]
    assert len(found) == 4
    assert set(found) <= ELSEWHERE


def test_a_job_that_has_ended_does_not_hold_its_place_for_as_long_as_a_rollout_is_stuck() -> None:
    road = Road().running()
    road.what_runs = Unsettled(
        Reason.ROLLOUT_STUCK, "Deployment agent is half rolled: it is paused", stalled=True
    )
    road.now += timedelta(hours=1)
    road.settle()
    assert road.status.phase == "Running"  # its Job is at work: in a minute the same may run
    road.job_ends(job_states.condition("Complete", at=road.now), pods=[job_states.succeeded(3)])
    road.settle()
    assert road.status.phase == "Running"
    road.now += timedelta(hours=1)
    road.settle()
    assert road.status.phase == "Superseded"
    assert "it is paused" in road.status.message


def test_a_run_on_data_of_before_gives_its_place_free_for_guard_runs_on_a_stale_baseline() -> None:
    road = Road().running()
    facts = suites.other_dataset()
    road.suite = StaleSuite(Reason.BASELINE_STALE, "renew it", facts=facts)
    road.settle()
    assert road.status.phase == "Superseded"


# -- shards and the judge


@pytest.mark.parametrize(("taken", "now"), [(3, 1), (1, 3)])
def test_whether_a_judge_is_asked_follows_from_the_shards_that_the_run_has_taken(
    taken: int, now: int
) -> None:
    judge = {"endpoint": "https://llm.example/v1", "model": "m", "secretRef": {"name": "llm", "key": "key"}}
    more = {"judge": judge, "schedule": {"cron": "0 3 * * *", "judge": True}}

    def suite(shards: int) -> Any:
        return suites.facts(job={"shards": shards}, **more)

    road = Road(trigger="Scheduled", componentRef=None, epoch=None, context=None)
    road.component = None
    road.suite = suite(taken)
    road.step()
    assert road.status.inputs is not None
    count = road.status.inputs.shards or 1
    assert count == min(taken, len(road.suite.dataset.incidents))
    road.suite = suite(now)
    for _ in range(4):
        plan = road.step()
        for action in plan.actions:
            if isinstance(action, CreateJob):
                text = str(action.body)
                assert ("'completionMode': 'Indexed'" in text) == (count > 1)
                assert ("'name': 'judge'" in text) == (count == 1)
                assert judged(road.body, road.suite.spec) == (count == 1)
                return
    raise AssertionError("no Job was made")


# -- rolled forth and back


def test_what_governs_again_is_not_called_unguarded_since_its_promotion() -> None:
    live = held()
    live.settle()
    roll(live, R7)
    live.pass_time(days=2)
    live.settle()
    roll(live, R6)
    assert Reason.GOVERNS_AGAIN in live.reasons
    assert live.why(ConditionType.DEGRADED) is None
    assert Reason.GUARD_BLIND not in live.reasons


def test_what_governs_again_and_is_never_measured_is_called_unguarded_in_time() -> None:
    live = held()
    roll(live, R7)
    live.pass_time(days=2)
    roll(live, R6)
    live.pass_time(hours=3)
    live.settle()
    assert live.why(ConditionType.DEGRADED) == ("True", Reason.GUARD_BLIND)


@pytest.mark.parametrize("days", [0, 2])
def test_suspended_over_a_rollback_nothing_is_evaluated_and_the_guard_is_said_to_be_stopped(
    days: int,
) -> None:
    live = held()
    roll(live, R7)
    live.edit(suspend=True)
    live.pass_time(days=days)
    roll(live, R6)
    assert live.status.mode == "Active"
    assert live.phase is ComponentPhase.SUSPENDED
    assert live.why(ConditionType.READY) == ("True", Reason.GUARD_STOPPED)
    live.edit(suspend=False)
    live.settle()
    assert live.status.current_run is not None
    assert live.status.current_run.trigger == "Guard"
    assert live.why(ConditionType.DEGRADED) is None


def test_blocked_by_errors_the_next_revision_leaves_the_held_one_to_govern_again() -> None:
    live = held()
    roll(live, R7)
    for _ in range(5):
        live.settle()
        if live.status.current_run is None:
            live.now = max(live.now, live.wake or live.now)
            live.settle()
        live.end_run("Error", reason="Crashed")
        live.settle()
    assert live.status.block is not None
    assert live.status.block.reason == Reason.EVAL_ERRORS
    assert live.value == "Active@r6"
    roll(live, R6)
    assert live.status.block is None
    assert live.phase is ComponentPhase.ACTIVE
    roll(live, R7)
    assert (
        live.phase is ComponentPhase.EVALUATING
    )  # another epoch ends a block: what was held is on record in Events


# -- a new object under an old name


def test_a_config_map_that_is_made_anew_with_active_in_it_is_what_was_promoted_and_with_shadow_is_external() -> (
    None
):
    for value, promoted_still in (("Active", True), ("Shadow", False)):
        live = World().promoted()
        before, live.config_map = live.config_map, None
        live.settle()
        assert live.phase is ComponentPhase.PENDING
        assert before is not None
        data = {**before["data"], KEY: value}
        live.config_map = {**before, "metadata": {**before["metadata"], "uid": "another"}, "data": data}
        live.settle()
        assert (live.status.promotion is not None) == promoted_still
        assert live.status.mode == value


def test_a_config_map_that_is_made_anew_with_active_in_it_while_the_intent_stands_was_not_our_doing() -> None:
    live = World()
    for _ in range(300):
        live.step()
        if live.status.intent is not None:
            break
        if live.status.current_run and live.status.current_run.name in live.runs:
            live.end_run("Passed")
        elif live.wake and live.wake > live.now:
            live.now = live.wake
    assert live.status.intent is not None
    assert live.config_map is not None
    metadata = {**live.config_map["metadata"], "uid": "another"}
    live.config_map = {
        **live.config_map,
        "metadata": metadata,
        "data": {**live.config_map["data"], KEY: "Active"},
    }
    live.settle()
    assert live.status.promotion is not None
    assert live.status.promotion.cause == Reason.ACTIVE_WITHOUT_EVIDENCE


# -- a clock that is set back by an hour, in each state that waits


@pytest.mark.parametrize(
    "state", ["gate", "observing", "approval", "blocked", "active", "suspended", "retry", "held"]
)
def test_set_back_by_an_hour_nothing_is_promoted_for_it_and_nothing_hangs(state: str) -> None:
    live = held() if state == "held" else World()
    match state:
        case "gate":
            live.settle()
        case "observing" | "suspended":
            live.run_and_pass()
            live.edit(suspend=state == "suspended")
        case "approval":
            live.edit(promotion={"approval": "Manual"})
            for _ in range(12):
                live.go_on()
            assert live.phase is ComponentPhase.AWAITING_APPROVAL
        case "blocked":
            live.settle()
            live.end_run("Failed")
        case "active":
            live.promoted()
        case "retry":
            live.settle()
            live.end_run("Error", reason="ImagePullFailed")
        case "held":
            roll(live, R7)
    live.settle()
    phase, value, writes = live.phase, live.value, len(live.writes)
    live.pass_time(hours=-1)
    live.settle()
    assert (live.value, len(live.writes)) == (value, writes)
    # By the clock the period is not over any more, so the approval that is asked for is asked for again when it is.
    assert live.phase == (ComponentPhase.OBSERVING if state == "approval" else phase)
    if state == "suspended":
        live.edit(suspend=False)
    if state == "approval":
        live.ask("approve")
    if state == "blocked":
        live.ask("retry", reason="again")
    for _ in range(40):
        live.go_on()
        if live.phase is ComponentPhase.ACTIVE and state != "active":
            break
        if state == "approval" and live.phase is ComponentPhase.AWAITING_APPROVAL:
            live.ask("approve", str(live.now.timestamp()))
    assert live.phase is ComponentPhase.ACTIVE


# -- a status that somebody wrote by hand: what is believed, and what is not (docs/operations.md)


def test_what_a_status_claims_is_never_enough_for_another_epoch_context_or_identity() -> None:
    live = World().promoted()
    claimed = copy.deepcopy(live.component["status"])
    other = World(revision="v2")
    for part in ("evidence", "observation", "promotion", "mode", "phase"):
        other.component.setdefault("status", {})[part] = claimed[part]
    other.settle()
    assert other.value == "Shadow"
    assert other.status.evidence is None or other.status.evidence.passing == 0
    other.write("Active")
    other.settle()
    assert other.status.promotion is None or other.status.promotion.cause != Reason.PROMOTED


def test_evidence_that_a_status_claims_for_what_runs_is_believed() -> None:
    live = World()
    live.run_and_pass()
    live.pass_time(hours=3)
    status = live.component["status"]
    run = {**status["evidence"]["runs"][0], "startedAt": format_time(live.now)}
    claim = {"passing": 3, "runs": [run, run, run]}
    live.component = {**live.component, "status": {**status, "evidence": claim}}
    for _ in range(5):
        live.settle()
    assert live.value == "Active"


FIELDS = ("running", "imageDigest", "epochParts", "held", "confirmation", "guard", "drift", "context", "runsStarted", "evidence", "mode",
          "promotion", "conditionReadings", "verbs", "attempts", "epoch", "revision", "observation", "phase", "conditions")  # fmt: skip


@settings(deadline=None, max_examples=30)
@given(st.sets(st.sampled_from(FIELDS)), st.sets(st.sampled_from(FIELDS)), st.booleans())
def test_of_a_status_by_another_version_whatever_is_missing_or_unreadable_nothing_new_governs(
    missing: set[str], unreadable: set[str], word: bool
) -> None:
    live = _promoted(word)
    status = copy.deepcopy(live.component["status"])
    for field in missing:
        status.pop(field, None)
    for field in unreadable & set(status):
        status[field] = {"of": "another version"} if not isinstance(status[field], dict) else ["unreadable"]
    live.component = {**live.component, "status": {**status, "addedLater": {"by": "a newer one"}}}
    live.settle()
    assert live.status.mode == ("Active" if live.value == f"Active{'@r6' if word else ''}" else "Shadow")
    roll(live, R7)
    for _ in range(3):
        live.settle()
    governs = live.value == ("Active@r7" if word else "Active")
    assert not governs or (
        live.status.promotion is not None and live.status.promotion.cause != Reason.PROMOTED
    )
    if not {"promotion", "mode"} & (missing | unreadable):
        assert live.value == "Shadow"


@cache
def _begun(word: bool) -> World:
    live = World(**({"target": BOUND} if word else {}))
    live.edit(revision="r6")
    live.running = R6
    live.observe_to_the_end()
    return live


def _promoted(word: bool) -> World:
    return copy.deepcopy(_begun(word))


def test_a_guard_run_that_waits_says_for_what_where_the_guard_is_called_blind() -> None:
    live = guarded()
    assert live.status.current_run is not None
    name = live.status.current_run.name
    waits = {"phase": "Pending", "reason": "BudgetExceeded", "message": "the budget of 2026-11 has no room"}
    live.runs[name] = {**live.runs[name], "status": waits}
    live.pass_time(hours=3)
    live.settle()
    degraded = live.status.condition(ConditionType.DEGRADED)
    assert degraded is not None
    assert degraded.reason == Reason.GUARD_BLIND
    assert "the budget of 2026-11 has no room" in degraded.message
