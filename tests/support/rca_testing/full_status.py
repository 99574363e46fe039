"""A status with every field that the schema has, so that a new field is covered without a change here."""

from typing import Any

from rca_rollout.api import KINDS, Status
from rca_testing import samples
from rca_testing.crds import Schema, schemas

READY = {"type": "Ready", "status": "True", "reason": "AsExpected", "lastTransitionTime": samples.TIME}
NOT_PROMOTED = {**READY, "type": "Promoted", "status": "False", "reason": "NotPromoted"}

# What the columns show.
_FIGURES: dict[str, dict[str, Any]] = {
    "RcaComponent": {
        "mode": "Shadow",
        "phase": "Observing",
        "revision": "v1",
        "evaluation": {"accuracy": "1.000", "delta": "+0.000", "baseline": "1.000", "verdict": "Passed"},
        "observation": {"startedAt": samples.TIME, "summary": "2/3 runs, 24h"},
        "conditions": [READY, NOT_PROMOTED],
    },
    "EvalRun": {
        "phase": "Passed",
        "reason": "GatePassed",
        "accuracy": "1.000",
        "delta": "+0.000",
        "mttr": "3 ms",
        "jobRef": {"name": "sample-1", "uid": "u"},
        "conditions": [READY],
    },
    "EvalSuite": {
        "dataset": {"sha256": samples.SHA, "incidents": 9, "profile": "graded"},
        "baseline": {"sha256": samples.SHA, "accuracy": "1.000"},
        "conditions": [READY],
    },
}


def full_status(kind: str) -> Status:
    """A typed status of the kind."""
    raw = {**filled(schemas()[kind]["properties"]["status"]), **_FIGURES[kind]}
    status = KINDS[kind].model_fields["status"].default
    assert isinstance(status, Status)
    return type(status).model_validate(raw)


def filled(schema: Schema) -> Any:
    """Some value with every member; texts are as long as they may be, in letters of two bytes."""
    if "enum" in schema:
        return schema["enum"][-1]
    if schema.get("format") == "date-time":
        return samples.TIME
    match schema["type"]:
        case "string":
            # A byte bound (the log's end) is half as many of these.
            return "ä" * min(schema["maxLength"], 1024)
        case "integer":
            return schema.get("maximum", 7)
        case "boolean":
            return True
        case "array":
            return [filled(schema["items"])]
    if "additionalProperties" in schema:
        return {"key": filled(schema["additionalProperties"])}
    return {name: filled(child) for name, child in schema["properties"].items()}
