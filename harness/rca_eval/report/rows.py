"""Incidents of one arm beside their references: what was lost, what is near, and why."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from rca_eval.contract import ArmResult, IncidentResult, is_finite
from rca_eval.gate.counterfactual import (
    Change,
    Counterfactual,
    Terms,
    counterfactual,
    in_order,
    with_residual,
)
from rca_eval.report.document import Against, ChangeRow, IncidentRow, LostRow, Outcome, TermRow, Timeline
from rca_eval.report.text import NAME, clean, figure

EXPLAINED = 500  # of more lost incidents than this, the others are counted and not taken apart
ZERO = Fraction(0)


@dataclass(frozen=True)
class Side:
    """One arm of one variant now, and what it is held against, the first one first."""

    variant: str
    now: ArmResult
    references: Sequence[tuple[Against, ArmResult]]
    protected: frozenset[str] = frozenset()
    seconds: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Pair:
    """An incident now and in the reference that names its outcome."""

    side: Side
    now: IncidentResult
    then: IncidentResult | None
    against: Against
    outcome: Outcome
    rank_now: int | None
    rank_was: int | None


def pairs(side: Side) -> Iterator[Pair]:
    """Every incident with its outcome: lost if any reference had it, else fixed if the first one had not."""
    before = [(name, {row.id: row for row in arm.incidents}) for name, arm in side.references]
    nobody: tuple[Against, None, None] = (
        side.references[0][0] if side.references else "Baseline",
        None,
        None,
    )
    for now in side.now.incidents:
        known = [(name, rows[now.id], true_rank(rows[now.id])) for name, rows in before if now.id in rows]
        rank_now = true_rank(now)
        had = [one for one in known if one[2] == 1]
        against, then, rank_was = next(iter((had or known) if rank_now != 1 else known), nobody)
        outcome: Outcome = "StillMissed"
        if rank_now == 1:
            outcome = "Kept" if then is None or rank_was == 1 else "Fixed"
        elif had or not known:
            outcome = "Lost"
        yield Pair(side, now, then, against, outcome, rank_now, rank_was)


def incident_row(pair: Pair) -> IncidentRow:
    now, then = pair.now, pair.then
    order = ranked(now)
    return IncidentRow(
        variant=pair.side.variant,
        arm=pair.side.now.arm,
        id=now.id,
        fault_class=now.fault_class,
        protected=now.id in pair.side.protected,
        outcome=pair.outcome,
        status=now.status,
        error=clean(now.error) if now.error else None,
        expected=now.expected,
        first=clean(order[0], NAME) if order else None,
        rank_was=pair.rank_was,
        rank_now=pair.rank_now,
        margin_was=margin_of(then) if then else None,
        margin_now=margin_of(now),
        seconds=pair.side.seconds.get(now.id),
    )


def lost_row(pair: Pair, found: Counterfactual | None, timeline: Callable[[str], Timeline | None]) -> LostRow:
    """A lost incident, taken apart: the terms of its cause against those of what stands first."""
    now, then = pair.now, pair.then
    cause, winner = contenders(now)
    rows = term_rows(now, then, cause, winner)
    return LostRow(
        variant=pair.side.variant,
        arm=pair.side.now.arm,
        id=now.id,
        fault_class=now.fault_class,
        protected=now.id in pair.side.protected,
        against=pair.against,
        status=now.status,
        error=clean(now.error) if now.error else None,
        expected=now.expected,
        cause=cause,
        winner=clean(winner, NAME) if winner else None,
        rank_was=pair.rank_was,
        rank_now=pair.rank_now,
        table_was=clean(then.table, NAME) if then and then.table else None,
        table_now=clean(now.table, NAME) if now.table else None,
        margin_was=margin_of(then) if then else None,
        margin_now=margin_of(now),
        terms=rows,
        total=_total(now, then, cause, winner),
        changes=tuple(map(change_row, found.changes)) if found else (),
        note=found.note if found else None,
        timeline=timeline(now.id) if pair.side.now.arm == "LivePath" else None,
    )


def change_row(change: Change) -> ChangeRow:
    return ChangeRow(
        kind=change.kind,
        name=clean(change.name, NAME),
        text=clean(change.text),
        size=figure(change.size),
        restores=change.restores,
    )


def explain(pair: Pair) -> Counterfactual | None:
    return counterfactual(pair.now, pair.then) if pair.then else None


def contenders(row: IncidentResult) -> tuple[str, str | None]:
    """The expected cause that is ranked best, and the best of the others; the cause even where it is no candidate."""
    order = ranked(row)
    cause = next((key for key in order if key in row.expected), row.expected[0])
    return cause, next((key for key in order if key not in row.expected), None)


def term_rows(
    now: IncidentResult, then: IncidentResult | None, cause: str, winner: str | None
) -> tuple[TermRow, ...]:
    """All terms of both sides, in the order that people know; empty where the engine gives none."""
    mine, was = with_residual(now), with_residual(then) if then else {}
    names = in_order({term for terms in (mine, was) for one in terms.values() for term in one})
    if not mine:
        return ()
    rows = []
    for name in names:
        cause_now, cause_was = _figure(mine, cause, name), _figure(was, cause, name)
        winner_now, winner_was = _figure(mine, winner, name), _figure(was, winner, name)
        rows.append(
            TermRow(
                term=clean(name, NAME),
                cause=cause_now,
                winner=winner_now,
                cause_was=cause_was if cause_was != cause_now else None,
                winner_was=winner_was if winner_was != winner_now else None,
            )
        )
    return tuple(rows)


def ranked(row: IncidentResult) -> list[str]:
    """The pessimistic order; the engine's own where a score is no number, which the gate has reported."""
    try:
        return row.order()
    except ValueError:
        return [one.key for one in row.candidates]


def true_rank(row: IncidentResult) -> int | None:
    try:
        return row.true_rank()
    except ValueError:
        return None


def margin_of(row: IncidentResult) -> str | None:
    try:
        margin = row.margin()
    except ValueError:
        return None
    return figure(margin)


def _total(
    now: IncidentResult, then: IncidentResult | None, cause: str, winner: str | None
) -> TermRow | None:
    mine, was = _scores(now), _scores(then) if then else {}
    if not mine:
        return None
    cause_now, winner_now = mine.get(cause), mine.get(winner or "")
    return TermRow(
        term="total",
        cause=cause_now,
        winner=winner_now,
        cause_was=was.get(cause) if was.get(cause) != cause_now else None,
        winner_was=was.get(winner or "") if was.get(winner or "") != winner_now else None,
    )


def _scores(row: IncidentResult) -> dict[str, str]:
    return {one.key: one.score for one in row.candidates if one.score is not None and is_finite(one.score)}


def _figure(terms: Terms, key: str | None, name: str) -> str | None:
    """A term that its table does not have is 0 for a candidate that has others; None for no candidate."""
    if key is None or key not in terms:
        return None
    return figure(terms[key].get(name, ZERO))
