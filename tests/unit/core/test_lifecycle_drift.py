"""Writes of others: towards Shadow never taken back, towards Active reported or taken back, and never a patch war."""

from __future__ import annotations

import copy
import itertools
from datetime import timedelta

import pytest
from rca_testing.config_maps import target
from rca_testing.evidence import KEY
from rca_testing.lifecycle_world import Crash, World

from rca_rollout.api.common import ComponentPhase, ConditionType
from rca_rollout.core.problem import Problem


def observing(**spec: object) -> World:
    world = World(**spec)
    world.run_and_pass()
    world.pass_time(minutes=1)
    return world


@pytest.fixture
def reverting() -> World:
    return observing(driftPolicy="Revert")


def foreign(world: World, value: str, manager: str = "kubectl-edit") -> None:
    """Somebody else's write, as the server records it."""
    world.write(value)
    assert world.config_map
    entry = {
        "manager": manager,
        "operation": "Update",
        "time": world.now.isoformat(),
        "fieldsV1": {"f:data": {f"f:{KEY}": {}}},
    }
    metadata = world.config_map["metadata"]
    world.config_map = {**world.config_map, "metadata": {**metadata, "managedFields": [entry]}}


def test_reported_a_write_to_active_is_an_alarm_is_shown_as_active_and_measured_at_once() -> None:
    world = observing()
    foreign(world, "Active")
    world.settle()
    assert world.status.mode == "Active"
    assert world.why(ConditionType.PROMOTED) == ("True", "ActiveWithoutEvidence")
    told = next(t for t in world.told if t.reason == "ActiveWithoutEvidence")
    assert told.type == "Warning"
    assert "kubectl-edit" in told.message
    assert world.runs[world.created[-1]]["spec"]["trigger"] == "Guard"
    assert world.writes == []


def test_reverted_a_write_to_active_is_taken_back_once_and_the_observation_goes_on(reverting: World) -> None:
    before = reverting.status.evidence
    foreign(reverting, "Active")
    reverting.settle()
    assert reverting.value == "Shadow"
    assert [w.value for w in reverting.writes] == ["Shadow"]
    assert reverting.status.evidence == before
    assert reverting.status.demotion
    assert reverting.status.demotion.cause == "ActiveWithoutEvidence"
    reverting.observe_to_the_end()
    assert reverting.value == "Active"
    assert reverting.status.promotion
    assert reverting.status.promotion.cause == "Promoted"


@pytest.mark.parametrize("crash", Crash)
@pytest.mark.parametrize("at", range(3))
def test_a_crash_during_a_revert_does_not_lose_it(reverting: World, crash: Crash, at: int) -> None:
    foreign(reverting, "Active")
    for step in range(6):
        reverting.step(crash if step == at else None)
    reverting.settle()
    assert reverting.value == "Shadow"
    assert len(reverting.writes) == 1


def test_a_revert_does_not_end_a_block(reverting: World) -> None:
    reverting.ask("abort")
    reverting.settle()
    foreign(reverting, "Active")
    reverting.settle()
    assert (reverting.value, reverting.phase) == ("Shadow", ComponentPhase.BLOCKED)
    assert reverting.why(ConditionType.PROMOTED) == ("False", "Aborted")


def test_against_one_manager_it_is_taken_back_at_most_twice_in_ten_minutes(reverting: World) -> None:
    for _ in range(6):
        foreign(reverting, "Active", "argocd-controller")
        reverting.settle()
        reverting.pass_time(seconds=30)
    assert len(reverting.writes) == 2
    assert reverting.value == "Active"
    assert reverting.why(ConditionType.STALLED) == ("True", "ConfigConflict")
    stalled = reverting.status.condition(ConditionType.STALLED)
    assert stalled
    assert "argocd-controller" in stalled.message
    written = reverting.status_writes
    reverting.pass_time(seconds=30)
    reverting.settle()
    assert reverting.status_writes == written


def test_the_conflict_ends_with_the_window_and_is_still_never_more_than_two_in_ten_minutes(
    reverting: World,
) -> None:
    for _ in range(120):
        if reverting.value == "Shadow":
            foreign(reverting, "Active", "argocd-controller")
        reverting.settle()
        reverting.pass_time(seconds=30)
    times = [write.at for write in reverting.writes]
    assert len(times) >= 8
    assert all(later - first >= timedelta(minutes=10) for first, later in zip(times, times[2:], strict=False))


def test_a_clock_that_was_set_back_makes_room_for_no_more_writes(reverting: World) -> None:
    for _ in range(3):
        foreign(reverting, "Active")
        reverting.settle()
        reverting.pass_time(seconds=1)
    reverting.pass_time(seconds=-5)
    for _ in range(4):
        reverting.settle()
        reverting.pass_time(seconds=1)
    assert len(reverting.writes) == 2
    assert reverting.why(ConditionType.STALLED) == ("True", "ConfigConflict")


def test_another_manager_is_another_matter(reverting: World) -> None:
    for manager in ("one", "two", "three"):
        foreign(reverting, "Active", manager)
        reverting.settle()
        reverting.pass_time(seconds=30)
    assert reverting.value == "Shadow"
    assert len(reverting.writes) == 3


def test_a_write_that_is_taken_back_before_it_was_read_is_bounded_too(reverting: World) -> None:
    """A webhook that changes the key back: the value never reads Shadow here."""
    foreign(reverting, "Active")
    for _ in range(80):
        reverting.step()
        if reverting.value == "Shadow":
            reverting.written = True
            foreign(reverting, "Active")
        if reverting.status.intent is None:
            reverting.written = False
        reverting.pass_time(seconds=10)
    times = [write.at for write in reverting.writes]
    assert all(later - first >= timedelta(minutes=10) for first, later in zip(times, times[3:], strict=False))


def test_a_known_regression_is_not_forced_active_in_a_patch_war_either() -> None:
    world = World().promoted()
    world.now += timedelta(hours=1)
    world.settle()
    world.end_run("Failed")
    world.settle()
    ours = len(world.writes)
    for _ in range(6):
        foreign(world, "Active")
        world.settle()
        world.pass_time(seconds=20)
    assert len(world.writes) - ours == 2


@pytest.mark.parametrize("wish", ["mode", "verb"])
def test_what_a_person_asked_for_is_tried_again_with_pauses(wish: str) -> None:
    world = World().promoted()
    if wish == "mode":
        world.edit(mode="Shadow")
    else:
        world.ask("demote")
    for _ in range(60):
        world.settle()
        if world.value == "Shadow":
            foreign(world, "Active", "argocd-controller")
        world.pass_time(seconds=5)
    shadow = [write.at for write in world.writes if write.value == "Shadow"]
    if wish == "mode":
        assert len(shadow) >= 8
    assert all(b - a >= timedelta(seconds=30) for a, b in itertools.pairwise(shadow[2:]))


def test_a_key_that_an_older_component_left_active_is_adopted_by_the_next() -> None:
    world = World(driftPolicy="Revert")
    world.claimed_by = "older"
    world.settle()
    world.pass_time(hours=1)
    foreign(world, "Active", "rca-rollout")
    world.settle()
    world.claimed_by = None
    world.settle()
    assert world.why(ConditionType.PROMOTED) == ("True", "Adopted")
    assert world.writes == []


def test_active_at_first_sight_is_adopted_whatever_the_policy() -> None:
    world = World(driftPolicy="Revert")
    world.config_map = target("Active")
    world.settle()
    assert world.value == "Active"
    assert world.why(ConditionType.PROMOTED) == ("True", "Adopted")
    assert world.writes == []
    assert world.status.current_run


def test_reverted_also_while_suspended_and_without_a_suite(reverting: World) -> None:
    for state in ("suspended", "without a suite"):
        world = copy.deepcopy(reverting)
        if state == "suspended":
            world.edit(suspend=True)
        else:
            world.suite = Problem("SuiteNotFound", "create it")
        world.settle()
        foreign(world, "Active")
        world.settle()
        assert world.value == "Shadow", state


def test_a_write_to_shadow_is_never_taken_back_whatever_the_policy() -> None:
    world = World(driftPolicy="Revert").promoted()
    foreign(world, "Shadow", "kubectl")
    world.settle()
    assert world.why(ConditionType.PROMOTED) == ("False", "External")
    told = next(t for t in world.told if t.reason == "External")
    assert "kubectl" in told.message
    world.pass_time(days=3)
    world.settle()
    assert [w.value for w in world.writes] == ["Active"]


def test_an_unknown_value_is_never_written_whatever_the_policy(reverting: World) -> None:
    foreign(reverting, "Canary")
    reverting.settle()
    reverting.ask("demote")
    reverting.settle()
    assert reverting.writes == []
    assert reverting.why(ConditionType.STALLED) == ("True", "UnknownValue")
