"""The mean time to the cause, from rows of seconds."""

from collections.abc import Iterable
from fractions import Fraction

from rca_eval.contract.metrics import mean, median
from rca_eval.contract.numbers import nine
from rca_eval.contract.scorecard import SecondsRow


def mttr_of(rows: Iterable[SecondsRow]) -> str | None:
    """Mean over incidents of the median over repeats, nine digits; null if any time is unknown: leaving out the lost
    would flatter. Raises `ValueError` without a row.
    """
    medians = []
    for row in rows:
        known = [Fraction(value) for value in row.values if value is not None]
        if not known or len(known) < len(row.values):
            return None
        medians.append(median(known))
    return nine(mean(medians))
