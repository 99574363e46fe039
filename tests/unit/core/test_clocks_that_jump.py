"""A clock that was wrong for a while is set right again: what it wrote meanwhile neither stops nor hurries anything."""

from __future__ import annotations

from datetime import timedelta

from rca_testing.lifecycle_world import START, World, sibling

from rca_rollout.api.common import ComponentPhase
from rca_rollout.api.values import format_time

YEAR = timedelta(days=365)


def test_a_pause_that_began_in_the_future_does_not_shorten_the_observation() -> None:
    world = World()
    world.run_and_pass()
    world.now += YEAR
    world.edit(suspend=True)
    world.settle()
    world.now -= YEAR
    world.edit(suspend=False)
    world.settle()
    assert world.status.observation
    assert world.status.observation.started_at
    assert world.status.observation.started_at >= START
    world.go_on()
    assert world.value == "Shadow"


def test_a_guard_run_in_the_future_does_not_stop_the_guard() -> None:
    world = World().promoted()
    world.now += YEAR
    world.run_and_pass()
    made = len(world.created)
    world.now -= YEAR
    world.settle()
    assert len(world.created) == made + 1
    world.end_run("Failed", regressionOf="Component")
    world.settle()
    assert world.value == "Shadow"


def test_an_observation_that_began_in_the_future_begins_now() -> None:
    world = World()
    world.now += YEAR
    world.run_and_pass()
    world.now -= YEAR
    world.settle()
    begun = world.now
    world.observe_to_the_end()
    assert world.phase is ComponentPhase.ACTIVE
    assert timedelta(hours=2) <= world.now - begun <= timedelta(hours=3)


def test_a_run_from_the_future_does_not_close_an_observation() -> None:
    world = World()
    world.run_and_pass()
    begun = world.now
    world.now += timedelta(hours=1, minutes=50)  # before the end of the period
    world.settle()
    current = world.status.current_run
    assert current
    world.component["status"]["currentRun"]["startedAt"] = format_time(world.now + YEAR)
    world.run_and_pass()
    world.run_and_pass()
    assert world.value == "Shadow"
    world.observe_to_the_end()
    assert world.value == "Active"
    last = world.status.promotion and world.status.promotion.run
    assert last == world.created[-1]
    assert world.runs[last]["metadata"]["creationTimestamp"] >= format_time(begun + timedelta(hours=2))


def test_an_intent_of_another_component_in_the_future_keeps_nobody_waiting() -> None:
    world = World()
    world.siblings = (sibling("Shadow", promoting_since=START + YEAR),)
    assert world.promoted()


def test_a_try_that_is_due_in_the_future_is_made_within_the_longest_delay() -> None:
    world = World()
    world.now += YEAR
    world.settle()
    world.end_run("Error", reason="JobLost")
    world.settle()
    world.now -= YEAR
    made = len(world.created)
    world.settle()
    world.pass_time(minutes=15)
    world.settle()
    assert len(world.created) > made


def test_a_run_from_a_future_that_comes_after_all_does_not_close_an_observation() -> None:
    """The clock is set back by a day, and the operator is down until that day is over again."""
    world = World()
    world.run_and_pass()
    world.now -= timedelta(days=1)
    world.settle()
    made = len(world.created)
    world.now += timedelta(days=1, hours=1)
    world.settle()
    assert world.value == "Shadow"
    world.observe_to_the_end()
    assert world.value == "Active"
    assert world.status.promotion
    assert world.status.promotion.run in world.created[made:]
