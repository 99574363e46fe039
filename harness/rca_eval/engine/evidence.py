"""What speaks for and against a candidate, beyond its score. Gathered as it is asked for, each thing once.

Hard evidence for a service, with onset T and window W (only these four can carry a conclusion):
    E1  a Deploy or Change of this very service in [T - W, T]
    E2  its own error ratio is >= 0.2 and >= 3 times the one before; a ratio before of 0 counts when it is known
    E3  z >= 3 (`engine.baro`), and its first deviation is not later than the symptom's (T if that has none)
    E4  it went down or crashed: a metric of `DOWN` is 0 in [T, T + 600] and was not just before T, or a counter
        of `CRASHES` is higher in [T, T + 600] than just before T
An incident holds no spans, so the deepest failing span of a trace, which would be an E4 too, cannot be asked for.

Contradictions (they refute a candidate; what is not known never does):
    Unreachable  no chain of calls leads from the symptom to it
    Late         its first deviation is more than 120 s after the symptom's, and it has no change
    Quiet        its error ratio is known and < 0.05, z < 3, and it has no change

Never evidence: criticality, a memory of other incidents, a model's words, another service's alert.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Literal

from rca_eval.contract import EngineIncident
from rca_eval.contract.protocol import EngineSeries
from rca_eval.engine.baro import AFTER_SECONDS, PRESENT_FROM
from rca_eval.engine.investigation import CandidateRow, Findings
from rca_eval.engine.starts import first_deviation

HardKind = Literal["E1", "E2", "E3", "E4"]
HARD: tuple[HardKind, ...] = ("E1", "E2", "E3", "E4")
Contradiction = Literal["Unreachable", "Late", "Quiet"]
CONTRADICTIONS: tuple[Contradiction, ...] = ("Unreachable", "Late", "Quiet")

ERROR_FROM, ERROR_TIMES = Fraction(1, 5), 3
QUIET_BELOW = Fraction(1, 20)
LATE_SECONDS = 120
DOWN = frozenset({"up"})
CRASHES = frozenset(
    {
        "restarts",
        "restarts_total",
        "crashes_total",
        "kube_pod_container_status_restarts_total",
        "container_oom_events_total",
    }
)
"""Metric names: what Prometheus itself, kube-state-metrics and cAdvisor call them, and two plain ones."""


class Evidence:
    """The evidence of one incident. Every answer is kept, so asking again costs nothing."""

    def __init__(self, incident: EngineIncident, findings: Findings) -> None:
        self._incident = incident
        self._findings = findings
        self._rows: dict[str, CandidateRow] = {row.key: row for row in findings.candidates}
        self._hard: dict[tuple[str, HardKind], tuple[str, ...]] = {}
        self._against: dict[tuple[str, Contradiction], bool] = {}
        self._starts: dict[str, tuple[int, str] | None] = {}
        self._ask: Mapping[HardKind, Callable[[str], tuple[str, ...]]] = {
            "E1": self._changed,
            "E2": self._failing,
            "E3": self._deviating,
            "E4": self._down,
        }
        self._contradict: Mapping[Contradiction, Callable[[str], bool]] = {
            "Unreachable": self._unreachable,
            "Late": self._late,
            "Quiet": self._quiet,
        }

    @property
    def blind(self) -> bool:
        """There is no telemetry at all: nothing can be verified, and nothing refuted."""
        return self._incident.telemetry.availability == "none"

    def hard(self, service: str, kind: HardKind) -> tuple[str, ...]:
        """Ids of the evidence of this kind, empty if there is none.

        Ids can be found again: a change's own ref; `SERVICE/errorRate=0.9,before=0.01`; `SERVICE/METRIC@TIME` of a
        sample.
        """
        found = self._hard.get((service, kind))
        if found is None:
            found = self._hard[service, kind] = self._ask[kind](service)
        return found

    def kinds(self, service: str) -> tuple[HardKind, ...]:
        """The kinds of hard evidence that there are for this service."""
        return tuple(kind for kind in HARD if self.hard(service, kind))

    def contradicts(self, service: str, kind: Contradiction) -> bool:
        """Whether this contradiction holds for the service."""
        found = self._against.get((service, kind))
        if found is None:
            found = self._against[service, kind] = self._contradict[kind](service)
        return found

    def _changed(self, service: str) -> tuple[str, ...]:
        return tuple(sorted(self._findings.changes.get(service, ())))

    def _failing(self, service: str) -> tuple[str, ...]:
        row = self._rows.get(service)
        if row is None or row.error_rate is None or row.error_rate_before is None:
            return ()
        now, before = row.error_rate, row.error_rate_before
        if now < ERROR_FROM or now < ERROR_TIMES * before:
            return ()
        return (f"{service}/errorRate={_plain(now)},before={_plain(before)}",)

    def _deviating(self, service: str) -> tuple[str, ...]:
        start = self._start(service)
        if start is None or start[0] > self._symptom_start:
            return ()
        return (f"{service}/{start[1]}@{start[0]}",)

    def _down(self, service: str) -> tuple[str, ...]:
        found = []
        for series in self._series(service):
            if series.metric in DOWN:
                found += self._fallen(service, series)
            elif series.metric in CRASHES:
                found += self._risen(service, series)
        return tuple(sorted(found))

    def _fallen(self, service: str, series: EngineSeries) -> list[str]:
        before, after = self._around(series)
        zero = next((at for at, value in after if value == 0), None)
        return [f"{service}/{series.metric}@{zero}=0"] if before and zero is not None else []

    def _risen(self, service: str, series: EngineSeries) -> list[str]:
        before, after = self._around(series)
        if before is None:
            return []
        higher = next(((at, value) for at, value in after if value > before), None)
        return [f"{service}/{series.metric}@{higher[0]}={_plain(higher[1])}"] if higher else []

    def _around(self, series: EngineSeries) -> tuple[Decimal | None, list[tuple[int, Decimal]]]:
        """The last known value in [T - W, T), and the known samples in [T, T + 600], in order of time."""
        onset, first = self._findings.onset, self._findings.onset - self._incident.window_seconds
        known = sorted((at, value) for at, value in series.samples if value is not None)
        before = [value for at, value in known if first <= at < onset]
        return before[-1] if before else None, [
            (at, value) for at, value in known if onset <= at <= onset + AFTER_SECONDS
        ]

    def _unreachable(self, service: str) -> bool:
        return service not in self._reached

    def _late(self, service: str) -> bool:
        start = self._start(service)
        return (
            start is not None
            and start[0] > self._symptom_start + LATE_SECONDS
            and service not in self._findings.changes
        )

    def _quiet(self, service: str) -> bool:
        row = self._rows.get(service)
        return (
            row is not None
            and row.error_rate is not None
            and row.error_rate < QUIET_BELOW
            and self._findings.baro.raw.get(service, 0) < PRESENT_FROM
            and service not in self._findings.changes
        )

    def _start(self, service: str) -> tuple[int, str] | None:
        """The first deviation of any of its metrics, and which one; None unless z >= 3."""
        if service not in self._starts:
            loud = self._findings.baro.raw.get(service, 0) >= PRESENT_FROM
            onset, window = self._findings.onset, self._incident.window_seconds
            self._starts[service] = min(
                (
                    (at, one.metric)
                    for one in (self._series(service) if loud else ())
                    if (at := first_deviation(one, onset, window)) is not None
                ),
                default=None,
            )
        return self._starts[service]

    @cached_property
    def _symptom_start(self) -> int:
        start = self._start(self._incident.alert.service)
        return self._findings.onset if start is None else start[0]

    @cached_property
    def _reached(self) -> frozenset[str]:
        """What the symptom calls, directly or through others, and the symptom itself."""
        callees: dict[str, list[str]] = {}
        for caller, callee in self._incident.topology.calls:
            callees.setdefault(caller, []).append(callee)
        reached, left = {self._incident.alert.service}, [self._incident.alert.service]
        while left:
            new = set(callees.get(left.pop(), ())) - reached
            reached |= new
            left += new
        return frozenset(reached)

    def _series(self, service: str) -> tuple[EngineSeries, ...]:
        row = self._incident.telemetry.services.get(service)
        return row.series if row else ()


def _plain(value: Decimal) -> str:
    """Without an exponent and without trailing zeros: 0.90 and 9E-1 are one figure."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
