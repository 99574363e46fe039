"""The investigation: from an alert to ranked causes. Exact and deterministic; the clock is not asked.

    T    = firedAt - forSeconds (the onset); where the incident says `onsetSource: detected`, see `engine.onset`
    topo = criticality          of a candidate, in [0, 1], absent = 0
    tele = errorRate            of a candidate, in [0, 1], absent = 0
    hist = 0                    while RcaMemory is in Shadow, else see `engine.recall`
    chg  = 1 iff the candidate has a Deploy or Change in [T - W, T], both ends inclusive, else 0
    baro = see `engine.baro`
    score = sum of weight * term, with the one table of the incident, nine digits, half to even
Order: score descending, then key by code point. Candidates are what the symptom reaches in 0 to 3 calls.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Protocol

from rca_eval.contract import EngineIncident
from rca_eval.contract.numbers import nano
from rca_eval.engine.baro import BaroSignal, baro_signal
from rca_eval.engine.blend import Blend, Table
from rca_eval.engine.onset import detected_onset
from rca_eval.engine.recall import Memory, history, query_of, recall


class CandidateRow(Protocol):
    """What the investigation reads of a candidate."""

    @property
    def key(self) -> str: ...
    @property
    def criticality(self) -> Decimal | None: ...
    @property
    def error_rate(self) -> Decimal | None: ...
    @property
    def error_rate_before(self) -> Decimal | None: ...


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
    """All that was gathered about an incident; rankings are computed from it. `onset` is T in Unix seconds,
    `history` the recalled part of each service that has one, in [0, 0.5].
    """

    candidates: Sequence[CandidateRow]
    changes: dict[str, list[str]]
    baro: BaroSignal
    onset: int = 0
    history: Mapping[str, Fraction] = field(default_factory=dict)


@dataclass(frozen=True)
class Ranking:
    table: Table
    candidates: tuple[Scored, ...]
    evidence: tuple[str, ...]


def change_window(onset: int, window_seconds: int) -> tuple[int, int]:
    """[T - W, T]: both ends belong to it."""
    return onset - window_seconds, onset


def onset_of(incident: EngineIncident) -> int:
    """T in Unix seconds. Where a detected onset is asked for and none is found, the alert's is all there is."""
    found = detected_onset(incident) if incident.onset_source == "detected" else None
    return incident.alert.onset if found is None else found


def gather(incident: EngineIncident, graph: Graph, memory: Memory | None = None) -> Findings:
    """Ask the graph for candidates and changes, the series for the BARO signal, and a memory for what it recalls."""
    onset = onset_of(incident)
    candidates = graph.candidates()
    keys = [row.key for row in candidates]
    changes: dict[str, list[str]] = {}
    for row in graph.changes(keys, *change_window(onset, incident.window_seconds)):
        changes.setdefault(row.service, []).append(row.ref or row.key)
    telemetry = incident.telemetry.services
    series = {key: telemetry[key].series if key in telemetry else () for key in keys}
    return Findings(
        candidates,
        changes,
        baro_signal(series, onset, incident.window_seconds),
        onset,
        history(recall(query_of(incident, onset), memory)) if memory is not None else {},
    )


def term_values(findings: Findings) -> list[tuple[str, dict[str, Fraction]]]:
    """Every candidate with the values of all terms, before any weight."""
    return [
        (
            row.key,
            {
                "topo": Fraction(row.criticality or 0),
                "tele": Fraction(row.error_rate or 0),
                "hist": findings.history.get(row.key, _ZERO),
                "chg": Fraction(row.key in findings.changes),
                "baro": findings.baro.terms.get(row.key, _ZERO),
            },
        )
        for row in findings.candidates
    ]


def rank(findings: Findings, blend: Blend, *, use_baro: bool) -> Ranking:
    """The blend alone, without cap, gate and memory; `use_baro` says whether the BARO term may govern."""
    table = blend.choose(change=bool(findings.changes), baro=use_baro and findings.baro.present)
    rows = term_values(findings)
    scored = [weighted(key, {**values, "hist": _ZERO}, table) for key, values in rows]
    scored.sort(key=order)
    return Ranking(table, tuple(scored), change_evidence(findings, table, scored))


def weighted(key: str, values: Mapping[str, Fraction], table: Table) -> Scored:
    """A candidate's score under a table, rounded to nine digits, half to even; its terms are exact."""
    terms = {term: weight * values[term] for term, weight in table.weights.items()}
    return Scored(key, rounded(sum(terms.values(), _ZERO)), terms)


def rounded(value: Fraction) -> Fraction:
    """Nine digits, half to even: the score as it is serialised, so that what looks equal is a tie."""
    return Fraction(nano(value), NANO)


def order(one: Scored) -> tuple[Fraction, str]:
    """The sort key: score descending, then name by code point."""
    return -one.score, one.key


def change_evidence(findings: Findings, table: Table, ranked: Sequence[Scored]) -> tuple[str, ...]:
    """The changes of the first candidate, where the table has a term for them."""
    if not ranked or "chg" not in table.weights:
        return ()
    return tuple(sorted(findings.changes.get(ranked[0].key, ())))


NANO = 10**9
_ZERO = Fraction(0)
