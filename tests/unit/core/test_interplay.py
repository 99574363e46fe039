"""Where the parts of the lifecycle meet: two things that are each right alone, at the same moment.

Aspects: a failed guard run beside a change of what it was about, wrong clocks in each waiting state, shards and the judge,
runs that cannot start before others that can, statuses of before, what a person is told.
"""

from __future__ import annotations

from typing import Any

import pytest
from rca_testing import samples, suites
from rca_testing.lifecycle_world import World

from rca_rollout.api.common import ComponentPhase, ConditionType
from rca_rollout.api.reasons import Reason
from rca_rollout.core.problem import Problem
from rca_rollout.core.revision import Running, Unsettled

A, B = ("sha256:" + letter * 64 for letter in "ab")
R6, R7 = Running("r6", f"agent@{A}", A), Running("r7", f"agent@{B}", B)
TARGET = samples.minimal("RcaComponent")["spec"]["target"]
BOUND = {**TARGET, "values": {"shadow": "Shadow", "active": "Active@{revision}"}}
HOLD = {"onNewRevision": "Hold"}
GONE = Problem(Reason.SUITE_NOT_FOUND, "EvalSuite suite does not exist")


def guarded(**spec: Any) -> World:
    """Active, with a guard run under way."""
    live = World(**spec).promoted()
    live.settle()
    live.pass_time(hours=2)
    live.settle()
    assert live.status.current_run is not None
    assert live.status.current_run.trigger == "Guard"
    return live


def held(running: Running = R6) -> World:
    """Promoted under a word that names the revision, with onNewRevision Hold."""
    live = World(target=BOUND, promotion=HOLD)
    live.edit(revision=running.revision)
    live.running = running
    live.observe_to_the_end()
    assert live.value == f"Active@{running.revision}"
    return live


def roll(live: World, running: Running) -> None:
    live.running = running
    live.edit(revision=running.revision)
    live.pass_time(seconds=10)
    live.settle()


def promoted(live: World) -> str:
    found = live.status.condition(ConditionType.PROMOTED)
    assert found is not None
    return f"{found.reason}: {found.message}"


# -- a failed guard run, and in the same moment ...


@pytest.mark.parametrize("suite", [GONE, suites.other_dataset()])
def test_a_failed_guard_run_demotes_though_its_suite_went_or_changed_in_the_same_moment(suite: Any) -> None:
    live = guarded()
    live.end_run("Failed")
    live.suite = suite
    live.settle()
    assert live.value == "Shadow"
    assert live.status.demotion is not None
    assert live.status.demotion.cause == Reason.GUARD_FAILED


def test_a_failed_guard_run_demotes_though_it_is_not_known_what_runs_in_that_moment() -> None:
    live = guarded()
    live.end_run("Failed")
    live.running = Unsettled(Reason.WORKLOAD_NOT_RUNNING, "scaled to 0", stalled=True)
    live.settle()
    assert live.value == "Shadow"


def test_with_alert_a_failed_guard_run_switches_nothing_without_a_suite_either() -> None:
    live = guarded(guard={"interval": "1h", "onRegression": "Alert"})
    live.end_run("Failed")
    live.suite = GONE
    live.settle()
    assert live.value == "Active"
    assert live.why(ConditionType.DEGRADED) == ("True", Reason.GUARD_FAILED)


def test_a_revision_whose_guard_run_failed_as_it_was_replaced_is_not_held() -> None:
    live = held()
    live.pass_time(hours=2)
    live.settle()
    live.end_run("Failed")
    roll(live, R7)
    assert live.value == "Shadow"
    assert live.status.held is None
    roll(live, R6)
    assert live.status.mode == "Shadow"
    assert Reason.GOVERNS_AGAIN not in live.reasons


# -- clocks


@pytest.mark.parametrize("cause", ["adopted", "other data"])
def test_a_demotion_by_hand_is_carried_out_though_the_clock_was_set_back_since_the_promotion(
    cause: str,
) -> None:
    live = World()
    if cause == "adopted":
        live.write("Active")
        live.settle()
    else:
        live.promoted()
        live.suite = suites.other_dataset()
        live.settle()
    live.pass_time(hours=-1)
    live.ask("demote")
    live.settle()
    assert live.answer("demote").result == "Accepted"
    assert live.value == "Shadow"


def test_a_demotion_that_was_undone_is_made_again_soon_though_the_clock_was_set_back() -> None:
    live = World().promoted()
    live.edit(mode="Shadow")
    while not live.writes or live.writes[-1].value != "Shadow":
        live.step()
    assert live.status.intent is not None
    live.written = True
    live.write("Active")
    live.pass_time(hours=-1)
    live.step()
    live.written = False
    live.settle()
    assert live.value == "Shadow"


def test_a_deletion_is_not_kept_for_longer_by_a_clock_that_was_set_back() -> None:
    live = World(deletionPolicy="RevertToShadow").promoted()
    live.settle()
    live.delete()
    live.step()
    assert live.config_map is not None
    live.pass_time(hours=-1)
    for _ in range(90):
        live.write("Active")
        live.step()
        live.write("Active")
        live.pass_time(seconds=5)
        if live.gone:
            break
    assert live.gone


# -- somebody else's words


def test_a_word_for_active_that_comes_before_there_is_a_suite_is_taken_back_where_the_policy_says_so() -> (
    None
):
    live = World(driftPolicy="Revert")
    live.suite = GONE
    live.settle()
    assert live.status.mode == "Shadow"
    live.pass_time(minutes=5)
    live.write("Active")
    live.settle()
    assert live.value == "Shadow"


def test_a_switch_to_shadow_by_somebody_is_held_to_also_while_the_suite_is_missing() -> None:
    live = World().promoted()
    live.suite = GONE
    live.settle()
    live.pass_time(minutes=1)
    live.write("Shadow")
    live.settle()
    assert live.status.promotion is None
    assert live.status.block is not None
    assert live.status.block.reason == Reason.EXTERNAL
    live.suite = suites.facts()
    live.settle()
    assert live.phase is ComponentPhase.BLOCKED


# -- statuses of before


def test_what_was_promoted_before_its_identity_was_kept_is_put_back_when_an_input_changes() -> None:
    before, after = (
        Running("v1", None, None, (("input a", "1"),)),
        Running("v1", None, None, (("input a", "2"),)),
    )
    live = World()
    live.running = before
    live.promoted()
    live.settle()
    del live.component["status"]["promotion"]["running"]
    live.settle()
    live.running = after
    live.pass_time(seconds=10)
    live.settle()
    assert live.value == "Shadow"


# -- what a person is told


def test_a_run_that_waits_for_its_turn_or_a_budget_says_so_where_the_component_is_looked_at() -> None:
    live = World()
    live.run_and_pass()
    live.pass_time(minutes=31)
    live.settle()
    current = live.status.current_run
    assert current is not None
    text = "the budget of 2026-11 has no room for another run: it begins anew at 2026-12-01T00:00:00Z"
    waiting = {"phase": "Pending", "reason": "BudgetExceeded", "message": text}
    live.runs[current.name] = {**live.runs[current.name], "status": waiting}
    live.settle()
    assert "begins anew at 2026-12-01" in promoted(live)
    writes = live.status_writes
    live.pass_time(minutes=1)
    live.settle()
    assert live.status_writes == writes
