"""Deletion: Retain leaves the key, RevertToShadow puts it back first, and nothing keeps the object for ever."""

from __future__ import annotations

import copy
from datetime import timedelta
from typing import Any

import pytest
from rca_testing.config_maps import target
from rca_testing.lifecycle_world import Crash, World

from rca_rollout.api.common import ComponentPhase
from rca_rollout.api.meta import Metadata
from rca_rollout.core.lifecycle.deletion import GIVE_UP
from rca_rollout.core.lifecycle.finalizer import FINALIZER, finalizers_patch
from rca_rollout.core.lifecycle.snapshot import SetFinalizers, WriteKey


@pytest.fixture(scope="module")
def _promoted() -> World:
    return World(deletionPolicy="RevertToShadow").promoted()


@pytest.fixture
def world(_promoted: World) -> World:
    world = copy.deepcopy(_promoted)
    world.settle()
    return world


def go(world: World, seconds: int = 600) -> None:
    """Time goes on until the object is gone or nothing more is due."""
    end = world.now + timedelta(seconds=seconds)
    for _ in range(300):
        world.step()
        if world.gone or world.wake is None or world.now >= end:
            return
        world.now = max(world.now + timedelta(seconds=1), min(world.wake, end))


def test_retain_leaves_the_key_and_knows_no_finalizer() -> None:
    world = World().promoted()
    assert world.finalizers == []
    written = world.status_writes
    world.delete()
    world.settle()
    assert world.gone
    assert (world.value, world.status_writes) == ("Active", written)


def test_the_finalizer_is_there_only_while_the_key_is_active() -> None:
    world = World(deletionPolicy="RevertToShadow")
    world.run_and_pass()
    assert world.finalizers == []
    world.observe_to_the_end()
    world.settle()
    assert world.finalizers == [FINALIZER]
    world.edit(mode="Shadow")
    world.settle()
    world.settle()
    assert world.finalizers == []


def test_the_finalizer_is_there_before_the_key_is_written() -> None:
    world = World(deletionPolicy="RevertToShadow")
    for _ in range(300):
        plan = world.step()
        if any(isinstance(action, WriteKey) for action in plan.actions):
            assert world.writes[-1].snapshot.component.metadata.finalizers == (FINALIZER,)
            break
        open_ = world.status.current_run
        if open_ and open_.name in world.runs and "status" not in world.runs[open_.name]:
            world.end_run("Passed")
        elif world.wake:
            world.now = max(world.now, world.wake)
    assert world.value == "Active"


def test_the_finalizers_of_others_stay(world: World) -> None:
    world.component["metadata"]["finalizers"] = ["example.com/theirs", FINALIZER]
    world.edit(deletionPolicy="Retain")
    world.settle()
    assert world.finalizers == ["example.com/theirs"]


def test_the_policy_of_an_active_component_may_change_in_both_directions() -> None:
    world = World().promoted()
    world.edit(deletionPolicy="RevertToShadow")
    world.settle()
    assert world.finalizers == [FINALIZER]
    world.edit(deletionPolicy="Retain")
    world.settle()
    assert world.finalizers == []
    assert world.value == "Active"


@pytest.mark.parametrize("crash", [None, *Crash])
@pytest.mark.parametrize("at", range(5))
def test_a_deletion_puts_the_key_back_and_lets_the_object_go(
    world: World, crash: Crash | None, at: int
) -> None:
    world.delete()
    assert not world.gone
    for step in range(at + 1):
        world.step(crash if step == at else None)
    go(world)
    assert world.gone
    assert world.value == "Shadow"
    assert [w.value for w in world.writes] == ["Active", "Shadow"]
    assert world.reasons[-1] == "RevertedToShadow"


def test_a_deletion_while_suspended_puts_the_key_back_too(world: World) -> None:
    world.edit(suspend=True)
    world.settle()
    world.delete()
    go(world)
    assert (world.gone, world.value) == (True, "Shadow")


def test_a_deletion_while_the_key_is_being_written_ends_in_shadow() -> None:
    world = World(deletionPolicy="RevertToShadow")
    for _ in range(300):
        if world.step().status.intent:
            break
        open_ = world.status.current_run
        if open_ and open_.name in world.runs and "status" not in world.runs[open_.name]:
            world.end_run("Passed")
        elif world.wake:
            world.now = max(world.now, world.wake)
    world.step()  # the finalizer
    late = [a for a in world.step(Crash.BEFORE_ACTIONS).actions if isinstance(a, WriteKey)]
    assert late  # sent by a process that died; it arrives while the next one already deletes
    world.delete()
    world.step()
    world.step()
    world._apply(late[0], world.snapshot())
    go(world)
    assert (world.gone, world.value) == (True, "Shadow")


def _missing(world: World) -> None:
    world.config_map = None


def _terminating(world: World) -> None:
    assert world.config_map
    world.config_map["metadata"]["deletionTimestamp"] = "2026-11-30T10:00:00Z"


def _immutable(world: World) -> None:
    assert world.config_map
    world.config_map["immutable"] = True


def _not_opted_in(world: World) -> None:
    assert world.config_map
    world.config_map["metadata"]["labels"] = {}


def _unknown(world: World) -> None:
    world.write("Canary")


def _claimed(world: World) -> None:
    world.claimed_by = "older"


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (_missing, "TargetNotFound"),
        (_terminating, "TargetNotFound"),
        (_immutable, "TargetImmutable"),
        (_not_opted_in, "TargetNotOptedIn"),
        (_unknown, "UnknownValue"),
        (_claimed, "TargetClaimed"),
    ],
)
def test_what_cannot_be_put_back_lets_the_object_go_at_once_and_says_why(
    world: World, state: Any, reason: str
) -> None:
    state(world)
    world.delete()
    before, writes = world.now, len(world.writes)
    go(world)
    assert world.gone
    assert world.now - before <= timedelta(seconds=15)
    assert world.reasons[-1] == reason
    assert len(world.writes) == writes


def test_a_write_that_is_refused_for_ever_is_given_up_in_time(world: World) -> None:
    world.delete()
    since = world.now
    for _ in range(100):
        plan = world.decide()
        world._save(plan.status)
        for action in plan.actions:
            if isinstance(action, SetFinalizers):  # every write of the key is refused
                world._apply(action, world.snapshot())
        if world.gone:
            break
        world.pass_time(seconds=10)
    assert world.gone
    assert GIVE_UP <= world.now - since <= GIVE_UP + timedelta(seconds=30)
    assert world.reasons[-1] == "RevertGivenUp"
    assert "by hand" in world.told[-1].message


def test_the_time_to_give_up_begins_when_an_operator_is_there(world: World) -> None:
    world.delete()
    world.pass_time(days=2)
    go(world)
    assert (world.gone, world.value) == (True, "Shadow")


def test_a_policy_that_changes_during_the_deletion_lets_the_object_go(world: World) -> None:
    world.delete()
    world.edit(deletionPolicy="Retain")
    go(world)
    assert (world.gone, world.value) == (True, "Active")


def test_what_was_adopted_is_put_back_too() -> None:
    world = World(deletionPolicy="RevertToShadow")
    world.config_map = target("Active")
    world.settle()
    assert world.finalizers == [FINALIZER]
    world.delete()
    go(world)
    assert (world.gone, world.value) == (True, "Shadow")


def test_between_two_steps_of_an_active_component_with_a_finalizer_nothing_is_written(world: World) -> None:
    written = world.status_writes
    world.pass_time(seconds=30)
    plan = world.step()
    assert plan.actions == ()
    assert world.status_writes == written
    assert world.phase is ComponentPhase.ACTIVE


def test_the_patch_names_the_object_and_the_list_that_was_read() -> None:
    held = Metadata(name="live", uid="u", resource_version="7", finalizers=("a", FINALIZER))
    assert finalizers_patch(held, wanted=False) == (
        {"op": "test", "path": "/metadata/uid", "value": "u"},
        {"op": "test", "path": "/metadata/finalizers", "value": ["a", FINALIZER]},
        {"op": "replace", "path": "/metadata/finalizers", "value": ["a"]},
    )
    bare = Metadata(name="live", uid="u", resource_version="7")
    assert finalizers_patch(bare, wanted=True)[1:] == (
        {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
        {"op": "add", "path": "/metadata/finalizers", "value": [FINALIZER]},
    )
    only = Metadata(name="live", uid="u", resource_version="7", finalizers=(FINALIZER,))
    assert finalizers_patch(only, wanted=False)[-1] == {"op": "remove", "path": "/metadata/finalizers"}
