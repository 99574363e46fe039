"""When a suite's next scheduled run is due: pure, over the zone's own changes of the clock.

Cron expressions are read by cronsim, which follows Debian's cron: where neither minute nor hour begins with a star,
each local time counts once (skipped ones when the clock has moved on, doubled ones the first time); elsewhere the
minutes of the clock count as they come. What it leaves open is closed here: times rise strictly (in autumn it would
give a time of the first pass to somebody who begins in the second), and no search is without an end.
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

_MINUTE = timedelta(minutes=1)


class ScheduleError(ValueError):
    """A schedule that the schema lets pass and that cannot be followed; the message is a sentence."""


def times(cron: str, zone: str, after: datetime) -> Iterator[datetime]:
    """The scheduled times after `after`, in UTC, strictly rising; it may end. Raises `ScheduleError`."""
    try:
        local = after.astimezone(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ScheduleError(
            f"schedule.timeZone is {zone}, which is no known IANA time zone: look it up in the tz database"
        ) from None
    try:
        found = CronSim(cron, local)
    except CronSimError:
        raise ScheduleError(
            f'schedule.cron is "{cron}", which names no time that exists: correct its fields'
        ) from None
    return _rising(found, after)


def _rising(found: CronSim, after: datetime) -> Iterator[datetime]:
    last = after
    for local in found:
        moment = local.astimezone(UTC)
        if moment > last:
            last = moment
            yield moment


def problem_of(schedule: Schedule | None, now: datetime) -> Problem | None:
    """What makes a schedule impossible to follow: an unknown zone, a time that never comes."""
    if schedule is None:
        return None
    try:
        if next(times(schedule.cron, schedule.time_zone, now), None) is None:
            raise ScheduleError(f'schedule.cron is "{schedule.cron}", which never comes: correct its fields')
    except ScheduleError as error:
        return Problem(Reason.SCHEDULE_INVALID, str(error), stalled=True)
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
