"""One ranking with its ties: what the worst, the best and the average order of equal scores is worth. Exact and pure.

A ranking is cut into groups of equal scores. Of a group that begins after g better candidates and holds e of
them, t expected ones among these, the order inside is nobody's claim. The pessimistic view puts the expected
ones last (a constant scorer gets what it deserves; the gate uses it), the optimistic one first, and the
expected one is the mean over all e! orders.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import groupby
from math import comb
from typing import Literal

from rca_eval.contract.numbers import is_finite

View = Literal["pessimistic", "optimistic", "expected"]


@dataclass(frozen=True)
class Group:
    """Candidates of one score: `better` stand before them, `size` are they, `truths` of these are expected."""

    better: int
    size: int
    truths: int


@dataclass(frozen=True)
class Grouped:
    """A ranking as groups, best first, and how many labels its incident has. Without groups it is a miss."""

    groups: tuple[Group, ...]
    labels: int

    @property
    def retrieved(self) -> int:
        """How many labels are candidates at all."""
        return sum(group.truths for group in self.groups)

    @property
    def tied(self) -> bool:
        """An expected cause has the score of a candidate that is none: the views differ."""
        return any(0 < group.truths < group.size for group in self.groups)


def grouped(candidates: Sequence[tuple[str, str | None]], expected: Iterable[str]) -> Grouped:
    """The groups of `(key, score)` pairs in the order of the answer; of a key that occurs twice the first counts.

    If nothing has a score, each candidate is a group of its own, in the order given. Among scores, one that is
    missing or not finite is no score: such candidates are one group, behind all others.
    """
    truth = set(expected)
    unique = dict(reversed(candidates))
    rows = [(key, unique[key]) for key in dict.fromkeys(key for key, _ in candidates)]
    if all(score is None for _, score in rows):
        runs = [[key] for key, _ in rows]
    else:
        known = sorted(((key, _value(score)) for key, score in rows), key=_place)
        runs = [[key for key, _ in run] for _, run in groupby(known, key=_place)]
    groups, better = [], 0
    for run in runs:
        groups.append(Group(better, len(run), len(truth.intersection(run))))
        better += len(run)
    return Grouped(tuple(groups), len(truth))


def found_within(k: int, ranking: Grouped, view: View) -> Fraction:
    """How many labels stand among the first k."""
    return sum((_found(k, group, view) for group in ranking.groups), Fraction(0))


def accuracy_within(k: int, ranking: Grouped, view: View) -> Fraction:
    """AC@k of one incident: labels among the first k / min(k, labels).

    For one label 0 or 1, expected clip((k - g)/e, 0, 1). For several this is LEMMA's PR@K; RCAEval's docstring
    divides by the number of labels, which no ranking could reach for a smaller k. Raises `ZeroDivisionError`
    for k = 0.
    """
    return found_within(k, ranking, view) / min(k, ranking.labels)


def reciprocal_rank_of(ranking: Grouped, view: View) -> Fraction:
    """1 / the place of the first label, 0 without one.

    Expected: the first of t labels among e equals stands at place j of them with probability
    C(e - j, t - 1) / C(e, t); for one label the mean of 1/(g + 1) .. 1/(g + e).
    """
    first = next((group for group in ranking.groups if group.truths), None)
    if first is None:
        return Fraction(0)
    match view:
        case "optimistic":
            return Fraction(1, first.better + 1)
        case "pessimistic":
            return Fraction(1, first.better + first.size - first.truths + 1)
        case "expected":
            return _mean_reciprocal(first)


def reachable_within(k: int, ranking: Grouped, budget: int | None) -> Fraction:
    """What AC@k a perfect re-ranking of the first `budget` candidates would have; None: of all of them. Pessimistic.

    For one label: 1 if it is among them. Raises `ValueError` for k > budget, which no re-ranking could fill.
    """
    if budget is not None and k > budget:
        raise ValueError(f"k must be at most the budget (k={k}, budget={budget})")
    found = ranking.retrieved if budget is None else found_within(budget, ranking, "pessimistic")
    return Fraction(min(k, found)) / min(k, ranking.labels)


def _found(k: int, group: Group, view: View) -> Fraction:
    room = min(max(k - group.better, 0), group.size)
    match view:
        case "optimistic":
            return Fraction(min(room, group.truths))
        case "pessimistic":
            return Fraction(max(room - (group.size - group.truths), 0))
        case "expected":
            return Fraction(group.truths * room, group.size)


@lru_cache(maxsize=4096)
def _mean_reciprocal(group: Group) -> Fraction:
    orders = comb(group.size, group.truths)
    return sum(
        (
            Fraction(comb(group.size - place, group.truths - 1), orders * (group.better + place))
            for place in range(1, group.size - group.truths + 2)
        ),
        Fraction(0),
    )


def _value(score: str | None) -> Fraction | None:
    return Fraction(score) if score is not None and is_finite(score) else None


def _place(row: tuple[str, Fraction | None]) -> tuple[bool, Fraction]:
    """Sorts by score, best first, and what has none behind all that have one."""
    value = row[1]
    return value is None, -value if value is not None else Fraction(0)
