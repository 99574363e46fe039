"""When a service began to deviate: the first sample that leaves the usual range by the BARO measure.

With onset T and window W: usual = samples in [T - W, T - 60); a sample at t in [T - 60, T + 600] deviates iff
|x - median(usual)| >= 3 * max(IQR(usual), 0.01 * range(usual and [T, T + 600])). These are the terms of
`engine.baro`, so a metric with z >= 3 has a first deviation. The last minute before T is looked at too, because
an alert's onset is not the fault's.
"""

from rca_eval.contract.protocol import EngineSeries
from rca_eval.engine.baro import AFTER_SECONDS, MIN_POST, MIN_PRE, QUIET_SECONDS, exactly, usual_range


def first_deviation(series: EngineSeries, onset: int, window: int) -> int | None:
    """Unix seconds of the first deviating sample; None if none deviates or there are too few samples to say."""
    known = [(at, value) for at, value in series.samples if value is not None]
    usual = sorted(value for at, value in known if onset - window <= at < onset - QUIET_SECONDS)
    after = [value for at, value in known if onset <= at <= onset + AFTER_SECONDS]
    if len(usual) < MIN_PRE or len(after) < MIN_POST:
        return None
    bounds = exactly(usual_range, usual, min(after), max(after))
    if bounds is None:
        return None
    low, high = bounds
    # A Decimal is compared with a Fraction exactly, and without being turned into one.
    moments = [
        at
        for at, value in known
        if onset - QUIET_SECONDS <= at <= onset + AFTER_SECONDS and (value <= low or value >= high)
    ]
    return min(moments, default=None)
