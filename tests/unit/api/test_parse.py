"""Reading objects: strict in the spec, forgiving in the status, sentences for people."""

from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rca_testing import samples
from rca_testing.crds import nodes, schemas
from rca_testing.rule_cases import put
from rca_testing.strategies import from_schema

from rca_rollout.api import (
    KINDS,
    ComponentPhase,
    ConditionType,
    EvalRun,
    EvalSuite,
    InvalidSpec,
    RcaComponent,
    Resource,
    parse,
    read_status,
)

SCHEMAS = schemas()


def read[K: Resource](kind: type[K], body: dict[str, Any]) -> K:
    parsed = parse(kind, body)
    assert not isinstance(parsed, InvalidSpec), parsed.message
    return parsed


def refused(kind: type[Resource], body: dict[str, Any]) -> InvalidSpec:
    parsed = parse(kind, body)
    assert isinstance(parsed, InvalidSpec)
    return parsed


def test_metadata_is_typed() -> None:
    body = samples.stored(samples.minimal("RcaComponent", "memory"))
    body["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    body["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "m", "uid": "u", "controller": True, "other": 1}
    ]
    component = read(RcaComponent, body)
    assert component.key == ("default", "memory")
    assert component.metadata.creation_timestamp == datetime(2026, 11, 30, 10, tzinfo=UTC)
    assert component.metadata.owner_references[0].controller
    assert (component.metadata.generation, component.metadata.resource_version) == (1, "7")


def test_bodies_need_not_be_dicts() -> None:
    """kopf hands out read-only mappings."""
    body = samples.minimal("EvalRun")
    frozen = MappingProxyType(
        {key: MappingProxyType(v) if isinstance(v, dict) else v for key, v in body.items()}
    )
    assert read(EvalRun, frozen) == read(EvalRun, body)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        ("spec.revision", "a b", "spec.revision: String should match pattern"),
        (
            "spec.observation.minPassingRuns",
            0,
            "spec.observation.minPassingRuns: Input should be greater than",
        ),
        ("spec.mode", "On", "spec.mode: Input should be 'Shadow' or 'Active'"),
        ("spec.observation.period", "7d", 'spec.observation.period: "7d" must be a duration in hours'),
        ("spec.foo", 1, "spec.foo: is not a known field"),
        ("spec.target", {"key": "k"}, "spec.target.configMapRef: is required"),
        ("metadata.name", "a" * 41, "the name of an RcaComponent has at most 40 characters"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(path: str, value: Any, sentence: str) -> None:
    invalid = refused(RcaComponent, put(samples.minimal("RcaComponent"), path, value))
    assert invalid.message.startswith(sentence)
    assert "\n" not in invalid.message
    assert invalid.metadata.name


def test_only_three_findings_are_listed() -> None:
    body = samples.minimal("RcaComponent")
    body["spec"] = {"a": 1, "b": 2, "c": 3}
    assert refused(RcaComponent, body).message.endswith("; and 2 more")


@pytest.mark.parametrize("spec", [None, {}, [], "x"])
def test_a_missing_spec_is_invalid_not_a_crash(spec: Any) -> None:
    assert refused(EvalSuite, {"metadata": {"name": "x"}, "spec": spec}).kind == "EvalSuite"


def test_the_status_of_an_invalid_object_is_still_there() -> None:
    body = put(samples.minimal("RcaComponent"), "spec.mode", "On")
    body["status"] = {"phase": "Active", "observedGeneration": 4}
    status = refused(RcaComponent, body).status
    assert (status.observed_generation, status.conditions) == (4, ())


def test_a_status_of_another_version_is_read_as_far_as_possible() -> None:
    body = samples.minimal("RcaComponent")
    condition = {
        "type": "Ready",
        "status": "True",
        "reason": "AsExpected",
        "lastTransitionTime": samples.TIME,
        "new": 1,
    }
    body["status"] = {
        "phase": "Meditating",
        "epoch": "e1",
        "invented": {"a": 1},
        "evidence": {"passing": 2, "invented": True},
        "conditions": [condition],
    }
    status = read(RcaComponent, body).status
    assert status.phase is None
    assert status.epoch == "e1"
    assert status.evidence is not None
    assert status.evidence.passing == 2
    ready = status.condition(ConditionType.READY)
    assert ready is not None
    assert ready.reason == "AsExpected"
    assert status.condition(ConditionType.PROMOTED) is None


def test_objects_are_frozen() -> None:
    component = read(RcaComponent, samples.minimal("RcaComponent"))
    with pytest.raises(ValueError, match="frozen"):
        component.status.phase = ComponentPhase.ACTIVE  # type: ignore[misc]


@pytest.mark.parametrize("kind", sorted(KINDS))
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)
@given(data=st.data())
def test_what_is_written_is_read_back_unchanged(kind: str, data: st.DataObject) -> None:
    """Any spec and status that the schema allows, except those that a rule refuses."""
    schema = SCHEMAS[kind]["properties"]
    body = samples.stored(samples.minimal(kind))
    body["spec"] = data.draw(from_schema(schema["spec"]))
    body["status"] = data.draw(from_schema(schema["status"]))
    parsed = parse(KINDS[kind], body)
    if isinstance(parsed, InvalidSpec):
        messages = [r["message"] for _, node in _rules(SCHEMAS[kind]) for r in node]
        assert any(message in parsed.message for message in messages), parsed.message
        return
    written = parsed.to_dict()
    assert parse(KINDS[kind], written) == parsed
    assert read_status(type(parsed.status), written["status"]).to_dict() == written["status"]


def _rules(schema: dict[str, Any]) -> list[tuple[str, list[dict[str, str]]]]:
    return [(path, node.get("x-kubernetes-validations", [])) for path, node in nodes(schema)]
