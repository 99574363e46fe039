"""The CRDs on a real API server.

Aspects: accepted and Established; every rule and every bound with an accepted and a refused example; what may change
and what may not; the status as a subresource; columns; the smallest objects, kubectl, the examples.
"""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from rca_testing import samples
from rca_testing.bound_cases import Violation, violations
from rca_testing.cluster import ROOT, Cluster, KubectlError, Refusal
from rca_testing.crds import definitions, without_empty
from rca_testing.full_status import full_status
from rca_testing.rule_cases import CASES, CHANGES, Case, Change, put

from rca_rollout.api import KINDS, InvalidSpec, parse

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("crds")]

ALL_KINDS = sorted(KINDS)
EXAMPLES = sorted((ROOT / "examples").rglob("*.yaml"))


@pytest.fixture(scope="module")
def dry(cluster: Cluster) -> str:
    """Where nothing is stored: a server-side dry run validates all the same."""
    return "default"


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_the_crd_is_accepted_without_a_complaint(cluster: Cluster, kind: str) -> None:
    name = definitions()[kind]["metadata"]["name"]
    found = json.loads(cluster.kubectl("get", "crd", name, "-o", "json"))
    conditions = {condition["type"]: condition for condition in found["status"]["conditions"]}
    assert conditions["Established"]["status"] == "True"
    # NonStructuralSchema and the like are only there when something is wrong.
    assert set(conditions) == {"Established", "NamesAccepted"}
    assert (
        found["status"]["acceptedNames"]["shortNames"] == definitions()[kind]["spec"]["names"]["shortNames"]
    )


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_the_api_server_stores_our_schema_unchanged(cluster: Cluster, kind: str) -> None:
    """A keyword that it does not know would vanish here without a word."""
    wanted = definitions()[kind]
    found = json.loads(cluster.kubectl("get", "crd", wanted["metadata"]["name"], "-o", "json"))
    ours, theirs = wanted["spec"]["versions"][0], found["spec"]["versions"][0]
    assert theirs["schema"] == ours["schema"]
    assert theirs["additionalPrinterColumns"] == ours["additionalPrinterColumns"]


@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize("sample", [samples.minimal, samples.full])
def test_what_is_stored_is_what_the_model_reads(
    cluster: Cluster, namespace: str, kind: str, sample: Any
) -> None:
    body = sample(kind)
    stored = cluster.create(namespace, body)
    assert not isinstance(stored, Refusal), stored
    assert stored["status"] == {"observedGeneration": -1}
    before, after = parse(KINDS[kind], body), parse(KINDS[kind], stored)
    assert not isinstance(before, InvalidSpec)
    assert not isinstance(after, InvalidSpec)
    assert before.spec == after.spec
    assert without_empty(before.spec.to_dict()) == stored["spec"]
    assert after.metadata.uid


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_rules_accept_their_good_examples(cluster: Cluster, dry: str, case: Case) -> None:
    for good in case.good:
        answer = cluster.create(dry, case.body(good), dry_run=True)
        assert not isinstance(answer, Refusal), (good, answer)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_rules_refuse_their_bad_examples(cluster: Cluster, dry: str, case: Case) -> None:
    for bad in case.bad:
        answer = cluster.create(dry, case.body(bad), dry_run=True)
        assert isinstance(answer, Refusal), bad
        assert answer.code == 422
        assert case.message in answer.message, answer.message


@pytest.mark.parametrize("violation", violations(), ids=lambda violation: violation.id)
def test_bounds_refuse(cluster: Cluster, dry: str, violation: Violation) -> None:
    answer = cluster.create(dry, violation.body, dry_run=True)
    assert isinstance(answer, Refusal), "accepted"
    assert answer.code == 422
    assert violation.path in answer.message


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.id)
def test_what_may_change_and_what_may_not(cluster: Cluster, namespace: str, change: Change) -> None:
    stored = cluster.create(namespace, samples.minimal(change.kind))
    answer = cluster.replace(namespace, put(stored, change.path, change.value))
    if change.message is None:
        assert not isinstance(answer, Refusal), answer
    else:
        assert isinstance(answer, Refusal)
        assert change.message in answer.message


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_a_full_status_is_stored_and_read_back(cluster: Cluster, namespace: str, kind: str) -> None:
    stored = cluster.create(namespace, samples.minimal(kind))
    status = full_status(kind)
    answer = cluster.replace(namespace, {**stored, "status": status.to_dict()}, status=True)
    assert not isinstance(answer, Refusal), answer
    parsed = parse(KINDS[kind], cluster.get(namespace, kind, "sample"))
    assert not isinstance(parsed, InvalidSpec)
    assert parsed.status == status
    assert parsed.metadata.generation == 1, "a status write is no new generation"


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_an_empty_status_stays_as_it_was_written(cluster: Cluster, namespace: str, kind: str) -> None:
    """The API server adds no defaults to a status, so what is read equals what was written."""
    stored = cluster.create(namespace, samples.minimal(kind))
    written = {"observedGeneration": 1}
    assert cluster.replace(namespace, {**stored, "status": written}, status=True)["status"] == written


def test_a_status_is_written_only_through_its_subresource(cluster: Cluster, namespace: str) -> None:
    body = {**samples.minimal("RcaComponent"), "status": {"observedGeneration": 9, "mode": "Active"}}
    stored = cluster.create(namespace, body)
    assert stored["status"] == {"observedGeneration": -1}
    changed = {**copy.deepcopy(stored), "status": {"observedGeneration": 9}}
    assert cluster.replace(namespace, changed)["status"] == {"observedGeneration": -1}


def test_two_conditions_of_a_type_are_refused(cluster: Cluster, namespace: str) -> None:
    stored = cluster.create(namespace, samples.minimal("RcaComponent"))
    condition = full_status("RcaComponent").to_dict()["conditions"][0]
    status = {"observedGeneration": 1, "conditions": [condition, condition]}
    answer = cluster.replace(namespace, {**stored, "status": status}, status=True)
    assert isinstance(answer, Refusal)
    assert "Duplicate value" in answer.message


def test_two_variables_of_a_name_are_refused(cluster: Cluster, dry: str) -> None:
    twice = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    answer = cluster.create(dry, put(samples.minimal("EvalSuite"), "spec.job.env", twice), dry_run=True)
    assert isinstance(answer, Refusal)
    assert "Duplicate value" in answer.message


@pytest.mark.parametrize("field", ["serviceAccountName", "hostNetwork", "volumes", "securityContext"])
def test_the_job_has_a_closed_form(cluster: Cluster, dry: str, field: str) -> None:
    answer = cluster.create(dry, put(samples.full("EvalSuite"), f"spec.job.{field}", "x"), dry_run=True)
    assert isinstance(answer, Refusal)
    assert f'unknown field "spec.job.{field}"' in answer.message


GATE_FIELDS = {
    "spec.maxRegressedIncidents": ((0, 1, 100_000), (-1, 100_001, "0", 0.5, True)),
    "spec.shadowFidelity": (("Required", "IfLogged"), ("required", "Off", "", True)),
    "spec.knownBad": (("Required", "Skip"), ("skip", "Optional", "", False)),
}


@pytest.mark.parametrize("path", GATE_FIELDS)
def test_what_a_suite_asks_of_the_gate_has_few_words(cluster: Cluster, dry: str, path: str) -> None:
    accepted, refused = GATE_FIELDS[path]
    for value in accepted:
        answer = cluster.create(dry, put(samples.minimal("EvalSuite"), path, value), dry_run=True)
        assert not isinstance(answer, Refusal), (value, answer)
        assert answer["spec"][path.removeprefix("spec.")] == value
    for value in refused:
        answer = cluster.create(dry, put(samples.minimal("EvalSuite"), path, value), dry_run=True)
        assert isinstance(answer, Refusal), value
        assert path in answer.message


def test_what_a_suite_does_not_ask_of_the_gate_is_filled_in(cluster: Cluster, dry: str) -> None:
    answer = cluster.create(dry, samples.minimal("EvalSuite"), dry_run=True)
    assert not isinstance(answer, Refusal), answer
    assert (answer["spec"]["shadowFidelity"], answer["spec"]["knownBad"]) == ("Required", "Required")
    assert "maxRegressedIncidents" not in answer["spec"]


def test_whole_numbers_are_quantities_too(cluster: Cluster, dry: str) -> None:
    body = put(samples.minimal("EvalSuite"), "spec.job.resources", {"limits": {"cpu": 1, "memory": "1Gi"}})
    answer = cluster.create(dry, body, dry_run=True)
    assert not isinstance(answer, Refusal), answer
    suite = parse(KINDS["EvalSuite"], answer)
    assert not isinstance(suite, InvalidSpec)
    assert suite.spec.to_dict()["job"]["resources"]["limits"] == {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("kind", "short", "wide", "cells"),
    [
        (
            "RcaComponent",
            "rcac",
            False,
            {
                "NAME": "sample",
                "MODE": "Shadow",
                "PHASE": "Observing",
                "AC@1": "1.000",
                "DELTA": "+0.000",
                "OBSERVED": "2/3 runs, 24h",
                "READY": "True",
            },
        ),
        ("RcaComponent", "rcac", True, {"REVISION": "v1", "REASON": "NotPromoted", "BASELINE": "1.000"}),
        (
            "EvalRun",
            "er",
            False,
            {
                "NAME": "sample",
                "TRIGGER": "Manual",
                "PHASE": "Passed",
                "AC@1": "1.000",
                "DELTA": "+0.000",
                "MTTR": "3 ms",
            },
        ),
        ("EvalRun", "er", True, {"REASON": "GatePassed", "JOB": "sample-1"}),
        ("EvalSuite", "esuite", False, {"INCIDENTS": "9", "BASELINE": "1.000", "READY": "True"}),
        ("EvalSuite", "esuite", True, {"PROFILE": "graded", "REASON": "AsExpected"}),
    ],
)
def test_columns_are_filled(
    cluster: Cluster, namespace: str, kind: str, short: str, wide: bool, cells: dict[str, str]
) -> None:
    stored = cluster.create(namespace, samples.minimal(kind))
    cluster.replace(namespace, {**stored, "status": full_status(kind).to_dict()}, status=True)
    header, row = cluster.kubectl(
        "get", short, "-n", namespace, *(["-o", "wide"] if wide else [])
    ).splitlines()
    assert _cells(header, row).items() >= cells.items()


def _cells(header: str, row: str) -> dict[str, str]:
    """A table's cells: each begins below its heading."""
    names = header.split()
    starts = [
        header.index(name) if number == 0 else header.index(f" {name}") + 1
        for number, name in enumerate(names)
    ]
    ends = [*starts[1:], None]
    return {name: row[start:end].strip() for name, start, end in zip(names, starts, ends, strict=True)}


def test_the_category_lists_all_three_kinds(cluster: Cluster, namespace: str) -> None:
    for kind in ALL_KINDS:
        cluster.create(namespace, samples.minimal(kind))
    names = cluster.kubectl("get", "rca", "-n", namespace, "-o", "name").split()
    assert sorted(name.split(".")[0] for name in names) == ["evalrun", "evalsuite", "rcacomponent"]


def test_kubectl_explains_a_field(cluster: Cluster) -> None:
    text = cluster.kubectl("explain", "rcac.spec.observation.period")
    assert "Time between the passed gate and the promotion." in text


def test_kubectl_apply_says_what_is_wrong(cluster: Cluster, namespace: str) -> None:
    body = put(samples.minimal("RcaComponent"), "spec.observation", {"period": "7d"})
    with pytest.raises(KubectlError, match="must be a duration from 0s to 8760h"):
        cluster.kubectl("apply", "-n", namespace, "-f", "-", input=yaml.safe_dump(body))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_can_be_applied(cluster: Cluster, namespace: str, path: Path) -> None:
    documents = [document for document in yaml.safe_load_all(path.read_text(encoding="utf-8")) if document]
    if not all("kind" in document and "apiVersion" in document for document in documents):
        pytest.skip("no manifest")
    here = [_in(namespace, document) for document in documents if document["kind"] != "Namespace"]
    cluster.kubectl("apply", "-f", "-", input=yaml.safe_dump_all(here))
    for document in here:
        if document["kind"] in KINDS:
            stored = cluster.get(namespace, document["kind"], document["metadata"]["name"])
            parsed = parse(KINDS[document["kind"]], stored)
            assert not isinstance(parsed, InvalidSpec), parsed.message


def _in(namespace: str, document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "metadata": {**document["metadata"], "namespace": namespace}}
