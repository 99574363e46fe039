"""One incident on one screen: what an engine saw, how it ranked, and what would have to change. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from rca_eval.contract import Figure, GroundTruth, Incident, IncidentResult, Model, Scorecard
from rca_eval.contract.pools import HOPS
from rca_eval.gate.counterfactual import in_order, with_residual
from rca_eval.report.document import ChangeRow, TermRow
from rca_eval.report.rows import (
    Pair,
    change_row,
    contenders,
    explain,
    margin_of,
    ranked,
    term_rows,
)
from rca_eval.report.sensitivity import ranges
from rca_eval.report.text import NAME, clean, count, figure

SHOWN_CHANGES = 6


class CandidateRow(Model):
    """A candidate, its old place, and its weighted terms by name."""

    place: int
    place_was: int | None
    key: str
    expected: bool
    score: Figure | None
    terms: dict[str, Figure]


class RangeRow(Model):
    """The cause is first while `low` < multiple of the term < `high`; null is no bound."""

    term: str
    low: Figure | None
    high: Figure | None
    holds_now: bool


class ShadowRow(Model):
    """What a component in Shadow would have put first."""

    component: str
    first: str | None
    hit: bool


class Explanation(Model):
    """`seen` is null without the dataset; figures are strings of nine digits."""

    id: str
    variant: str
    arm: str
    fault_class: str
    change_induced: bool
    protected: bool
    outcome: str
    against: str
    status: str
    error: str | None
    expected: tuple[str, ...]
    winner: str | None
    cause: str
    rank_was: int | None
    rank_now: int | None
    margin_was: Figure | None
    margin_now: Figure | None
    table_was: str | None
    table_now: str | None
    seen: tuple[str, ...] | None
    candidates: tuple[CandidateRow, ...]
    difference: tuple[TermRow, ...]
    decision: str | None
    evidence: tuple[str, ...]
    shadow: tuple[ShadowRow, ...]
    changes: tuple[ChangeRow, ...]
    note: str | None
    ranges: tuple[RangeRow, ...]
    seconds: Figure | None


def explanation(pair: Pair, card: Scorecard, truth: GroundTruth | None) -> Explanation:
    """The whole story of one incident. Total for whatever a scorecard can hold."""
    now, then = pair.now, pair.then
    cause, winner = contenders(now)
    found = explain(pair) if pair.rank_now != 1 else None
    incident = next((one for one in truth.incidents if one.id == now.id), None) if truth else None
    return Explanation(
        id=now.id,
        variant=pair.side.variant,
        arm=pair.side.now.arm,
        fault_class=now.fault_class,
        change_induced=now.change_induced,
        protected=now.id in pair.side.protected,
        outcome=pair.outcome,
        against=pair.against,
        status=now.status,
        error=clean(now.error) if now.error else None,
        expected=now.expected,
        winner=clean(winner, NAME) if winner else None,
        cause=cause,
        rank_was=pair.rank_was,
        rank_now=pair.rank_now,
        margin_was=margin_of(then) if then else None,
        margin_now=margin_of(now),
        table_was=clean(then.table, NAME) if then and then.table else None,
        table_now=clean(now.table, NAME) if now.table else None,
        seen=tuple(seen(incident, truth.window_seconds, cause)) if incident and truth else None,
        candidates=tuple(_candidates(now, then)),
        difference=term_rows(now, then, cause, winner),
        decision=clean(now.decision) if now.decision else None,
        evidence=tuple(clean(one, 100) for one in now.evidence),
        shadow=tuple(_shadow(card, pair)),
        changes=tuple(map(change_row, found.changes)) if found else (),
        note=found.note if found else None,
        ranges=tuple(
            RangeRow(
                term=clean(one.term, NAME),
                low=figure(one.low),
                high=figure(one.high),
                holds_now=one.holds_now,
            )
            for one in ranges(now)
        ),
        seconds=pair.side.seconds.get(now.id),
    )


def seen(incident: Incident, window: int, cause: str) -> Iterator[str]:
    """What stood before the engine in LivePath, in sentences; the labels stay out of it."""
    alert, topology, telemetry = incident.alert, incident.topology, incident.telemetry
    if alert is None or topology is None or telemetry is None:
        yield "the dataset has no alert, topology or telemetry for it, so LivePath cannot have it"
        return
    severity = f", {clean(alert.severity, 40)}" if alert.severity else ""
    yield f"alert {clean(alert.name, 80)} on {alert.service}{severity}, fired {moment(alert.fired_at)}"
    yield f"onset {moment(alert.onset)}, {alert.for_seconds} s before; window {window} s before the onset"
    series = sum(len(one.series) for one in telemetry.services.values())
    yield (
        f"{count(len(topology.services), 'service')}, {count(len(topology.calls), 'call')}, {series} series, "
        f"telemetry {telemetry.availability}"
    )
    yield _path(alert.service, cause, topology.calls)
    for change in incident.changes[:SHOWN_CHANGES]:
        at = change.at - alert.onset
        where = "in the window" if -window <= at <= 0 else "outside the window"
        ref = f" ({clean(change.ref, 60)})" if change.ref else ""
        yield f"{change.kind} of {change.service} at {at:+d} s{ref}, {where}"
    if len(incident.changes) > SHOWN_CHANGES:
        yield f"and {len(incident.changes) - SHOWN_CHANGES} more changes"


def moment(seconds: int) -> str:
    """`2023-11-14 22:13:20 UTC`."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _path(start: str, goal: str, calls: Sequence[tuple[str, str]]) -> str:
    """The shortest way of calls from the alert's service to the cause."""
    paths: dict[str, list[str]] = {start: [start]}
    frontier = [start]
    while frontier and goal not in paths:
        following = []
        for caller, callee in calls:
            if caller in frontier and callee not in paths:
                paths[callee] = [*paths[caller], callee]
                following.append(callee)
        frontier = following
    if goal not in paths:
        return f"no calls lead from {start} to {goal}"
    steps = len(paths[goal]) - 1
    if not steps:
        return f"{goal}, which the alert is about, is the cause itself"
    far = f", more than the {HOPS} that the reference engine follows" if steps > HOPS else ""
    return f"{' -> '.join(paths[goal])}: {count(steps, 'call')}{far}"


def _candidates(now: IncidentResult, then: IncidentResult | None) -> Iterator[CandidateRow]:
    before = {key: place for place, key in enumerate(ranked(then), 1)} if then else {}
    scores: Mapping[str, str | None] = {one.key: one.score for one in now.candidates}
    terms = with_residual(now)
    for place, key in enumerate(ranked(now), 1):
        mine = terms.get(key, {})
        yield CandidateRow(
            place=place,
            place_was=before.get(key),
            key=clean(key, NAME),
            expected=key in now.expected,
            score=scores.get(key),
            terms={
                clean(name, NAME): value
                for name in in_order(mine)
                if (value := figure(mine[name])) is not None
            },
        )


def _shadow(card: Scorecard, pair: Pair) -> Iterator[ShadowRow]:
    owner = card.deterministic.owner_of(pair.side.variant)
    for row in card.measured.would_be:
        if (row.variant, row.arm, row.incident) == (owner, pair.side.now.arm, pair.now.id):
            first = row.entities[0] if row.entities else None
            yield ShadowRow(
                component=clean(row.component or "the component", NAME),
                first=clean(first, NAME) if first else None,
                hit=first in pair.now.expected,
            )
