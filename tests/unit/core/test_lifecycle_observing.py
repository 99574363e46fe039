"""Observing: time, a number of passing runs, and a closing run that was started after the time was over."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from rca_testing.lifecycle_world import START, World, sibling

from rca_rollout.api.common import ComponentPhase, ConditionType

MINUTE = timedelta(minutes=1)


def observing(**observation: Any) -> World:
    """The gate has passed at one minute past the start."""
    held = {"period": "2h", "interval": "30m", "minPassingRuns": 3, **observation}
    world = World(observation=held)
    world.run_and_pass()
    assert world.phase is ComponentPhase.OBSERVING
    return world


def triggers(world: World) -> list[str]:
    return [world.runs[name]["spec"]["trigger"] for name in world.created]


def test_runs_come_an_interval_apart_and_the_closing_run_as_soon_as_the_period_is_over() -> None:
    world = observing()
    world.observe_to_the_end()
    started = [run.started_at - START for run in world.status.evidence.runs if run.started_at]  # type: ignore[union-attr]
    assert started == [timedelta(minutes=m) for m in (0, 30, 60, 90, 120, 121)]
    assert triggers(world) == ["Gate", *["Observation"] * 4, "Closing"]
    assert world.value == "Active"


def test_the_period_alone_is_not_enough() -> None:
    world = observing(period="1h", interval="50m", minPassingRuns=6)
    while len(world.created) < 5:
        world.go_on()
    assert world.now > START + timedelta(hours=2)
    assert world.value == "Shadow"
    assert world.why(ConditionType.OBSERVED) == ("False", "ObservationRunning")
    world.observe_to_the_end()
    assert world.value == "Active"
    assert len(world.created) == 6


def test_the_number_of_runs_alone_is_not_enough() -> None:
    world = observing(period="2h", interval="1m", minPassingRuns=1)
    while world.now < START + timedelta(minutes=115):
        world.go_on()
    assert world.value == "Shadow"
    assert len(world.created) > 50


def test_a_run_that_was_started_before_the_end_and_passed_after_it_does_not_close() -> None:
    world = observing(period="2h", interval="115m", minPassingRuns=1)
    world.now = START + timedelta(minutes=115)
    world.settle()
    world.now = START + timedelta(minutes=125)
    world.end_run("Passed")
    world.settle()
    assert world.value == "Shadow"
    assert triggers(world)[-1] == "Closing"
    world.run_and_pass()
    assert world.value == "Active"


def test_a_period_of_nothing_still_asks_for_a_closing_run() -> None:
    world = observing(period="0s", minPassingRuns=1)
    assert world.value == "Shadow"
    world.run_and_pass()
    assert triggers(world) == ["Gate", "Closing"]
    assert world.value == "Active"


@pytest.mark.parametrize("at", [1, 3, 5])
def test_one_failing_run_blocks_whatever_passed_before(at: int) -> None:
    world = observing()
    while len(world.created) <= at:
        world.go_on()
    world.end_run("Failed", message="MTTR 40.000s > 0.003s + 30s")
    world.settle()
    assert (world.phase, world.value) == (ComponentPhase.BLOCKED, "Shadow")
    assert world.why(ConditionType.PROMOTED) == ("False", "GateFailed")
    assert world.why(ConditionType.OBSERVED) == ("False", "NotObserved")


def test_a_run_without_a_verdict_is_repeated_and_counts_neither_way() -> None:
    world = observing()
    world.now = START + timedelta(minutes=30)
    world.settle()
    world.end_run("Error", reason="Unschedulable")
    world.settle()
    assert world.phase is ComponentPhase.OBSERVING
    assert world.status.evidence
    assert (world.status.evidence.passing, world.status.evidence.failing) == (1, 0)
    assert world.wake == world.now + timedelta(seconds=10)
    world.observe_to_the_end()
    assert world.value == "Active"


def test_mode_shadow_holds_back_while_everything_is_measured_and_lets_go_when_it_is_lifted() -> None:
    world = observing()
    world.edit(mode="Shadow")
    while world.now < START + timedelta(hours=5):
        world.go_on()
    assert world.value == "Shadow"
    assert world.why(ConditionType.OBSERVED) == ("True", "ObservationComplete")
    assert world.why(ConditionType.PROMOTED) == ("False", "Held")
    measured = len(world.created)
    world.go_on()
    world.go_on()
    assert len(world.created) > measured  # it goes on being measured
    world.edit(mode="Active")
    world.observe_to_the_end()
    assert world.value == "Active"
    assert len(world.created) <= measured + 2  # what was shown while it was held back counts


def test_a_longer_period_counts_from_the_same_start() -> None:
    world = observing()
    world.edit(observation={"period": "3h", "interval": "30m", "minPassingRuns": 3})
    world.settle()
    assert world.status.observation
    assert world.status.observation.ends_at == START + timedelta(hours=3) + MINUTE
    world.observe_to_the_end()
    assert world.now >= START + timedelta(hours=3)


def test_another_sibling_resets_the_streak_and_not_the_clock() -> None:
    world = observing()
    world.now = START + timedelta(minutes=30)
    world.run_and_pass()
    world.siblings = (sibling("Active"),)
    world.settle()
    assert "ContextChanged" in world.reasons
    assert world.status.evidence
    assert world.status.evidence.passing == 0
    assert world.phase is ComponentPhase.EVALUATING
    assert triggers(world)[-1] == "Gate"
    world.run_and_pass()
    assert world.status.observation
    assert world.status.observation.started_at == START + MINUTE
    world.observe_to_the_end()
    assert world.value == "Active"
    in_context = [r for r in world.runs.values() if r["spec"]["context"] == world.status.context]
    assert len(in_context) >= 3


def test_a_sibling_s_new_revision_matters_only_while_it_is_active() -> None:
    world = observing()
    world.siblings = (sibling("Shadow", revision="m1"),)
    world.settle()
    context = world.status.context
    world.siblings = (sibling("Shadow", revision="m2"),)
    world.settle()
    assert world.status.context == context
    world.siblings = (sibling("Active", revision="m2"),)
    world.settle()
    assert world.status.context != context


def test_a_failure_is_not_forgotten_with_the_context() -> None:
    world = observing()
    world.now = START + timedelta(minutes=30)
    world.settle()
    world.end_run("Failed")
    world.settle()
    world.siblings = (sibling("Active"),)
    world.settle()
    world.pass_time(days=2)
    world.settle()
    assert (world.phase, world.value) == (ComponentPhase.BLOCKED, "Shadow")


def test_runs_beyond_the_listed_ones_go_and_what_they_showed_stays() -> None:
    world = observing(period="48h", interval="30m", minPassingRuns=60)
    while world.status.evidence and world.status.evidence.passing < 59:
        world.go_on()
    assert world.status.evidence
    assert len(world.status.evidence.runs) == 20
    assert len(world.runs) <= 41
    listed = {run.name for run in world.status.evidence.runs}
    assert listed <= set(world.runs)


def test_between_two_runs_nothing_is_written() -> None:
    world = observing()
    written = world.status_writes
    for _ in range(20):
        world.pass_time(minutes=1)
        world.step()
    assert world.status_writes == written
