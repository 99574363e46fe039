"""Times that contradict each other, or the calendar.

Nobody notices a clock that is eight hours off: every window is then empty, and every series silent. The offsets of the
world's time zones are whole half hours and a few quarters, so a difference near one of them is told as such.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise

from rca_eval.contract import Incident
from rca_eval.contract.groundtruth import Samples
from rca_eval.engine.baro import AFTER_SECONDS
from rca_eval.lint.finding import Found, Path, Subject, at

HOUR = 3600
# Minutes: half hours up to UTC+14, and the three zones with a quarter.
_ZONES = tuple(60 * minutes for minutes in sorted({*range(30, 14 * 60 + 1, 30), 345, 525, 765}))
_SLACK = 300  # clocks, scrape intervals and roundings
OLDEST_YEAR = 2010
DAY = 86400
OTHERS = 2  # services beside the one whose clock is in doubt
RARE = 5  # one in so many is an exception
MANY = 3  # incidents that agree before a shift is called one of the whole modality


def zone(difference: int, slack: int = _SLACK) -> str | None:
    """`8 h` for a difference that a time zone explains, else None."""
    near = min(_ZONES, key=lambda offset: abs(abs(difference) - offset))
    return hours(near) if abs(abs(difference) - near) <= slack else None


def hours(seconds: int) -> str:
    whole, rest = divmod(seconds, HOUR)
    return f"{whole} h" if not rest else f"{whole} h {rest // 60} min" if whole else f"{rest // 60} min"


def apart(seconds: int) -> str:
    """A distance in time for people: `200000000 s (2314 days)`."""
    days = abs(seconds) // DAY
    return f"{abs(seconds)} s ({days} days)" if days else f"{abs(seconds)} s"


def onset_and_alert(subject: Subject) -> Iterator[Found]:
    for position, one in subject.incidents:
        if one.alert is None or one.onset is None or one.onset == one.alert.onset:
            continue
        difference, path = one.onset - one.alert.onset, at(position, "onset")
        exact = difference % HOUR == 0
        if exact or (abs(difference) > subject.window and zone(difference)):
            text = f"onset and alert differ by {'exactly ' if exact else 'about '}{zone(difference) or apart(difference)}"
            yield Found("E-TIME-ZONE", path, text, "give both in UTC seconds")
        elif one.onset > one.alert.fired_at:
            yield Found(
                "E-ONSET-LATE", path, "its onset is later than its alert", "correct one of the two times"
            )
        elif difference < -subject.window:
            text = f"its onset is {apart(difference)} before its alert's, more than the window of {subject.window} s"
            yield Found("E-ONSET-FAR", path, text, "correct one of the two times, or the window")


def alert_too_slow(subject: Subject) -> Iterator[Found]:
    for position, one in subject.incidents:
        if one.alert and one.alert.for_seconds > subject.window:
            text = f"forSeconds is {one.alert.for_seconds}, longer than the window of {subject.window} s"
            yield Found(
                "E-FOR-LONG", at(position, "alert", "forSeconds"), text, "correct it: it is in seconds"
            )


def implausible_year(subject: Subject) -> Iterator[Found]:
    for position, one in subject.incidents:
        if one.alert is None:
            continue
        fired, path = one.alert.fired_at, at(position, "alert", "firedAt")
        year = datetime.fromtimestamp(fired, UTC).year
        if subject.now is not None and fired > subject.now + DAY:
            text = f"fired in {year}, {apart(fired - subject.now)} from now"
            yield Found("E-FUTURE", path, text, "correct the epoch of this source")
        elif year < OLDEST_YEAR:
            yield Found("W-YEAR", path, f"fired in {year}", "check that the time is in Unix seconds")


def changes_contradict(subject: Subject) -> Iterator[Found]:
    for position, one in subject.incidents:
        if one.alert is None:
            continue
        onset, path = one.alert.onset, at(position, "changeInduced")
        of_cause = [change for change in one.changes if change.service in one.expected_root_cause]
        inside = [change for change in of_cause if onset - subject.window <= change.at <= onset]
        if one.change_induced and not inside:
            text = "is changeInduced, but no change of its cause lies in the window"
            fix = "correct the time of the change, the window or the label"
            if of_cause:
                near = min((change.at - onset for change in of_cause), key=abs)
                text += f": the nearest is {apart(near)} {'after' if near > 0 else 'before'} the onset"
                shift = -(-near // HOUR)  # the whole hours that would put it before the onset
                if 1 <= abs(shift) <= 14 and near - shift * HOUR >= -subject.window:
                    fix += f"; is it in local time, {abs(shift)} h off?"
            yield Found("E-CHANGE-OUTSIDE", path, text, fix)
        if not one.change_induced and inside:
            text = f"is not changeInduced, but {min(change.service for change in inside)} was changed in the window"
            yield Found(
                "E-CHANGE-UNLABELLED", path, text, "set changeInduced, or correct the time of the change"
            )


def windows_overlap(subject: Subject) -> Iterator[Found]:
    rows = sorted(
        (one.alert.onset, one.alert.fired_at, position, one.id)
        for position, one in subject.incidents
        if one.alert
    )
    for (_, fired, _, earlier), (onset, _, position, _) in pairwise(rows):
        if onset - subject.window < fired:
            text = f"its window begins before {earlier} has fired: the telemetry of one is in the other's"
            yield Found("W-OVERLAP", at(position), text, "shorten windowSeconds, or keep one of the two")


def modality_skew(subject: Subject) -> Iterator[Found]:
    """One shift that most incidents have between the alert and their samples, or their changes."""
    for name, spans in (("samples", _sample_spans(subject)), ("changes", _change_spans(subject))):
        shifts = [
            shift for onset, first, last in spans if (shift := _shift(onset, first, last, subject.window))
        ]
        for shift in sorted(set(shifts)):
            count = shifts.count(shift)
            if count >= MANY and 2 * count > len(spans):
                text = (
                    f"the {name} of {count} of {len(spans)} incidents are about {hours(abs(shift))} "
                    f"{'later' if shift > 0 else 'earlier'} than their alerts"
                )
                yield Found(
                    "E-SKEW", ("incidents",), text, "read both sources as UTC; one of them is in local time"
                )


def clock_of_a_service(subject: Subject) -> Iterator[Found]:
    """One service whose samples are apart from those of the others by the same time in every incident."""
    shifts: dict[str, list[int]] = defaultdict(list)
    paths: dict[str, Path] = {}
    for position, one in subject.incidents:
        starts = _starts(one)
        for key, start in starts.items():
            others = sorted(time for other, time in starts.items() if other != key)
            if len(others) >= OTHERS:
                shifts[key].append(start - others[len(others) // 2])
                paths.setdefault(key, at(position, "telemetry", "services", key))
    for key, found in shifts.items():
        far = sorted(shift for shift in found if abs(shift) > subject.window)
        if len(far) >= MANY and far[-1] - far[0] <= 2 * _SLACK:
            shift = far[len(far) // 2]
            text = (
                f"the samples of {key} are {zone(shift) or apart(shift)} {'later' if shift > 0 else 'earlier'} than those "
                f"of the other services, in {len(far)} of {len(found)} incidents"
            )
            yield Found(
                "E-SKEW", paths[key], text, "correct its times: take them from the column that is right"
            )


def _starts(one: Incident) -> dict[str, int]:
    """The first sample of each service."""
    rows = one.telemetry.services if one.telemetry else {}
    times = {
        key: [time for series in row.series if isinstance(series, Samples) for time, _ in series.samples]
        for key, row in rows.items()
    }
    return {key: min(found) for key, found in times.items() if found}


def odd_onset(subject: Subject) -> Iterator[Found]:
    """A label whose onset is beside its alert's, in a set in which all others agree."""
    timed = [
        (position, one.onset - one.alert.onset)
        for position, one in subject.incidents
        if one.alert and one.onset
    ]
    odd = [(position, difference) for position, difference in timed if difference]
    if len(odd) * RARE > len(timed):
        return
    for position, difference in odd:
        text = (
            f"its onset is {apart(difference)} {'after' if difference > 0 else 'before'} its alert's; they are equal in "
            f"{len(timed) - len(odd)} others"
        )
        yield Found("W-ONSET", at(position, "onset"), text, "check which of the two times is right")


def _sample_spans(subject: Subject) -> list[tuple[int, int, int]]:
    spans = []
    for _, one in subject.incidents:
        times = [time for series in _sampled(one) for time, _ in series.samples]
        if one.alert and times:
            spans.append((one.alert.onset, min(times), max(times)))
    return spans


def _change_spans(subject: Subject) -> list[tuple[int, int, int]]:
    return [
        (one.alert.onset, min(change.at for change in one.changes), max(change.at for change in one.changes))
        for _, one in subject.incidents
        if one.alert and one.changes
    ]


def _sampled(one: Incident) -> Iterator[Samples]:
    for row in one.telemetry.services.values() if one.telemetry else ():
        yield from (series for series in row.series if isinstance(series, Samples))


def _shift(onset: int, first: int, last: int, window: int) -> int | None:
    """The whole hours by which a span misses the incident's window, None if they meet."""
    if first <= onset + AFTER_SECONDS and last >= onset - window:
        return None
    # The middle of a span is the onset in most sets; where it is not, half an hour is lost in the rounding.
    shift = round(((first + last) / 2 - onset) / HOUR) * HOUR
    return shift if shift and abs(shift) <= 14 * HOUR else None


def span_hint(onset: int, times: Sequence[int], window: int) -> str:
    """`8 h later than` or `200000000 s (2314 days) later than`: where samples that miss the window are."""
    first, last = min(times), max(times)
    shift = _shift(onset, first, last, window)
    gap = first - onset if first > onset else last - onset
    word = "later than" if gap > 0 else "earlier than"
    return f"about {hours(abs(shift))} {word}" if shift else f"{apart(gap)} {word}"
