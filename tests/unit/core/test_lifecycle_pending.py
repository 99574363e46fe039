"""Pending: each thing that is missing has a reason and a sentence, and mends itself when the cause is mended."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from rca_testing import samples, suites
from rca_testing.config_maps import target
from rca_testing.lifecycle_world import World

from rca_rollout.api.common import ComponentPhase, ConditionType
from rca_rollout.core.names import KEYS_ANNOTATION
from rca_rollout.core.problem import Problem
from rca_rollout.core.suites import resolve_suite


def _no_suite(world: World) -> None:
    world.suite = Problem("SuiteNotFound", "EvalSuite suite does not exist in namespace default: create it")


def _no_dataset(world: World) -> None:
    world.suite = resolve_suite("suite", suites.suite().spec, None, suites.CONFIG_MAP)


def _no_baseline(world: World) -> None:
    held = {"data": {"ground-truth.json": suites.DATASET}}
    world.suite = resolve_suite("suite", suites.suite().spec, held, held)


def _no_target(world: World) -> None:
    world.config_map = None


def _no_label(world: World) -> None:
    world.config_map = target()
    world.config_map["metadata"]["labels"] = {}


def _other_key_only(world: World) -> None:
    world.config_map = target()
    world.config_map["metadata"]["annotations"] = {KEYS_ANNOTATION: "Other.Mode"}


def _claimed(world: World) -> None:
    world.claimed_by = "older-one"


def _unknown_value(world: World) -> None:
    world.write("On")


MISSING: dict[str, tuple[Callable[[World], None], str, bool, str]] = {
    "suite": (_no_suite, "SuiteNotFound", False, "create it"),
    "dataset": (_no_dataset, "DatasetNotFound", False, "create it with the dataset"),
    "baseline": (_no_baseline, "BaselineKeyMissing", False, "baseline.json"),
    "target": (_no_target, "TargetNotFound", False, "create it, with the key"),
    "label": (_no_label, "TargetNotOptedIn", True, "label it"),
    "key in the annotation": (_other_key_only, "TargetNotOptedIn", True, "add it to the annotation"),
    "free key": (_claimed, "TargetClaimed", True, "older-one"),
    "known value": (_unknown_value, "UnknownValue", True, "set it to Shadow"),
}


@pytest.mark.parametrize("missing", MISSING)
def test_what_is_missing_is_named_with_a_way_out_and_mends_itself(missing: str) -> None:
    damage, reason, stalled, sentence = MISSING[missing]
    world = World()
    damage(world)
    world.settle()
    assert world.phase is ComponentPhase.PENDING
    assert world.why(ConditionType.READY) == ("False", reason)
    condition = world.status.condition(ConditionType.READY)
    assert condition
    assert sentence in condition.message
    present = ConditionType.STALLED if stalled else ConditionType.RECONCILING
    absent = ConditionType.RECONCILING if stalled else ConditionType.STALLED
    assert world.why(present) == ("True", reason)
    assert world.why(absent) is None
    assert world.reasons == [reason]
    assert (world.created, world.writes) == ([], [])

    world.suite, world.claimed_by, world.config_map = suites.facts(), None, target()
    world.settle()
    assert world.phase is ComponentPhase.EVALUATING
    assert world.why(ConditionType.READY) == ("True", "AsExpected")
    assert world.why(ConditionType.STALLED) is world.why(ConditionType.RECONCILING) is None


@pytest.mark.parametrize("missing", MISSING)
def test_waiting_for_what_is_missing_writes_nothing_and_looks_again_within_seconds(missing: str) -> None:
    world = World()
    MISSING[missing][0](world)
    world.settle()
    written = world.status_writes
    for _ in range(5):
        assert world.wake
        assert timedelta(0) < world.wake - world.now <= timedelta(seconds=10)
        world.now = world.wake
        world.step()
    assert world.status_writes == written


def test_an_absent_key_is_shadow_and_is_added_when_the_component_is_promoted() -> None:
    world = World()
    world.config_map = target(None)
    world.settle()
    assert world.phase is ComponentPhase.EVALUATING
    assert world.promoted().value == "Active"


def test_a_suite_that_returns_during_a_back_off_is_seen_at_once_and_not_when_the_next_run_is_due() -> None:
    world = World()
    world.settle()
    world.end_run("Error", reason="ImagePullFailed")
    world.settle()
    _no_suite(world)
    world.settle()
    assert world.why(ConditionType.READY) == ("False", "SuiteNotFound")
    world.suite = suites.facts()
    world.step()
    assert world.why(ConditionType.READY) == ("True", "AsExpected")
    assert world.why(ConditionType.PROMOTED) == ("False", "ImagePullFailed")
    assert world.why(ConditionType.TARGET_IN_SYNC) == ("True", "InSync")


def test_a_component_that_is_being_deleted_is_left_alone() -> None:
    world = World().promoted()
    before = world.component["status"]
    world.component["metadata"]["deletionTimestamp"] = samples.TIME
    plan = world.step()
    assert (plan.actions, plan.wake_at, world.component["status"], world.value) == (
        (),
        None,
        before,
        "Active",
    )
