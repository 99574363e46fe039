"""Suspended: nothing is created or promoted, clocks stand still, and the wish for Shadow is still honoured."""

from __future__ import annotations

from datetime import timedelta

from rca_testing import suites
from rca_testing.lifecycle_world import START, World

from rca_rollout.api.common import ComponentPhase, ConditionType
from rca_rollout.core.problem import Problem

GATE_PASSED = START + timedelta(minutes=1)


def observing() -> World:
    world = World()
    world.run_and_pass()
    return world


def test_nothing_is_created_while_suspended_and_nothing_is_written_twice() -> None:
    world = World(suspend=True)
    world.settle()
    assert world.phase is ComponentPhase.SUSPENDED
    assert world.why(ConditionType.READY) == ("True", "Suspended")
    written = world.status_writes
    world.pass_time(days=1)
    world.settle()
    assert (world.created, world.status_writes, world.wake) == ([], written, None)
    world.edit(suspend=False)
    world.settle()
    assert world.phase is ComponentPhase.EVALUATING
    assert "Suspended" in world.reasons


def test_the_pause_is_added_to_the_end_of_the_period() -> None:
    world = observing()
    world.pass_time(minutes=9)
    world.edit(suspend=True)
    world.settle()
    world.pass_time(hours=5)
    world.edit(suspend=False)
    world.settle()
    assert world.status.observation
    assert world.status.observation.started_at == GATE_PASSED + timedelta(hours=5)
    assert world.status.suspended_at is None
    world.observe_to_the_end()
    assert world.value == "Active"
    assert world.now >= GATE_PASSED + timedelta(hours=7)


def test_the_clock_stands_still_from_the_wish_on_even_when_the_suite_is_gone_meanwhile() -> None:
    world = observing()
    world.suite = Problem("SuiteNotFound", "create it")
    world.edit(suspend=True)
    world.settle()
    world.pass_time(hours=5)
    world.suite = suites.facts()
    world.settle()
    assert world.phase is ComponentPhase.SUSPENDED
    world.pass_time(hours=1)
    world.suite = Problem("SuiteNotFound", "create it")
    world.edit(suspend=False)
    world.settle()
    world.pass_time(hours=1)
    world.suite = suites.facts()
    world.settle()
    assert world.status.observation
    assert world.status.observation.started_at == GATE_PASSED + timedelta(hours=6)


def test_a_run_that_ends_during_the_suspension_is_read_after_it() -> None:
    world = World()
    world.settle()
    world.edit(suspend=True)
    world.settle()
    world.end_run("Passed")
    world.settle()
    assert world.status.evidence is None
    world.edit(suspend=False)
    world.settle()
    assert world.phase is ComponentPhase.OBSERVING


def test_a_closing_run_from_before_the_pause_does_not_close_what_was_prolonged_by_it() -> None:
    world = observing()
    while world.runs[world.created[-1]]["spec"]["trigger"] != "Closing":
        world.go_on()
    world.edit(suspend=True)
    world.settle()
    world.pass_time(hours=1)
    world.end_run("Passed")
    world.edit(suspend=False)
    world.settle()
    assert world.value == "Shadow"
    world.observe_to_the_end()
    assert world.value == "Active"


def test_suspended_while_active_says_that_the_guard_stands_still() -> None:
    world = World().promoted()
    runs = len(world.created)
    world.edit(suspend=True)
    world.settle()
    world.pass_time(days=2)
    world.settle()
    ready = world.status.condition(ConditionType.READY)
    assert ready
    assert "Active, guard stopped" in ready.message
    assert (world.value, len(world.created)) == ("Active", runs)


def test_a_new_revision_demotes_although_suspended() -> None:
    world = World().promoted()
    world.edit(suspend=True, revision="v2")
    world.settle()
    assert (world.value, world.phase) == ("Shadow", ComponentPhase.SUSPENDED)


def test_a_regression_seen_after_the_pause_demotes() -> None:
    world = World().promoted()
    world.now += timedelta(hours=1)
    world.settle()
    world.edit(suspend=True)
    world.settle()
    world.end_run("Failed")
    world.settle()
    assert world.value == "Active"
    world.edit(suspend=False)
    world.settle()
    assert (world.value, world.phase) == ("Shadow", ComponentPhase.BLOCKED)


def test_a_component_that_is_suspended_from_the_first_has_all_conditions_that_people_look_for() -> None:
    world = World(suspend=True)
    world.settle()
    assert world.why(ConditionType.PROMOTED) == ("False", "Suspended")
    assert world.why(ConditionType.READY) == ("True", "Suspended")
    assert world.why(ConditionType.TARGET_IN_SYNC) == ("True", "InSync")
    world.edit(suspend=False)
    world.settle()
    assert world.why(ConditionType.PROMOTED) == ("False", "NotPromoted")
