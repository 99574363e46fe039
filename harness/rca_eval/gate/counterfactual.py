"""What changed between two answers, and which one change alone would bring a lost incident back. Pure and exact.

The terms of a candidate are weighted values that add up to its score, so "what if this term were as it was" is
an addition and no replay: score' = score - term now + term then. What a score holds beyond its terms (a cap, a
verified candidate put first) is a term of its own here, `after the blend`.

A weight shows without the values that it multiplies: (w' * v) / (w * v) = w' / w is one ratio for every
candidate of a table. Figures have nine digits, so each pair of them gives an interval of ratios, and a ratio
exists if the intervals have a point in common; its simplest fraction is what a person has typed.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from rca_eval.contract.metrics import pessimistic_rank
from rca_eval.contract.numbers import display, exact, is_finite, nine
from rca_eval.contract.scorecard import ArmResult, IncidentResult

HALF = Fraction(1, 2 * 10**9)  # a figure may be this far from what was rounded
RESIDUAL = "after the blend"
TERM_ORDER = ("topo", "tele", "hist", "chg", "baro")  # canonical JSON has sorted them; others follow
ARROW = " -> "
Kind = Literal["term", "step", "table", "candidate"]
Interval = tuple[Fraction, Fraction]
Terms = dict[str, dict[str, Fraction]]
"""Candidate to term to weighted value."""


@dataclass(frozen=True)
class WeightChange:
    """One term's weight in one table: `ratio` is now / then over `values` figures that are not zero.

    `before` and `after` are the weights themselves where the values are known, else None.
    """

    table: str
    term: str
    ratio: Fraction
    values: int
    before: Fraction | None = None
    after: Fraction | None = None

    @property
    def short(self) -> str:
        """`topo x1.020`, and `topo .50 -> .51` where the weights are known."""
        if self.before is not None and self.after is not None:
            return f"{self.term} {weight(self.before)} -> {weight(self.after)}"
        return f"{self.term} {times(self.ratio)}"

    def __str__(self) -> str:
        return f"{self.short} in table {self.table}"


@dataclass(frozen=True)
class Change:
    """One thing that differs from the reference in an incident, e.g. kind `term`, name `chg`.

    `size` is the largest move of any candidate's score if it alone were put back; None where no number says it.
    """

    kind: Kind
    name: str
    text: str
    size: Fraction | None
    restores: bool


@dataclass(frozen=True)
class Counterfactual:
    """What was tried for one incident, and what of it brings the cause back to the top; smallest first."""

    incident: str
    changes: tuple[Change, ...]
    note: str | None = None

    @property
    def restoring(self) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.restores)


def changed_weights(mine: ArmResult, reference: ArmResult) -> tuple[WeightChange, ...]:
    """The terms whose values moved by one ratio for all candidates of a table, in the order of the tables.

    Compared are incidents that both sides ranked under one table, or under a new one in place of an old (a blend
    given by hand): neither side knows the other's. Another choice among known tables is no changed weight. Figures
    that are no numbers say nothing.
    """
    known, used = {row.table for row in reference.incidents}, {row.table for row in mine.incidents}
    before = {row.id: row for row in reference.incidents}
    pairs: dict[tuple[str, str | None], list[tuple[Terms, Terms]]] = {}
    for row in mine.incidents:
        was = before.get(row.id)
        if was is None or (row.table != was.table and (row.table in known or was.table in used)):
            continue
        now_terms, was_terms = terms_of(row), terms_of(was)
        if now_terms and was_terms:
            pairs.setdefault((row.table or "-", was.table), []).append((now_terms, was_terms))
    found: dict[tuple[str, str], WeightChange] = {}
    for (table, then), rows in sorted(pairs.items(), key=lambda item: (item[0][0], item[0][1] or "")):
        label = table if then in (table, None) else f"{then} (now {table})"
        for term in _names(terms for pair in rows for terms in pair):
            values = list(_values(rows, term))
            ratio = common_ratio(values)
            if ratio is not None and ratio != 1:
                found[label, term] = WeightChange(label, term, ratio, len(values))
    return tuple(found.values())


def what_changed(mine: ArmResult, reference: ArmResult) -> str:
    """Changed weights, else other choices of table, in a few words; empty when neither says it."""
    weights = weights_text(changed_weights(mine, reference))
    if weights:
        return weights
    before = {row.id: row.table for row in reference.incidents}
    moved = Counter(
        f"{before[row.id]}{ARROW}{row.table}"
        for row in mine.incidents
        if row.table and before.get(row.id) not in (None, row.table)
    )
    return ", ".join(f"table {name} in {count}" for name, count in sorted(moved.items())[:3])


def common_ratio(values: Sequence[tuple[Fraction, Fraction]]) -> Fraction | None:
    """The simplest ratio now / then that all pairs of figures allow; None when there is none, or no pair."""
    low: Fraction | None = None
    high: Fraction | None = None
    for now, then in values:
        interval = _ratio(now, then)
        if interval is None:
            return None
        low = interval[0] if low is None else max(low, interval[0])
        high = interval[1] if high is None else min(high, interval[1])
    if low is None or high is None or low > high:
        return None
    return simplest(low, high)


def recovered_weights(
    arm: ArmResult, values: Mapping[tuple[str, str, str], Fraction]
) -> dict[tuple[str, str], Fraction]:
    """The weight of each (table, term): weighted value / value. `values` is by (incident, candidate, term).

    A weight is given only where all candidates agree on it and at least one value is not zero.
    """
    pairs: dict[tuple[str, str], list[tuple[Fraction, Fraction]]] = {}
    for row in arm.incidents:
        for key, terms in terms_of(row).items():
            for term, figure in terms.items():
                value = values.get((row.id, key, term))
                if value:
                    pairs.setdefault((row.table or "-", term), []).append((figure, value))
    found = {}
    for name, rows in pairs.items():
        low = max((figure - HALF) / value for figure, value in rows)
        high = min((figure + HALF) / value for figure, value in rows)
        if low <= high:
            found[name] = simplest(low, high)
    return found


def counterfactual(now: IncidentResult, then: IncidentResult) -> Counterfactual:
    """What differs from the reference's answer to the same incident, each put back alone.

    Order: what restores first, then by size. A cause that is no candidate any more is the one finding there is:
    nothing that is weighted could bring it back.
    """
    if now.status != "Ranked":
        return Counterfactual(now.id, (), "nothing was ranked, so there is nothing to put back")
    if not all(one.score is None or is_finite(one.score) for row in (now, then) for one in row.candidates):
        return Counterfactual(now.id, (), "a score is no finite number, so nothing can be put back")
    if then.status != "Ranked" or then.true_rank() != 1:
        return Counterfactual(now.id, (), "the reference did not have the cause first either")
    keys = {one.key for one in now.candidates}
    if not keys & set(now.expected):
        gone = ", ".join(now.expected)
        text = f"{gone} is no candidate any more: retrieval lost it, not the order"
        return Counterfactual(now.id, (Change("candidate", gone, text, None, restores=True),))
    mine, was = with_residual(now), with_residual(then)
    if not mine or not was:
        return Counterfactual(now.id, (), "the engine gives no terms for its scores, so none can be put back")
    changes = [*_single_terms(now, mine, was), *_table(now, then, mine, was)]
    order = {"term": 0, "step": 0, "table": 1, "candidate": 2}
    changes.sort(key=lambda one: (not one.restores, order[one.kind], one.size or 0, one.name))
    return Counterfactual(now.id, tuple(changes))


def restores_all(found: Sequence[Counterfactual]) -> Change | None:
    """The smallest single change that brings every one of these incidents back; None: none alone."""
    if not found or not all(one.restoring for one in found):
        return None
    shared = set.intersection(*({_what(change) for change in one.restoring} for one in found))
    weighed = []
    for what in shared:
        rows = [change for one in found for change in one.restoring if _what(change) == what]
        widest = max(rows, key=lambda one: one.size or 0)
        names = sorted({one.name for one in rows})
        text = f"the table changed: {', '.join(names)}" if widest.kind == "table" else widest.text
        weighed.append((widest.kind == "table", widest.size or Fraction(0), what, replace(widest, text=text)))
    return min(weighed, key=lambda row: row[:3])[3] if weighed else None


def _what(change: Change) -> tuple[str, str]:
    """Two incidents that went from other tables to the same one suffered the same change."""
    return change.kind, change.name.rpartition(ARROW)[2] if change.kind == "table" else change.name


def terms_of(row: IncidentResult) -> Terms:
    """The weighted values of every candidate; empty unless all have some and all are numbers."""
    if row.status != "Ranked" or any(not one.terms for one in row.candidates):
        return {}
    figures = [value for one in row.candidates for value in (one.terms or {}).values()]
    if not all(map(is_finite, figures)):
        return {}
    return {one.key: {t: exact(v) for t, v in (one.terms or {}).items()} for one in row.candidates}


def with_residual(row: IncidentResult) -> Terms:
    """`terms_of`, with what the score holds beyond the terms as one more; rounding alone is nothing."""
    found = terms_of(row)
    for one in row.candidates if found else ():
        if one.score is None or not is_finite(one.score):
            continue
        rest = exact(one.score) - sum(found[one.key].values(), Fraction(0))
        if abs(rest) > HALF * (len(found[one.key]) + 1):
            found[one.key][RESIDUAL] = rest
    return found


def in_order(terms: Iterable[str]) -> list[str]:
    """Terms as people know them: the reference engine's first, in its order, others by name."""
    place = {term: at for at, term in enumerate(TERM_ORDER)}
    return sorted(terms, key=lambda term: (place.get(term, len(place)), term == RESIDUAL, term))


def weights_text(changes: Sequence[WeightChange], limit: int = 120) -> str:
    """`topo x1.020, tele x0.971 in table floor; …`, cut after a whole table; empty without a change."""
    tables = dict.fromkeys(change.table for change in changes)
    parts = [
        f"{', '.join(change.short for change in changes if change.table == table)} in table {table}"
        for table in tables
    ]
    text, shown = "; ".join(parts), len(parts)
    while shown > 1 and len(text) > limit:
        shown -= 1
        text = "; ".join(parts[:shown]) + f" and {len(parts) - shown} more"
    return text if len(text) <= limit else text[: limit - 1] + "…"


def times(ratio: Fraction) -> str:
    """`x1.020`; as many digits as show that it is not one, and `x0` for a term that is gone."""
    if not ratio:
        return "x0"
    for digits in (3, 6, 9):
        if Fraction(display(ratio, digits)) != 1:
            return f"x{display(ratio, digits)}"
    return f"x{display(ratio, 9)}"


def weight(value: Fraction) -> str:
    """`.50`, or `7/17` where four digits do not hold it."""
    if value.denominator <= 1000 and Fraction(display(value, 4)) != value:
        return f"{value.numerator}/{value.denominator}"
    whole, _, digits = display(value, 4).partition(".")
    return f"{whole if whole not in ('0', '-0') else whole[:-1]}.{digits[:2]}{digits[2:].rstrip('0')}"


def simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction with the smallest denominator in [low, high] (the Stern-Brocot tree's first)."""
    if low <= 0 <= high:
        return Fraction(0)
    if high < 0:
        return -simplest(-high, -low)
    whole = low.numerator // low.denominator
    if whole == low:
        return Fraction(whole)
    if whole + 1 <= high:
        return Fraction(whole + 1)
    return whole + 1 / simplest(1 / (high - whole), 1 / (low - whole))


def _ratio(now: Fraction, then: Fraction) -> Interval | None:
    if then < 0:
        now, then = -now, -then
    if then <= HALF:
        return None
    low, high = now - HALF, now + HALF
    return (
        low / (then + HALF if low >= 0 else then - HALF),
        high / (then - HALF if high >= 0 else then + HALF),
    )


def _values(rows: Iterable[tuple[Terms, Terms]], term: str) -> Iterator[tuple[Fraction, Fraction]]:
    for now, then in rows:
        for key in now.keys() & then.keys():
            pair = now[key].get(term, Fraction(0)), then[key].get(term, Fraction(0))
            if any(pair):
                yield pair


def _names(rows: Iterable[Terms]) -> list[str]:
    return in_order({term for terms in rows for one in terms.values() for term in one})


def _single_terms(now: IncidentResult, mine: Terms, was: Terms) -> Iterator[Change]:
    for term in _names((was, mine)):
        then = {key: was.get(key, mine[key]).get(term, Fraction(0)) for key in mine}
        moved = {key: then[key] - mine[key].get(term, Fraction(0)) for key in mine}
        size = max(map(abs, moved.values()))
        if not size:
            continue
        back = {key: _total(mine[key]) + moved[key] for key in mine}
        kind: Kind = "step" if term == RESIDUAL else "term"
        yield Change(kind, term, _said(term, mine, was), size, restores=_first(now, back))


def _table(now: IncidentResult, then: IncidentResult, mine: Terms, was: Terms) -> Iterator[Change]:
    """All weights at once, with the values as they are now, if a table was changed and nothing else."""
    if now.table == then.table or now.table is None or then.table is None:
        return
    back = {key: Fraction(0) for key in mine}
    for term in _names((was, mine)):
        values = list(_values([(mine, was)], term))
        ratio = common_ratio(values)
        for key in mine:
            figure = mine[key].get(term, Fraction(0))
            then_figure = was.get(key, {}).get(term, Fraction(0))
            back[key] += figure / ratio if ratio else then_figure
    size = max(abs(back[key] - _total(mine[key])) for key in mine)
    name = f"{then.table}{ARROW}{now.table}"
    yield Change("table", name, f"the table changed: {name}", size, restores=_first(now, back))


def _said(term: str, mine: Terms, was: Terms) -> str:
    now = {one.get(term, Fraction(0)) for one in mine.values()}
    then = {one.get(term, Fraction(0)) for one in was.values()}
    if term == RESIDUAL:
        return "what follows the blend (cap, verification, hypotheses) moved the scores"
    if not any(now):
        return f"the {term} term is gone (was up to {weight(max(then, key=abs))})"
    if not any(then):
        return f"the {term} term is new (up to {weight(max(now, key=abs))})"
    ratio = common_ratio(list(_values([(mine, was)], term)))
    return f"the {term} term moved" + (f" {times(ratio)}" if ratio is not None and ratio != 1 else "")


def _total(terms: Mapping[str, Fraction]) -> Fraction:
    return sum(terms.values(), Fraction(0))


def _first(row: IncidentResult, scores: Mapping[str, Fraction]) -> bool:
    return pessimistic_rank([(key, nine(score)) for key, score in scores.items()], row.expected) == 1
