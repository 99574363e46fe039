"""What makes evidence old, and what may be changed in the middle of an observation."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from rca_testing import samples, suites
from rca_testing.lifecycle_world import sibling

from rca_rollout.api import RcaComponentSpec
from rca_rollout.api.revision import EvalImage
from rca_rollout.core.epoch import (
    changed_parts,
    context_of,
    effective_modes,
    epoch_of,
    epoch_parts,
    stored_parts,
)
from rca_rollout.core.revision import Running

SPEC = samples.minimal("RcaComponent")["spec"]
JOB: dict[str, Any] = {
    "image": "registry.example/e:1",
    "command": ["/e"],
    "args": ["-x"],
    "env": [{"name": "A", "value": "1"}],
}


def epoch(component: dict[str, Any] | None = None, suite: Any = None) -> str:
    spec = RcaComponentSpec.model_validate({**SPEC, **(component or {})})
    return epoch_of(spec, suite or suites.facts(job=JOB))


@pytest.mark.parametrize(
    "component",
    [
        {"revision": "v2"},
        {"target": {**SPEC["target"], "key": "Other.Mode"}},
        {"target": {**SPEC["target"], "configMapRef": {"name": "others"}}},
        {"target": {**SPEC["target"], "values": {"active": "On"}}},
    ],
)
def test_another_subject_is_another_epoch(component: dict[str, Any]) -> None:
    assert epoch(component) != epoch()


@pytest.mark.parametrize(
    "changed",
    [
        {"image": "registry.example/e:2"},
        {"command": ["/e", "-x"], "args": []},
        {"args": ["-y"]},
        {"args": ["-x", "-y"]},
        {"env": [{"name": "A", "value": "2"}]},
        {"env": []},
    ],
)
def test_another_engine_is_another_epoch(changed: dict[str, Any]) -> None:
    assert epoch(suite=suites.facts(job={**JOB, **changed})) != epoch()


def test_another_harness_image_is_another_epoch_where_it_is_what_is_evaluated() -> None:
    def installed(harness: str, **job: Any) -> str:
        return epoch(suite=dataclasses.replace(suites.facts(job=job), default_image=harness))

    assert installed("harness:1") != installed("harness:2")
    assert installed("harness:1", **JOB) == installed("harness:2", **JOB)


@pytest.mark.parametrize(
    "changed",
    [
        {"tolerance": {"accuracyDrop": "0.03"}},
        {"tolerance": {"mttrRise": "31s"}},
        {"protectedIncidents": []},
        {"protectedIncidents": ["GT-03-incident"]},
        {"maxRegressedIncidents": 0},
        {"maxRegressedIncidents": 1},
        {"shadowFidelity": "IfLogged"},
        {"knownBad": "Skip"},
        {"minIncidents": 8},
        {"minFaultClasses": 2},
    ],
)
def test_another_measure_is_another_epoch(changed: dict[str, Any]) -> None:
    assert epoch(suite=suites.facts(job=JOB, **changed)) != epoch()


def test_other_data_is_another_epoch() -> None:
    assert epoch(suite=suites.other_dataset()) != epoch(suite=suites.facts())


@pytest.mark.parametrize(
    "component",
    [
        {"mode": "Shadow"},
        {"suspend": True},
        {"observation": {"period": "1h", "interval": "1m", "minPassingRuns": 9}},
        {"guard": {"interval": "1m", "onRegression": "Alert"}},
    ],
)
def test_wishes_and_intervals_are_not_part_of_it(component: dict[str, Any]) -> None:
    assert epoch(component) == epoch()


@pytest.mark.parametrize(
    "changed",
    [
        {"resources": {"limits": {"memory": "2Gi"}}},
        {"nodeSelector": {"a": "b"}},
        {"tolerations": [{"operator": "Exists"}]},
        {"timeout": "1h"},
        {"startTimeout": "1h"},
        {"imagePullPolicy": "Always"},
        {"imagePullSecrets": [{"name": "x"}]},
        {"podLabels": {"a": "b"}},
        {"podAnnotations": {"a": "b"}},
        {"queueName": "evals"},
        {"priorityClassName": "batch-low"},
    ],
)
def test_where_and_how_long_it_runs_is_not_part_of_it(changed: dict[str, Any]) -> None:
    assert epoch(suite=suites.facts(job={**JOB, **changed})) == epoch()


def test_how_many_run_at_once_and_how_a_number_is_written_in_a_list_is_not_part_of_it() -> None:
    assert epoch(suite=suites.facts(job=JOB, maxConcurrentRuns=4)) == epoch()
    ids = ["GT-01-incident", "GT-03-incident"]
    one, other = (suites.facts(job=JOB, protectedIncidents=order) for order in (ids, ids[::-1]))
    assert epoch(suite=one) == epoch(suite=other)


RUNNING = Running(
    "v1", "agent@sha256:1", "sha256:1", (("input k of ConfigMap a", "1"), ("input k of Secret b", "2"))
)


@pytest.mark.parametrize(
    ("changed", "names"),
    [
        ({"revision": "v2"}, ("the revision",)),
        ({"digest": "sha256:2"}, ("the workload's image",)),
        (
            {"inputs": (("input k of ConfigMap a", "2"), ("input k of Secret b", "2"))},
            ("input k of ConfigMap a",),
        ),
        ({"inputs": RUNNING.inputs[:1]}, ("input k of Secret b",)),
        ({"inputs": ()}, ("input k of ConfigMap a", "input k of Secret b")),
        ({"pull_secrets": ("other",)}, ()),
    ],
)
def test_something_else_that_runs_is_another_epoch_and_says_which_part_it_is(
    changed: dict[str, Any], names: tuple[str, ...]
) -> None:
    spec, suite = RcaComponentSpec.model_validate(SPEC), suites.facts()
    other = dataclasses.replace(RUNNING, **changed)
    old, new = (stored_parts(epoch_parts(spec, suite, running)) for running in (RUNNING, other))
    assert changed_parts(old, new) == names
    assert (epoch_of(spec, suite, RUNNING) != epoch_of(spec, suite, other)) == bool(names)
    assert (RUNNING.identity != other.identity) == bool(names)


def test_what_the_suites_tag_stands_for_counts_only_where_the_suites_image_is_run() -> None:
    spec, suite = RcaComponentSpec.model_validate(SPEC), suites.facts(job=JOB)
    pinned, stale = (
        EvalImage(image=JOB["image"], digest="sha256:2"),
        EvalImage(image="other", digest="sha256:2"),
    )
    named = Running("v1")
    assert epoch_of(spec, suite, named, pinned) != epoch_of(spec, suite, named)
    assert epoch_of(spec, suite, named, stale) == epoch_of(spec, suite, named)
    assert epoch_of(spec, suite, RUNNING, pinned) == epoch_of(spec, suite, RUNNING)


def test_no_part_of_a_status_holds_more_than_a_digest() -> None:
    spec, suite = RcaComponentSpec.model_validate(SPEC), suites.facts(job=JOB)
    assert {len(part.digest) for part in stored_parts(epoch_parts(spec, suite, RUNNING))} == {16}


def test_parts_cannot_run_into_each_other() -> None:
    one = suites.facts(job={**JOB, "command": ["/e", "-x"], "args": []})
    other = suites.facts(job={**JOB, "command": ["/e"], "args": ["-x"]})
    assert epoch(suite=one) != epoch(suite=other)


def test_the_context_is_which_others_are_active_at_which_revision() -> None:
    alone, shadow, active = context_of(()), context_of([sibling("Shadow")]), context_of([sibling("Active")])
    assert len({alone, shadow, active, context_of([sibling("Active", revision="m2")])}) == 4
    assert context_of([sibling("Shadow", revision="m2")]) == shadow
    a, b = sibling("Active", name="a"), sibling("Shadow", name="b")
    assert context_of([a, b]) == context_of([b, a])


def test_the_own_mode_is_measured_under_the_own_key() -> None:
    modes = effective_modes("Live.Mode", "Active", [sibling("Shadow")])
    assert modes == {"Live.Mode": "Active", "memory.Mode": "Shadow"}


def test_the_sidecars_are_part_of_what_is_measured_and_what_they_may_use_is_not() -> None:
    def with_sidecar(**more: Any) -> str:
        side = {"name": "graph", "image": "registry.example/graph:1", **more}
        return epoch(suite=suites.facts(job={**JOB, "sidecars": [side]}))

    assert with_sidecar() != epoch()
    assert with_sidecar(resources={"limits": {"memory": "2Gi"}}) == with_sidecar()
    for changed in (
        {"image": "registry.example/graph:2"},
        {"args": ["-x"]},
        {"env": [{"name": "A", "value": "1"}]},
    ):
        assert with_sidecar(**changed) != with_sidecar()
