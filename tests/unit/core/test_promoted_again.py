"""What was promoted once is promoted again only on what was measured since; and when a promotion comes, it comes in time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rca_testing.lifecycle_world import START, World

from rca_rollout.api.common import ComponentPhase

MINUTE = timedelta(minutes=1)


def until_active(world: World) -> None:
    for _ in range(400):
        if world.phase is ComponentPhase.ACTIVE:
            return
        world.go_on()
    raise AssertionError(f"not promoted at {world.now}: {world.status.last_transition}")


def by_the_mode(world: World) -> None:
    world.edit(mode="Shadow")
    world.settle()
    world.edit(mode="Active")


def by_the_verb(world: World) -> None:
    world.ask("demote", reason="strange answers")
    world.settle()
    world.ask("retry", "2", reason="they were right")


def by_somebody(world: World) -> None:
    world.write("Shadow")
    world.settle()
    world.ask("retry", reason="it was a mistake")


def by_a_guard_run(world: World) -> None:
    world.ask("run")
    world.settle()
    world.end_run("Failed", harm="Accuracy", message="AC@1 0.889 < 1.000 - 0.02")
    world.settle()
    world.ask("retry", "2", reason="the data was wrong")


def by_another_revision_and_back(world: World) -> None:
    world.edit(revision="v2")
    world.settle()
    world.edit(revision="v1")


WAYS: list[Callable[[World], None]] = [
    by_the_mode,
    by_the_verb,
    by_somebody,
    by_a_guard_run,
    by_another_revision_and_back,
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_the_same_revision_is_promoted_again_only_on_runs_that_were_made_since(
    way: Callable[[World], None],
) -> None:
    world = World().promoted()
    first = world.status.promotion
    assert first
    world.pass_time(minutes=5)
    way(world)
    world.settle()
    assert world.value == "Shadow"
    assert world.status.mode == "Shadow"
    back, made = world.now, len(world.created)
    until_active(world)
    again = world.status.promotion
    assert again
    assert (again.revision, world.value) == (first.revision, "Active")
    assert again.run != first.run
    # A whole observation: nothing that was seen before counts.
    assert world.now >= back + timedelta(hours=2)
    assert world.status.evidence
    counted = world.status.evidence.runs[-world.status.evidence.passing :]
    assert len(counted) >= 3
    assert all(run.started_at and run.started_at >= back for run in counted)
    assert len(world.created) >= made + 2


spans = st.integers(0, 48 * 60)


@settings(deadline=None, max_examples=25)
@given(period=spans, interval=st.integers(1, 12 * 60), fewest=st.integers(1, 4))
def test_whatever_period_and_interval_the_last_run_is_younger_than_the_period_and_then_nothing_is_waited_for(
    period: int, interval: int, fewest: int
) -> None:
    interval = max(interval, period // 8)  # whole walks of many runs say no more, and take long
    observation = {"period": f"{period}m", "interval": f"{interval}m", "minPassingRuns": fewest}
    world = World(observation=observation)
    until_active(world)
    status = world.status
    assert status.promotion
    assert status.observation
    assert status.observation.started_at
    end = status.observation.started_at + timedelta(minutes=period)
    run = world.runs[status.promotion.run or ""]
    begun = datetime.fromisoformat(run["metadata"]["creationTimestamp"])
    ended = datetime.fromisoformat(run["status"]["finishedAt"])
    assert begun >= end
    assert status.promotion.at - ended <= MINUTE
    # The closing run begins when the period is over, or when the run that was under way then has ended.
    enough_before = sum(
        r["status"]["phase"] == "Passed" and datetime.fromisoformat(r["metadata"]["creationTimestamp"]) < end
        for r in world.runs.values()
    )
    if enough_before >= fewest - 1:
        assert begun - end <= 2 * MINUTE


@pytest.mark.parametrize(("alert", "most"), [("Alert", 25), ("Demote", 1)])
def test_what_fails_for_a_day_is_measured_no_more_often_than_what_does_not(alert: str, most: int) -> None:
    world = World(guard={"interval": "1h", "onRegression": alert}).promoted()
    made, end = len(world.created), world.now + timedelta(hours=24)
    while world.now < end:
        world.settle()
        current = world.status.current_run
        if current and current.name in world.runs:
            world.pass_time(minutes=1)
            world.end_run("Failed", harm="Accuracy", message="AC@1 0.889 < 1.000 - 0.02")
        elif world.wake:
            world.now = max(world.now, world.wake)
        else:
            break
    assert len(world.created) - made <= most
    assert world.reasons.count("GuardFailed" if alert == "Alert" else "Demoted") == 1


@pytest.mark.parametrize("reason", ["NodeLost", "OutOfMemory"])
def test_what_has_no_verdict_for_a_day_is_tried_again_a_bounded_number_of_times(reason: str) -> None:
    world = World()
    while world.now < START + timedelta(hours=24):
        world.settle()
        current = world.status.current_run
        if current and current.name in world.runs:
            world.pass_time(minutes=1)
            world.end_run("Error", reason=reason)
        elif world.wake:
            world.now = max(world.now, world.wake)
        else:
            break
    # At most every quarter of an hour, after the seven tries that come sooner; what is the engine's own fault, five times.
    assert len(world.created) <= (5 if reason == "OutOfMemory" else 7 + 24 * 4)
