"""The parts of a scorecard: how each is read, kept in a ConfigMap of its own, and how the whole is made of what is kept.

What a shard's container announced stands in the run's status once its part is kept, so every part is verified against
what the kubelet told, long after its Pod has gone.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rca_eval.contract import ContractError, canonical, pack, sha256, unpack
from rca_eval.contract.frames import read_part
from rca_eval.contract.merge import merge
from rca_eval.contract.model import MIB
from rca_eval.contract.part import ScorecardPart, parse_part
from rca_rollout.api.reasons import Reason
from rca_rollout.api.run import EvalRun
from rca_rollout.api.run_status import ShardResult
from rca_rollout.core.names import part_name, scorecard_name
from rca_rollout.core.owners import owned
from rca_rollout.core.problem import Problem
from rca_rollout.core.readings import SCORECARD_KEY, Reading, keeping
from rca_rollout.core.shards import shard_name

INDEX_KEY = "parts.json"
WHOLE_LIMIT = 64 * MIB
"""Of all parts together, unpacked: what a verdict holds in memory is several times as much."""


@dataclass(frozen=True)
class PartReading:
    """The part of shard `index`, verified against what its container announced."""

    index: int
    document: bytes
    sha256: str
    stored: bool = False


@dataclass(frozen=True)
class Lost:
    """The part of this shard is recorded, and kept nowhere."""

    index: int


@dataclass(frozen=True)
class Unindexed:
    """All parts are recorded, and their index is not kept yet."""


def part_from_log(run: EvalRun, index: int, raw: bytes, announced: str) -> PartReading | Problem:
    """The part in the log of a shard's container: of this shard, this run and this attempt, or a Problem."""
    try:
        part, document = read_part(raw, expected_sha256=announced)
    except ContractError as error:
        return Problem(error.reason, f"{shard_name(index, _count(run))}: {error.message}")
    if len(document) > WHOLE_LIMIT // _count(run):
        text = (
            f"{shard_name(index, _count(run))}: its part has {len(document)} bytes unpacked, and the whole may have "
            f"{WHOLE_LIMIT}: return fewer candidates or terms, or evaluate fewer incidents"
        )
        return Problem(Reason.SCORECARD_TOO_LARGE, text)
    return _of_another(run, index, part) or PartReading(index, document, sha256(document))


def kept_part(run: EvalRun, index: int, announced: str, stored: Mapping[str, Any]) -> PartReading | Problem:
    """The part that an earlier look kept before its shard was recorded."""
    part = part_from_store(run, ShardResult(index=index, sha256=announced), stored)
    if isinstance(part, Problem | Lost):
        return part if isinstance(part, Problem) else Problem(Reason.SHARD_MISSING, "it is not kept")
    return _of_another(run, index, part) or PartReading(index, b"", announced, stored=True)


def _of_another(run: EvalRun, index: int, part: ScorecardPart) -> Problem | None:
    """A part of another shard, run or attempt says nothing about this one."""
    count, job = _count(run), run.status.job_ref
    name = shard_name(index, count)
    if (part.shard.index, part.shard.count) != (index, count):
        text = f"{name} printed {part.shard.name}: is the harness image of this version?"
        return Problem(Reason.SHARD_MISMATCH, text)
    if job is None or part.shard.run != job.name:
        text = f"{name} printed a part of {part.shard.run[:63]}, not of this attempt; the evaluation is tried again"
        return Problem(Reason.SHARD_MISMATCH, text)
    return None


def part_body(run: EvalRun, part: PartReading) -> dict[str, Any]:
    """The ConfigMap that keeps one part: immutable, and gone with its run."""
    packed = base64.b64encode(pack(part.document)).decode()
    name = part_name(run.metadata.name, run.status.attempts, part.index)
    return keeping(run, name, part.sha256, {"binaryData": {SCORECARD_KEY: packed}})


def index_of_parts(run: EvalRun) -> str:
    """What the run's scorecard ConfigMap holds instead of a scorecard: where the parts are, and their digests."""
    rows = [
        {
            "index": shard.index,
            "configMap": part_name(run.metadata.name, run.status.attempts, shard.index),
            "key": SCORECARD_KEY,
            "sha256": shard.sha256,
        }
        for shard in sorted(run.status.shards, key=lambda shard: shard.index)
    ]
    whole = {"schemaVersion": 1, "kind": "ScorecardParts", "count": _count(run), "parts": rows}
    return canonical(whole).decode()


def index_body(run: EvalRun) -> dict[str, Any]:
    """The ConfigMap with the index of the parts, under the name that the scorecard of one piece has."""
    text = index_of_parts(run)
    return keeping(run, scorecard_name(run.metadata.name), sha256(text.encode()), {"data": {INDEX_KEY: text}})


def check_index(run: EvalRun, stored: Mapping[str, Any]) -> Problem | None:
    """Whether the stored index is the one of what this run has read."""
    name = scorecard_name(run.metadata.name)
    if not owned(stored, run.metadata.uid):
        return Problem(
            Reason.SCORECARD_CONFLICT, f"ConfigMap {name} exists and is not of this run: delete it"
        )
    if (stored.get("data") or {}).get(INDEX_KEY) != index_of_parts(run):
        return Problem(Reason.SCORECARD_CONFLICT, f"ConfigMap {name} holds another index of parts: delete it")
    return None


def part_from_store(
    run: EvalRun, shard: ShardResult, stored: Mapping[str, Any] | None
) -> ScorecardPart | Problem | Lost:
    """A part that an earlier look kept. Verified again: anybody may have made a ConfigMap of that name."""
    if stored is None:
        return Lost(shard.index)
    name = part_name(run.metadata.name, run.status.attempts, shard.index)
    if not owned(stored, run.metadata.uid):
        return Problem(
            Reason.SCORECARD_CONFLICT, f"ConfigMap {name} exists and is not of this run: delete it"
        )
    try:
        document = unpack(base64.b64decode((stored.get("binaryData") or {}).get(SCORECARD_KEY, "")))
        if sha256(document) != shard.sha256:
            text = f"ConfigMap {name} holds another part than its container announced: delete it"
            return Problem(Reason.SCORECARD_CONFLICT, text)
        return parse_part(document, source=f"ConfigMap {name}")
    except (ContractError, ValueError) as error:
        text = error.message if isinstance(error, ContractError) else "it is not base64"
        return Problem(
            Reason.SCORECARD_CONFLICT, f"ConfigMap {name} holds no part of a scorecard: {text}; delete it"
        )


def merged(run: EvalRun, parts: Sequence[ScorecardPart]) -> Reading | Problem:
    """The whole, made of all parts and nothing less."""
    try:
        card = merge(parts)
    except ContractError as error:
        return Problem(error.reason, error.message)
    text = index_of_parts(run)
    return Reading(
        card,
        sha256(text.encode()),
        scorecard_name(run.metadata.name),
        INDEX_KEY,
        stored=True,
        parts=len(parts),
    )


def read_index(text: str) -> list[dict[str, Any]]:
    """Where the parts of a stored index are: `index`, `configMap`, `key`, `sha256`. Raises `ValueError`."""
    whole = json.loads(text)
    if not isinstance(whole, dict) or whole.get("kind") != "ScorecardParts":
        raise ValueError("it is no index of parts")
    rows: list[dict[str, Any]] = whole["parts"]
    return rows


def walls(run: EvalRun) -> tuple[float, ...]:
    """How long the containers of each repeat ran, all shards together. Seconds."""
    rows = [shard.seconds for shard in run.status.shards]
    return (
        tuple(float(sum(row)) for row in zip(*rows, strict=True)) if len({len(r) for r in rows}) == 1 else ()
    )


def _count(run: EvalRun) -> int:
    return (run.status.inputs.shards if run.status.inputs else None) or 1
