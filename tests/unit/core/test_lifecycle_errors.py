"""Runs without a verdict: the cluster's faults are waited out for ever, the evaluation's own block after five in a row."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rca_testing.lifecycle_world import World

from rca_rollout.api.common import ComponentPhase, ConditionType
from rca_rollout.api.reasons import Reason
from rca_rollout.core.lifecycle.errors import LIMIT, MENDS_ITSELF


def without_verdict(world: World, *reasons: str) -> None:
    """So many runs end with these reasons, each as soon as it may start."""
    for reason in reasons:
        world.settle()
        world.end_run("Error", reason=reason, message=f"it was {reason}")
        world.settle()
        if world.wake:
            world.pass_time(seconds=int((world.wake - world.now).total_seconds()))


def test_five_runs_in_a_row_that_fail_by_themselves_block_with_the_last_cause_and_the_way_out() -> None:
    world = World()
    without_verdict(world, *["OutOfMemory"] * (LIMIT - 1))
    assert world.phase is ComponentPhase.EVALUATING
    assert world.status.retry
    assert world.status.retry.errors == LIMIT - 1
    without_verdict(world, "EvalFailed")
    world.settle()
    assert world.phase is ComponentPhase.BLOCKED
    assert world.why(ConditionType.PROMOTED) == ("False", "EvalErrors")
    assert world.why(ConditionType.EVALUATED) == ("Unknown", "EvalErrors")
    assert world.why(ConditionType.READY) == ("True", "AsExpected")
    promoted = world.status.condition(ConditionType.PROMOTED)
    assert promoted
    for words in ("5 runs in a row", "EvalFailed: it was EvalFailed", "rca.bluerobin.io/retry="):
        assert words in promoted.message
    assert world.reasons.count("EvalErrors") == 1
    started = len(world.created)
    world.pass_time(hours=48)
    world.settle()
    assert (len(world.created), world.wake) == (started, None)


def test_the_block_holds_the_last_line_of_the_log_for_when_the_pod_is_gone() -> None:
    world = World()
    without_verdict(world, *["EvalFailed"] * (LIMIT - 1))
    world.settle()
    world.end_run("Error", reason="EvalFailed", message="it crashed", logTail="loading\nno model at hand\n")
    world.settle()
    promoted = world.status.condition(ConditionType.PROMOTED)
    assert promoted
    assert "EvalFailed: it crashed (its log ended with: no model at hand); mend that" in promoted.message


@pytest.mark.parametrize("reason", sorted(MENDS_ITSELF))
def test_what_mends_by_itself_is_tried_again_for_ever(reason: str) -> None:
    world = World()
    without_verdict(world, *[reason] * (3 * LIMIT))
    assert world.phase is ComponentPhase.EVALUATING
    assert world.status.retry
    assert (world.status.retry.consecutive, world.status.retry.errors) == (3 * LIMIT, 0)
    world.run_and_pass()
    assert world.phase is ComponentPhase.OBSERVING


def test_a_fault_of_the_cluster_in_between_neither_counts_nor_begins_the_count_anew() -> None:
    world = World()
    without_verdict(world, *["EvalFailed", "NodeLost"] * (LIMIT - 1))
    assert world.phase is ComponentPhase.EVALUATING
    without_verdict(world, "EvalFailed")
    world.settle()
    assert world.phase is ComponentPhase.BLOCKED


def test_a_verdict_begins_the_count_anew() -> None:
    world = World()
    without_verdict(world, *["EvalFailed"] * (LIMIT - 1))
    world.run_and_pass()
    assert world.status.retry is None
    assert world.phase is ComponentPhase.OBSERVING


def test_a_new_revision_ends_it() -> None:
    world = World()
    without_verdict(world, *["EvalFailed"] * LIMIT)
    world.settle()
    assert world.phase is ComponentPhase.BLOCKED
    world.edit(revision="v2")
    world.run_and_pass()
    assert world.phase is ComponentPhase.OBSERVING


def test_a_word_that_an_image_made_up_counts() -> None:
    world = World()
    without_verdict(world, *["SomethingOfMyOwn"] * LIMIT)
    world.settle()
    assert world.why(ConditionType.PROMOTED) == ("False", "EvalErrors")


def test_what_mends_itself_is_named_by_reasons_that_exist() -> None:
    assert set(Reason) >= MENDS_ITSELF


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from(["EvalFailed", "NodeLost", "RepeatsDiffer", "ImagePullFailed"]), max_size=9))
def test_it_blocks_exactly_when_five_of_its_own_have_come_and_is_never_active(reasons: list[str]) -> None:
    world = World()
    for at, reason in enumerate(reasons):
        own = sum(word not in MENDS_ITSELF for word in reasons[:at])
        if own >= LIMIT:
            break
        without_verdict(world, reason)
    world.settle()
    own = sum(word not in MENDS_ITSELF for word in reasons)
    assert (world.phase is ComponentPhase.BLOCKED) == (own >= LIMIT)
    assert world.value == "Shadow"
