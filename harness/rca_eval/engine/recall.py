"""Recall: what earlier incidents, confirmed and resolved before this one began, say about a candidate.

    sim     = .4 [same symptom] + .3 [same alert] + .3 Jaccard(services with an error ratio >= .5)
    recalled are the three most similar with sim >= .6, ties by key
    hist(c) = .5 * max sim over the recalled incidents that c caused, else 0
Half, because a repeat of a symptom is a hint and no proof: with the whole of it, an incident with the same symptom
and another cause is lost. Two empty sets of services have nothing in common. Exact: Fractions throughout.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Protocol

from rca_eval.contract import EngineIncident, PastIncident

SYMPTOM, ALERT, SERVICES = Fraction(4, 10), Fraction(3, 10), Fraction(3, 10)
THRESHOLD = Fraction(6, 10)
TOP = 3
SHARE = Fraction(1, 2)
FAILING_FROM = Decimal("0.5")


class Memory(Protocol):
    """Where past incidents are kept; `near` may return more than is similar, and never less."""

    def near(
        self, *, symptom: str, alert: str, services: Collection[str], before: int
    ) -> Sequence[PastIncident]: ...


@dataclass(frozen=True)
class Query:
    """What is asked: how the incident looks, and `before`, its onset, by which others must have been resolved."""

    symptom: str
    alert: str
    services: frozenset[str]
    before: int


@dataclass(frozen=True)
class Recalled:
    past: PastIncident
    similarity: Fraction


def query_of(incident: EngineIncident, onset: int) -> Query:
    """How an incident looks to the memory. No id, label or fault class is in it."""
    return Query(
        incident.alert.service, incident.alert.name, failing(incident.telemetry.services.items()), onset
    )


class _Row(Protocol):
    @property
    def error_rate(self) -> Decimal | None: ...


def failing(rows: Iterable[tuple[str, _Row]]) -> frozenset[str]:
    """The services with an error ratio of one half or more."""
    return frozenset(
        key for key, row in rows if row.error_rate is not None and row.error_rate >= FAILING_FROM
    )


def similarity(query: Query, past: PastIncident) -> Fraction:
    """sim, in [0, 1]."""
    theirs = set(past.services)
    union = len(theirs | query.services)
    return (
        SYMPTOM * (query.symptom == past.symptom)
        + ALERT * (query.alert == past.alert)
        + (SERVICES * Fraction(len(theirs & query.services), union) if union else 0)
    )


def recall(query: Query, memory: Memory) -> tuple[Recalled, ...]:
    """At most three incidents, the most similar first."""
    rows = memory.near(symptom=query.symptom, alert=query.alert, services=query.services, before=query.before)
    known = [Recalled(row, similarity(query, row)) for row in rows if row.resolved_at < query.before]
    similar = [one for one in known if one.similarity >= THRESHOLD]
    return tuple(sorted(similar, key=lambda one: (-one.similarity, one.past.key))[:TOP])


def history(recalled: Sequence[Recalled], share: Fraction = SHARE) -> Mapping[str, Fraction]:
    """hist of each service that caused a recalled incident."""
    found: dict[str, Fraction] = {}
    for one in recalled:
        for cause in one.past.causes:
            found[cause] = max(found.get(cause, Fraction(0)), share * one.similarity)
    return found
