"""The KPIs of a set of incidents. Pure and exact; every figure comes with its formula and with what it leaves out.

A percentile p is the inclusive linear one over the sorted values v[0..n-1]: with h = p (n - 1),
    v[floor h] + (h - floor h) (v[floor h + 1] - v[floor h])
as in NumPy's default and SQL's percentile_cont. Without a value there is no figure: null, never 0.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any

from rca_eval.contract import nine
from rca_eval.kpis.moments import Moment, microseconds, rfc3339

PERCENTILE = "exact, inclusive linear interpolation at p * (n - 1)"
P50, P95 = Fraction(1, 2), Fraction(95, 100)


@dataclass(frozen=True)
class Lifecycle:
    """One incident: when it fired, and the later moments that are known."""

    id: str
    alert: str
    service: str
    fault_class: str | None
    times: Mapping[Moment, datetime]

    def plain(self) -> dict[str, Any]:
        known = {moment: self.times.get(moment) for moment in Moment}
        return {
            "id": self.id,
            "alert": self.alert,
            "service": self.service,
            "class": self.fault_class,
            **{moment.field: rfc3339(at) if at else None for moment, at in known.items()},
        }


@dataclass(frozen=True)
class Kpi:
    """A time span from one moment to another. `lacking` incidents have not (yet) the later one."""

    name: str
    field: str
    end: Moment
    about: str
    values: tuple[Fraction, ...] = ()
    lacking: int = 0

    @property
    def formula(self) -> str:
        return f"{self.end.field} - {Moment.FIRED.field}"

    def plain(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "field": self.field,
            "formula": self.formula,
            "about": self.about,
            "n": len(self.values),
            "lacking": self.lacking,
            "p50": _figure(percentile(self.values, P50)),
            "p95": _figure(percentile(self.values, P95)),
            "mean": _figure(mean(self.values)),
        }


DEFINED = (
    Kpi(
        "MTTD",
        "timeToDetectSeconds",
        Moment.DETECTED,
        "from the alert's start to the agent's first look at it: what the delivery of alerts costs. The time from the "
        "fault to the alert is the alert rule's and not in it.",
    ),
    Kpi("MTTA", "timeToAcknowledgeSeconds", Moment.ACKNOWLEDGED, "until somebody took it over."),
    Kpi("MTTC", "timeToConcludeSeconds", Moment.CONCLUDED, "until the agent's first conclusion."),
    Kpi(
        "MTTR",
        "timeToResolveSeconds",
        Moment.RESOLVED,
        "until the alert ended, or somebody said so: resolved.",
    ),
)


@dataclass(frozen=True)
class Report:
    """The KPIs of the incidents that fired in [since, until), of one class or of all."""

    since: datetime | None
    until: datetime | None
    fault_class: str | None
    incidents: int
    open: int
    unclassified: int
    kpis: tuple[Kpi, ...]

    def plain(self) -> dict[str, Any]:
        return {
            "kind": "LifecycleKpis",
            "since": rfc3339(self.since) if self.since else None,
            "until": rfc3339(self.until) if self.until else None,
            "class": self.fault_class,
            "incidents": self.incidents,
            "open": self.open,
            "unclassified": self.unclassified,
            "unit": "seconds",
            "percentile": PERCENTILE,
            "kpis": [kpi.plain() for kpi in self.kpis],
        }


def report(
    incidents: Iterable[Lifecycle],
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    fault_class: str | None = None,
) -> Report:
    """The report over these incidents, which were selected by the other three."""
    rows = list(incidents)
    return Report(
        since=since,
        until=until,
        fault_class=fault_class,
        incidents=len(rows),
        open=sum(Moment.RESOLVED not in row.times for row in rows),
        unclassified=sum(row.fault_class is None for row in rows),
        kpis=tuple(_filled(kpi, rows) for kpi in DEFINED),
    )


def _filled(kpi: Kpi, rows: Sequence[Lifecycle]) -> Kpi:
    spans = [span for row in rows if (span := _seconds(row, kpi.end)) is not None]
    return Kpi(kpi.name, kpi.field, kpi.end, kpi.about, tuple(spans), len(rows) - len(spans))


def _seconds(row: Lifecycle, end: Moment) -> Fraction | None:
    if end not in row.times:
        return None
    return Fraction(microseconds(row.times[end]) - microseconds(row.times[Moment.FIRED]), 10**6)


def percentile(values: Sequence[Fraction], share: Fraction) -> Fraction | None:
    """The inclusive linear percentile; None without values."""
    if not values:
        return None
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def mean(values: Sequence[Fraction]) -> Fraction | None:
    return sum(values, Fraction(0)) / len(values) if values else None


def _figure(value: Fraction | None) -> str | None:
    return None if value is None else nine(value)
