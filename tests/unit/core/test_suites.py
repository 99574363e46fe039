"""From a suite and its ConfigMaps to what a run needs, or to one named thing that is missing, with a sentence."""

from __future__ import annotations

import base64
import gzip
import json
from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rca_testing import suites
from rca_testing.lifecycle_world import START

from rca_eval.contract import sha256
from rca_rollout.api import EvalSuite
from rca_rollout.api.common import ConditionType
from rca_rollout.core.problem import Problem
from rca_rollout.core.suite_status import suite_status
from rca_rollout.core.suites import SuiteFacts, resolve_suite

GOOD = suites.CONFIG_MAP
TRUTH, FLOOR = "ground-truth.json", "baseline.json"


def resolve(
    dataset: Any = GOOD, baseline: Any = GOOD, spec: dict[str, Any] | None = None
) -> SuiteFacts | Problem:
    return resolve_suite("suite", suites.suite(**(spec or {})).spec, dataset, baseline)


def held(**data: Any) -> dict[str, Any]:
    names = {"truth": TRUTH, "floor": FLOOR}
    return {"data": {names[name]: text for name, text in data.items()}}


def changed(text: str, **fields: Any) -> str:
    return json.dumps({**json.loads(text), **fields})


DATA, BASE = suites.DATASET, suites.BASELINE
WRONG: dict[str, tuple[Any, Any, dict[str, Any], str, str]] = {
    "no dataset": (None, GOOD, {}, "DatasetNotFound", "create it with the dataset"),
    "no baseline": (GOOD, None, {}, "BaselineNotFound", "create it with the baseline"),
    "no dataset key": (held(floor=BASE), GOOD, {}, "DatasetKeyMissing", "it has baseline.json"),
    "no baseline key": (GOOD, held(truth=DATA), {}, "BaselineKeyMissing", "it has ground-truth.json"),
    "nothing at all": ({}, GOOD, {}, "DatasetKeyMissing", "it has none"),
    "null data": ({"data": None, "binaryData": None}, GOOD, {}, "DatasetKeyMissing", "it has none"),
    "empty": (held(truth=""), GOOD, {}, "DatasetInvalid", TRUTH),
    "no JSON": (held(truth="- a\n- b"), GOOD, {}, "DatasetInvalid", TRUTH),
    "no object": (held(truth="[]"), GOOD, {}, "DatasetInvalid", TRUTH),
    "deep": (held(truth="[" * 100_000), GOOD, {}, "DatasetInvalid", TRUTH),
    "no incidents": (held(truth=changed(DATA, incidents=[])), GOOD, {}, "DatasetInvalid", "incidents"),
    "other schema": (held(truth=changed(DATA, schemaVersion=2)), GOOD, {}, "DatasetInvalid", "schemaVersion"),
    "draft": (
        held(truth=changed(DATA, incidents=[{**json.loads(DATA)["incidents"][0], "label": {"status": "draft"}}])),
        GOOD,
        {},
        "DatasetInvalid",
        "only confirmed labels decide",
    ),
    "typing error": (held(truth=changed(DATA, windowSecs=1)), GOOD, {}, "DatasetInvalid", "windowSecs"),
    "twice": (
        held(truth=changed(DATA, incidents=json.loads(DATA)["incidents"] * 2)), GOOD, {}, "DatasetInvalid", "twice",
    ),
    "other digest": (GOOD, GOOD, {"dataset": {"configMapRef": {"name": "i"}, "sha256": "f" * 64}}, "DatasetChanged", "f" * 12),
    "bad baseline": (GOOD, held(floor="{}"), {}, "BaselineInvalid", FLOOR),
    "scorecard as baseline": (GOOD, held(floor=changed(BASE, kind="Scorecard")), {}, "BaselineInvalid", FLOOR),
    "stale baseline": (held(truth=DATA + "\n"), GOOD, {}, "BaselineStale", "new baseline"),
    "bad base64": ({"binaryData": {TRUTH: "%"}}, GOOD, {}, "DatasetKeyMissing", TRUTH),
    "bad UTF-8": ({"binaryData": {TRUTH: base64.b64encode(b"\xff\xfe{").decode()}}, GOOD, {}, "DatasetInvalid", TRUTH),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_whatever_is_wrong_has_a_reason_and_a_sentence(case: str) -> None:
    dataset, baseline, spec, reason, words = WRONG[case]
    found = resolve(dataset, baseline, spec)
    assert isinstance(found, Problem), found
    assert (found.reason, found.stalled) == (reason, False)
    assert words in found.message
    assert "Traceback" not in found.message
    assert len(found.message) < 1000


@given(st.one_of(st.text(max_size=50), st.binary(max_size=50)))
def test_no_content_makes_it_raise(content: Any) -> None:
    if isinstance(content, str):
        body = {"data": {TRUTH: content}}
    else:
        body = {"binaryData": {TRUTH: base64.b64encode(content).decode()}}
    assert isinstance(resolve(body), Problem)


def test_a_good_suite_says_what_its_bytes_are() -> None:
    found = resolve()
    assert isinstance(found, SuiteFacts)
    assert (found.dataset_sha256, found.baseline_sha256) == (sha256(DATA.encode()), sha256(BASE.encode()))
    assert found.accuracy == Fraction(1)
    assert len(found.dataset.incidents) == 9


def test_the_digest_is_over_the_bytes_wherever_they_stand() -> None:
    packed = {"binaryData": {TRUTH: base64.b64encode(DATA.encode()).decode()}}
    found = resolve(packed)
    assert isinstance(found, SuiteFacts)
    assert found.dataset_sha256 == sha256(DATA.encode())


def test_a_pinned_dataset_is_used_when_its_digest_is_right() -> None:
    spec = suites.suite(dataset={"configMapRef": {"name": "i"}, "sha256": sha256(DATA.encode())}).spec
    assert isinstance(resolve_suite("suite", spec, GOOD, GOOD), SuiteFacts)


def with_status(suite: EvalSuite, facts: SuiteFacts | Problem, after: float = 0) -> EvalSuite:
    return suite.evolve(status=suite_status(suite, facts, START + timedelta(seconds=after)))


def test_a_usable_suite_is_ready_and_shows_its_figures() -> None:
    status = with_status(suites.suite(), suites.facts()).status
    ready = status.condition(ConditionType.READY)
    assert ready
    assert (ready.status, ready.reason) == ("True", "AsExpected")
    assert "few" in ready.message  # nine incidents are: one of them is more than the tolerance
    assert status.dataset
    assert (status.dataset.incidents, status.dataset.profile) == (9, "graded")
    assert status.baseline
    assert status.baseline.accuracy == "1.000"


def test_a_suite_s_problem_is_written_once_and_goes_with_its_cause() -> None:
    broken = with_status(suites.suite(), Problem("DatasetNotFound", "create it"))
    again = with_status(broken, Problem("DatasetNotFound", "create it"), after=60)
    assert again.status == broken.status
    assert broken.status.condition(ConditionType.RECONCILING)
    mended = with_status(broken, suites.facts(), after=60).status
    assert mended.condition(ConditionType.RECONCILING) is None
    ready = mended.condition(ConditionType.READY)
    assert ready
    assert ready.last_transition_time == START + timedelta(seconds=60)
    invalid = with_status(broken, Problem("InvalidSpec", "spec.job: …", stalled=True)).status
    assert invalid.condition(ConditionType.STALLED)
    assert invalid.condition(ConditionType.RECONCILING) is None


def _packed(**data: str | bytes) -> dict[str, Any]:
    names = {"truth": TRUTH, "floor": FLOOR}
    held_ = {
        names[name]: gzip.compress(text.encode()) if isinstance(text, str) else text
        for name, text in data.items()
    }
    return {"binaryData": {name: base64.b64encode(content).decode() for name, content in held_.items()}}


def test_packed_with_gzip_they_are_the_same_dataset_and_baseline() -> None:
    """A ConfigMap holds 1 MiB, and a dataset of hundreds of incidents is larger than that."""
    plain, packed = resolve(), resolve(_packed(truth=DATA), _packed(floor=BASE))
    assert isinstance(plain, SuiteFacts)
    assert packed == plain
    assert packed.dataset_sha256 == sha256(DATA.encode())


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(DATA.encode())[:-9],
        gzip.compress(DATA.encode()) + b"more",
        b"\x1f\x8b and no gzip",
        gzip.compress(b" " * (17 * 1024 * 1024)),
    ],
    ids=["cut off", "with more behind it", "no gzip", "a bomb"],
)
def test_what_is_packed_badly_is_named(content: bytes) -> None:
    found = resolve(_packed(truth=content))
    assert isinstance(found, Problem)
    assert found.reason == "DatasetInvalid"
    assert TRUTH in found.message
    found = resolve(GOOD, _packed(floor=content))
    assert isinstance(found, Problem)
    assert found.reason == "BaselineInvalid"
