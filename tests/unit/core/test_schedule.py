"""Scheduled times: the zones' changes of the clock, what was missed, clocks that are set back, names, bad schedules.

The tables are the zones' own: Berlin moves an hour at 02:00 and 03:00, New York at 02:00, Lord Howe half an hour at 02:00.
"""

import zoneinfo
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise, takewhile
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rca_rollout.api.schedule import Schedule, ScheduleStatus
from rca_rollout.core.schedule import ScheduleError, coming, due, observed, problem_of, run_name, times

BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"
ZONES = (
    BERLIN,
    NEW_YORK,
    LORD_HOWE,
    "UTC",
    "Asia/Kolkata",
    "America/Phoenix",
    "Pacific/Apia",
    "Africa/Casablanca",
)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def between(cron: str, zone: str, begin: datetime, end: datetime) -> list[datetime]:
    return list(takewhile(lambda moment: moment <= end, times(cron, zone, begin)))


def shown(cron: str, zone: str, begin: str, end: str) -> list[str]:
    return [m.strftime("%d %H:%M") for m in between(cron, zone, utc(begin), utc(end))]


@pytest.mark.parametrize(
    ("cron", "zone", "begin", "end", "expected"),
    [
        # Berlin, 29 March 2026: 01:00 UTC is 03:00, there is no 02:30. It runs when the clock has moved on.
        ("30 2 * * *", BERLIN, "2026-03-27T12:00", "2026-03-30T12:00", ["28 01:30", "29 01:00", "30 00:30"]),
        # Berlin, 25 October 2026: 02:30 comes at 00:30 and at 01:30 UTC. It runs the first time.
        ("30 2 * * *", BERLIN, "2026-10-23T12:00", "2026-10-26T12:00", ["24 00:30", "25 00:30", "26 01:30"]),
        ("0 3 * * *", BERLIN, "2026-03-28T12:00", "2026-03-29T12:00", ["29 01:00"]),
        # Two times that the gap swallows are one.
        ("15,45 2 * * *", BERLIN, "2026-03-28T12:00", "2026-03-29T12:00", ["29 01:00"]),
        # With a star the clock's minutes count as they come: none in the gap, all of both passes.
        ("0 * * * *", BERLIN, "2026-03-28T23:30", "2026-03-29T02:30", ["29 00:00", "29 01:00", "29 02:00"]),
        ("*/30 2 * * *", BERLIN, "2026-03-28T12:00", "2026-03-29T12:00", []),
        (
            "*/30 2 * * *",
            BERLIN,
            "2026-10-24T12:00",
            "2026-10-25T12:00",
            ["25 00:00", "25 00:30", "25 01:00", "25 01:30"],
        ),
        # New York, 8 March 2026 (07:00 UTC is 03:00) and 1 November 2026 (06:00 UTC is 01:00 again).
        ("30 2 * * *", NEW_YORK, "2026-03-08T00:00", "2026-03-09T12:00", ["08 07:00", "09 06:30"]),
        ("30 1 * * *", NEW_YORK, "2026-11-01T00:00", "2026-11-02T12:00", ["01 05:30", "02 06:30"]),
        # Lord Howe, 4 October 2026: 15:30 UTC of the 3rd is 02:30, half an hour is missing.
        ("15 2 * * *", LORD_HOWE, "2026-10-03T00:00", "2026-10-04T23:00", ["03 15:30", "04 15:15"]),
        # Lord Howe, 5 April 2026: 01:45 comes at 14:45 and at 15:15 UTC of the 4th.
        ("45 1 * * *", LORD_HOWE, "2026-04-04T00:00", "2026-04-05T23:00", ["04 14:45", "05 15:15"]),
        # Without summer time nothing moves.
        ("30 2 * * *", "Asia/Kolkata", "2026-03-28T00:00", "2026-03-30T00:00", ["28 21:00", "29 21:00"]),
        ("30 2 29 2 *", "UTC", "2026-03-01T00:00", "2032-03-01T00:00", ["29 02:30", "29 02:30"]),
        ("0 0 1 * MON", "UTC", "2026-11-30T10:00", "2026-12-08T00:00", ["01 00:00", "07 00:00"]),
    ],
)
def test_the_clocks_of_the_zones(cron: str, zone: str, begin: str, end: str, expected: list[str]) -> None:
    assert shown(cron, zone, begin, end) == expected


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("at", [time(0, 0), time(1, 45), time(2, 15), time(2, 30), time(3, 0)])
def test_over_ten_years_each_scheduled_local_minute_runs_exactly_once(zone: str, at: time) -> None:
    """One run for each local date that exists, at its local minute, or right behind the gap that swallowed it."""
    local = ZoneInfo(zone)
    begin, end = utc("2026-01-01T12:00"), utc("2036-01-01T12:00")
    found = between(f"{at.minute} {at.hour} * * *", zone, begin, end)
    assert all(earlier < later for earlier, later in pairwise(found))
    served = [moment.astimezone(local) for moment in found]
    first, last = begin.astimezone(local).date(), end.astimezone(local).date()
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    expected = [d for d in days if begin < _instant(d, at, local) <= end]
    assert [moment.date() for moment in served] == expected
    assert found == [_instant(d, at, local) for d in expected]


def _instant(day: date, at: time, zone: ZoneInfo) -> datetime:
    """The first instant at which the local clock shows this minute or, where it skips it, a later one."""
    moment = datetime.combine(day, at, tzinfo=zone).astimezone(UTC)
    if moment.astimezone(zone).replace(tzinfo=None) == datetime.combine(day, at):
        return moment
    earliest = datetime.combine(day, at, tzinfo=UTC) - timedelta(hours=16)
    return next(
        step
        for step in (earliest + timedelta(minutes=n) for n in range(32 * 60))
        if step.astimezone(zone).replace(tzinfo=None) >= datetime.combine(day, at)
    )


@pytest.mark.parametrize("zone", [BERLIN, NEW_YORK, LORD_HOWE, "UTC"])
@pytest.mark.parametrize("cron", ["* * * * *", "*/7 * * * *", "5 */3 * * *", "*/30 1-3 * * *"])
def test_with_a_star_the_minutes_of_the_clock_count_as_they_come(zone: str, cron: str) -> None:
    """Against every minute of the days around each change of the clock in two years."""
    local = ZoneInfo(zone)
    minutes, hours, *_ = cron.split()
    for begin in _changes(local, 2026, 2028):
        end = begin + timedelta(days=2)
        walked = [
            begin + timedelta(minutes=n)
            for n in range(1, 2 * 1440 + 1)
            if _matches(minutes, (begin + timedelta(minutes=n)).astimezone(local).minute, 60)
            and _matches(hours, (begin + timedelta(minutes=n)).astimezone(local).hour, 24)
        ]
        assert between(cron, zone, begin, end) == walked


def _matches(field: str, value: int, size: int) -> bool:
    span, _, step = field.partition("/")
    low, _, high = span.partition("-")
    allowed = range(size) if span == "*" else range(int(low), int(high or low) + 1)
    return value in allowed[:: int(step or 1)]


def _changes(zone: ZoneInfo, first: int, last: int) -> list[datetime]:
    days = [datetime(first, 1, 1, tzinfo=UTC) + timedelta(days=n) for n in range(365 * (last - first))]
    moved = [a for a, b in pairwise(days) if a.astimezone(zone).utcoffset() != b.astimezone(zone).utcoffset()]
    return [day - timedelta(days=1) for day in moved] or [days[0]]


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(ZONES),
    st.sampled_from(["30 2 * * *", "0,30 0-4 * * *", "*/10 * * * *", "15 1,2 * * SUN", "0 */4 * * *"]),
    st.integers(0, 3 * 365 * 1440),
    st.integers(0, 3 * 1440),
)
@example(BERLIN, "30 2 * * *", 0, 0)
def test_where_one_begins_to_look_changes_no_time(zone: str, cron: str, minute: int, later: int) -> None:
    """Also in the middle of the hour that comes twice: a restart neither adds a time nor loses one."""
    begin = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minute)
    middle, end = begin + timedelta(minutes=later), begin + timedelta(days=4)
    whole = between(cron, zone, begin, end)
    if middle < end:
        parts = between(cron, zone, begin, middle) + between(cron, zone, middle, end)
        assert parts == whole


# -- what is due

NIGHTLY = Schedule(cron="0 2 * * *", time_zone="UTC")
EACH_MINUTE = Schedule(cron="* * * * *", time_zone="UTC")


def state(schedule: Schedule, since: str, last: str | None = None) -> ScheduleStatus:
    fresh = observed(schedule, None, utc(since))
    return fresh.evolve(last_scheduled=utc(last) if last else None)


def test_nothing_is_due_that_came_before_the_schedule_did() -> None:
    fresh = state(NIGHTLY, "2026-11-30T02:10")
    assert due(NIGHTLY, fresh, utc("2026-11-30T02:20")) is None
    assert coming(NIGHTLY, fresh, utc("2026-11-30T02:20")) == utc("2026-12-01T02:00")
    assert due(NIGHTLY, fresh, utc("2026-12-01T02:00")) == utc("2026-12-01T02:00")


def test_of_all_that_was_missed_one_is_made_up_and_only_within_the_deadline() -> None:
    served = state(EACH_MINUTE, "2026-11-01T00:00", "2026-11-30T10:00")
    assert due(EACH_MINUTE, served, utc("2026-11-30T15:30")) == utc("2026-11-30T15:30")
    missed = state(NIGHTLY, "2026-11-01T00:00", "2026-11-27T02:00")
    assert due(NIGHTLY, missed, utc("2026-11-30T02:59")) == utc("2026-11-30T02:00")
    assert due(NIGHTLY, missed, utc("2026-11-30T03:00")) == utc("2026-11-30T02:00")
    assert due(NIGHTLY, missed, utc("2026-11-30T03:01")) is None
    patient = NIGHTLY.evolve(starting_deadline="24h")
    assert due(patient, missed, utc("2026-11-30T01:00")) == utc("2026-11-29T02:00")


def test_what_was_served_is_not_served_again_when_the_clock_is_set_back() -> None:
    served = state(EACH_MINUTE, "2026-11-01T00:00", "2026-11-30T10:05")
    for minute in range(6):
        assert due(EACH_MINUTE, served, utc(f"2026-11-30T10:0{minute}")) is None
    assert coming(EACH_MINUTE, served, utc("2026-11-30T09:00")) == utc("2026-11-30T10:06")
    assert due(EACH_MINUTE, served, utc("2026-11-30T10:06")) == utc("2026-11-30T10:06")


def test_another_schedule_begins_anew_and_serves_no_time_twice() -> None:
    served = state(NIGHTLY, "2026-11-01T00:00", "2026-11-30T02:00")
    other = Schedule(cron="* * * * *", time_zone="UTC")
    new = observed(other, served, utc("2026-11-30T02:00"))
    assert new.since == utc("2026-11-30T02:00")
    assert due(other, new, utc("2026-11-30T02:00")) is None
    assert due(other, new, utc("2026-11-30T02:03")) == utc("2026-11-30T02:03")
    assert observed(NIGHTLY, served, utc("2026-11-30T05:00")) == served


def test_what_is_suspended_is_not_made_up() -> None:
    paused = NIGHTLY.evolve(suspend=True)
    held = observed(paused, state(NIGHTLY, "2026-11-01T00:00", "2026-11-28T02:00"), utc("2026-11-28T12:00"))
    assert due(paused, held, utc("2026-11-30T02:00")) is None
    assert coming(paused, held, utc("2026-11-30T02:00")) is None
    resumed = observed(NIGHTLY, held, utc("2026-11-30T02:30"))
    assert due(NIGHTLY, resumed, utc("2026-11-30T02:31")) is None
    assert due(NIGHTLY, resumed, utc("2026-12-01T02:00")) == utc("2026-12-01T02:00")


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(-90, 90), min_size=1, max_size=60), st.sampled_from(["*/5 * * * *", "0 * * * *"]))
def test_over_any_walk_of_the_clock_no_minute_is_served_twice_and_times_only_rise(
    steps: list[int], cron: str
) -> None:
    schedule, now = Schedule(cron=cron), utc("2026-11-30T10:00")
    held, served = observed(schedule, None, now), []
    for step in steps:
        now += timedelta(minutes=step)
        held = observed(schedule, held, now)
        moment = due(schedule, held, now)
        if moment:
            served.append(moment)
            held = held.evolve(last_scheduled=moment)
    assert all(earlier < later for earlier, later in pairwise(served))


# -- names, and what cannot be followed


def test_the_name_is_of_the_suite_and_the_minute_and_fits_a_label() -> None:
    moment = utc("2026-11-30T02:00")
    assert run_name("graded", "u1", moment) == run_name("graded", "u1", moment.astimezone(ZoneInfo(BERLIN)))
    names = {
        run_name(name, uid, m) for name in ("graded", "g" * 63) for uid in ("u1", "u2") for m in (moment,)
    }
    assert len(names) == 4
    assert all(len(name) <= 63 for name in names)
    assert run_name("graded", "u1", moment).startswith("graded-202611300200-")


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        (Schedule(cron="0 2 * * *", time_zone="Europe/Berln"), "schedule.timeZone is Europe/Berln"),
        (Schedule(cron="0 2 30 2 *", time_zone="UTC"), 'schedule.cron is "0 2 30 2 *", which names no time'),
        (Schedule(cron="0 5-1 * * *", time_zone="UTC"), "correct its fields"),
    ],
)
def test_what_the_schema_lets_pass_and_no_clock_can_follow_is_named(schedule: Schedule, words: str) -> None:
    problem = problem_of(schedule, utc("2026-11-30T10:00"))
    assert problem is not None
    assert problem.reason == "ScheduleInvalid"
    assert problem.stalled
    assert words in problem.message
    with pytest.raises(ScheduleError):
        due(schedule, observed(schedule, None, utc("2026-11-30T10:00")), utc("2026-11-30T11:00"))


def test_good_schedules_have_no_problem() -> None:
    assert problem_of(None, utc("2026-11-30T10:00")) is None
    assert problem_of(NIGHTLY, utc("2026-11-30T10:00")) is None


def test_zones_are_known_where_the_system_has_none() -> None:
    """An image without zone files: the package of the tz database takes their place."""
    before = zoneinfo.TZPATH
    try:
        zoneinfo.reset_tzpath(to=())
        assert ZoneInfo.no_cache(LORD_HOWE).utcoffset(datetime(2026, 1, 1)) == timedelta(hours=11)
    finally:
        zoneinfo.reset_tzpath(to=before)
