"""The investigation: from an alert to ranked causes. Exact and deterministic; the clock is not asked.

    T    = firedAt - forSeconds (the onset)
    topo = criticality          of a candidate, in [0, 1], absent = 0
    tele = errorRate            of a candidate, in [0, 1], absent = 0
    hist = 0                    until a memory of past incidents recalls something (not part of this version)
    chg  = 1 iff the candidate has a Deploy or Change in [T - W, T], both ends inclusive, else 0
    baro = see `engine.baro`
    score = sum of weight * term, with the one table of the incident, nine digits, half to even
Order: score descending, then key by code point. Candidates are what the symptom reaches in 0 to 3 calls.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Protocol

from rca_eval.contract import EngineIncident, nine
from rca_eval.engine.baro import BaroSignal, baro_signal
from rca_eval.engine.blend import Blend, Table


class CandidateRow(Protocol):
    """What the investigation reads of a candidate."""

    @property
    def key(self) -> str: ...
    @property
    def criticality(self) -> Decimal | None: ...
    @property
    def error_rate(self) -> Decimal | None: ...


class ChangedRow(Protocol):
    """What the investigation reads of a change."""

    @property
    def service(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def ref(self) -> str | None: ...


class Graph(Protocol):
    """The seeded graph of one incident, as the investigation asks it."""

    def candidates(self) -> Sequence[CandidateRow]: ...
    def changes(self, services: list[str], first: int, last: int) -> Sequence[ChangedRow]: ...


@dataclass(frozen=True)
class Scored:
    """A candidate with its score and the weighted terms that add up to it."""

    key: str
    score: Fraction
    terms: dict[str, Fraction]


@dataclass(frozen=True)
class Findings:
    """All that was gathered about an incident; rankings are computed from it."""

    candidates: Sequence[CandidateRow]
    changes: dict[str, list[str]]
    baro: BaroSignal


@dataclass(frozen=True)
class Ranking:
    table: Table
    candidates: tuple[Scored, ...]
    evidence: tuple[str, ...]


def change_window(onset: int, window_seconds: int) -> tuple[int, int]:
    """[T - W, T]: both ends belong to it."""
    return onset - window_seconds, onset


def gather(incident: EngineIncident, graph: Graph) -> Findings:
    """Ask the graph for candidates and changes, and the series for the BARO signal."""
    onset = incident.alert.onset
    candidates = graph.candidates()
    keys = [row.key for row in candidates]
    changes: dict[str, list[str]] = {}
    for row in graph.changes(keys, *change_window(onset, incident.window_seconds)):
        changes.setdefault(row.service, []).append(row.ref or row.key)
    telemetry = incident.telemetry.services
    series = {key: telemetry[key].series if key in telemetry else () for key in keys}
    return Findings(candidates, changes, baro_signal(series, onset, incident.window_seconds))


def rank(findings: Findings, blend: Blend, *, use_baro: bool) -> Ranking:
    """The ranking under one blend; `use_baro` says whether the BARO term may govern."""
    table = blend.choose(change=bool(findings.changes), baro=use_baro and findings.baro.present)
    scored = []
    for row in findings.candidates:
        values = {
            "topo": Fraction(row.criticality or 0),
            "tele": Fraction(row.error_rate or 0),
            "hist": Fraction(0),
            "chg": Fraction(row.key in findings.changes),
            "baro": findings.baro.terms.get(row.key, Fraction(0)),
        }
        terms = {term: weight * values[term] for term, weight in table.weights.items()}
        scored.append(Scored(row.key, Fraction(nine(sum(terms.values(), Fraction(0)))), terms))
    scored.sort(key=lambda one: (-one.score, one.key))
    evidence = (
        tuple(sorted(findings.changes.get(scored[0].key, ()))) if scored and "chg" in table.weights else ()
    )
    return Ranking(table, tuple(scored), evidence)
