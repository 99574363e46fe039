"""The BARO term: how far a service's metrics leave their usual range at the onset.

For one metric of a service, with onset T and window W (seconds):
    pre  = samples in [T - W, T - 60)          usable iff |pre| >= 8 and |post| >= 3
    post = samples in [T, T + 600]
    z    = max over post of |x - median(pre)| / max(IQR(pre), 0.01 * range(pre and post)); 0 if the range is 0
The floor under the IQR keeps z <= 100 and makes it blind to scale and shift: the published dictionary form of
the method divides by 1 where the IQR is 0, and then whatever is measured in bytes wins. raw(s) = max over the
metrics of s;   term b(s) = raw(s) / max raw;   present iff max raw >= 3 There is no change point detection in
it: T comes from the alert, or from `engine.onset`.

Of a metric only seven order statistics count, and the largest |x - median| is at the largest or the smallest x.
So nothing is computed for single samples: they are sorted and compared as the decimals that they are, exactly,
and a dozen exact operations follow. For whole tables of floats see `engine.baro_tables`.
"""

import decimal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact, localcontext
from fractions import Fraction
from typing import Any

from rca_eval.contract.protocol import EngineSeries

QUIET_SECONDS = 60
AFTER_SECONDS = 600
MIN_PRE, MIN_POST = 8, 3
PRESENT_FROM = 3
RANGE_SHARE = Fraction(1, 100)

# Enough digits for sums of all numbers that a document may hold (1e-130 to 1e30); an operation that would have to
# round is refused, and the same formula is then computed with fractions.
EXACTLY = Context(
    prec=400,
    Emin=decimal.MIN_EMIN,
    Emax=decimal.MAX_EMAX,
    traps=[Inexact, decimal.InvalidOperation, decimal.DivisionByZero],
)


@dataclass(frozen=True)
class BaroSignal:
    """`terms` by service in [0, 1]; `coverage` is the share of services with a usable series."""

    present: bool
    terms: Mapping[str, Fraction]
    raw: Mapping[str, Fraction]
    coverage: Fraction


def baro_signal(series: Mapping[str, Sequence[EngineSeries]], onset: int, window: int) -> BaroSignal:
    """The term of every candidate. `series` has a key for each of them; one without usable series gets 0."""
    usable: dict[str, list[Fraction]] = {
        service: [z for one in rows if (z := deviation(one, onset, window)) is not None]
        for service, rows in series.items()
    }
    raw = {service: max(values, default=Fraction(0)) for service, values in usable.items()}
    highest = max(raw.values(), default=Fraction(0))
    return BaroSignal(
        present=highest >= PRESENT_FROM,
        terms={service: value / highest if highest else Fraction(0) for service, value in raw.items()},
        raw=raw,
        coverage=Fraction(sum(map(bool, usable.values())), len(usable)) if usable else Fraction(0),
    )


def deviation(series: EngineSeries, onset: int, window: int) -> Fraction | None:
    """z of one metric, or None when there are too few samples to say anything."""
    first, quiet, last = onset - window, onset - QUIET_SECONDS, onset + AFTER_SECONDS
    pre = [value for at, value in series.samples if first <= at < quiet and value is not None]
    post = [value for at, value in series.samples if onset <= at <= last and value is not None]
    if len(pre) < MIN_PRE or len(post) < MIN_POST:
        return None
    pre.sort()
    return exactly(_z, pre, min(post), max(post))


def exactly[T](
    formula: Callable[[Sequence[Any], Any, Any], T], pre: Sequence[Decimal], low: Decimal, high: Decimal
) -> T:
    """A formula over the samples before (sorted) and the least and the greatest after; exact, with decimals if that
    can be, else with fractions.
    """
    try:
        with localcontext(EXACTLY):
            return formula(pre, low, high)
    except Inexact:
        return formula([Fraction(value) for value in pre], Fraction(low), Fraction(high))


def usual_range[N: (Decimal, Fraction)](pre: Sequence[N], low: N, high: N) -> tuple[N, N] | None:
    """Where z reaches 3 (`PRESENT_FROM`) on both sides of the median; None where nothing ever changes."""
    spread = max(pre[-1], high) - min(pre[0], low)
    if not spread:
        return None
    middle, reach = 50 * _twice_middle(pre), PRESENT_FROM * max(25 * _four_iqr(pre), spread)
    return (middle - reach) / 100, (middle + reach) / 100


def _z[N: (Decimal, Fraction)](pre: Sequence[N], low: N, high: N) -> Fraction:
    """z = (d/2) / max(q/4, r/100) = 50 d / max(25 q, r), with whole multiples d, q, r of deviation, IQR, range."""
    spread = max(pre[-1], high) - min(pre[0], low)
    if not spread:
        return Fraction(0)
    twice_middle = _twice_middle(pre)
    twice_away = max(high + high - twice_middle, twice_middle - low - low)
    return Fraction(50 * twice_away) / Fraction(max(25 * _four_iqr(pre), spread))


def _twice_middle[N: (Decimal, Fraction)](ordered: Sequence[N]) -> N:
    return ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]


def iqr(values: Sequence[Fraction]) -> Fraction:
    """Third minus first quartile, by linear interpolation between order statistics (the inclusive method)."""
    return _four_iqr(sorted(values)) / 4


def _four_iqr[N: (Decimal, Fraction)](ordered: Sequence[N]) -> N:
    return _four_quartiles(ordered, 3) - _four_quartiles(ordered, 1)


def _four_quartiles[N: (Decimal, Fraction)](ordered: Sequence[N], number: int) -> N:
    below, quarters = divmod(number * (len(ordered) - 1), 4)
    if not quarters:
        return 4 * ordered[below]
    return (4 - quarters) * ordered[below] + quarters * ordered[below + 1]
