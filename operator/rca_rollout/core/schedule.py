"""When a suite's next scheduled run is due: pure, over the zone's own changes of the clock.

cronsim reads the expression and finds local times; how these become instants is decided here, as Debian's cron does.
Where neither minute nor hour begins with a star, each local time counts once: a skipped one when the clock has moved
on, a doubled one the first time. Elsewhere the minutes of the clock count as they come. (Given a zone, cronsim follows
the same rule, but loses a time where a clock moves by half an hour, as on Lord Howe Island.)
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from rca_rollout.api.reasons import Reason
from rca_rollout.api.schedule import Schedule, ScheduleStatus
from rca_rollout.core import names
from rca_rollout.core.problem import Problem

_SECOND, _MINUTE, _DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(days=1)


class ScheduleError(ValueError):
    """A schedule that the schema lets pass and that cannot be followed; the message is a sentence."""


def times(cron: str, zone: str, after: datetime) -> Iterator[datetime]:
    """The scheduled times after `after`, in UTC, strictly rising; it may end. Raises `ScheduleError`."""
    try:
        place = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ScheduleError(
            f"schedule.timeZone is {zone}, which is no known IANA time zone: look it up in the tz database"
        ) from None
    try:
        CronSim(cron, _wall(after, place))
    except CronSimError:
        raise ScheduleError(
            f'schedule.cron is "{cron}", which names no time that exists: correct its fields'
        ) from None
    follows_the_clock = any(part.startswith("*") for part in cron.split()[:2])
    found = _as_they_come(cron, place, after) if follows_the_clock else _each_once(cron, place, after)
    return _rising(found, after)


def _each_once(cron: str, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    for wall in CronSim(cron, _wall(after, zone)):
        shown = wall
        while _wall(instant := shown.replace(tzinfo=zone).astimezone(UTC), zone) != shown:
            shown += _MINUTE  # the clock skips this minute: the first one behind the gap
        yield instant


def _as_they_come(cron: str, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    """From one change of the clock to the next the local time is at a fixed distance from UTC."""
    begin, offset = after.astimezone(UTC).replace(microsecond=0), _offset(after, zone)
    changed: datetime | None = begin
    while changed is not None:
        changed = None
        for wall in CronSim(cron, (begin + offset).replace(tzinfo=None)):
            instant = wall.replace(tzinfo=UTC) - offset
            changed = _change(begin, instant, offset, zone)
            if changed is not None:
                # The minute of the change belongs to the new time.
                begin, offset = changed - _SECOND, _offset(changed, zone)
                break
            begin = instant
            yield instant


def _change(begin: datetime, end: datetime, offset: timedelta, zone: ZoneInfo) -> datetime | None:
    """The first instant after `begin`, and not after `end`, at which the clock is not at `offset`."""
    low = begin
    while low < end:
        high = min(low + _DAY, end)
        if _offset(high, zone) != offset:
            while high - low > _SECOND:
                middle = low + timedelta(seconds=(high - low).total_seconds() // 2)
                low, high = (middle, high) if _offset(middle, zone) == offset else (low, middle)
            return high
        low = high
    return None


def _wall(moment: datetime, zone: ZoneInfo) -> datetime:
    """What a clock on the wall shows, with no zone and no fold."""
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def _offset(moment: datetime, zone: ZoneInfo) -> timedelta:
    return moment.astimezone(zone).utcoffset() or timedelta(0)


def _rising(found: Iterator[datetime], after: datetime) -> Iterator[datetime]:
    last = after
    for moment in found:
        if moment > last:
            last = moment
            yield moment


def problem_of(schedule: Schedule | None, now: datetime) -> Problem | None:
    """What makes a schedule impossible to follow: an unknown zone, a time that never comes."""
    if schedule is None:
        return None
    try:
        first = next(times(schedule.cron, schedule.time_zone, now), None)
    except ScheduleError as error:
        return Problem(Reason.SCHEDULE_INVALID, str(error), stalled=True)
    if first is None:
        text = f'schedule.cron is "{schedule.cron}", which never comes: correct its fields'
        return Problem(Reason.SCHEDULE_INVALID, text, stalled=True)
    return None


def observed(schedule: Schedule, old: ScheduleStatus | None, now: datetime) -> ScheduleStatus:
    """The status for this schedule: as it was, or begun anew where it is another one, or was suspended until now."""
    digest = names.short_hash(schedule.cron, schedule.time_zone, length=16)
    if old is None or old.digest != digest:
        # No time is served twice, whatever schedule it was served for.
        kept = old.last_scheduled if old else None
        run = old.last_run if old else None
        return ScheduleStatus(
            digest=digest, since=now, suspended=schedule.suspend, last_scheduled=kept, last_run=run
        )
    if old.suspended and not schedule.suspend:
        return old.evolve(suspended=False, since=now)
    return old.evolve(suspended=schedule.suspend)


def due(schedule: Schedule, state: ScheduleStatus, now: datetime) -> datetime | None:
    """The newest time that has come and was not served, within the starting deadline. Raises `ScheduleError`.

    A clock that was set back finds nothing due until it has passed what was served.
    """
    if schedule.suspend:
        return None
    begin = max(_floor(state), now - schedule.starting_deadline.delta - timedelta(seconds=1))
    newest = None
    for moment in times(schedule.cron, schedule.time_zone, begin):
        if moment > now:
            break
        newest = moment
    return newest


def coming(schedule: Schedule, state: ScheduleStatus, now: datetime) -> datetime | None:
    """The next time, or None while suspended. Raises `ScheduleError`."""
    if schedule.suspend:
        return None
    return next(times(schedule.cron, schedule.time_zone, max(now, _floor(state))), None)


def run_name(suite: str, uid: str, moment: datetime) -> str:
    """Of the suite's UID and the minute: whoever makes the run of this minute meets the one that is there."""
    minute = moment.astimezone(UTC).strftime("%Y%m%d%H%M")
    return names.bounded(suite, f"{minute}-{names.short_hash(uid, minute, length=6)}")


def _floor(state: ScheduleStatus) -> datetime:
    return max(state.since, state.last_scheduled) if state.last_scheduled else state.since
