"""Promoting: intent in status, one compare-and-set, read back. Whatever comes in between is asked about again."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import timedelta

import pytest
from rca_testing import suites
from rca_testing.config_maps import target
from rca_testing.lifecycle_world import Crash, World, sibling

from rca_rollout.api.common import ComponentPhase, ConditionType
from rca_rollout.core.lifecycle.promotion import INTENT_LIFE
from rca_rollout.core.lifecycle.snapshot import WriteKey
from rca_rollout.core.problem import Problem
from rca_rollout.kube.client import REQUEST_TIMEOUT


@pytest.fixture(scope="module")
def _promoting() -> World:
    world = World()
    world.siblings = (sibling("Shadow"),)
    world.run_and_pass()
    while not world.status.intent:
        if world.status.current_run and world.status.current_run.name in world.runs:
            world.pass_time(minutes=1)
            world.end_run("Passed")
        elif world.wake and world.wake > world.now:
            world.now = world.wake
        world.step()
    return world


@pytest.fixture
def world(_promoting: World) -> World:
    """All evidence is there, and the intent is in status; the key is not written yet."""
    return copy.deepcopy(_promoting)


def test_the_intent_comes_first_and_the_key_is_written_in_the_step_after_it(world: World) -> None:
    assert world.phase is ComponentPhase.PROMOTING
    assert world.value == "Shadow"
    assert world.why(ConditionType.PROMOTED) == ("False", "Promoting")
    intent = world.status.intent
    assert intent
    assert (intent.value, intent.observed, intent.target_uid) == ("Active", "Shadow", "cm-1")
    world.step()
    assert world.value == "Active"
    assert world.status.promotion is None  # not believed before it is read back
    world.step()
    assert world.phase is ComponentPhase.ACTIVE
    assert world.why(ConditionType.PROMOTED) == ("True", "Promoted")


def test_what_was_promoted_on_which_evidence_is_on_record(world: World) -> None:
    world.settle()
    promotion = world.status.promotion
    assert promotion
    assert (promotion.revision, promotion.epoch) == ("v1", world.status.epoch)
    assert promotion.run == world.created[-1]
    assert promotion.previous_value == "Shadow"
    assert promotion.cause == "Promoted"
    assert [w.value for w in world.writes] == ["Active"]


@pytest.mark.parametrize("crash", Crash)
@pytest.mark.parametrize("at", range(3))
def test_a_crash_anywhere_ends_in_one_write(world: World, crash: Crash, at: int) -> None:
    for step in range(6):
        world.step(crash if step == at else None)
        if step == at:
            world.wake = world.now  # a restart looks at everything
    world.settle()
    assert [w.value for w in world.writes] == ["Active"]
    assert world.reasons.count("Promoted") == 1


@pytest.mark.parametrize("value", ["Shadow", None])
def test_a_key_that_is_set_back_before_it_was_read_is_not_written_again(
    world: World, value: str | None
) -> None:
    """A person was as quick as we are, or a webhook changes what is written."""
    world.step()
    world.write(value)
    world.written = True
    world.step()
    world.written = False
    world.settle()
    assert [w.value for w in world.writes] == ["Active"]
    assert world.phase is ComponentPhase.BLOCKED
    assert world.why(ConditionType.PROMOTED) == ("False", "External")


def test_a_write_that_was_done_before_the_crash_is_recognized(world: World) -> None:
    world.write("Active")
    world.settle()
    assert world.writes == []
    assert world.status.promotion
    assert world.status.promotion.cause == "Promoted"


def test_an_expired_intent_is_not_carried_out_but_made_anew(world: World) -> None:
    old = world.status.intent
    world.pass_time(minutes=5)
    plan = world.step()
    assert not any(isinstance(action, WriteKey) for action in plan.actions)
    new = world.status.intent
    assert old
    assert new
    assert new.issued_at > old.issued_at
    world.settle()
    assert world.value == "Active"


def test_no_write_is_sent_whose_answer_could_come_after_the_intent_s_end(world: World) -> None:
    assert timedelta(seconds=2 * REQUEST_TIMEOUT) <= INTENT_LIFE
    world.now += INTENT_LIFE - timedelta(seconds=REQUEST_TIMEOUT / 2)
    world.step()
    assert world.writes == []


def _hold(world: World) -> None:
    world.edit(mode="Shadow")


def _suspend(world: World) -> None:
    world.edit(suspend=True)


def _ship(world: World) -> None:
    world.edit(revision="v2")


def _dataset(world: World) -> None:
    world.suite = suites.other_dataset()


def _tolerance(world: World) -> None:
    world.suite = suites.facts(tolerance={"accuracyDrop": "0.01"})


def _suite_gone(world: World) -> None:
    world.suite = Problem("SuiteNotFound", "create it")


def _longer(world: World) -> None:
    world.edit(observation={"period": "24h", "interval": "30m", "minPassingRuns": 3})


def _more_runs(world: World) -> None:
    world.edit(observation={"period": "2h", "interval": "30m", "minPassingRuns": 50})


def _neighbour(world: World) -> None:
    world.siblings = (sibling("Active"),)


def _failed(world: World) -> None:
    """However it came there: a failure on record is enough."""
    world.component["status"]["evidence"]["failing"] = 1


def _clock_set_back(world: World) -> None:
    """Before the end of the period, although the closing run was started after it."""
    assert world.status.observation
    assert world.status.observation.ends_at
    world.now = world.status.observation.ends_at - timedelta(seconds=1)


def _turn(world: World) -> None:
    world.siblings = (sibling("Shadow", promoting_since=world.now - timedelta(seconds=5)),)


def _replaced(world: World) -> None:
    world.config_map = target("Shadow", uid="cm-2")


def _removed(world: World) -> None:
    world.config_map = None


def _foreign(world: World) -> None:
    world.write("Off")


def _claimed(world: World) -> None:
    world.claimed_by = "older-one"


def _opted_out(world: World) -> None:
    assert world.config_map
    world.config_map["metadata"]["labels"] = {}


def _from_git(world: World) -> None:
    assert world.config_map
    world.config_map["metadata"]["managedFields"] = [
        {
            "manager": "kustomize-controller",
            "operation": "Apply",
            "fieldsV1": {"f:data": {"f:RcaLiveActivation.Mode": {}}},
        }
    ]


def _immutable(world: World) -> None:
    assert world.config_map
    world.config_map["immutable"] = True


def _renamed(world: World) -> None:
    held = world.component["spec"]["target"]
    world.edit(target={**held, "values": {"shadow": "Shadow", "active": "On"}})


OVERTAKEN: list[Callable[[World], None]] = [
    _failed, _clock_set_back, _hold, _suspend, _ship, _dataset, _tolerance, _suite_gone, _longer, _more_runs, _neighbour, _turn, _replaced,
    _removed, _foreign, _claimed, _opted_out, _from_git, _immutable, _renamed,
]  # fmt: skip


@pytest.mark.parametrize("happens", OVERTAKEN, ids=lambda f: f.__name__.strip("_"))
def test_what_comes_between_intent_and_write_stops_the_write(
    world: World, happens: Callable[[World], None]
) -> None:
    happens(world)
    world.step()
    assert world.writes == []


@pytest.mark.parametrize("happens", [_hold, _suspend, _longer], ids=lambda f: f.__name__.strip("_"))
def test_a_void_intent_is_gone_from_the_status(world: World, happens: Callable[[World], None]) -> None:
    happens(world)
    world.settle()
    assert world.status.intent is None


def test_a_target_deleted_and_made_again_already_active_was_not_switched_by_us(world: World) -> None:
    world.config_map = target("Active", uid="cm-2")
    world.settle()
    assert world.status.promotion
    assert world.status.promotion.cause == "ActiveWithoutEvidence"
    assert "Promoted" not in world.reasons


def test_a_target_that_moved_is_read_again_and_written_then(world: World) -> None:
    _replaced(world)
    world.settle()
    (write,) = world.writes
    assert world.value == "Active"
    assert world.config_map
    assert world.config_map["metadata"]["uid"] == "cm-2"
    assert write.at == world.now


def test_two_components_of_a_suite_are_promoted_one_after_the_other(world: World) -> None:
    _turn(world)
    world.settle()
    assert world.why(ConditionType.PROMOTED) == ("False", "WaitingForTurn")
    assert world.wake
    assert world.wake - world.now <= timedelta(seconds=5)
    world.siblings = (sibling("Shadow"),)
    world.pass_time(seconds=5)
    world.observe_to_the_end()
    assert world.value == "Active"


def test_a_sibling_whose_intent_has_expired_long_ago_stands_in_nobody_s_way(world: World) -> None:
    stuck = sibling("Shadow", promoting_since=world.now - timedelta(hours=1))
    world.siblings = (stuck,)
    world.settle()
    world.observe_to_the_end()
    assert world.value == "Active"


def test_the_older_of_two_intents_does_not_give_way_and_waits_until_the_other_has(world: World) -> None:
    """The other may have looked around before this one's intent was there, and its write may be on its way."""
    intent = world.status.intent
    assert intent
    world.siblings = (sibling("Shadow", promoting_since=intent.issued_at + timedelta(seconds=1)),)
    world.step()
    assert world.value == "Shadow"
    assert world.status.intent == intent
    assert world.wake
    assert world.wake - world.now <= timedelta(seconds=1)
    world.siblings = (sibling("Shadow"),)
    world.step()
    assert world.value == "Active"


@pytest.mark.parametrize(
    ("damage", "reason"), [(_from_git, "ConfigConflict"), (_immutable, "TargetImmutable")]
)
def test_a_key_that_cannot_be_written_stalls_with_a_way_out_and_goes_on_when_it_can(
    world: World, damage: Callable[[World], None], reason: str
) -> None:
    damage(world)
    world.settle()
    assert world.why(ConditionType.STALLED) == ("True", reason)
    assert world.why(ConditionType.TARGET_IN_SYNC) == ("False", reason)
    assert world.told[-1].reason == reason
    written = world.status_writes
    world.pass_time(minutes=3)
    world.settle()
    assert world.status_writes == written
    world.config_map = target()
    world.settle()
    assert world.value == "Active"
    assert world.why(ConditionType.STALLED) is None
