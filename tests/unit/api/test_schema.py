"""The CRDs and the models are one thing.

Aspects: the committed files are current; defaults are equal; what is accepted is accepted by both; every rule and
every bound refuses in both, rules with the same words; no rule is without an example.
"""

import functools
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from rca_testing import samples
from rca_testing.bound_cases import Violation, violations
from rca_testing.crds import defaulted, definitions, nodes, schemas, without_empty
from rca_testing.rule_cases import CASES, CHANGES, Case

from hack.crdgen.__main__ import main
from rca_rollout.api import KINDS, InvalidSpec, parse

ALL_KINDS = sorted(KINDS)
SCHEMAS = schemas()


def valid(kind: str, body: dict[str, Any]) -> bool:
    return validator(kind).is_valid(body)


@functools.cache
def validator(kind: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(_as_json_schema(SCHEMAS[kind]))


def _as_json_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Kubernetes refuses unknown fields on its own (strict field validation); JSON schema has to be told."""
    result = dict(schema)
    if "properties" in result:
        result["properties"] = {k: _as_json_schema(v) for k, v in result["properties"].items()}
        result["additionalProperties"] = False
    if "items" in result:
        result["items"] = _as_json_schema(result["items"])
    if schema == {"type": "object"}:  # metadata, whose schema the API server has built in
        result["additionalProperties"] = True
    return result


def test_committed_crds_are_what_the_models_say(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().out


@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize("sample", [samples.minimal, samples.full])
def test_samples_are_accepted_by_schema_and_model(kind: str, sample: Any) -> None:
    body = sample(kind)
    assert valid(kind, body)
    assert not isinstance(parse(KINDS[kind], body), InvalidSpec)


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_the_full_sample_has_every_field(kind: str) -> None:
    """A new field needs a value in `rca_testing.samples`: the examples of refused bounds are made from it."""
    schema = SCHEMAS[kind]["properties"]["spec"]
    lacking = [set(_lacking(schema, body["spec"], "spec")) for body in samples.everything(kind)]
    assert set.intersection(*lacking) == set()


def _lacking(schema: dict[str, Any], value: Any, path: str) -> Iterator[str]:
    for name, child in schema.get("properties", {}).items():
        if name not in value:
            yield f"{path}.{name}"
        else:
            yield from _lacking(child, value[name], f"{path}.{name}")
    if "items" in schema:
        yield from _lacking(schema["items"], value[0], f"{path}[0]")


@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize("sample", [samples.minimal, samples.full])
def test_defaults_of_the_models_are_the_defaults_of_the_crds(kind: str, sample: Any) -> None:
    body = sample(kind)
    stored = defaulted(SCHEMAS[kind], body)
    ours = parse(KINDS[kind], body)
    assert not isinstance(ours, InvalidSpec)
    assert without_empty(ours.spec.to_dict()) == stored["spec"]
    assert ours == parse(KINDS[kind], stored)


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_a_fresh_object_gets_the_status_of_one_that_nobody_looked_at(kind: str) -> None:
    assert defaulted(SCHEMAS[kind], samples.minimal(kind))["status"] == {"observedGeneration": -1}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_rules_accept_their_good_examples(case: Case) -> None:
    for good in case.good:
        body = case.body(good)
        parsed = parse(KINDS[case.kind], body)
        assert not isinstance(parsed, InvalidSpec), (good, parsed)
        assert valid(case.kind, body), good


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_rules_refuse_their_bad_examples(case: Case) -> None:
    for bad in case.bad:
        parsed = parse(KINDS[case.kind], case.body(bad))
        assert isinstance(parsed, InvalidSpec), bad


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_refusal_says_the_same_words_as_the_api_server(case: Case) -> None:
    """The first bad example breaks the rule and no format."""
    parsed = parse(KINDS[case.kind], case.body(case.bad[0]))
    assert isinstance(parsed, InvalidSpec)
    assert case.message in parsed.message


@pytest.mark.parametrize("violation", violations(), ids=lambda violation: violation.id)
def test_bounds_refuse_in_schema_and_model(violation: Violation) -> None:
    parsed = parse(KINDS[violation.kind], violation.body)
    assert isinstance(parsed, InvalidSpec)
    assert parsed.message.startswith("spec")
    assert not valid(violation.kind, violation.body)


def test_every_rule_has_an_example() -> None:
    expected = {
        (kind, rule["message"])
        for kind, schema in SCHEMAS.items()
        for _, node in nodes(schema)
        for rule in node.get("x-kubernetes-validations", [])
    }
    shown = {(case.kind, case.message) for case in CASES}
    shown |= {(change.kind, change.message) for change in CHANGES if change.message}
    lacking = {
        (kind, message)
        for kind, message in expected
        if not any(kind == k and message.startswith(m) for k, m in shown)
    }
    assert not lacking


def test_every_rule_stands_at_a_place_that_an_example_reaches() -> None:
    """The same rule at five maps needs five examples."""
    for kind, schema in SCHEMAS.items():
        for path, node in nodes(schema):
            for rule in node.get("x-kubernetes-validations", []):
                place = path.split("[")[0] or "metadata.name"
                assert any(
                    case.kind == kind
                    and case.path.startswith(place)
                    and rule["message"].startswith(case.message)
                    for case in CASES
                ) or any(
                    change.kind == kind
                    and change.path.startswith(place)
                    and rule["message"] == change.message
                    for change in CHANGES
                ), (kind, path, rule["message"])


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_every_rule_without_a_transition_is_checked_in_python_too(kind: str) -> None:
    """Rule by rule: the number of transition rules is the number of rules that mention oldSelf."""
    rules = [rule for _, node in nodes(SCHEMAS[kind]) for rule in node.get("x-kubernetes-validations", [])]
    transitions = {rule["message"] for rule in rules if "oldSelf" in rule["rule"]}
    assert transitions == {change.message for change in CHANGES if change.kind == kind and change.message}


def test_names_and_columns() -> None:
    names = {kind: document["spec"]["names"] for kind, document in definitions().items()}
    assert {kind: name["shortNames"] for kind, name in names.items()} == {
        "RcaComponent": ["rcac"],
        "EvalRun": ["er"],
        "EvalSuite": ["esuite"],
    }
    assert all(name["categories"] == ["rca"] for name in names.values())
    columns = definitions()["RcaComponent"]["spec"]["versions"][0]["additionalPrinterColumns"]
    assert [column["name"] for column in columns if "priority" not in column] == [
        *("MODE", "PHASE", "AC@1", "DELTA", "OBSERVED", "READY", "AGE")
    ]


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_columns_point_at_fields_of_the_schema(kind: str) -> None:
    """A column with a wrong path stays blank and nobody notices."""
    paths = {path for path, _ in nodes(SCHEMAS[kind])} | {"metadata.creationTimestamp"}
    for column in definitions()[kind]["spec"]["versions"][0]["additionalPrinterColumns"]:
        before, _, after = column["jsonPath"].partition("[?(@.type==")
        field = before.lstrip(".") + ("[]" + after.rpartition(")]")[2] if after else "")
        assert field in paths, column


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_no_float_and_nothing_unknown_is_kept(kind: str) -> None:
    for path, node in nodes(SCHEMAS[kind]):
        assert node.get("type") != "number", path
        assert "x-kubernetes-preserve-unknown-fields" not in node, path


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_a_status_has_no_default_but_the_whole(kind: str) -> None:
    """Else the API server would add to what the operator wrote, and the operator would see a difference."""
    status = SCHEMAS[kind]["properties"]["status"]
    assert [path for path, node in nodes(status) if "default" in node] == [""]


@pytest.mark.parametrize(
    "field", ["serviceAccountName", "hostNetwork", "volumes", "securityContext", "hostPID"]
)
def test_the_job_has_a_closed_form(field: str) -> None:
    body = samples.full("EvalSuite")
    body["spec"]["job"][field] = "anything"
    assert not valid("EvalSuite", body)
    parsed = parse(KINDS["EvalSuite"], body)
    assert isinstance(parsed, InvalidSpec)
    assert parsed.message == f"spec.job.{field}: is not a known field"
