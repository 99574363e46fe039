"""The statement that builds one incident's graph, from what an engine may see. Pure.

| node | properties | edge |
|---|---|---|
| Service | key, kind, criticality, errorRate, errorRateBefore | (Service)-[:CALLS]->(Service) |
| Alert | key, name, firedAt, forSeconds, severity | (Alert)-[:FIRED_ON]->(Service) |
| Incident | key = opaque case id, onset, windowSeconds | (Incident)-[:RAISED_BY]->(Alert) |
| Deploy, Change | key, at, ref | (Deploy or Change)-[:CHANGED]->(Service) |

Labels and series never enter the graph.

It is one statement, for a graph that is empty: each further one would cost as much again as all of these rows. Edges find their
ends by the place of a service in the list, so no index is needed. What is absent is not part of the text (an
UNWIND of nothing would end the statement), which leaves sixteen texts in all; values are parameters, always.
"""

from decimal import Decimal
from functools import cache
from typing import Any

from rca_eval.contract import EngineIncident

Statement = tuple[str, dict[str, Any]]

SERVICES = (
    "UNWIND $services AS r CREATE (s:Service {key: r[0], kind: r[1], criticality: r[2], errorRate: r[3], "
    "errorRateBefore: r[4]}) WITH collect(s) AS s"
)
KINDS = ("Deploy", "Change")
CHANGES = {
    kind: f"UNWIND ${kind} AS r WITH s, r, s[r[0]] AS c "
    f"CREATE (:{kind} {{key: r[1], at: r[2], ref: r[3]}})-[:CHANGED]->(c) WITH DISTINCT s"
    for kind in KINDS
}
INCIDENT = (
    "WITH s, s[$symptom] AS c "
    "CREATE (:Incident {key: $key, onset: $onset, windowSeconds: $window})-[:RAISED_BY]->"
    "(:Alert {key: $key, name: $name, firedAt: $firedAt, forSeconds: $forSeconds, severity: $severity})"
    "-[:FIRED_ON]->(c) WITH s"
)
# Last, because there are many: after them nothing has to be brought back to one row.
CALLS = "UNWIND $calls AS r WITH s[r[0]] AS a, s[r[1]] AS b CREATE (a)-[:CALLS]->(b)"
END = "RETURN 0"


def statement(incident: EngineIncident) -> Statement:
    """Cypher with parameters, in the order of the document: a shuffled document is a shuffled insertion.

    Calls and changes of services that the topology does not list are left out; an alert on such a service gives
    a graph without an incident, in which nothing is a candidate.
    """
    rows = incident.telemetry.services
    services: list[list[Any]] = []
    place: dict[str, int] = {}
    for position, service in enumerate(incident.topology.services):
        row = rows.get(service.key)
        services.append(
            [
                service.key,
                service.kind,
                _double(row.criticality if row else None),
                _double(row.error_rate if row else None),
                _double(row.error_rate_before if row else None),
            ]
        )
        place.setdefault(service.key, position)
    values: dict[str, Any] = {"services": services}
    for kind in KINDS:
        values[kind] = [
            [place[change.service], f"{kind}/{change.service}/{change.at}", change.at, change.ref]
            for change in incident.changes
            if change.kind == kind and change.service in place
        ]
    alert = incident.alert
    if alert.service in place:
        values |= {
            "symptom": place[alert.service],
            "key": incident.case,
            "onset": alert.onset,
            "window": incident.window_seconds,
            "name": alert.name,
            "firedAt": alert.fired_at,
            "forSeconds": alert.for_seconds,
            "severity": alert.severity,
        }
    values["calls"] = [[place[a], place[b]] for a, b in incident.topology.calls if a in place and b in place]
    return _text(tuple(part for part in PARTS if values.get(part, []) != [])), values


PARTS = {"services": SERVICES, **CHANGES, "symptom": INCIDENT, "calls": CALLS}


@cache
def _text(present: tuple[str, ...]) -> str:
    if "services" not in present:
        return END
    text = " ".join(PARTS[part] for part in present)
    return text if "calls" in present else f"{text} {END}"


def _double(value: Decimal | None) -> float | None:
    # The store keeps doubles and answers with 15 significant digits, so a number of up to 15 comes back
    # unchanged.
    return None if value is None else float(value)
