"""Series that say nothing, or something that cannot be.

An engine sees only samples in [onset - window, onset + 600 s]. A series outside of it, or without change, scores zero
like a healthy one, and nobody sees the difference: that is what these rules are for.
"""

from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from rca_eval.contract import ContractError, Incident, case_id
from rca_eval.contract.confirmed import named
from rca_eval.contract.groundtruth import Samples, Series
from rca_eval.contract.metrics import median
from rca_eval.engine.baro import AFTER_SECONDS, MIN_POST, MIN_PRE, QUIET_SECONDS
from rca_eval.job.project import project
from rca_eval.lint.finding import Found, Path, Subject, at
from rca_eval.lint.times import span_hint

RATIO_WORDS = ("ratio", "share", "percent", "utilization", "utilisation")
UNIT_FACTOR = 10**5  # bytes beside megabytes, seconds beside microseconds


def named_series(one: Incident, position: int) -> Iterator[tuple[str, Series, Path]]:
    """`service/metric`, the series, and its path in the file."""
    for key, row in one.telemetry.services.items() if one.telemetry else ():
        for nth, series in enumerate(row.series):
            yield f"{key}/{series.metric}", series, at(position, "telemetry", "services", key, "series", nth)


def sampled(subject: Subject) -> Iterator[tuple[Incident, str, Samples, Path]]:
    for position, one in subject.incidents:
        for name, series, path in named_series(one, position):
            if isinstance(series, Samples):
                yield one, name, series, path


def order_of_times(subject: Subject) -> Iterator[Found]:
    """Two samples of one time (which of them is true?), and samples that go back in time."""
    for _, name, series, path in sampled(subject):
        first: dict[int, int] = {}
        repeated: list[tuple[int, int]] = []
        for nth, (time, _) in enumerate(series.samples):
            if time in first:
                repeated.append((nth, first[time]))
            first.setdefault(time, nth)
        if repeated:
            nth, before = repeated[0]
            text = f"{name} has two samples at {series.samples[nth][0]}" + _others(len(repeated) - 1)
            spot, other = (*path, "samples", nth), (*path, "samples", before)
            yield Found("E-DUPLICATE-TIME", spot, text, "keep one sample for each time", other)
        back = [
            nth
            for nth in range(1, len(series.samples))
            if series.samples[nth][0] < series.samples[nth - 1][0]
        ]
        if back:
            text = f"{name} goes back in time at {series.samples[back[0]][0]}" + _others(len(back) - 1)
            yield Found("W-UNSORTED", (*path, "samples", back[0]), text, "sort its samples by time")


def enough_samples(subject: Subject) -> Iterator[Found]:
    for one, name, series, path in sampled(subject):
        if one.alert is None:
            continue
        onset = one.alert.onset
        known = [time for time, value in series.samples if value is not None]
        if not series.samples:
            yield Found("E-EMPTY-SERIES", path, f"{name} has no sample", "add its samples, or remove it")
            continue
        if not known:
            yield Found("E-EMPTY-SERIES", path, f"{name} has only null", "add its samples, or remove it")
            continue
        pre = sum(onset - subject.window <= time < onset - QUIET_SECONDS for time in known)
        post = sum(onset <= time <= onset + AFTER_SECONDS for time in known)
        if not pre and not post:
            text = f"{name} has no sample in the window: its samples are {span_hint(onset, known, subject.window)} the onset"
            yield Found("E-EMPTY-WINDOW", path, text, "correct the times (Unix seconds, UTC), or remove it")
            continue
        for count, least, what in ((pre, MIN_PRE, "before"), (post, MIN_POST, "after")):
            if count < least:
                text = f"{name} has {count} samples {what} the onset; {least} are needed"
                place = (
                    f"in the {subject.window - QUIET_SECONDS} s up to a minute before the onset"
                    if what == "before"
                    else f"in the {AFTER_SECONDS} s from the onset on"
                )
                yield Found("E-FEW-SAMPLES", path, text, f"add samples {place}, or remove the series")


def says_nothing(subject: Subject) -> Iterator[Found]:
    """Constant series, and incidents in which nothing moves at all."""
    flat = _flat_metrics(subject)
    for metric, (count, path) in flat.items():
        text = f"{metric} never changes in any of its {count} series of the set"
        yield Found("W-CONSTANT", path, text, "remove it: what never moves was not measured")
    for position, one in subject.incidents:
        if one.telemetry is None or one.telemetry.availability == "none":
            continue
        rows, every = one.telemetry.services, list(named_series(one, position))
        constant = [
            (name, path, series.metric)
            for name, series, path in every
            if isinstance(series, Samples) and _constant(series)
        ]
        where = at(position, "telemetry")
        if constant and len(constant) == len(every):
            text = f"all its {len(every)} series are constant: nothing in them tells a cause"
            yield Found(
                "E-CONSTANT", where, text, "check what was exported; a missing metric is not a constant"
            )
        else:
            own = [(name, path) for name, path, metric in constant if metric not in flat]
            if own:
                names = named(tuple(name for name, _ in own))
                text = f"{len(own)} of its {len(every)} series never change: {names}"
                fix = "remove what was not measured: it can only hide a unit or a gap"
                yield Found("W-CONSTANT", own[0][1], text, fix)
        silent = not any(row.error_rate for row in rows.values())
        if one.telemetry.availability == "full" and silent and len(constant) == len(every):
            text = "its availability is full, but no service has an error rate above 0 or a series that moves"
            yield Found("E-NO-SIGNAL", where, text, "add telemetry, or set availability to degraded or none")
        elif one.telemetry.availability == "full" and not every:
            text = "its availability is full, but no service has a series"
            yield Found("W-NO-SERIES", where, text, "add series, or set availability to degraded")
        for cause in one.expected_root_cause:
            if cause not in rows and one.topology and cause in one.topology.keys:
                text = f"its cause {cause} has no telemetry, so it scores 0 in every term"
                yield Found("W-CAUSE-UNSEEN", where, text, "add a row for it, if only with criticality")


def _flat_metrics(subject: Subject) -> dict[str, tuple[int, Path]]:
    """Metrics that are constant wherever they are, in more than one series; how many, and where the first is."""
    seen: dict[str, list[tuple[bool, Path]]] = defaultdict(list)
    for _, _, series, path in sampled(subject):
        seen[series.metric].append((_constant(series), path))
    return {
        metric: (len(rows), rows[0][1])
        for metric, rows in seen.items()
        if len(rows) > 1 and all(constant for constant, _ in rows)
    }


def no_telemetry(subject: Subject) -> Iterator[Found]:
    count = len(subject.incidents)
    blind = [
        (position, one)
        for position, one in subject.incidents
        if one.telemetry and one.telemetry.availability == "none"
    ]
    for position, _ in blind:
        text = f"its availability is none: it is in ScorerOnly only, and LivePath has {count - len(blind)} of {count} incidents"
        yield Found(
            "W-NO-TELEMETRY",
            at(position, "telemetry", "availability"),
            text,
            "add telemetry, or do not count it",
        )


def odd_units(subject: Subject) -> Iterator[Found]:
    """Ratios that are none, and one metric in two units within an incident."""
    for position, one in subject.incidents:
        usual: dict[str, list[tuple[Fraction, str, Path]]] = defaultdict(list)
        for name, series, path in named_series(one, position):
            values = _values(series)
            if not values:
                continue
            usual[series.metric].append((abs(median(values)), name, path))
            if (
                any(word in series.metric.lower() for word in RATIO_WORDS)
                and not 0 <= min(values) <= max(values) <= 100
            ):
                text = f"{name} is a ratio by its name, but goes from {_short(min(values))} to {_short(max(values))}"
                yield Found("W-UNITS", path, text, "check its unit, or name it for what it is")
        for metric, rows in usual.items():
            positive = sorted(row for row in rows if row[0])
            if positive and positive[-1][0] > UNIT_FACTOR * positive[0][0]:
                (low, small, _), (high, large, path) = positive[0], positive[-1]
                text = f"{metric} is about {_short(high)} in {large}, but {_short(low)} in {small}"
                yield Found("W-UNITS", path, text, "give one metric one unit")


def not_projectable(subject: Subject) -> Iterator[Found]:
    """Series by statistics that cannot be had."""
    for position, one in subject.incidents:
        for name, series, path in named_series(one, position):
            try:
                _alone(one, series, subject.window)
            except ContractError as error:
                text = error.message.rstrip(".").partition(f"{one.id}, series of ")[2].partition(": ")[2]
                yield Found(
                    "E-SERIES", path, f"{name}: {text or error.message.rstrip('.')}", "correct the series"
                )


def _alone(one: Incident, series: Series, window: int) -> None:
    if one.telemetry is None:
        return
    key = next(key for key, row in one.telemetry.services.items() if series in row.series)
    row = one.telemetry.services[key].model_copy(update={"series": (series,)})
    alone = one.model_copy(update={"telemetry": one.telemetry.model_copy(update={"services": {key: row}})})
    project(alone, "LivePath", case=case_id("", "LivePath", one.id), window=window)


def _values(series: Series) -> list[Fraction]:
    if isinstance(series, Samples):
        return [Fraction(value) for _, value in series.samples if value is not None]
    middle: Decimal | None = getattr(series, "median", None)
    return [] if middle is None else [Fraction(middle)]


def _constant(series: Samples) -> bool:
    values = {value for _, value in series.samples if value is not None}
    return len(values) == 1 and len(series.samples) > 1


def _short(value: Fraction) -> str:
    return f"{float(value):.4g}"


def _others(count: int) -> str:
    return f", and {count} more such" if count else ""
