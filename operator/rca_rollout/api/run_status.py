"""The parts of an EvalRun's status."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from rca_rollout.api.base import Model
from rca_rollout.api.values import Count, Digest, Figure, Message

Name = Annotated[str, Field(max_length=253)]
Image = Annotated[str, Field(max_length=512)]


class CheckResult(StrEnum):
    """What a check found."""

    PASSED = "Passed"
    FAILED = "Failed"
    INCONCLUSIVE = "Inconclusive"
    ERROR = "Error"
    WARNING = "Warning"
    NOT_APPLICABLE = "NotApplicable"


class Check(Model):
    """One check of the gate, with the numbers it compared."""

    name: Figure
    arm: Figure | None = None
    value: Figure | None = None
    baseline: Figure | None = None
    limit: Figure | None = None
    result: CheckResult
    message: Message | None = None


class Variant(Model):
    """The modes under which the incidents were replayed, by ConfigMap key."""

    name: Figure
    modes: Annotated[Mapping[str, Annotated[str, Field(max_length=128)]], Field(max_length=64)] = {}


class RunInputs(Model):
    """What was measured; written once, at the start. Not in the spec: a run made by hand cannot know it."""

    epoch: Digest | None = None
    context: Digest | None = None
    revision: Annotated[str, Field(max_length=128)] | None = None
    variants: Annotated[tuple[Variant, ...], Field(max_length=8)] = ()
    image: Image | None = None
    """What the eval containers run; with a workload its image, by digest."""
    image_digest: Digest | None = None
    """Digest that the image has to have when it runs, as far as it is known before: the workload's."""
    harness_image: Image | None = None
    shards: Count | None = None
    """Into how many Pods the incidents are dealt out; absent: one."""
    dataset_sha256: Digest | None = None
    baseline_sha256: Digest | None = None


class ShardResult(Model):
    """What one shard's scorecard container announced; the part itself is kept in a ConfigMap of its own."""

    index: Count
    sha256: Digest
    seconds: Annotated[tuple[Count, ...], Field(max_length=20)] = ()
    """How long each repeat's container ran by the kubelet's clock."""


class StoredScorecard(Model):
    """Where the verified scorecard is kept. With `parts`, the key holds their index, and `sha256` is the index's."""

    config_map_ref: Name
    key: Name
    sha256: Digest
    deterministic_sha256: Digest | None = None
    parts: Count | None = None
