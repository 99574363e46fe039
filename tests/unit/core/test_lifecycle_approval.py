"""Approval and benefit: the last questions before the intent, bound to one epoch, one context and one scorecard."""

from __future__ import annotations

import copy
from datetime import timedelta
from typing import Any

import pytest
from rca_testing import suites
from rca_testing.lifecycle_world import Crash, World, sibling

from rca_rollout.api.common import ComponentPhase, ConditionType

MANUAL = {"approval": "Manual"}
SCORECARD = {"configMapRef": "live-scorecard", "key": "scorecard.json.gz", "sha256": "ab" * 32}


def to_the_gate(world: World, **status: Any) -> World:
    """Everything passes until nothing but a person, or a benefit, is missing."""
    for _ in range(80):
        world.settle()
        if world.phase is ComponentPhase.AWAITING_APPROVAL or world.value == "Active":
            return world
        current = world.status.current_run
        if current and current.name in world.runs:
            world.pass_time(minutes=1)
            world.end_run("Passed", scorecard=SCORECARD, **status)
        elif world.wake:
            world.now = max(world.now, world.wake)
    return world


@pytest.fixture(scope="module")
def _waiting() -> World:
    world = to_the_gate(World(promotion=MANUAL))
    assert world.phase is ComponentPhase.AWAITING_APPROVAL
    return world


@pytest.fixture
def waiting(_waiting: World) -> World:
    return copy.deepcopy(_waiting)


def test_it_waits_and_says_what_is_asked_and_how(waiting: World) -> None:
    assert waiting.value == "Shadow"
    assert waiting.why(ConditionType.PROMOTED) == ("False", "AwaitingApproval")
    assert waiting.why(ConditionType.READY) == ("True", "AsExpected")
    asked = waiting.status.approval
    assert asked
    assert asked.scorecard_sha256 == "ab" * 32
    said = waiting.status.condition(ConditionType.PROMOTED)
    assert said
    assert f"rca.bluerobin.io/approve={waiting.status.epoch}/" in said.message
    assert waiting.reasons.count("AwaitingApproval") == 1


def test_while_it_waits_runs_go_on_and_the_phase_stays(waiting: World) -> None:
    runs = len(waiting.created)
    asked = waiting.status.approval
    for _ in range(4):
        waiting.go_on()
        assert waiting.phase is ComponentPhase.AWAITING_APPROVAL
    assert len(waiting.created) > runs + 1
    assert waiting.status.approval == asked
    assert waiting.reasons.count("AwaitingApproval") == 1
    assert waiting.value == "Shadow"


def test_approved_it_is_promoted_with_the_name_of_who_did(waiting: World) -> None:
    waiting.ask("approve", by="alice")
    waiting.settle()
    assert waiting.answer("approve").result == "Accepted"
    assert waiting.value == "Active"
    assert waiting.status.promotion
    assert "alice" in str(waiting.status.promotion.approved_by)
    assert waiting.status.approval is None


@pytest.mark.parametrize("crash", Crash)
@pytest.mark.parametrize("at", range(4))
def test_an_approval_survives_a_crash_and_the_annotation(waiting: World, crash: Crash, at: int) -> None:
    waiting.ask("approve")
    for step in range(6):
        waiting.step(crash if step == at else None)
        if waiting.status.verbs:
            waiting.annotate(approve=None)
    waiting.settle()
    assert waiting.value == "Active"
    assert [w.value for w in waiting.writes] == ["Active"]


def test_an_approval_before_the_evidence_is_there_is_refused_and_spent() -> None:
    world = World(promotion=MANUAL)
    world.run_and_pass()
    world.ask("approve")
    world.settle()
    assert world.answer("approve").result == "Refused"
    to_the_gate(world)
    assert world.phase is ComponentPhase.AWAITING_APPROVAL
    assert world.value == "Shadow"


def test_a_later_failing_run_voids_the_request_and_blocks(waiting: World) -> None:
    while not (waiting.status.current_run and waiting.status.current_run.name in waiting.runs):
        waiting.now = max(waiting.now, waiting.wake or waiting.now)
        waiting.settle()
    waiting.end_run("Failed", message="AC@1 0.889 < 1.000 - 0.02")
    waiting.ask("approve")  # in the moment in which it failed
    waiting.settle()
    assert waiting.answer("approve").result == "Refused"
    assert (waiting.phase, waiting.value) == (ComponentPhase.BLOCKED, "Shadow")
    assert waiting.status.approval is None


def test_an_approval_does_not_overtake_the_run_that_is_under_way(waiting: World) -> None:
    while not (waiting.status.current_run and waiting.status.current_run.name in waiting.runs):
        waiting.now = max(waiting.now, waiting.wake or waiting.now)
        waiting.settle()
    waiting.ask("approve")
    waiting.settle()
    assert waiting.value == "Shadow"
    failing = copy.deepcopy(waiting)
    failing.end_run("Failed")
    failing.settle()
    assert (failing.phase, failing.value) == (ComponentPhase.BLOCKED, "Shadow")
    waiting.end_run("Inconclusive", reason="RepeatsDiffer")
    waiting.settle()
    assert waiting.value == "Active"  # once, and without a second wait


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_change_beside_it_voids_request_and_approval(waiting: World, when: str) -> None:
    if when == "after":
        waiting.ask("approve")
        waiting.step(Crash.BEFORE_ACTIONS)
    waiting.siblings = (sibling("Active"),)
    if when == "before":
        waiting.ask("approve")
    waiting.settle()
    assert waiting.status.approval is None
    to_the_gate(waiting)
    assert (waiting.phase, waiting.value) == (ComponentPhase.AWAITING_APPROVAL, "Shadow")


def test_a_new_epoch_voids_it(waiting: World) -> None:
    waiting.ask("approve")
    waiting.step()
    waiting.suite = suites.other_dataset()
    waiting.settle()
    assert waiting.status.approval is None
    assert waiting.value == "Shadow"
    to_the_gate(waiting)
    assert waiting.phase is ComponentPhase.AWAITING_APPROVAL


def test_one_approval_is_for_one_promotion(waiting: World) -> None:
    waiting.ask("approve")
    waiting.settle()
    waiting.edit(mode="Shadow")
    waiting.settle()
    waiting.edit(mode="Active")
    to_the_gate(waiting)
    assert (waiting.phase, waiting.value) == (ComponentPhase.AWAITING_APPROVAL, "Shadow")


def test_an_approval_that_nobody_asked_for_is_refused() -> None:
    world = World()
    world.run_and_pass()
    world.ask("approve")
    world.settle()
    assert "Automatic" in world.answer("approve").message


def test_manual_again_after_an_intent_stops_the_write() -> None:
    world = World()
    for _ in range(300):
        if world.step().status.intent:
            break
        open_ = world.status.current_run
        if open_ and open_.name in world.runs and "status" not in world.runs[open_.name]:
            world.end_run("Passed")
        elif world.wake:
            world.now = max(world.now, world.wake)
    world.edit(promotion=MANUAL)
    world.settle()
    assert world.value == "Shadow"
    assert world.phase is ComponentPhase.AWAITING_APPROVAL


def test_a_retry_asks_for_a_new_approval(waiting: World) -> None:
    waiting.ask("abort")
    waiting.settle()
    assert waiting.status.approval is None
    waiting.ask("retry", reason="because")
    to_the_gate(waiting)
    assert waiting.phase is ComponentPhase.AWAITING_APPROVAL


# -- benefit


def test_what_explains_nothing_more_is_held_with_a_reason_and_measured_further() -> None:
    world = World(promotion={"requireBenefit": True})
    to_the_gate(world, fixed=0)
    assert world.value == "Shadow"
    assert world.why(ConditionType.PROMOTED) == ("False", "NoBenefit")
    assert world.reasons.count("NoBenefit") == 1
    runs = len(world.created)
    world.pass_time(hours=1)
    world.settle()
    assert len(world.created) >= runs
    assert world.phase is ComponentPhase.OBSERVING


def test_what_shows_no_benefit_names_the_run_that_is_under_way_meanwhile() -> None:
    world = World(promotion={"requireBenefit": True})
    to_the_gate(world, fixed=0)
    for _ in range(8):
        if world.status.current_run:
            break
        world.now = world.wake or world.now + timedelta(hours=8)
        world.settle()
    current = world.status.current_run
    promoted = world.status.condition(ConditionType.PROMOTED)
    assert current
    assert promoted
    assert promoted.reason == "NoBenefit"
    assert current.name in promoted.message


def test_what_explains_one_incident_more_is_promoted() -> None:
    world = World(promotion={"requireBenefit": True})
    assert to_the_gate(world, fixed=1).value == "Active"


def test_a_run_that_does_not_say_what_it_explained_shows_no_benefit() -> None:
    world = World(promotion={"requireBenefit": True})
    assert to_the_gate(world).value == "Shadow"


def test_the_benefit_comes_before_the_approval() -> None:
    world = World(promotion={"requireBenefit": True, "approval": "Manual"})
    to_the_gate(world, fixed=0)
    assert world.why(ConditionType.PROMOTED) == ("False", "NoBenefit")
    world.ask("approve")
    world.settle()
    assert world.answer("approve").result == "Refused"


def test_between_two_runs_of_a_waiting_component_nothing_is_written(waiting: World) -> None:
    waiting.settle()
    written = waiting.status_writes
    waiting.now += timedelta(seconds=30)
    waiting.step()
    assert waiting.status_writes == written
