"""A suite that can be used, and ways to write one that cannot."""

from __future__ import annotations

from functools import cache
from typing import Any

from rca_rollout.api import EvalSuite, InvalidSpec, parse
from rca_rollout.core.problem import Problem
from rca_rollout.core.suites import SuiteFacts, resolve_suite
from rca_testing import evidence, samples

DATASET = evidence.ground_truth()
BASELINE = evidence.baseline(DATASET)
CONFIG_MAP: dict[str, Any] = {"data": {"ground-truth.json": DATASET, "baseline.json": BASELINE}}


def suite(**spec: Any) -> EvalSuite:
    body = samples.stored(samples.minimal("EvalSuite", "suite"))
    parsed = parse(EvalSuite, {**body, "spec": {**body["spec"], **spec}})
    assert not isinstance(parsed, InvalidSpec), parsed
    return parsed


def facts(**spec: Any) -> SuiteFacts:
    """The suite of `samples`, resolved; keywords are fields of its spec as YAML has them."""
    found = resolve_suite("suite", suite(**spec).spec, CONFIG_MAP, CONFIG_MAP)
    assert isinstance(found, SuiteFacts), found
    return found


@cache
def other_dataset() -> SuiteFacts:
    """The same suite after somebody added an incident and renewed the baseline."""
    ids = (*evidence.IDS, "GT-10-incident")
    dataset = evidence.ground_truth(ids)
    held = {"data": {"ground-truth.json": dataset, "baseline.json": evidence.baseline(dataset, ids)}}
    found = resolve_suite("suite", suite().spec, held, held)
    assert isinstance(found, SuiteFacts), found
    return found


def problem(found: SuiteFacts | Problem) -> Problem:
    assert isinstance(found, Problem), found
    return found
