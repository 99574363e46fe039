"""Write the two ground-truth files from one table: `python -m rca_eval.data.catalogue FOLDER`.

The nine incidents are the project's simulation catalogue. Numbers are (criticality, error rate, z of the
error ratio). *seed* has only the original constants: the cause .9/.9, two sibling distractors .95/.55. All
its incidents have one margin, so it is one incident nine times. *graded* adds rivals at different margins,
the symptom as a candidate, a trap that only the change term defeats (GT-03, GT-07), and innocent deploys one
second before and thirty seconds after the window.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Numbers = tuple[float, float, int]

WINDOW = 1800
FIRST_ONSET = 1700000000
DAY = 86400  # one incident a day: windows never overlap, and "earlier" has a meaning
CAUSE: Numbers = (0.9, 0.9, 30)
TRAP: Numbers = (0.95, 0.55, 12)
SYMPTOM: Numbers = (0.4, 0.97, 28)
CHANGE_TRAP: Numbers = (0.95, 0.95, 33)
QUIET_RATIO = 0.01
RIVAL_LAG = 20
KINDS = {
    "falkordb": "datastore",
    "postgres": "datastore",
    "qdrant": "datastore",
    "nats": "datastore",
    "object-store": "datastore",
    "ingress": "ingress",
}


@dataclass(frozen=True)
class Row:
    """One incident: the label, the alert, the topology trap, and the rivals of the graded profile."""

    id: str
    fault_class: str
    cause: str
    symptom: str
    alert: str
    trap: str
    rival: str
    numbers: Numbers
    loud_leaf: str | None = None
    loud_numbers: Numbers = (0.84, 0.97, 24)
    change_offset: int | None = None
    change_kind: str = "Deploy"
    has_series: bool = True


ROWS = (
    Row(
        "GT-01-login-break", "auth/login", "authelia", "bluerobin-web", "LoginSuccessRateLow",
        "archives-api", "rag-chat", (0.95, 0.80, 24),
    ),
    Row(
        "GT-02-rca-gateway-down-floor", "deploy/config", "mcp-gateway", "debug-agent", "RcaGatewayUnreachable",
        "falkordb", "qdrant", (0.95, 0.70, 24), has_series=False,
    ),
    Row(
        "GT-03-bad-deploy-archives-api", "deploy/config", "archives-api", "bluerobin-web", "Http5xxRatioHigh",
        "authelia", "rag-chat", CHANGE_TRAP, change_offset=-420,
    ),
    Row(
        "GT-04-falkordb-down", "data/datastore", "falkordb", "debug-agent", "GraphQueryErrors",
        "mcp-gateway", "qdrant", (0.95, 0.82, 24),
    ),
    Row(
        "GT-05-postgres-meshed-reset", "data/datastore", "postgres", "archives-api", "DbConnectionResets",
        "authelia", "nats", (0.95, 0.75, 24), loud_leaf="qdrant",
    ),
    Row(
        "GT-06-upload-thumbnail-fail", "data/datastore", "archives-worker-infra", "archives-api", "UploadJobFailures",
        "postgres", "object-store", (0.95, 0.80, 24),
    ),
    Row(
        "GT-07-bad-commit-web", "deploy/config", "bluerobin-web", "ingress", "Http5xxRatioHigh",
        "authelia", "archives-api", CHANGE_TRAP, change_offset=-WINDOW, change_kind="Change",
    ),
    Row(
        "GT-08-rag-chat-down", "auth/login", "authelia", "rag-chat", "ChatErrorsHigh",
        "ollama", "qdrant", (0.95, 0.78, 24),
    ),
    Row(
        "GT-09-ollama-embeddings-down", "data/datastore", "ollama", "archives-worker-infra", "EmbeddingJobFailures",
        "postgres", "object-store", (0.95, 0.65, 24), loud_leaf="nats",
    ),
)  # fmt: skip


def dataset(profile: str) -> dict[str, Any]:
    """The ground truth of `seed` or `graded` as JSON values."""
    comment = {
        "seed": "The original constants. Every margin is the same: read it as one incident, nine times.",
        "graded": "Rivals at different margins; decoy deploys at the edges of the window; GT-03 and GT-07 need the change term.",
    }
    return {
        "schemaVersion": 1,
        "windowSeconds": WINDOW,
        "profile": profile,
        "_comment": comment[profile],
        "incidents": [
            _incident(row, FIRST_ONSET + DAY * at, graded=profile == "graded") for at, row in enumerate(ROWS)
        ],
    }


def _incident(row: Row, onset: int, *, graded: bool) -> dict[str, Any]:
    telemetry = dict(_telemetry(row, graded=graded))
    keys = [*telemetry, *([] if graded else [row.symptom])]
    return {
        "id": row.id,
        "faultClass": row.fault_class,
        "expectedRootCause": row.cause,
        "changeInduced": row.change_offset is not None,
        "protected": row.change_offset is not None,
        "symptom": row.symptom,
        "onset": onset,
        "onsetSource": "alert",
        "alert": {
            "name": row.alert,
            "service": row.symptom,
            "firedAt": onset + 60,
            "forSeconds": 60,
            "severity": "critical",
        },
        "topology": {
            "services": [{"key": key, "kind": KINDS.get(key, "workload")} for key in keys],
            "calls": [[row.symptom, key] for key in keys if key != row.symptom],
        },
        "telemetry": {
            "availability": "full" if row.has_series or not graded else "degraded",
            "services": telemetry,
        },
        "changes": list(_changes(row, onset, graded=graded)),
        "distractors": list(_distractors(row, graded=graded)),
        "label": {"status": "confirmed", "by": "simulation catalogue"},
    }


def _telemetry(row: Row, *, graded: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    series = row.has_series or not graded  # the degraded incident is a feature of the graded profile
    yield row.cause, _service(CAUSE, 0, series)
    yield row.trap, _service(TRAP, 0, series)  # as early as the cause, or the first to move were the answer
    yield row.rival, _service(row.numbers if graded else TRAP, RIVAL_LAG, series)
    if graded and row.loud_leaf:
        yield row.loud_leaf, _service(row.loud_numbers, RIVAL_LAG, series)
    if graded:
        yield row.symptom, _service(SYMPTOM, RIVAL_LAG, series)


def _service(numbers: Numbers, lag: int, series: bool) -> dict[str, Any]:
    criticality, error_rate, z = numbers
    generator = {
        "metric": "error_ratio",
        "median": QUIET_RATIO,
        "iqr": QUIET_RATIO,
        "z": z,
        "lagSeconds": lag,
    }
    return {
        "criticality": criticality,
        "errorRate": error_rate,
        "errorRateBefore": QUIET_RATIO,
        "series": [generator] if series else [],
    }


def _changes(row: Row, onset: int, *, graded: bool) -> Iterator[dict[str, Any]]:
    moments = [(row.cause, row.change_offset, row.change_kind)] if row.change_offset is not None else []
    if graded:
        moments += [(row.trap, -WINDOW - 1, "Deploy"), (row.trap, 30, "Deploy")]
    for service, offset, kind in moments:
        yield {"kind": kind, "service": service, "at": onset + offset, "ref": f"{service}@{onset + offset}"}


def _distractors(row: Row, *, graded: bool) -> Iterator[dict[str, str]]:
    yield {"service": row.trap, "kind": "topologyTrap"}
    kind = "changeTrap" if row.change_offset is not None else "gradedTrap"
    yield {"service": row.rival, "kind": kind if graded else "topologyTrap"}
    if graded and row.loud_leaf:
        yield {"service": row.loud_leaf, "kind": "loudLeaf"}


def text(profile: str) -> str:
    """The file's text: stable, one field a line, so that a change reads well in a diff."""
    return json.dumps(dataset(profile), indent=1) + "\n"


def main(folder: str) -> None:
    for profile in ("seed", "graded"):
        (Path(folder) / f"ground-truth.{profile}.json").write_text(text(profile), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
