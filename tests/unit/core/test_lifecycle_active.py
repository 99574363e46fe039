"""Active: guarded by the same evaluation; back to Shadow on a regression, on request, and for a new revision."""

from __future__ import annotations

import copy
from datetime import timedelta

import pytest
from rca_testing import suites
from rca_testing.config_maps import target
from rca_testing.lifecycle_world import Crash, World, sibling

from rca_rollout.api.common import ComponentPhase, ConditionType
from rca_rollout.core.problem import Problem


@pytest.fixture(scope="module")
def _promoted() -> World:
    return World().promoted()


@pytest.fixture
def world(_promoted: World) -> World:
    return copy.deepcopy(_promoted)


def guard_fails(world: World) -> None:
    while not (world.status.current_run and world.status.current_run.name in world.runs):
        world.go_on()
    world.end_run("Failed", message="AC@1 0.889 < 1.000 - 0.02 (GT-03 lost)")
    world.settle()


def test_a_guard_run_comes_an_interval_after_the_last_measurement(world: World) -> None:
    assert world.status.evidence
    last = world.status.evidence.runs[-1].started_at
    assert last
    assert world.wake == last + timedelta(hours=1)
    world.now = world.wake
    world.settle()
    assert world.runs[world.created[-1]]["spec"]["trigger"] == "Guard"
    world.run_and_pass()
    assert world.phase is ComponentPhase.ACTIVE
    assert world.why(ConditionType.READY) == ("True", "AsExpected")


def test_between_two_guard_runs_nothing_is_written(world: World) -> None:
    written = world.status_writes
    for _ in range(10):
        world.pass_time(minutes=5)
        world.step()
    assert world.status_writes == written


def test_a_regression_demotes_and_the_same_epoch_is_not_promoted_again(world: World) -> None:
    guard_fails(world)
    assert (world.phase, world.value) == (ComponentPhase.BLOCKED, "Shadow")
    assert world.why(ConditionType.PROMOTED) == ("False", "GuardFailed")
    assert "GT-03 lost" in next(t.message for t in world.told if t.reason == "Demoted")
    assert [w.value for w in world.writes] == ["Active", "Shadow"]
    runs = len(world.created)
    world.pass_time(days=3)
    world.settle()
    assert (world.phase, len(world.created), world.wake) == (ComponentPhase.BLOCKED, runs, None)


@pytest.mark.parametrize("crash", Crash)
@pytest.mark.parametrize("at", range(4))
def test_a_crash_during_a_demotion_does_not_lose_it(world: World, crash: Crash, at: int) -> None:
    while not (world.status.current_run and world.status.current_run.name in world.runs):
        world.go_on()
    world.end_run("Failed")
    for step in range(8):
        world.step(crash if step == at else None)
    world.settle()
    assert (world.phase, world.value) == (ComponentPhase.BLOCKED, "Shadow")
    assert [w.value for w in world.writes] == ["Active", "Shadow"]


def test_alert_switches_nothing_says_it_once_and_goes_on_measuring_until_it_is_well(world: World) -> None:
    world.edit(guard={"interval": "1h", "onRegression": "Alert"})
    guard_fails(world)
    assert world.value == "Active"
    assert world.why(ConditionType.PROMOTED) == ("True", "GuardFailed")
    guard_fails(world)
    assert world.reasons.count("GuardFailed") == 1
    world.go_on()
    world.go_on()
    assert world.why(ConditionType.PROMOTED) == ("True", "Promoted")


def test_a_guard_run_without_a_verdict_switches_nothing_and_comes_again(world: World) -> None:
    world.now += timedelta(hours=1)
    world.settle()
    world.end_run("Inconclusive", reason="RepeatsDiffer")
    world.settle()
    assert (world.phase, world.value) == (ComponentPhase.ACTIVE, "Active")
    assert world.wake == world.now + timedelta(seconds=10)


def test_mode_shadow_demotes_at_once(world: World) -> None:
    world.edit(mode="Shadow")
    world.settle()
    assert world.value == "Shadow"
    assert world.status.demotion
    assert world.status.demotion.cause == "ShadowRequested"


def _without_suite(world: World) -> None:
    world.suite = Problem("SuiteNotFound", "create it")


def _suspended(world: World) -> None:
    world.edit(suspend=True)


def _in_a_run(world: World) -> None:
    world.now += timedelta(hours=1)
    world.settle()


def _from_git(world: World) -> None:
    assert world.config_map
    owned = {"f:data": {"f:RcaLiveActivation.Mode": {}}}
    world.config_map["metadata"]["managedFields"] = [
        {"manager": "argocd-controller", "operation": "Apply", "fieldsV1": owned}
    ]


@pytest.mark.parametrize("also", [_without_suite, _suspended, _in_a_run, _from_git])
def test_mode_shadow_is_honoured_whatever_else_is_wrong(world: World, also: object) -> None:
    also(world)  # type: ignore[operator]
    world.settle()
    world.edit(mode="Shadow")
    world.settle()
    assert world.value == "Shadow"


def test_a_demotion_is_on_the_way_until_it_is_read_back(world: World) -> None:
    world.edit(mode="Shadow")
    world.step()
    assert world.why(ConditionType.PROMOTED) == ("True", "Demoting")
    assert world.status.demotion is None
    world.settle()
    assert world.why(ConditionType.PROMOTED) == ("False", "Held")
    assert world.reasons[-1] == "Demoted"


def test_a_demotion_by_hand_does_not_wash_a_failure_away(world: World) -> None:
    """Alert, then Shadow and Active again by hand: the same epoch would run until green."""
    world.edit(guard={"interval": "1h", "onRegression": "Alert"})
    guard_fails(world)
    world.edit(mode="Shadow")
    world.settle()
    assert world.value == "Shadow"
    world.edit(mode="Active")
    world.settle()
    world.observe_to_the_end()
    assert (world.phase, world.value) == (ComponentPhase.BLOCKED, "Shadow")


def test_a_new_revision_shadows_first_and_is_promoted_on_its_own_evidence(world: World) -> None:
    runs = len(world.created)
    world.edit(revision="v2")
    world.step()
    assert world.status.intent
    assert world.status.intent.value == "Shadow"
    world.settle()
    assert (world.phase, world.value) == (ComponentPhase.EVALUATING, "Shadow")
    assert world.status.evidence is None
    world.promoted()
    assert world.status.promotion
    assert world.status.promotion.revision == "v2"
    assert len(world.created) - runs >= 5


def test_a_changed_suite_leaves_it_active_and_measures_at_once(world: World) -> None:
    runs = len(world.created)
    world.suite = suites.other_dataset()
    world.settle()
    assert (world.phase, world.value) == (ComponentPhase.ACTIVE, "Active")
    assert len(world.created) == runs + 1


def test_another_sibling_leaves_it_active_and_measures_at_once(world: World) -> None:
    runs = len(world.created)
    world.siblings = (sibling("Active"),)
    world.settle()
    assert (world.phase, world.value) == (ComponentPhase.ACTIVE, "Active")
    assert len(world.created) == runs + 1


def test_without_a_suite_it_stays_active_and_says_that_nothing_guards_it(world: World) -> None:
    _without_suite(world)
    world.settle()
    assert (world.phase, world.value) == (ComponentPhase.ACTIVE, "Active")
    ready = world.status.condition(ConditionType.READY)
    assert ready
    assert (ready.status, ready.reason) == ("False", "SuiteNotFound")
    assert "nothing guards" in ready.message
    written = world.status_writes
    world.pass_time(minutes=5)
    world.settle()
    assert world.status_writes == written


def test_a_foreign_write_to_shadow_is_respected_until_a_new_revision(world: World) -> None:
    world.write("Shadow")
    world.settle()
    assert (world.phase, world.value) == (ComponentPhase.BLOCKED, "Shadow")
    assert world.why(ConditionType.PROMOTED) == ("False", "External")
    world.pass_time(days=2)
    world.settle()
    assert [w.value for w in world.writes] == ["Active"]
    world.edit(revision="v2")
    world.promoted()


def test_a_key_removed_by_somebody_else_is_a_write_to_shadow(world: World) -> None:
    world.write(None)
    world.settle()
    assert world.why(ConditionType.PROMOTED) == ("False", "External")
    assert world.value is None


def test_a_foreign_write_to_shadow_together_with_a_new_revision_does_not_block_the_new_one(
    world: World,
) -> None:
    world.write("Shadow")
    world.edit(revision="v2")
    world.settle()
    assert world.phase is ComponentPhase.EVALUATING
    world.promoted()


def test_a_foreign_write_to_shadow_together_with_a_new_dataset_is_respected(world: World) -> None:
    world.write("Shadow")
    world.suite = suites.other_dataset()
    world.settle()
    world.observe_to_the_end()
    assert (world.phase, world.value) == (ComponentPhase.BLOCKED, "Shadow")


def test_an_unknown_value_is_left_alone(world: World) -> None:
    world.write("Canary")
    world.settle()
    assert world.why(ConditionType.STALLED) == ("True", "UnknownValue")
    world.edit(mode="Shadow")
    world.settle()
    assert world.value == "Canary"


def test_active_at_first_sight_is_adopted_and_measured_at_once() -> None:
    world = World()
    world.config_map = target("Active")
    world.settle()
    assert world.phase is ComponentPhase.ACTIVE
    assert world.why(ConditionType.PROMOTED) == ("True", "Adopted")
    assert world.reasons == ["Adopted"]
    assert world.runs[world.created[0]]["spec"]["trigger"] == "Guard"
    assert world.writes == []


def test_what_was_adopted_and_fails_is_put_back() -> None:
    world = World()
    world.config_map = target("Active")
    guard_fails(world)
    assert (world.phase, world.value) == (ComponentPhase.BLOCKED, "Shadow")


def test_a_foreign_write_to_active_in_the_middle_of_an_observation_is_measured_at_once() -> None:
    world = World()
    world.run_and_pass()
    world.pass_time(minutes=1)
    world.write("Active")
    world.settle()
    assert world.why(ConditionType.PROMOTED) == ("True", "ActiveWithoutEvidence")
    assert len(world.created) == 2
    assert world.runs[world.created[-1]]["spec"]["trigger"] == "Guard"
    world.run_and_pass()
    assert len(world.created) == 2  # and then an interval later


def test_a_target_that_vanishes_is_pending_and_is_found_again(world: World) -> None:
    kept, world.config_map = world.config_map, None
    world.settle()
    assert world.phase is ComponentPhase.PENDING
    assert world.why(ConditionType.READY) == ("False", "TargetNotFound")
    world.config_map = kept
    world.settle()
    assert world.phase is ComponentPhase.ACTIVE
    assert world.status.promotion
    assert world.status.promotion.cause == "Promoted"
