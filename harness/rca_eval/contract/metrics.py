"""Ranking metrics over exact fractions; formulas in research notes of RCAEval and LEMMA, restated here.

Ties count against the truth: among equal scores every wrong candidate stands before an expected one. A
constant scorer therefore gets what it deserves, and a shuffled input changes nothing. Errors, time-outs and
missing answers are misses in the denominator.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Literal

MetricName = Literal["AC@1", "AC@3", "AC@5", "Avg@5", "MRR"]
METRIC_NAMES: tuple[MetricName, ...] = ("AC@1", "AC@3", "AC@5", "Avg@5", "MRR")


def pessimistic_order(candidates: Sequence[tuple[str, str | None]], expected: Iterable[str]) -> list[str]:
    """Entities in the order that metrics use. `candidates` are `(key, score)`, best first.

    If none has a score the order is the answer's own. Among scores, a missing one stands behind all others.
    Raises `ValueError` on a score that is not finite.
    """
    truth = set(expected)
    if all(score is None for _, score in candidates):
        return [key for key, _ in candidates]
    rows = [
        (score is None, _descending(score or "0"), key in truth, position, key)
        for position, (key, score) in enumerate(candidates)
    ]
    return [key for *_, key in sorted(rows)]


def _descending(score: str) -> Decimal:
    """A sort key that puts the highest first: exact, as decimals are compared digit by digit. Raises `ValueError`."""
    try:
        value = Decimal(score)
    except InvalidOperation:
        raise ValueError(f"{score} is no number") from None
    if not value.is_finite():
        raise ValueError(f"{score} is not a finite number")
    return value.copy_negate()


def pessimistic_rank(candidates: Sequence[tuple[str, str | None]], expected: Iterable[str]) -> int | None:
    """1-based place of the first expected entity, or None when none of them is a candidate."""
    truth = set(expected)
    order = pessimistic_order(candidates, truth)
    return next((place for place, key in enumerate(order, 1) if key in truth), None)


def accuracy_at(k: int, order: Sequence[str], expected: Iterable[str]) -> Fraction:
    """Of one incident: |top k ∩ expected| / min(k, |expected|); for a single label 0 or 1."""
    truth = set(expected)
    return Fraction(len(truth & set(order[:k])), min(k, len(truth)))


def mean(values: Sequence[Fraction]) -> Fraction:
    """Raises `ValueError` when there is nothing to average: no data is not a number."""
    if not values:
        raise ValueError("the mean of nothing")
    return sum(values, Fraction(0)) / len(values)


def median(values: Sequence[Fraction]) -> Fraction:
    ordered, middle = sorted(values), len(values) // 2
    if not ordered:
        raise ValueError("the median of nothing")
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def aggregate(answers: Sequence[tuple[Sequence[str], Sequence[str]]]) -> dict[MetricName, Fraction]:
    """AC@1, AC@3, AC@5, Avg@5 = mean of AC@1..AC@5, and MRR over `(order, expected)` pairs; an empty order is
    a miss.
    """
    at = {k: mean([accuracy_at(k, order, truth) for order, truth in answers]) for k in range(1, 6)}
    reciprocal = []
    for order, truth in answers:
        place = next((i for i, key in enumerate(order, 1) if key in set(truth)), None)
        reciprocal.append(Fraction(1, place) if place else Fraction(0))
    return {
        "AC@1": at[1],
        "AC@3": at[3],
        "AC@5": at[5],
        "Avg@5": mean(list(at.values())),
        "MRR": mean(reciprocal),
    }
