"""What a run showed counts whatever happens before it is read, and only a run that was asked for counts."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from rca_testing.lifecycle_world import World, sibling

from rca_rollout.api.common import ComponentPhase, ConditionType


@pytest.fixture
def observing() -> World:
    """The gate has passed, and the next run is under way."""
    world = World()
    world.siblings = (sibling("Shadow"),)
    world.run_and_pass()
    assert world.wake
    world.now = world.wake
    world.settle()
    assert world.status.current_run
    return world


def test_a_failure_blocks_although_the_context_changed_before_it_was_read(observing: World) -> None:
    observing.end_run("Failed", regressionOf="Component")
    observing.siblings = (sibling("Active"),)
    observing.settle()
    assert observing.phase is ComponentPhase.BLOCKED
    assert observing.why(ConditionType.PROMOTED) == ("False", "GateFailed")
    assert observing.reasons[-1] == "GateFailed"


def test_a_failed_guard_run_blocks_although_shadow_was_asked_for_before_it_was_read() -> None:
    world = World().promoted()
    assert world.wake
    world.now = world.wake
    world.settle()
    world.end_run("Failed", regressionOf="Component")
    world.edit(mode="Shadow")
    world.settle()
    assert world.value == "Shadow"
    world.edit(mode="Active")
    world.settle()
    assert world.phase is ComponentPhase.BLOCKED
    assert world.why(ConditionType.PROMOTED) == ("False", "GateFailed")


@pytest.mark.parametrize(
    "foreign",
    [
        {"suiteRef": {"name": "easy"}},
        {"revision": "other"},
        {"epoch": None},
        {"epoch": "e2"},
        {"context": "c2"},
        {"dryRun": True},
        {"componentRef": {"name": "other"}},
    ],
    ids=str,
)
def test_a_run_under_the_expected_name_that_measures_something_else_is_no_evidence(
    observing: World, foreign: dict[str, Any]
) -> None:
    current = observing.status.current_run
    assert current
    before = observing.status.evidence
    spec = {**observing.runs[current.name]["spec"], **foreign}
    body = copy.deepcopy(observing.runs[current.name])
    body["spec"] = {key: value for key, value in spec.items() if value is not None}
    observing.runs = {**observing.runs, current.name: body}
    observing.end_run("Passed")
    observing.step()
    assert observing.status.evidence == before
    assert observing.status.retry
    assert observing.status.retry.reason == "RunLost"
    observing.go_on()
    assert observing.created[-1] != current.name
