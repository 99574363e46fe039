"""The BARO term: how far a service's metrics leave their usual range at the onset.

For one metric of a service, with onset T and window W (seconds):
    pre  = samples in [T - W, T - 60)          usable iff |pre| >= 8 and |post| >= 3
    post = samples in [T, T + 600]
    z    = max over post of |x - median(pre)| / max(IQR(pre), 0.01 * range(pre and post)); 0 if the range is 0
The floor under the IQR keeps z <= 100 and makes it blind to scale and shift: the published dictionary form of
the method divides by 1 where the IQR is 0, and then whatever is measured in bytes wins. raw(s) = max over the
metrics of s;   term b(s) = raw(s) / max raw;   present iff max raw >= 3 There is no change point detection in
it: T comes from the alert.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rca_eval.contract.metrics import median
from rca_eval.contract.protocol import EngineSeries

QUIET_SECONDS = 60
AFTER_SECONDS = 600
MIN_PRE, MIN_POST = 8, 3
PRESENT_FROM = 3
RANGE_SHARE = Fraction(1, 100)


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
    known = [(at, Fraction(value)) for at, value in series.samples if value is not None]
    pre = [value for at, value in known if onset - window <= at < onset - QUIET_SECONDS]
    post = [value for at, value in known if onset <= at <= onset + AFTER_SECONDS]
    if len(pre) < MIN_PRE or len(post) < MIN_POST:
        return None
    spread = max(*pre, *post) - min(*pre, *post)
    if spread == 0:
        return Fraction(0)
    middle = median(pre)
    return max(abs(value - middle) for value in post) / max(iqr(pre), RANGE_SHARE * spread)


def iqr(values: Sequence[Fraction]) -> Fraction:
    """Third minus first quartile, by linear interpolation between order statistics (the inclusive method)."""
    ordered = sorted(values)
    return _quantile(ordered, Fraction(3, 4)) - _quantile(ordered, Fraction(1, 4))


def _quantile(ordered: Sequence[Fraction], share: Fraction) -> Fraction:
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])
