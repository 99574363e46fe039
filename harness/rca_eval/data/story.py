"""How an incident is written down in the catalogue, and how it becomes a row of a ground-truth file. Pure.

A story is a table: services with their numbers, calls as `caller > callee callee`, changes by their distance from the
onset, and the traps with their kind. Numbers are criticality, error rate, and the error rate before; what is left out is
unknown to the engine.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from rca_eval.data.shapes import QUIET_RATIO, Json, Series, aligned

FIRST_ONSET = 1700000000
DAY = 86400  # one incident a day: windows never overlap, and "earlier" has a meaning
KINDS = {
    "falkordb": "datastore",
    "postgres": "datastore",
    "qdrant": "datastore",
    "nats": "datastore",
    "object-store": "datastore",
    "ingress": "ingress",
}


@dataclass(frozen=True)
class Service:
    """A service of the topology. One without any number and series has no telemetry at all."""

    key: str
    criticality: float | None = None
    errors: float | None = None
    series: tuple[Series, ...] = ()
    before: float | None = QUIET_RATIO

    @property
    def seen(self) -> bool:
        return self.criticality is not None or self.errors is not None or bool(self.series)

    def row(self, onset: int) -> Json:
        before = self.before if self.errors is not None else None
        numbers = {"criticality": self.criticality, "errorRate": self.errors, "errorRateBefore": before}
        known = {name: value for name, value in numbers.items() if value is not None}
        return {**known, "series": [one(onset) for one in self.series]}


@dataclass(frozen=True)
class Happened:
    """A deploy or change, so many seconds from the onset."""

    service: str
    offset: int
    kind: str = "Deploy"
    named: bool = True

    def row(self, onset: int) -> Json:
        at = onset + self.offset
        return {"kind": self.kind, "service": self.service, "at": at} | (
            {"ref": f"{self.service}@{at}"} if self.named else {}
        )


@dataclass(frozen=True)
class Story:
    """One incident. The cause is guilty of the changes that `change_induced` speaks of; traps are `(service, kind)`."""

    id: str
    fault_class: str
    cause: str
    symptom: str
    alert: str
    services: tuple[Service, ...]
    calls: tuple[str, ...]
    traps: tuple[tuple[str, str], ...]
    changes: tuple[Happened, ...] = ()
    change_induced: bool = False
    for_seconds: int = 60
    availability: str = "full"
    family: str | None = None

    def incident(self, onset: int) -> Json:
        """The row of the file, in the order in which a person reads it."""
        family = {"family": self.family} if self.family else {}
        return {
            "id": self.id,
            "faultClass": self.fault_class,
            "expectedRootCause": self.cause,
            "changeInduced": self.change_induced,
            "protected": self.change_induced,
            "symptom": self.symptom,
            "onset": onset,
            "onsetSource": "alert",
            "alert": {
                "name": self.alert,
                "service": self.symptom,
                "firedAt": onset + self.for_seconds,
                "forSeconds": self.for_seconds,
                "severity": "critical",
            },
            "topology": {
                "services": [
                    {"key": one.key, "kind": KINDS.get(one.key, "workload")} for one in self.services
                ],
                "calls": [list(pair) for pair in pairs(self.calls)],
            },
            "telemetry": {
                "availability": self.availability,
                "services": aligned({one.key: one.row(onset) for one in self.services if one.seen}, onset),
            },
            "changes": [one.row(onset) for one in self.changes],
            "distractors": [{"service": service, "kind": kind} for service, kind in self.traps],
            "label": {"status": "confirmed", "by": "simulation catalogue", **family},
        }


def pairs(calls: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """`a > b c` as (a, b) and (a, c)."""
    for line in calls:
        caller, callees = line.split(" > ")
        yield from ((caller, callee) for callee in callees.split())
