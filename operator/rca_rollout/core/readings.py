"""A run's scorecard: what its container announced, how it is kept, and what is believed of it when it is read again."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rca_eval.contract import (
    ContractError,
    Scorecard,
    canonical,
    decode_packed,
    pack,
    sha256,
    unpack,
)
from rca_rollout.api.reasons import Reason
from rca_rollout.api.run import EvalRun
from rca_rollout.core import answers
from rca_rollout.core.names import (
    COMPONENT_LABEL,
    MANAGED_BY,
    PREFIX,
    RUN_LABEL,
    label_value,
    scorecard_name,
)
from rca_rollout.core.owners import owned, owner_reference
from rca_rollout.core.pods import SCORECARD, termination_message
from rca_rollout.core.problem import Problem

SCORECARD_KEY = "scorecard.json.gz"


@dataclass(frozen=True)
class Reading:
    """A scorecard, verified against the digest that its container announced, and where it is stored."""

    scorecard: Scorecard
    sha256: str
    config_map: str
    key: str
    stored: bool
    document: bytes | None = None
    """As it was read: the very bytes that `sha256` is of."""
    packed: str | None = None
    """The same as it came: base64 of gzip."""
    parts: int | None = None
    """Into how many ConfigMaps it is divided; then `sha256` is of their index."""


def announced_digest(pod: Mapping[str, Any]) -> str | Problem:
    """The digest in the scorecard container's last words: only the kubelet writes there."""
    try:
        return str(json.loads(termination_message(pod, SCORECARD))["sha256"])
    except (ValueError, KeyError, TypeError):
        return Problem(
            Reason.SCORECARD_MISSING,
            "the scorecard container announced no digest: is the harness image of this version?",
        )


def from_log(run: EvalRun, raw: bytes, announced: str) -> Reading | Problem:
    """The scorecard in the container's log. Never trusts what it cannot verify."""
    try:
        document, packed = decode_packed(raw, expected_sha256=announced)
        card = answers.parse(document, source="the scorecard in the log")
    except ContractError as error:
        return Problem(error.reason, error.message)
    name = scorecard_name(run.metadata.name)
    return Reading(card, announced, name, SCORECARD_KEY, stored=False, document=document, packed=packed)


def from_store(run: EvalRun, stored: Mapping[str, Any], announced: str) -> Reading | Problem:
    """What an earlier look stored. Verified again: anybody may have made a ConfigMap of that name."""
    name = scorecard_name(run.metadata.name)
    if not owned(stored, run.metadata.uid):
        return Problem(
            Reason.SCORECARD_CONFLICT, f"ConfigMap {name} exists and is not of this run: delete it"
        )
    try:
        document = unpack(base64.b64decode((stored.get("binaryData") or {}).get(SCORECARD_KEY, "")))
        card = answers.parse(document, source=f"ConfigMap {name}")
    except (ContractError, ValueError) as error:
        text = error.message if isinstance(error, ContractError) else "it is not base64"
        return Problem(Reason.SCORECARD_CONFLICT, f"ConfigMap {name} holds no scorecard: {text}; delete it")
    if sha256(document) != announced:
        return Problem(
            Reason.SCORECARD_CONFLICT,
            f"ConfigMap {name} holds another scorecard than its container announced: delete it",
        )
    return Reading(card, announced, name, SCORECARD_KEY, stored=True)


def store_body(run: EvalRun, reading: Reading) -> dict[str, Any]:
    """The ConfigMap that keeps it: immutable, and gone with its run."""
    packed = reading.packed
    if packed is None:
        packed = base64.b64encode(pack(reading.document or canonical(reading.scorecard))).decode()
    return keeping(run, reading.config_map, reading.sha256, {"binaryData": {reading.key: packed}})


def keeping(run: EvalRun, name: str, digest: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """An immutable ConfigMap of this run's; `content` is its `data` or `binaryData`."""
    component = run.spec.component_ref
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name,
            "namespace": run.metadata.namespace,
            "labels": {
                **MANAGED_BY,
                RUN_LABEL: label_value(run.metadata.name),
                **({COMPONENT_LABEL: label_value(component.name)} if component else {}),
            },
            "annotations": {f"{PREFIX}/sha256": digest},
            "ownerReferences": [owner_reference("EvalRun", run.metadata.name, run.metadata.uid)],
        },
        "immutable": True,
        **content,
    }
