"""Verbs: who, why and the answer in status at once, each token handled once, and what follows derived from status."""

from __future__ import annotations

import copy
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rca_testing import suites
from rca_testing.config_maps import target
from rca_testing.lifecycle_world import Crash, World

from rca_rollout.api.common import ComponentPhase, ConditionType
from rca_rollout.api.decisions import TOKENS_REMEMBERED
from rca_rollout.core.problem import Problem

VERBS = ("approve", "retry", "abort", "run", "demote")
FAILED = "AC@1 0.889 < 1.000 - 0.02 (GT-03 lost)"


@pytest.fixture(scope="module")
def _promoted() -> World:
    return World().promoted()


@pytest.fixture
def active(_promoted: World) -> World:
    return copy.deepcopy(_promoted)


def blocked() -> World:
    """The gate has failed."""
    world = World()
    world.settle()
    world.end_run("Failed", message=FAILED)
    world.settle()
    assert world.phase is ComponentPhase.BLOCKED
    return world


def evaluating() -> World:
    world = World()
    world.settle()
    assert world.status.current_run
    return world


# -- the token


@pytest.mark.parametrize("verb", VERBS)
def test_a_token_is_answered_once_and_told_once_whatever_becomes_of_the_annotation(verb: str) -> None:
    world = evaluating()
    world.ask(verb, reason="because")
    world.settle()
    answered = world.answer(verb)
    written = world.status_writes
    world.pass_time(seconds=5)
    world.step()
    world.annotate(**{verb: None, "reason": None})  # as a GitOps controller does
    world.step()
    world.annotate(**{verb: answered.token})  # from Git, or from a backup
    world.step()
    assert world.answer(verb) == answered
    assert world.status_writes == written
    assert len([t for t in world.told if t.reason in ("VerbAccepted", "VerbRefused")]) == 1


@pytest.mark.parametrize("verb", VERBS)
def test_the_first_write_after_the_token_was_seen_carries_everything(verb: str) -> None:
    world = evaluating()
    world.annotate("kubectl-rca", by="alice", reason="it looks wrong", **{verb: f"{world.status.epoch}/a1"})
    world.step()
    answer = world.answer(verb)
    assert answer.token == f"{world.status.epoch}/a1"
    assert answer.by == "alice, field manager kubectl-rca"
    assert answer.reason == "it looks wrong"
    assert answer.at == world.now


@pytest.mark.parametrize("verb", VERBS)
def test_a_token_of_another_epoch_is_refused_with_the_present_one_named(verb: str, active: World) -> None:
    old = active.status.epoch
    active.suite = suites.other_dataset()
    active.settle()
    active.ask(verb, epoch=old, reason="because")
    active.settle()
    assert active.answer(verb).result == "Refused"
    assert str(active.status.epoch) in active.answer(verb).message
    assert active.value == "Active"
    assert [t.type for t in active.told if t.reason == "VerbRefused"] == ["Warning"]


def test_a_token_of_an_epoch_that_ended_in_this_very_moment_is_refused() -> None:
    world = blocked()
    world.suite = suites.other_dataset()
    world.ask("retry", reason="because")
    world.step()
    assert world.answer("retry").result == "Refused"


def test_a_token_that_was_refused_is_not_accepted_when_its_epoch_comes_back() -> None:
    world = blocked()
    epoch = world.status.epoch
    world.suite = suites.other_dataset()
    world.settle()
    world.ask("demote", epoch=epoch)
    world.settle()
    world.suite = suites.facts()
    world.settle()
    assert world.status.epoch == epoch
    assert world.answer("demote").result == "Refused"


@pytest.mark.parametrize(
    "token", ["", "now", "/1", "e/", "DEADBEEF/1", "abc/" + "x" * 181, "abc/a b", "é" * 9]
)
def test_a_token_in_another_form_is_refused_in_one_sentence(token: str) -> None:
    world = evaluating()
    world.annotate(run=token)
    world.settle()
    answer = world.answer("run")
    assert answer.result == "Refused"
    assert f"<epoch>/<something unique>: the present epoch is {world.status.epoch}" in answer.message


def test_of_very_many_tokens_the_one_that_still_stands_is_never_handled_again() -> None:
    world = blocked()
    world.ask("retry", "first", reason="because")
    world.settle()
    world.end_run("Failed")
    world.settle()
    for number in range(TOKENS_REMEMBERED + 5):
        world.ask("run", str(number))
        world.settle()
    assert world.status.attempts == 1
    assert world.phase is ComponentPhase.BLOCKED


def test_who_is_the_newest_manager_of_that_very_annotation() -> None:
    world = evaluating()
    world.annotate("argocd-controller", retry="old/1")
    world.pass_time(seconds=1)
    world.annotate("kubectl", retry="new/1", reason="because")
    world.pass_time(seconds=1)
    world.annotate("somebody-else", run=f"{world.status.epoch}/1")
    world.settle()
    assert world.answer("retry").by == "field manager kubectl"


def test_nobody_known_is_said_so() -> None:
    world = evaluating()
    world.annotate(run="x/1")
    world.component["metadata"].pop("managedFields")
    world.settle()
    assert world.answer("run").by is None
    assert "somebody unknown" in next(t.message for t in world.told if t.reason == "VerbRefused")


def test_a_verb_is_answered_while_the_target_is_missing() -> None:
    world = blocked()
    kept, world.config_map = world.config_map, None
    world.ask("retry", reason="the node was ill")
    world.step()
    world.annotate(retry=None)
    world.config_map = kept
    world.settle()
    assert world.answer("retry").result == "Accepted"
    assert world.phase is ComponentPhase.EVALUATING


# -- retry


def test_a_retry_begins_anew_and_keeps_what_failed_on_record() -> None:
    world = blocked()
    failed = world.status.evidence.runs[-1].name  # type: ignore[union-attr]
    world.ask("retry", reason="the label of GT-03 was wrong", by="alice")
    world.settle()
    assert world.phase is ComponentPhase.EVALUATING
    assert world.status.attempts == 1
    past = world.status.past_failures[-1]
    assert (past.reason, past.run, past.retry_reason) == (
        "GateFailed",
        failed,
        "the label of GT-03 was wrong",
    )
    assert past.message == FAILED
    assert past.by
    assert "alice" in past.by
    assert len(world.created) == 2  # a fresh run, not the old one read again
    world.observe_to_the_end()
    assert world.value == "Active"
    assert world.status.past_failures[-1] == past


def test_a_retry_that_fails_again_is_blocked_again() -> None:
    world = blocked()
    for attempt in (1, 2):
        world.ask("retry", str(attempt), reason=f"try {attempt}")
        world.settle()
        world.end_run("Failed")
        world.settle()
        assert world.phase is ComponentPhase.BLOCKED
    assert world.status.attempts == 2
    assert [past.retry_reason for past in world.status.past_failures] == ["try 1", "try 2"]


@pytest.mark.parametrize("reason", [None, "", "  "])
def test_a_retry_without_a_reason_is_refused(reason: str | None) -> None:
    world = blocked()
    world.ask("retry", **({} if reason is None else {"reason": reason}))
    world.settle()
    assert world.answer("retry").result == "Refused"
    assert world.phase is ComponentPhase.BLOCKED
    world.annotate(reason="too late: the token is spent")
    world.settle()
    assert world.phase is ComponentPhase.BLOCKED


def test_a_retry_of_what_is_not_blocked_is_refused(active: World) -> None:
    for world in (evaluating(), active):
        world.ask("retry", reason="because")
        world.settle()
        assert world.answer("retry").result == "Refused"
        assert world.status.attempts == 0


def test_a_retry_ends_what_a_foreign_write_to_shadow_holds(active: World) -> None:
    active.write("Shadow")
    active.settle()
    assert active.why(ConditionType.PROMOTED) == ("False", "External")
    active.ask("retry", reason="the incident is over")
    active.settle()
    assert active.phase is ComponentPhase.EVALUATING
    active.observe_to_the_end()
    assert active.value == "Active"


def test_a_retry_ends_what_a_guard_run_demoted(active: World) -> None:
    active.now += timedelta(hours=1)
    active.settle()
    active.end_run("Failed", message=FAILED)
    active.settle()
    assert active.why(ConditionType.PROMOTED) == ("False", "GuardFailed")
    active.ask("retry", reason="mended")
    active.settle()
    active.observe_to_the_end()
    assert active.value == "Active"
    assert active.status.past_failures[-1].reason == "GuardFailed"


def test_attempts_are_counted_for_one_revision() -> None:
    world = blocked()
    world.ask("retry", reason="because")
    world.settle()
    world.suite = suites.other_dataset()
    world.settle()
    assert world.status.attempts == 1
    world.edit(revision="v2")
    world.settle()
    assert world.status.attempts == 0
    assert len(world.status.past_failures) == 1


@pytest.mark.parametrize("crash", Crash)
def test_a_crash_around_a_retry_makes_one_attempt_of_it(crash: Crash) -> None:
    world = blocked()
    world.ask("retry", reason="because")
    world.step(crash)
    world.settle()
    assert world.status.attempts == 1
    assert world.phase is ComponentPhase.EVALUATING
    assert len(world.created) == 2


# -- abort


def test_an_abort_ends_the_run_blocks_and_is_sticky_until_a_retry() -> None:
    world = evaluating()
    current = world.status.current_run
    assert current
    world.ask("abort", reason="wrong image")
    world.settle()
    assert world.phase is ComponentPhase.BLOCKED
    assert world.why(ConditionType.PROMOTED) == ("False", "Aborted")
    assert world.why(ConditionType.READY) == ("True", "AsExpected")
    assert world.status.current_run is None
    assert world.answer("abort").run == current.name
    world.end_run("Passed", current.name)  # had it ended a moment before: it does not count
    world.pass_time(days=2)
    world.settle()
    assert world.status.evidence is None
    assert len(world.created) == 1
    world.ask("retry", reason="the right image now")
    world.settle()
    assert len(world.created) == 2
    world.observe_to_the_end()
    assert world.value == "Active"


def test_an_abort_does_not_come_before_a_failure_that_was_not_read_yet() -> None:
    world = evaluating()
    world.end_run("Failed", message=FAILED)
    world.ask("abort")
    world.settle()
    assert world.answer("abort").result == "Refused"
    assert world.why(ConditionType.PROMOTED) == ("False", "GateFailed")


def test_an_abort_is_over_with_a_new_revision() -> None:
    world = evaluating()
    world.ask("abort")
    world.settle()
    world.edit(revision="v2")
    world.settle()
    assert world.phase is ComponentPhase.EVALUATING
    assert world.status.block is None


@pytest.mark.parametrize("steps", range(6))
def test_an_abort_while_the_key_is_being_written_ends_in_shadow(steps: int) -> None:
    world = World()
    for _ in range(200):
        if world.step().status.intent:
            break
        open_ = world.status.current_run
        if open_ and open_.name in world.runs and "status" not in world.runs[open_.name]:
            world.end_run("Passed")
        elif world.wake and not open_:
            world.now = max(world.now, world.wake)
    assert world.status.intent
    for _ in range(steps):
        world.step()
    world.ask("abort")
    world.settle()
    if world.answer("abort").result == "Accepted":
        assert world.value == "Shadow"
        assert world.phase is ComponentPhase.BLOCKED
    else:
        assert world.value == "Active"  # it was recorded as promoted before the verb was seen


def test_an_abort_of_a_guard_run_leaves_the_component_active_and_guarded(active: World) -> None:
    active.ask("abort")
    active.settle()
    assert active.answer("abort").result == "Refused"
    active.now += timedelta(hours=1)
    active.settle()
    active.ask("abort", "2")
    active.settle()
    assert active.answer("abort").result == "Accepted"
    active.end_run("Aborted", reason="Aborted")  # as the run does when it sees the answer
    active.settle()
    assert active.value == "Active"
    before = len(active.created)
    active.go_on()
    assert len(active.created) == before + 1


# -- run


def test_a_run_now_counts_as_any_other(active: World) -> None:
    runs = len(active.created)
    active.ask("run")
    active.settle()
    assert len(active.created) == runs + 1
    assert active.runs[active.created[-1]]["spec"]["trigger"] == "Guard"
    active.end_run("Failed", message=FAILED)
    active.settle()
    assert active.value == "Shadow"


def test_a_run_now_in_an_observation_is_one_run_more_and_does_not_wait_for_the_delay() -> None:
    world = evaluating()
    for _ in range(6):
        world.end_run("Error", reason="NodeLost")
        world.settle()
        world.now = world.wake or world.now
        world.settle()
    world.end_run("Error", reason="NodeLost")
    world.settle()
    runs = len(world.created)
    assert world.wake
    assert world.wake > world.now + timedelta(minutes=5)
    world.ask("run")
    world.settle()
    assert len(world.created) == runs + 1
    world.end_run("Passed")
    world.settle()
    world.pass_time(seconds=1)
    world.settle()
    assert len(world.created) == runs + 1


def _suspend(world: World) -> None:
    world.edit(suspend=True)


def _block(world: World) -> None:
    world.end_run("Failed")


def _nothing(_: World) -> None:
    """A run is under way."""


def _without_a_suite(world: World) -> None:
    world.suite = Problem("SuiteNotFound", "create it")


@pytest.mark.parametrize("state", [_suspend, _block, _nothing, _without_a_suite])
def test_a_run_now_is_refused_where_none_may_start(state: Any) -> None:
    world = evaluating()
    state(world)
    world.settle()
    world.ask("run")
    world.settle()
    assert world.answer("run").result == "Refused"
    assert len(world.created) == 1


# -- demote


def test_a_demotion_by_hand_is_at_once_and_sticky_until_a_retry(active: World) -> None:
    active.ask("demote", reason="strange answers", by="bob")
    active.settle()
    assert (active.value, active.phase) == ("Shadow", ComponentPhase.BLOCKED)
    assert active.why(ConditionType.PROMOTED) == ("False", "DemoteRequested")
    assert active.status.demotion
    assert "bob" in str(active.status.demotion.message)
    active.pass_time(days=3)
    active.settle()
    assert active.value == "Shadow"
    active.ask("retry", reason="the answers were right")
    active.settle()
    active.observe_to_the_end()
    assert active.value == "Active"


@pytest.mark.parametrize("crash", Crash)
@pytest.mark.parametrize("at", range(4))
def test_a_demotion_by_hand_survives_a_crash_and_the_annotation(active: World, crash: Crash, at: int) -> None:
    active.ask("demote")
    for step in range(8):
        active.step(crash if step == at else None)
        if active.status.verbs:
            active.annotate(demote=None)
    active.settle()
    assert (active.value, active.phase) == ("Shadow", ComponentPhase.BLOCKED)
    assert [w.value for w in active.writes] == ["Active", "Shadow"]


def test_a_demotion_by_hand_is_carried_out_though_the_epoch_changed_before_it_was(active: World) -> None:
    active.ask("demote")
    active.step(Crash.BEFORE_ACTIONS)
    active.suite = suites.other_dataset()
    active.settle()
    assert active.value == "Shadow"


def test_a_demotion_by_hand_works_while_suspended_and_without_a_suite(active: World) -> None:
    for state in (_suspend, _without_a_suite):
        world = copy.deepcopy(active)
        state(world)
        world.settle()
        world.ask("demote")
        world.settle()
        assert world.value == "Shadow"


def test_what_was_adopted_can_be_demoted_by_hand() -> None:
    world = World()
    world.config_map = target("Active")
    world.settle()
    world.ask("demote")
    world.settle()
    assert (world.value, world.phase) == ("Shadow", ComponentPhase.BLOCKED)


def test_a_demotion_of_what_is_not_active_is_refused() -> None:
    world = evaluating()
    world.ask("demote")
    world.settle()
    assert world.answer("demote").result == "Refused"


def test_of_a_retry_and_an_abort_at_once_the_safe_one_has_the_last_word() -> None:
    world = blocked()
    world.ask("abort", reason="because")
    world.ask("retry", reason="because")
    world.settle()
    assert world.phase is ComponentPhase.BLOCKED
    assert world.why(ConditionType.PROMOTED) == ("False", "Aborted")


_FIELDS = st.sampled_from(
    [{}, {"f:metadata": {}}, {"f:metadata": None}, {"f:metadata": {"f:annotations": None}}]
)


@settings(max_examples=60, deadline=None)
@given(
    verb=st.sampled_from(VERBS),
    token=st.text(max_size=300),
    entries=st.lists(
        st.fixed_dictionaries({}, optional={"manager": st.text(max_size=200), "fieldsV1": _FIELDS}),
        max_size=3,
    ),
)
def test_no_annotation_and_no_managed_field_stops_the_operator(
    verb: str, token: str, entries: list[dict[str, Any]]
) -> None:
    world = World()
    world.component["metadata"] |= {
        "annotations": {f"rca.bluerobin.io/{verb}": token},
        "managedFields": entries,
    }
    world.settle()
    assert world.answer(verb).result == "Refused"
    assert world.value == "Shadow"
