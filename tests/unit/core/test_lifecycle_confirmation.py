"""Confirmation in the life of a component.

Aspects: a promotion counts when every replica has loaded the value, else it is put back, once; a demotion is written at once
and is an alarm until it is confirmed, and nothing is promoted before; what protects production works meanwhile; clocks,
crashes and answers in any order.
"""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rca_testing import suites
from rca_testing.lifecycle_world import Crash, World

from rca_rollout.api.common import ComponentPhase, ConditionType, Mode
from rca_rollout.api.confirmation import ConfirmationState, ConfirmationStatus
from rca_rollout.core.confirming import question
from rca_rollout.core.lifecycle.decide import decide
from rca_rollout.core.lifecycle.promotion import INTENT_LIFE
from rca_rollout.core.problem import Problem

HTTP = {"selector": {"matchLabels": {"app": "agent"}}, "port": 8080}
TIMEOUT = timedelta(minutes=5)
SHORT = {"period": "0s", "interval": "30m", "minPassingRuns": 1}


def confirming(**spec: Any) -> World:
    """The key is written and read back; two replicas have loaded Shadow so far."""
    world = World(confirmation={"http": HTTP}, observation=SHORT, **spec)
    world.loaded = {"agent-a": "Shadow", "agent-b": "Shadow"}
    for _ in range(20):
        if str(world.value).startswith("Active") and not world.status.intent:
            world.settle()
            return world
        world.go_on()
    raise AssertionError(world.status.last_transition)


def confirmed(**spec: Any) -> World:
    world = confirming(**spec)
    world.load()
    world.settle()
    assert world.phase is ComponentPhase.ACTIVE
    return world


def asked(world: World) -> ConfirmationStatus:
    found = world.status.confirmation
    assert found is not None
    return found


def said(world: World, kind: ConditionType = ConditionType.PROMOTED) -> str:
    found = world.status.condition(kind)
    return found.message if found else ""


def late(world: World) -> World:
    """The deadline passes."""
    world.now = asked(world).deadline
    world.settle()
    return world


def expired() -> World:
    """A promotion that was not confirmed: put back, and all have loaded that."""
    world = late(confirming())
    assert world.value == "Shadow"
    world.load()
    world.settle()
    return world


# -- promotion


def test_a_written_key_is_not_called_promoted_before_every_replica_has_loaded_it() -> None:
    world = confirming()
    assert world.value == "Active"
    assert world.phase is ComponentPhase.PROMOTING
    assert world.why(ConditionType.PROMOTED) == ("False", "Confirming")
    assert world.why(ConditionType.READY) == ("False", "Confirming")
    assert world.why(ConditionType.RECONCILING) == ("True", "Confirming")
    found = asked(world)
    assert (found.mode, found.value, found.state) == (Mode.ACTIVE, "Active", ConfirmationState.WAITING)
    assert found.deadline - found.since == TIMEOUT
    assert (found.confirmed, found.total) == (0, 2)
    assert found.message == (
        "0 of 2 replicas have loaded Active: agent-a has loaded Shadow; agent-b has loaded Shadow"
    )
    assert world.reasons[-1] == "Confirming"
    world.loaded = {"agent-a": "Active", "agent-b": "Shadow"}
    world.settle()
    assert world.phase is ComponentPhase.PROMOTING
    assert "1 of 2 replicas have loaded Active: agent-b has loaded Shadow" in said(world)
    world.load()
    world.settle()
    assert world.phase is ComponentPhase.ACTIVE
    assert world.why(ConditionType.PROMOTED) == ("True", "Promoted")
    assert world.why(ConditionType.READY) == ("True", "AsExpected")
    assert world.why(ConditionType.RECONCILING) is None
    assert "2 of 2 replicas have loaded Active" in said(world)
    assert world.reasons.count("Promoted") == 1
    world.loaded = {
        "agent-a": "Shadow"
    }  # it is over: what comes later is the business of the agents' own metrics
    world.settle()
    assert world.phase is ComponentPhase.ACTIVE


def test_one_that_is_not_confirmed_in_time_is_put_back_and_blocked_and_what_was_tried_is_on_record() -> None:
    world = confirming()
    tried, runs = world.status.promotion, world.status.evidence
    world.loaded = {"agent-a": "Active", "agent-b": "Shadow"}
    late(world)
    assert world.value == "Shadow"
    assert world.phase is ComponentPhase.BLOCKED
    assert world.why(ConditionType.PROMOTED) == ("False", "ConfirmationFailed")
    assert "not confirmed within 5m: 1 of 2 replicas have loaded Active: agent-b has loaded Shadow" in said(
        world
    )
    status = world.status
    assert status.demotion
    assert (status.demotion.cause, status.demotion.promotion) == ("ConfirmationFailed", tried)
    assert status.promotion is None
    assert status.evidence == runs
    assert world.reasons[-1] == "Demoted"
    assert world.told[-1].type == "Warning"


def test_it_is_never_a_loop() -> None:
    world = expired()
    for _ in range(30):
        world.go_on()
        world.pass_time(hours=1)
    assert [write.value for write in world.writes] == ["Active", "Shadow"]
    assert world.phase is ComponentPhase.BLOCKED


def test_a_retry_and_a_new_epoch_try_again_with_evidence_of_their_own() -> None:
    for how in ("retry", "revision"):
        world = expired()
        made = len(world.created)
        if how == "retry":
            world.ask("retry", reason="the probe was wrong")
        else:
            world.edit(revision="v2")
        for _ in range(10):
            world.go_on()
            if world.value == "Active":
                break
        assert len(world.created) > made
        assert world.value == "Active"


def test_a_block_is_there_before_the_key_is_put_back_so_a_crash_in_between_loses_nothing() -> None:
    world = confirming()
    world.now = asked(world).deadline
    world.step(Crash.BEFORE_ACTIONS)
    assert world.status.block
    assert world.status.block.reason == "ConfirmationFailed"
    world.load()  # too late: it was decided, and written down
    world.settle()
    assert world.value == "Shadow"


def test_a_component_without_confirmation_is_promoted_as_ever_and_says_so() -> None:
    world = World(observation=SHORT).promoted()
    assert world.status.confirmation is None
    assert any("consumers were not asked to confirm" in told.message for told in world.told)


def test_confirmation_that_is_taken_out_of_the_spec_is_not_waited_for() -> None:
    world = confirming()
    world.edit(confirmation=None)
    world.settle()
    assert world.phase is ComponentPhase.ACTIVE
    assert world.reasons.count("Promoted") == 1
    world.edit(mode="Shadow")
    world.settle()
    assert world.status.confirmation is None


def test_what_somebody_else_set_to_active_is_not_ours_to_be_confirmed() -> None:
    world = World(confirmation={"http": HTTP}, observation=SHORT)
    world.write("Active")
    world.settle()
    assert world.status.promotion
    assert world.status.promotion.cause == "Adopted"
    assert world.status.confirmation is None


def test_what_somebody_else_sets_to_active_later_is_not_what_was_to_be_confirmed() -> None:
    world = confirming()
    world.write("Shadow")
    world.settle()
    world.write("Active")
    world.settle()
    assert world.status.promotion
    assert world.status.promotion.cause == "ActiveWithoutEvidence"
    assert world.status.confirmation is None


def test_a_word_that_is_held_is_not_asked_for_and_is_confirmed_anew_when_it_governs_again() -> None:
    target = {"configMapRef": {"name": "modes"}, "key": "RcaLiveActivation.Mode"}
    bound = {**target, "values": {"shadow": "Shadow", "active": "Active@{revision}"}}
    world = confirming(target=bound, promotion={"onNewRevision": "Hold"})
    assert asked(world).value == "Active@v1"
    world.edit(revision="v2")
    world.settle()
    assert world.value == "Active@v1"
    assert question(world.snapshot().component) is None
    world.pass_time(hours=2)
    world.edit(revision="v1")
    world.settle()
    assert world.phase is ComponentPhase.PROMOTING
    assert asked(world).deadline == world.now + TIMEOUT
    world.load()
    world.settle()
    assert world.phase is ComponentPhase.ACTIVE
    assert world.why(ConditionType.PROMOTED) == ("True", "Promoted")


# -- what protects production meanwhile


def test_mode_shadow_the_demote_verb_a_new_revision_and_a_failed_run_put_it_back_at_once() -> None:
    def failed(world: World) -> None:
        world.end_run("Failed", harm="Accuracy", regressionOf="Component")

    ways: dict[str, Any] = {
        "ShadowRequested": lambda world: world.edit(mode="Shadow"),
        "DemoteRequested": lambda world: world.ask("demote", reason="odd answers"),
        "RevisionChanged": lambda world: world.edit(revision="v2"),
        "GuardFailed": failed,
    }
    for cause, act in ways.items():
        world = confirming()
        if cause == "GuardFailed":
            world.ask("run")
            world.settle()
        act(world)
        world.settle()
        assert world.value == "Shadow", cause
        assert world.status.demotion
        assert world.status.demotion.cause == cause
        assert "Promoted" not in world.reasons
        assert asked(world).mode is Mode.SHADOW


def test_no_condition_says_promoted_while_it_is_put_back() -> None:
    world = confirming()
    world.edit(mode="Shadow")
    world.step()
    assert world.status.intent
    assert world.why(ConditionType.PROMOTED) == ("False", "Demoting")


def test_somebody_who_sets_shadow_meanwhile_is_respected_and_that_is_confirmed_too() -> None:
    world = confirming()
    world.write("Shadow")
    world.settle()
    assert world.phase is ComponentPhase.BLOCKED
    assert world.status.demotion
    assert world.status.demotion.cause == "External"
    assert asked(world).mode is Mode.SHADOW


def test_suspended_it_goes_on_to_be_asked_and_is_put_back_when_the_time_is_over() -> None:
    world = confirming()
    world.edit(suspend=True)
    world.settle()
    assert world.phase is ComponentPhase.SUSPENDED
    assert world.why(ConditionType.PROMOTED) == ("False", "Confirming")
    late(world)
    assert world.value == "Shadow"


def test_without_a_suite_it_is_confirmed_or_put_back_all_the_same() -> None:
    for loads, value in ((True, "Active"), (False, "Shadow")):
        world = confirming()
        world.suite = Problem("SuiteNotFound", "EvalSuite suite does not exist: create it")
        world.settle()
        assert world.why(ConditionType.PROMOTED) == ("False", "Confirming")
        if loads:
            world.load()
        else:
            world.now = asked(world).deadline
        world.settle()
        assert world.value == value
        if loads:
            assert world.why(ConditionType.PROMOTED) == ("True", "Promoted")


def test_another_epoch_meanwhile_does_not_keep_what_is_not_confirmed() -> None:
    world = confirming()
    world.suite = suites.facts(tolerance={"accuracyDrop": "0.05"})
    world.settle()
    late(world)
    assert world.value == "Shadow"
    world.load()
    for _ in range(6):
        if world.value == "Shadow":
            world.go_on()
    assert world.value == "Active"  # the new epoch, on runs of its own


def test_an_immutable_config_map_is_told_and_the_block_stays() -> None:
    world = confirming()
    assert world.config_map
    world.config_map = {**world.config_map, "immutable": True}
    late(world)
    assert world.why(ConditionType.STALLED) == ("True", "TargetImmutable")
    assert world.why(ConditionType.PROMOTED) == ("False", "TargetImmutable")
    world.config_map = {**world.config_map, "immutable": False}
    world.settle()
    assert world.value == "Shadow"


# -- demotion


def test_a_demotion_is_written_at_once_and_done_when_it_is_confirmed() -> None:
    world = confirmed()
    world.edit(mode="Shadow")
    world.settle()
    assert world.value == "Shadow"
    assert (asked(world).mode, asked(world).state) == (Mode.SHADOW, ConfirmationState.WAITING)
    world.load()
    world.settle()
    assert asked(world).state is ConfirmationState.CONFIRMED
    assert not {"DemotionUnconfirmed", "Confirmed"} & set(world.reasons)
    assert world.why(ConditionType.DEGRADED) is None


def test_one_that_is_not_confirmed_in_time_is_an_alarm_until_it_is_and_nothing_is_promoted_before() -> None:
    world = confirmed()
    world.edit(mode="Shadow")
    world.settle()
    late(world)
    assert world.why(ConditionType.DEGRADED) == ("True", "DemotionUnconfirmed")
    assert "agent-a has loaded Active" in said(world, ConditionType.DEGRADED)
    assert world.reasons.count("DemotionUnconfirmed") == 1
    world.edit(mode="Active")
    for _ in range(12):
        world.go_on()
    assert world.status.evidence
    assert world.status.evidence.passing >= 1  # evaluated meanwhile
    assert world.value == "Shadow"
    assert world.why(ConditionType.PROMOTED) == ("False", "DemotionUnconfirmed")
    assert world.why(ConditionType.DEGRADED) == ("True", "DemotionUnconfirmed")
    assert world.reasons.count("DemotionUnconfirmed") == 1
    world.load()
    world.settle()
    assert world.value == "Active"
    assert world.why(ConditionType.DEGRADED) is None
    assert world.reasons.count("Confirmed") == 1


def test_before_the_deadline_of_a_demotion_nothing_is_promoted_either() -> None:
    world = confirmed()
    world.edit(mode="Shadow")
    world.settle()
    world.edit(mode="Active")
    world.settle()
    world.run_and_pass()
    world.run_and_pass()
    assert world.status.evidence
    assert world.status.evidence.passing == 2
    assert world.now < asked(world).deadline
    assert world.value == "Shadow"
    assert world.why(ConditionType.PROMOTED) == ("False", "Confirming")


def test_a_demotion_of_which_nobody_can_be_asked_is_not_confirmed() -> None:
    world = confirmed()
    world.edit(mode="Shadow")
    world.loaded = {}
    world.settle()
    late(world)
    assert world.why(ConditionType.DEGRADED) == ("True", "DemotionUnconfirmed")
    assert "no ready Pod has the labels app=agent" in said(world, ConditionType.DEGRADED)


def test_a_key_that_is_removed_after_that_is_what_is_asked_for_then() -> None:
    world = confirmed()
    world.edit(mode="Shadow")
    world.settle()
    world.write(None)
    world.settle()
    assert asked(world).value == ""
    world.loaded = {"agent-a": None, "agent-b": None}
    world.settle()
    assert asked(world).state is ConfirmationState.CONFIRMED


def test_deleting_a_component_does_not_wait_for_anybody() -> None:
    for prepare in (confirming, confirmed):
        world = prepare(deletionPolicy="RevertToShadow")
        world.delete()
        for _ in range(8):
            world.step()
        assert world.gone
        assert world.value == "Shadow"


# -- answers, clocks, crashes


def test_an_answer_to_another_question_confirms_nothing() -> None:
    world = confirming()
    world.load()
    snapshot = world.snapshot()
    assert snapshot.confirmation
    assert snapshot.confirmation.complete
    assert decide(snapshot, world.now).status.phase is ComponentPhase.ACTIVE
    asked_now = snapshot.confirmation.question
    others = (
        dataclasses.replace(asked_now, value="Shadow"),
        dataclasses.replace(asked_now, mode=Mode.SHADOW),
        dataclasses.replace(asked_now, since=asked_now.since - timedelta(seconds=1)),
        dataclasses.replace(asked_now, how=asked_now.how.evolve(port=9)),
    )
    for other in others:
        stale = dataclasses.replace(snapshot.confirmation, question=other)
        plan = decide(dataclasses.replace(snapshot, confirmation=stale), world.now)
        assert plan.status.phase is ComponentPhase.PROMOTING


def test_an_operator_that_was_away_over_the_deadline_asks_before_it_puts_back_and_does_not_wait_long() -> (
    None
):
    for loads in (True, False):
        world = confirming()
        known, world.loaded = world.loaded, None  # another process: nobody was asked yet
        world.now = asked(world).deadline + timedelta(hours=2)
        world.settle()
        assert world.value == "Active"
        if loads:
            world.loaded = known
            world.load()
            world.settle()
            assert world.phase is ComponentPhase.ACTIVE
            continue
        for _ in range(3):
            world.pass_time(seconds=50)
            world.settle()
        assert world.value == "Shadow"


def test_a_clock_that_is_set_back_neither_promotes_nor_hangs_for_ever() -> None:
    world = confirming()
    world.pass_time(days=-30)
    world.settle()
    assert world.phase is ComponentPhase.PROMOTING
    assert asked(world).deadline <= world.now + TIMEOUT
    late(world)
    assert world.value == "Shadow"


def test_a_clock_that_jumps_ahead_puts_back() -> None:
    world = confirming()
    world.pass_time(days=30)
    world.settle()
    assert world.value == "Shadow"


def test_steady_state_writes_nothing() -> None:
    world = confirming()
    before = world.status_writes
    for _ in range(4):
        world.pass_time(seconds=30)
        world.settle()
    assert world.status_writes == before
    world = confirmed()
    world.edit(mode="Shadow")
    world.settle()
    late(world)
    before = world.status_writes
    world.pass_time(seconds=20)
    world.settle()
    assert world.status_writes == before


ACTS = st.sampled_from(["load", "load one", "break", "none answers", "wait", "late", "back", "crash", "step"])


@settings(max_examples=60, deadline=None)
@given(st.lists(ACTS, min_size=1, max_size=25), st.booleans())
@pytest.mark.parametrize("begin", [confirming, confirmed])
def test_whatever_is_said_in_whatever_order_nothing_is_called_promoted_that_was_not_confirmed(
    begin: Any, acts: list[str], shadow: bool
) -> None:
    world: World = begin()
    if shadow:
        world.edit(mode="Shadow")
    complete = begin is confirmed
    for act in acts:
        match act:
            case "load":
                world.load()
            case "load one":
                world.loaded = {**(world.loaded or {"agent-b": "Shadow"}), "agent-a": world.value}
            case "break":
                world.loaded = {"agent-a": "odd"}
            case "none answers":
                world.loaded = None
            case "wait":
                world.pass_time(seconds=40)
            case "late":
                world.pass_time(minutes=10)
            case "back":
                world.pass_time(hours=-1)
        every = bool(world.loaded) and set((world.loaded or {}).values()) == {"Active"}
        complete = complete or every
        owed = world.status.confirmation
        held = owed and owed.mode is Mode.SHADOW and owed.state is not ConfirmationState.CONFIRMED
        writes = len(world.writes)
        world.step(Crash.BEFORE_ACTIONS if act == "crash" else None)
        if held:
            assert all(write.value == "Shadow" for write in world.writes[writes:])
        promoted = world.why(ConditionType.PROMOTED)
        if promoted and promoted[0] == "True":
            assert complete
        assert world.reasons.count("Promoted") <= 1
    # And in the end it is one or the other, whatever came before.
    world.loaded = {"agent-a": "odd"} if not complete else world.loaded
    for _ in range(8):
        world.pass_time(minutes=4)
        world.settle()
    intent, found = world.status.intent, asked(world)
    assert intent is None or world.now >= intent.issued_at + INTENT_LIFE
    assert found.state is not ConfirmationState.WAITING
    assert (world.value == "Active") == (found.mode is Mode.ACTIVE)


def test_the_question_is_asked_only_while_somebody_waits_for_its_answer() -> None:
    world = confirming()
    assert question(world.snapshot().component)
    world.load()
    world.settle()
    assert question(world.snapshot().component) is None
