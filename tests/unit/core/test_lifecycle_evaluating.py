"""Evaluating: one run at a time, a verdict or another try, and never a pass out of nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest
from rca_testing import suites
from rca_testing.lifecycle_world import START, Crash, World, sibling

from rca_rollout.api.common import ComponentPhase, ConditionType


def test_the_first_step_names_the_run_and_only_the_second_creates_it() -> None:
    world = World()
    assert world.step().actions == ()
    current = world.status.current_run
    assert current
    assert current.trigger == "Gate"
    assert [action.name for action in world.step().actions] == [current.name] == world.created


def test_the_run_says_what_it_measures_and_belongs_to_the_component() -> None:
    world = World()
    world.settle()
    (run,) = world.runs.values()
    assert run["spec"] == {
        "suiteRef": {"name": "suite"},
        "componentRef": {"name": "live"},
        "trigger": "Gate",
        "revision": "v1",
        "epoch": world.status.epoch,
        "context": world.status.context,
    }
    (owner,) = run["metadata"]["ownerReferences"]
    assert owner["uid"] == world.component["metadata"]["uid"]
    assert owner["controller"]
    assert not owner["blockOwnerDeletion"]


@pytest.mark.parametrize("crash", Crash)
def test_a_crash_at_any_step_makes_no_second_run(crash: Crash) -> None:
    world = World()
    for at in range(3):
        for step in range(6):
            world.step(crash if step == at else None)
    assert len(world.created) == 1


def test_a_cache_that_lags_behind_makes_no_second_run() -> None:
    world = World()
    world.cached = {}
    for _ in range(6):
        world.step()
    assert len(world.created) == 1
    world.cached = None
    world.settle()
    assert world.status.current_run
    assert world.status.current_run.uid == "uid-1"


def test_a_passed_gate_begins_the_observation() -> None:
    world = World()
    world.settle()
    world.end_run("Passed", accuracy="1.000", delta="+0.000", mttr="0.003s", baseline="1.000")
    world.settle()
    status = world.status
    assert status.phase is ComponentPhase.OBSERVING
    assert status.evidence
    assert (status.evidence.passing, status.evidence.failing) == (1, 0)
    assert status.evaluation
    assert (status.evaluation.accuracy, status.evaluation.delta) == ("1.000", "+0.000")
    assert world.why(ConditionType.EVALUATED) == ("True", "GatePassed")
    assert world.reasons == ["RunInProgress", "ObservationStarted"]


def test_a_failed_gate_blocks_and_says_why_with_the_run_s_own_sentence() -> None:
    world = World()
    world.settle()
    world.end_run("Failed", message="AC@1 0.778 < 1.000 - 0.02 (GT-03, GT-07 lost)")
    world.settle()
    assert world.phase is ComponentPhase.BLOCKED
    assert world.why(ConditionType.READY) == (
        "True",
        "AsExpected",
    )  # Argo CD waves and Flux waits must not hang
    promoted = world.status.condition(ConditionType.PROMOTED)
    assert promoted
    assert (promoted.status, promoted.reason) == ("False", "GateFailed")
    assert promoted.message == "AC@1 0.778 < 1.000 - 0.02 (GT-03, GT-07 lost)"
    assert (world.value, world.wake) == ("Shadow", None)


@pytest.mark.parametrize("phase", ["Inconclusive", "Error", "Aborted"])
def test_no_verdict_is_never_a_pass_and_is_tried_again_later_each_time(phase: str) -> None:
    world = World()
    waits = []
    for _ in range(9):
        world.settle()
        world.end_run(phase, reason="NodeLost")
        world.settle()
        assert world.phase is ComponentPhase.EVALUATING
        assert world.why(ConditionType.EVALUATED) == ("Unknown", "NodeLost")
        assert world.wake
        waits.append((world.wake - world.now).total_seconds())
        world.now = world.wake - timedelta(seconds=1)
        started = len(world.created)
        world.settle()
        assert len(world.created) == started
        world.pass_time(seconds=1)
    assert waits == [10, 20, 40, 80, 160, 320, 640, 900, 900]
    assert world.reasons.count("NodeLost") == 1  # told once, not nine times
    assert world.value == "Shadow"
    assert world.status.evidence is None


def test_a_pass_after_errors_ends_the_back_off() -> None:
    world = World()
    world.settle()
    world.end_run("Error", reason="ImagePullFailed")
    world.settle()
    world.now += timedelta(seconds=10)
    world.run_and_pass()
    assert world.status.retry is None
    assert world.phase is ComponentPhase.OBSERVING


def test_a_run_deleted_by_hand_is_no_verdict_and_is_made_again_under_a_new_number() -> None:
    world = World()
    world.settle()
    world.runs = {}
    world.settle()
    assert world.status.retry
    assert world.status.retry.reason == "RunLost"
    world.pass_time(seconds=10)
    world.settle()
    assert [name.rsplit("-", 1)[1] for name in world.created] == ["1", "2"]


def test_a_run_replaced_by_another_of_that_name_does_not_count() -> None:
    world = World()
    world.settle()
    name = world.end_run("Passed")
    world.runs[name]["metadata"]["uid"] = "forged"
    world.settle()
    assert world.status.evidence is None
    assert world.status.retry
    assert world.status.retry.reason == "RunLost"


def test_a_superseded_run_is_made_again_at_once_and_is_not_held_against_anybody() -> None:
    world = World()
    world.settle()
    world.end_run("Superseded")
    world.settle()
    assert (len(world.created), world.now) == (2, START)
    assert world.status.retry is None


def test_a_new_revision_throws_the_run_and_all_evidence_away() -> None:
    world = World()
    world.run_and_pass()
    old = world.status.epoch
    world.edit(revision="v2")
    world.settle()
    assert world.status.epoch != old
    assert world.status.evidence is world.status.observation is None
    assert world.phase is ComponentPhase.EVALUATING
    assert "ObservationReset" in world.reasons
    assert "v2" in next(t.message for t in world.told if t.reason == "ObservationReset")


def test_what_an_overtaken_run_says_later_does_not_count() -> None:
    world = World()
    world.settle()
    first = world.created[0]
    world.edit(revision="v2")
    world.settle()
    world.end_run("Failed", first)
    world.settle()
    assert world.phase is ComponentPhase.EVALUATING
    assert world.status.evidence is None


def test_a_status_that_got_lost_takes_no_old_run_for_a_new_one() -> None:
    """The first run's name is used; what it showed long ago must not pass for what is so now."""
    world = World()
    world.run_and_pass()
    world.component["status"] = {"observedGeneration": -1}
    world.pass_time(days=3)
    world.settle()
    assert world.status.evidence is None
    assert world.status.current_run
    assert world.created[-1] == world.status.current_run.name
    assert len(set(world.created)) == len(world.created) == 2


def test_another_dataset_is_another_epoch_and_another_sibling_s_mode_only_another_context() -> None:
    world = World()
    world.run_and_pass()
    epoch, context = world.status.epoch, world.status.context
    world.siblings = (sibling("Active"),)
    world.settle()
    assert world.status.epoch == epoch
    assert world.status.context != context
    world.suite = suites.other_dataset()
    world.settle()
    assert world.status.epoch != epoch
    assert "data, engine or tolerance" in world.told[-1].message or "ObservationReset" in world.reasons
