"""The statements that build one incident's graph, from what an engine may see. Pure.

| node | properties | edge |
|---|---|---|
| Service | key, kind, criticality, errorRate, errorRateBefore | (Service)-[:CALLS]->(Service) |
| Alert | key, name, firedAt, forSeconds, severity | (Alert)-[:FIRED_ON]->(Service) |
| Incident | key = opaque case id, onset, windowSeconds | (Incident)-[:RAISED_BY]->(Alert) |
| Deploy, Change | key, at, ref | (Deploy or Change)-[:CHANGED]->(Service) |

Labels and series never enter the graph.
"""

from decimal import Decimal
from typing import Any

from rca_eval.contract import EngineIncident

Statement = tuple[str, dict[str, Any]]

INDEX = "CREATE INDEX FOR (s:Service) ON (s.key)"
SERVICES = (
    "UNWIND $rows AS r CREATE (:Service {key: r.key, kind: r.kind, criticality: r.criticality, "
    "errorRate: r.errorRate, errorRateBefore: r.errorRateBefore})"
)
CALLS = "UNWIND $rows AS r MATCH (a:Service {key: r.a}), (b:Service {key: r.b}) CREATE (a)-[:CALLS]->(b)"
INCIDENT = (
    "MATCH (s:Service {key: $service}) "
    "CREATE (:Incident {key: $key, onset: $onset, windowSeconds: $window})-[:RAISED_BY]->"
    "(:Alert {key: $key, name: $name, firedAt: $firedAt, forSeconds: $forSeconds, severity: $severity})"
    "-[:FIRED_ON]->(s)"
)
CHANGES = {
    kind: f"UNWIND $rows AS r MATCH (s:Service {{key: r.service}}) "
    f"CREATE (:{kind} {{key: r.key, at: r.at, ref: r.ref}})-[:CHANGED]->(s)"
    for kind in ("Deploy", "Change")
}


def statements(incident: EngineIncident) -> list[Statement]:
    """Cypher with parameters, in the order of the document: a shuffled document is a shuffled insertion."""
    rows = incident.telemetry.services
    services = []
    for service in incident.topology.services:
        row = rows.get(service.key)
        services.append(
            {
                "key": service.key,
                "kind": service.kind,
                "criticality": _double(row.criticality if row else None),
                "errorRate": _double(row.error_rate if row else None),
                "errorRateBefore": _double(row.error_rate_before if row else None),
            }
        )
    found: list[Statement] = [(INDEX, {}), (SERVICES, {"rows": services})]
    if incident.topology.calls:
        found.append((CALLS, {"rows": [{"a": a, "b": b} for a, b in incident.topology.calls]}))
    alert = incident.alert
    found.append(
        (
            INCIDENT,
            {
                "service": alert.service,
                "key": incident.case,
                "onset": alert.onset,
                "window": incident.window_seconds,
                "name": alert.name,
                "firedAt": alert.fired_at,
                "forSeconds": alert.for_seconds,
                "severity": alert.severity,
            },
        )
    )
    for kind, statement in CHANGES.items():
        changes = [
            {
                "key": f"{kind}/{change.service}/{change.at}",
                "service": change.service,
                "at": change.at,
                "ref": change.ref,
            }
            for change in incident.changes
            if change.kind == kind
        ]
        if changes:
            found.append((statement, {"rows": changes}))
    return found


def _double(value: Decimal | None) -> float | None:
    # The store keeps doubles and answers with 15 significant digits, so a number of up to 15 comes back
    # unchanged.
    return None if value is None else float(value)
