"""The guard in full: harm before doubt, blame only where it is shown, and alarms that say what is not seen."""

from __future__ import annotations

import copy
from datetime import timedelta
from typing import Any

import pytest
from rca_testing import evidence as cards
from rca_testing import suites
from rca_testing.lifecycle_world import Crash, World, sibling
from rca_testing.run_world import Road

from rca_rollout.api.common import ComponentPhase, ConditionType
from rca_rollout.core import verdict
from rca_rollout.core.suites import StaleSuite, SuiteFacts, for_guard, resolve_suite

HOUR = timedelta(hours=1)
CHECKS = [{"name": "AC@1", "result": "Failed", "message": "AC@1 0.889 < 1.000 - 0.02 (GT-03 lost)"}]
SLOW = {"harm": "Time", "regressionOf": "Component", "message": "MTTR 40.000 s > 1.000 s + 30 s"}


@pytest.fixture(scope="module")
def _promoted() -> World:
    return World().promoted()


@pytest.fixture
def world(_promoted: World) -> World:
    return copy.deepcopy(_promoted)


def guard_run(world: World) -> str:
    """Until a guard run is under way."""
    for _ in range(20):
        current = world.status.current_run
        if current and current.name in world.runs and "status" not in world.runs[current.name]:
            return current.name
        if world.wake:
            world.now = max(world.now, world.wake)
        world.settle()
    raise AssertionError("no guard run comes")


def ends(world: World, phase: str, **status: Any) -> None:
    guard_run(world)
    world.pass_time(minutes=1)
    world.end_run(phase, **status)
    world.settle()


def degraded(world: World) -> str | None:
    found = world.status.condition(ConditionType.DEGRADED)
    return found.reason if found else None


# -- harm


def test_a_higher_time_alone_needs_a_second_failing_run_and_that_one_starts_at_once(world: World) -> None:
    ends(world, "Failed", **SLOW)
    assert world.value == "Active"
    assert degraded(world) == "HarmSuspected"
    assert world.status.current_run  # at this very moment, not an interval later
    ends(world, "Failed", **SLOW)
    assert (world.value, world.phase) == ("Shadow", ComponentPhase.BLOCKED)
    assert world.why(ConditionType.PROMOTED) == ("False", "GuardFailed")
    assert world.reasons.count("HarmSuspected") == 1
    assert degraded(world) is None


def test_a_higher_time_that_does_not_come_again_is_forgotten(world: World) -> None:
    ends(world, "Failed", **SLOW)
    ends(world, "Passed")
    assert degraded(world) is None
    ends(world, "Failed", **SLOW)
    assert world.value == "Active"


def test_a_lost_incident_needs_no_second_run(world: World) -> None:
    ends(world, "Failed", harm="Accuracy", regressionOf="Component", message="AC@1 0.889 < 1.000 - 0.02")
    assert world.value == "Shadow"


def test_a_higher_time_in_shadow_blocks_at_once() -> None:
    world = World()
    world.settle()
    world.end_run("Failed", **SLOW)
    world.settle()
    assert world.phase is ComponentPhase.BLOCKED


@pytest.mark.parametrize("phase", ["Inconclusive", "Error"])
@pytest.mark.parametrize("harm", ["Accuracy", "Time"])
def test_harm_in_a_run_that_is_not_valid_is_suspected_and_seen_again_it_demotes(
    world: World, phase: str, harm: str
) -> None:
    ends(world, phase, reason="RepeatsDiffer", harm=harm, checks=CHECKS)
    assert world.value == "Active"
    assert degraded(world) == "HarmSuspected"
    assert world.status.current_run
    ends(world, phase, reason="RepeatsDiffer", harm=harm, checks=CHECKS)
    assert (world.value, world.phase) == ("Shadow", ComponentPhase.BLOCKED)
    assert "GT-03 lost" in str(world.status.demotion and world.status.demotion.message)


def test_a_second_run_that_says_nothing_leaves_the_suspicion_until_one_says_something(world: World) -> None:
    ends(world, "Inconclusive", reason="RepeatsDiffer", harm="Accuracy", checks=CHECKS)
    ends(world, "Error", reason="NodeLost")
    assert (world.value, degraded(world)) == ("Active", "HarmSuspected")
    ends(world, "Inconclusive", reason="RepeatsDiffer", harm="Accuracy", checks=CHECKS)
    assert world.value == "Shadow"


@pytest.mark.parametrize("crash", Crash)
def test_a_crash_does_not_lose_a_suspicion(world: World, crash: Crash) -> None:
    guard_run(world)
    world.end_run("Failed", **SLOW)
    world.step(crash)
    world.settle()
    assert degraded(world) == "HarmSuspected"
    guard_run(world)
    world.end_run("Failed", **SLOW)
    world.step(crash)
    world.settle()
    assert world.value == "Shadow"


def test_with_alert_harm_that_is_seen_again_is_an_alarm_until_a_run_passes(world: World) -> None:
    world.edit(guard={"interval": "1h", "onRegression": "Alert"})
    for _ in range(3):
        ends(world, "Inconclusive", reason="RepeatsDiffer", harm="Accuracy", checks=CHECKS)
    assert world.value == "Active"
    assert degraded(world) == "GuardFailed"
    assert world.reasons.count("GuardFailed") == 1
    ends(world, "Passed")
    assert degraded(world) is None


# -- what cannot be pinned on it


def test_an_engine_regression_is_an_alarm_and_ends_by_itself(world: World) -> None:
    ends(world, "Failed", regressionOf="Engine")
    ends(world, "Failed", regressionOf="Engine")
    assert world.value == "Active"
    assert degraded(world) == "EngineRegression"
    assert world.reasons.count("EngineRegression") == 1
    ends(world, "Passed")
    assert degraded(world) is None


# -- blind


def test_three_guard_runs_without_a_verdict_are_an_alarm_told_once_that_ends_by_itself(world: World) -> None:
    for _ in range(2):
        ends(world, "Error", reason="NodeLost")
    assert degraded(world) is None
    for _ in range(3):
        ends(world, "Error", reason="NodeLost")
    assert degraded(world) == "GuardBlind"
    assert world.value == "Active"
    assert world.why(ConditionType.READY) == ("True", "AsExpected")
    assert world.reasons.count("GuardBlind") == 1
    ends(world, "Passed")
    assert degraded(world) is None


def test_a_guard_that_is_older_than_twice_its_interval_is_blind() -> None:
    world = World().promoted()
    guard_run(world)  # and never ends
    since = world.status.guard.since  # type: ignore[union-attr]
    world.now = since + 2 * HOUR - timedelta(seconds=1)
    world.settle()
    assert degraded(world) is None
    assert world.wake is None or world.wake <= since + 2 * HOUR
    world.pass_time(seconds=1)
    world.settle()
    assert degraded(world) == "GuardBlind"
    written = world.status_writes
    world.pass_time(minutes=5)
    world.settle()
    assert world.status_writes == written


def test_a_short_interval_is_not_blind_while_a_run_may_still_be_under_way(world: World) -> None:
    ends(world, "Passed")
    world.edit(guard={"interval": "1s", "onRegression": "Demote"})
    world.settle()
    guard_run(world)
    world.pass_time(minutes=10)
    world.settle()
    assert degraded(world) is None


def test_suspended_it_says_that_the_guard_is_stopped_and_is_not_blind_right_after(world: World) -> None:
    world.edit(suspend=True)
    world.settle()
    assert world.why(ConditionType.READY) == ("True", "GuardStopped")
    assert world.reasons[-1] == "GuardStopped"
    world.pass_time(days=3)
    world.settle()
    assert degraded(world) is None
    world.edit(suspend=False)
    world.settle()
    assert degraded(world) is None
    assert world.status.current_run


def test_without_a_suite_it_is_blind_in_time(world: World) -> None:
    world.suite = stale_suite(gone=True)
    world.settle()
    world.pass_time(hours=3)
    world.settle()
    assert degraded(world) == "GuardBlind"


@pytest.mark.parametrize("seconds", [1, 90, 86400])
def test_a_clock_that_was_set_back_is_borne_and_nothing_is_written_a_second_later(
    world: World, seconds: int
) -> None:
    ends(world, "Passed")
    world.pass_time(seconds=-60 - seconds)
    world.settle()
    assert degraded(world) is None
    written = world.status_writes
    world.pass_time(seconds=1)
    world.step()
    assert world.status_writes == written


# -- beside others


@pytest.mark.parametrize("alert", [False, True])
def test_after_a_promotion_or_demotion_beside_it_what_is_active_is_measured_at_once(
    world: World, alert: bool
) -> None:
    if alert:
        world.edit(guard={"interval": "8h", "onRegression": "Alert"})
        ends(world, "Failed", harm="Accuracy", regressionOf="Component")
    for beside in ((sibling("Active"),), (sibling("Shadow"),)):
        runs = len(world.created)
        world.siblings = beside
        world.settle()
        assert len(world.created) == runs + 1
        assert world.runs[world.created[-1]]["spec"]["trigger"] == "Guard"
        world.run_and_pass()
    assert world.value == "Active"


# -- a baseline that does not fit


def stale_suite(*, gone: bool = False) -> Any:
    ids = (*cards.IDS, "GT-10-incident")
    dataset = cards.ground_truth(ids)
    held = {"data": {"ground-truth.json": dataset, "baseline.json": suites.BASELINE}}
    return resolve_suite("suite", suites.suite().spec, None if gone else held, held)


def test_with_a_stale_baseline_the_guard_goes_on_and_says_so(world: World) -> None:
    world.suite = stale_suite()
    world.settle()
    assert isinstance(world.suite, StaleSuite)
    assert world.why(ConditionType.READY) == ("True", "AsExpected")
    assert degraded(world) == "BaselineStale"
    assert world.reasons.count("BaselineStale") == 1
    ends(world, "Passed")
    assert (world.value, degraded(world)) == ("Active", "BaselineStale")
    ends(world, "Failed", harm="Accuracy", regressionOf="Component")
    assert world.value == "Shadow"
    assert world.why(ConditionType.PROMOTED) == ("False", "BaselineStale")  # and blocked once it is mended


def test_with_a_stale_baseline_nothing_is_promoted() -> None:
    world = World()
    world.run_and_pass()
    world.suite = stale_suite()
    world.settle()
    assert world.phase is ComponentPhase.PENDING
    assert world.why(ConditionType.PROMOTED) == ("False", "BaselineStale")
    world.pass_time(days=3)
    world.settle()
    assert world.value == "Shadow"
    assert len(world.created) == 1


def _paired(**card: Any) -> Any:
    """A guard run on a suite with a stale baseline, from its scorecard to its verdict."""
    facts = suites.facts()
    stale = SuiteFacts(**{**facts.__dict__, "stale": True, "baseline": suites.other_dataset().baseline})
    road = Road(trigger="Guard", epoch=None)
    road.suite = for_guard(StaleSuite("BaselineStale", "renew it", facts=stale))
    return road.succeeded(cards.scorecard(facts.dataset_sha256, **card), stored=True).settle().status


def test_a_guard_run_with_a_stale_baseline_compares_with_and_without() -> None:
    status = _paired()
    assert (status.phase, status.reason) == ("Passed", "GatePassed")
    assert "the baseline is stale and was left out" in status.message
    lost = _paired(lost=cards.IDS[3:5])
    assert (lost.phase, lost.regression_of, lost.harm) == ("Failed", "Component", "Accuracy")


def test_a_guard_run_with_a_stale_baseline_is_still_held_to_its_own_validity() -> None:
    status = _paired(revision="other", lost=cards.IDS[:2])
    assert status.phase in ("Inconclusive", "Error")
    assert status.reason == "RevisionMismatch"
    slow = _paired(with_seconds="40")  # more than the Job took
    assert (slow.reason, slow.harm) == ("ImplausibleTimes", "Time")


def test_the_harm_of_a_run_is_told_also_where_it_is_not_valid() -> None:
    road = Road().succeeded(
        cards.scorecard(suites.facts().dataset_sha256, revision="other", lost=cards.IDS[:2]), stored=True
    )
    status = road.settle().status
    assert status.phase in ("Inconclusive", "Error")
    assert status.harm == "Accuracy"


def test_what_the_component_explains_and_nothing_else_does_is_counted() -> None:
    sha = suites.facts().dataset_sha256
    active_beside = {cards.KEY: "Shadow", "memory.Mode": "Active"}
    modes = {
        "AllShadow": {cards.KEY: "Shadow", "memory.Mode": "Shadow"},
        "Without": active_beside,
        "With": {**active_beside, cards.KEY: "Active"},
    }
    card = cards.scorecard(sha, modes=modes, without_lost=cards.IDS[1:3], lost=cards.IDS[2:4])
    assert verdict.fixed_of(card) == 1
    assert verdict.fixed_of(cards.scorecard(sha)) == 0
    status = Road().succeeded(cards.scorecard(sha), stored=True).settle().status
    assert status.fixed == 0
