"""The shapes of a metric around the onset: by statistics where they are enough, sample by sample where the shape matters."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

Json = dict[str, Any]
Series = Callable[[int], Json]
"""A series, once the onset is known."""
Number = int | float

WINDOW = 1800
QUIET_RATIO = 0.01
STEP = 60
BEFORE = range(-WINDOW, -STEP, STEP)  # 29 samples, the last one two minutes before the onset
AFTER = range(0, 601, STEP)


def loud(z: float, lag: int = 0, metric: str = "error_ratio") -> Series:
    """An error ratio of 1 % that steps up by z times its spread, `lag` seconds after the onset."""
    generator: Json = {"metric": metric, "median": QUIET_RATIO, "iqr": QUIET_RATIO, "z": z, "lagSeconds": lag}
    return lambda _: generator


def samples(metric: str, values: Mapping[int, Number]) -> Series:
    """Any samples, by their distance from the onset."""
    return lambda onset: {
        "metric": metric,
        "samples": [[onset + offset, values[offset]] for offset in sorted(values)],
    }


def flat(metric: str, usual: Number, then: Number, lag: int = 0) -> Series:
    """A metric that never moved, and then does: its spread before is 0."""
    before: dict[int, Number] = dict.fromkeys(BEFORE, usual)
    return samples(metric, before | {at: then if at >= lag else usual for at in AFTER})


def spread(z: float, lag: int, extra: Mapping[int, Number]) -> Series:
    """The samples of `loud`, and some more or other ones, which no generator gives."""
    return samples("error_ratio", {**_stepped(QUIET_RATIO, QUIET_RATIO, z, lag), **extra})


def aligned(rows: dict[str, Json], onset: int) -> dict[str, Json]:
    """Rows of telemetry whose series have the same times, with gaps where a service was not scraped.

    Otherwise the times alone would say which service is the odd one. Where all have the usual times, nothing changes.
    """
    usual = {onset + at for at in (*BEFORE, *AFTER)}
    every = [series for row in rows.values() for series in row["series"]]
    times = usual.union(*(_times(series) for series in every))
    if all(_times(series) == times for series in every if "samples" in series) and times == usual:
        return rows
    return {key: row | {"series": _filled(row["series"], times, onset)} for key, row in rows.items()}


def _times(series: Json) -> set[int]:
    return {at for at, _ in series.get("samples", ())}


def _filled(every: Iterable[Json], times: set[int], onset: int) -> list[Json]:
    found = []
    for series in every:
        if "samples" in series:
            known = dict(series["samples"])
        else:
            step = _stepped(series["median"], series["iqr"], series["z"], series["lagSeconds"])
            known = {onset + at: value for at, value in step.items()}
        rows = [[at, known.get(at)] for at in sorted(times)]
        found.append({"metric": series["metric"], "samples": rows})
    return found


def _stepped(median: float, iqr: float, z: float, lag: int) -> dict[int, Number]:
    """What the generator of the harness makes of these statistics."""
    usual = [round(value, 9) for value in (median, median - iqr / 2, median + iqr / 2)]
    before = {at: usual[nth % 3] for nth, at in enumerate(BEFORE)}
    high = round(median + z * iqr, 9)
    return {**before, **{at: high if at >= lag else median for at in AFTER}}
