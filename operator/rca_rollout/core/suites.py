"""From an EvalSuite and its two ConfigMaps to what a run needs, or to the one thing that is missing."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from rca_eval.contract import (
    Baseline,
    ContractError,
    GroundTruth,
    parse_baseline,
    parse_ground_truth,
    require_confirmed,
    sha256,
)
from rca_eval.contract import Reason as Code
from rca_eval.contract.groundtruth import DATASET_LIMIT
from rca_eval.contract.packed import plain
from rca_eval.contract.scorecard import SCORECARD_LIMIT
from rca_rollout.api.common import ConfigMapSource
from rca_rollout.api.reasons import Reason
from rca_rollout.api.schedule import Ledger
from rca_rollout.api.suite import EvalSuiteSpec
from rca_rollout.core.problem import Problem


@dataclass(frozen=True)
class SuiteFacts:
    """A suite that can be used: its spec, and what its dataset and baseline really hold."""

    name: str
    spec: EvalSuiteSpec
    dataset: GroundTruth
    dataset_sha256: str
    baseline: Baseline
    baseline_sha256: str
    default_image: str = ""
    """What is evaluated when the suite names no image: the installation's harness image."""
    stale: bool = False
    """The baseline is of another dataset: With and Without can be compared, and nothing with the baseline."""
    ledger: Ledger | None = None
    """What the suite's status says has been used of its budget."""

    @property
    def image(self) -> str:
        """The image of the eval containers."""
        return self.spec.job.image or self.default_image

    @property
    def accuracy(self) -> Fraction | None:
        """AC@1 of the baseline's LivePath arm."""
        arm = next((a for a in self.baseline.arms if a.arm == "LivePath"), None)
        return Fraction(arm.metrics["AC@1"]) if arm and "AC@1" in arm.metrics else None


@dataclass(frozen=True)
class StaleSuite(Problem):
    """A suite whose baseline does not fit its dataset. A problem for everything but the guard of what is Active already,
    which goes on with `facts`, With against Without."""

    facts: SuiteFacts | None = None


def for_guard(suite: SuiteFacts | Problem) -> SuiteFacts | Problem:
    """What a guard run can do with."""
    return suite.facts if isinstance(suite, StaleSuite) and suite.facts else suite


def with_ledger(found: SuiteFacts | Problem, ledger: Ledger | None) -> SuiteFacts | Problem:
    """The same, knowing what has been used of the budget."""
    if isinstance(found, StaleSuite) and found.facts:
        return replace(found, facts=replace(found.facts, ledger=ledger))
    return replace(found, ledger=ledger) if isinstance(found, SuiteFacts) else found


def resolve_suite(
    name: str,
    spec: EvalSuiteSpec,
    dataset: Mapping[str, Any] | None,
    baseline: Mapping[str, Any] | None,
    default_image: str = "",
) -> SuiteFacts | Problem:
    """Reads both ConfigMaps (None: there is none of that name). Never raises for what users wrote.

    Either may be packed with gzip, for a ConfigMap holds 1 MiB; digests are those of the documents themselves.
    """
    truth_bytes = _content(
        dataset, spec.dataset, "dataset", Reason.DATASET_NOT_FOUND, Reason.DATASET_KEY_MISSING
    )
    if isinstance(truth_bytes, Problem):
        return truth_bytes
    try:
        truth_bytes = plain(
            truth_bytes, source=_where(spec.dataset), reason=Code.DATASET_INVALID, limit=DATASET_LIMIT
        )
    except ContractError as error:
        return Problem(error.reason, error.message)
    found = sha256(truth_bytes)
    if spec.dataset.sha256 and spec.dataset.sha256 != found:
        return Problem(
            Reason.DATASET_CHANGED,
            f"the dataset has sha256 {found[:12]}…, the EvalSuite asks for {spec.dataset.sha256[:12]}…: "
            "restore the dataset, or set dataset.sha256 to the new digest",
        )
    try:
        where = _where(spec.dataset)
        truth = _truth(truth_bytes, where)
    except ContractError as error:
        return Problem(error.reason, error.message)
    floor_bytes = _content(
        baseline, spec.baseline, "baseline", Reason.BASELINE_NOT_FOUND, Reason.BASELINE_KEY_MISSING
    )
    if isinstance(floor_bytes, Problem):
        return floor_bytes
    try:
        floor_bytes = plain(
            floor_bytes, source=_where(spec.baseline), reason=Code.BASELINE_INVALID, limit=SCORECARD_LIMIT
        )
        floor = _floor(floor_bytes, _where(spec.baseline))
    except ContractError as error:
        return Problem(error.reason, error.message)
    if floor.dataset.sha256 != found:
        return StaleSuite(
            Reason.BASELINE_STALE,
            f"the baseline was measured on dataset {floor.dataset.sha256[:12]}…, the suite's is {found[:12]}…: "
            "write a new baseline with rca-eval baseline write, or restore the dataset",
            facts=SuiteFacts(name, spec, truth, found, floor, sha256(floor_bytes), default_image, stale=True),
        )
    return SuiteFacts(name, spec, truth, found, floor, sha256(floor_bytes), default_image)


@lru_cache(maxsize=4)
def _truth(content: bytes, where: str) -> GroundTruth:
    """Many suites may share one dataset: it is parsed, and held, once."""
    return require_confirmed(parse_ground_truth(content, source=where), source=where)


@lru_cache(maxsize=4)
def _floor(content: bytes, where: str) -> Baseline:
    return parse_baseline(content, source=where)


def _where(source: ConfigMapSource) -> str:
    return f"{source.key} of ConfigMap {source.config_map_ref.name}"


def _content(
    config_map: Mapping[str, Any] | None, source: ConfigMapSource, what: str, missing: Reason, no_key: Reason
) -> bytes | Problem:
    """The raw bytes under the key, from `data` or `binaryData`: the digest is over exactly these."""
    name = source.config_map_ref.name
    if config_map is None:
        return Problem(
            missing, f"ConfigMap {name} does not exist: create it with the {what} under the key {source.key}"
        )
    text = (config_map.get("data") or {}).get(source.key)
    if isinstance(text, str):
        return text.encode()
    packed = (config_map.get("binaryData") or {}).get(source.key)
    if isinstance(packed, str):
        try:
            return base64.b64decode(packed, validate=True)
        except binascii.Error:
            pass
    held = sorted([*(config_map.get("data") or {}), *(config_map.get("binaryData") or {})])
    return Problem(
        no_key,
        f"ConfigMap {name} has no key {source.key} for the {what}; it has {', '.join(held)[:200] or 'none'}",
    )
