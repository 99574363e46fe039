"""Where the parts of the lifecycle meet: two things that are each right alone, at the same moment.

Aspects: a failed guard run beside a change of what it was about, wrong clocks in each waiting state, shards and the judge,
runs that cannot start before others that can, statuses of before, what a person is told.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from rca_testing import job_states, samples, suites
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


def test_a_place_that_a_budget_has_reserved_is_free_while_what_runs_is_not_known() -> None:
    line = turns([waiting("a", 0, "ImagesDiffer"), waiting("b", 1, "WaitingForTurn")], (), reserved={"a"})
    assert not line.holding
    assert line.next(1) == ("b",)


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
