"""Finished runs go when newer ones have ended; what somebody refers to, or waits for, stays."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from rca_testing import samples
from rca_testing.crds import schemas
from rca_testing.full_status import filled
from rca_testing.lifecycle_world import START, World

from rca_rollout.api.component_status import RcaComponentStatus
from rca_rollout.api.history import HistoryLimits
from rca_rollout.api.values import format_time
from rca_rollout.core.history import Finished, finished_body, owned_by_component, referred, surplus

LIMITS = HistoryLimits(passed=3, other=2)


def ran(
    number: int, *, passed: bool = True, component: str | None = "live", scheduled: bool = False
) -> Finished:
    at = format_time(START + timedelta(minutes=number))
    return Finished(f"run-{number}", f"uid-{number}", component, scheduled, passed, at)


def test_the_newest_passed_and_the_newest_others_are_kept_of_each_component() -> None:
    runs = [ran(n, passed=n % 2 == 0, component=name) for name in ("a", "b") for n in range(10)]
    gone = surplus(runs, LIMITS, kept=())
    for name in ("a", "b"):
        left = [r for r in runs if r.component == name and r not in gone]
        assert [r.name for r in left] == ["run-4", "run-6", "run-7", "run-8", "run-9"]
        assert sum(r.passed for r in left) == LIMITS.passed
        assert sum(not r.passed for r in left) == LIMITS.other
        newest = max(r.at for r in gone if r.component == name and r.passed)
        assert newest < min(r.at for r in left if r.passed)


_RUNS = st.lists(
    st.builds(
        ran,
        st.integers(0, 500),
        passed=st.booleans(),
        component=st.sampled_from([None, "a", "b"]),
        scheduled=st.booleans(),
    ),
    unique_by=lambda run: run.name,
    max_size=40,
)


@settings(deadline=None)
@given(_RUNS, st.sets(st.integers(0, 500)), st.integers(1, 5), st.integers(1, 5), st.randoms())
def test_no_order_of_runs_deletes_what_is_referred_to_or_newer_than_what_is_kept(
    runs: list[Finished], held: set[int], passed: int, other: int, random: object
) -> None:
    limits = HistoryLimits(passed=passed, other=other)
    kept = {f"run-{n}" if n % 2 else f"uid-{n}" for n in held}
    gone = surplus(runs, limits, kept=kept)
    shuffled = runs[:]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert surplus(shuffled, limits, kept=kept) == gone
    assert not {r.name for r in gone} & kept
    assert not {r.uid for r in gone} & kept
    for run in gone:
        newer = [
            r
            for r in runs
            if (r.component, r.passed, r.scheduled) == (run.component, run.passed, run.scheduled)
            and (r.at, r.name) > (run.at, run.name)
        ]
        assert len(newer) >= (passed if run.passed else other)
    # What is left is not pruned any further: a crash in the middle changes nothing.
    left = [run for run in runs if run not in gone]
    assert surplus(left, limits, kept=kept) == ()
    assert surplus([*left, *gone[1:]], limits, kept=kept) == gone[1:]


def test_what_has_not_ended_and_what_is_going_is_left_alone() -> None:
    body = samples.stored(samples.minimal("EvalRun", "one"))
    assert finished_body(body) is None
    body["status"] = {"phase": "Running"}
    assert finished_body(body) is None
    body["status"] = {"phase": "Failed", "finishedAt": format_time(START)}
    found = finished_body(body)
    assert found
    assert (found.name, found.passed, found.at) == ("one", False, "2026-11-30T10:00:00Z")
    body["metadata"]["deletionTimestamp"] = format_time(START)
    assert finished_body(body) is None


def test_a_component_answers_for_its_own_runs_and_for_no_others() -> None:
    body = samples.stored(samples.minimal("EvalRun", "one"))
    assert not owned_by_component(body)
    body["metadata"]["ownerReferences"] = [{"kind": "EvalSuite", "uid": "s"}]
    assert not owned_by_component(body)
    body["metadata"]["ownerReferences"] = [{"kind": "RcaComponent", "uid": "c"}]
    assert owned_by_component(body)


def test_every_run_that_a_status_names_is_referred_to() -> None:
    """In the fullest status that there can be, with another name at each place that has the form of a run's."""
    raw = filled(schemas()["RcaComponent"]["properties"]["status"])
    numbers = itertools.count()
    named: list[str] = []

    def name(holder: dict[str, Any], key: str) -> None:
        holder[key] = f"run-{next(numbers)}"
        named.append(holder[key])

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("run"), str):
                name(value, "run")
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(raw)
    name(raw["currentRun"], "name")
    name(raw["evidence"]["runs"][0], "name")
    raw["observation"] = {}
    status = RcaComponentStatus.model_validate(raw)
    assert len(named) >= 10
    assert referred(status) == set(named)


def test_of_many_guard_runs_as_many_are_left_as_the_evidence_names() -> None:
    world = World().promoted()
    for _ in range(60):
        world.pass_time(hours=9)
        world.settle()
        world.run_and_pass()
    status = world.status
    assert status.evidence
    assert status.evidence.passing > 60
    assert {run.name for run in status.evidence.runs} <= set(world.runs)
    assert len(world.runs) <= 20 + 5
