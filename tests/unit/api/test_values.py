"""Scalars: durations at their boundaries, decimals, clipped texts, times."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rca_rollout.api import ApiError, Check, CheckResult, DecimalString, Duration, EvalRunStatus, format_time
from rca_rollout.api.component_status import Evidence


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0s", 0),
        ("1s", 1),
        ("30s", 30),
        ("90s", 90),
        ("10m", 600),
        ("1h30m", 5400),
        ("1h0m1s", 3601),
        ("24h", 86400),
        ("99999h999999m99999999s", 99999 * 3600 + 999999 * 60 + 99999999),
    ],
)
def test_durations_are_read(text: str, seconds: int) -> None:
    duration = Duration.parse(text)
    assert duration.seconds == seconds
    assert duration.delta == timedelta(seconds=seconds)
    assert duration == text


@pytest.mark.parametrize(
    "text",
    [
        *("", "s", "1", "7d", "1w", "1.5h", "-1s", "+1s", "1s ", " 1s", "1s\n", "1m1h", "1s1s", "1ms"),
        *("100000h", "100000000s", "1H", "h1", "P1D", "٣s"),
    ],
)
def test_other_texts_are_no_durations(text: str) -> None:
    with pytest.raises(ApiError, match="must be a duration in hours, minutes and seconds"):
        Duration.parse(text)


@given(st.integers(min_value=0, max_value=8760 * 3600))
def test_a_duration_is_written_as_it_is_read(seconds: int) -> None:
    assert Duration.of(timedelta(seconds=seconds)).seconds == seconds


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (60, "1m"), (3600, "1h"), (5430, "1h30m30s"), (86400, "24h")]
)
def test_durations_are_written_short(seconds: int, text: str) -> None:
    assert Duration.of(timedelta(seconds=seconds, milliseconds=900)) == text


def test_decimals_keep_their_text() -> None:
    assert str(DecimalString.parse("0.020")) == "0.020"
    assert (
        DecimalString.parse("0.96").decimal - DecimalString.parse("0.94").decimal
        == DecimalString("0.02").decimal
    )
    with pytest.raises(ApiError, match="decimal number in quotes"):
        DecimalString.parse("2e-2")


def test_times_are_utc_with_seconds() -> None:
    moment = datetime(2026, 11, 30, 12, 0, 0, 999_999, tzinfo=timezone(timedelta(hours=2)))
    assert format_time(moment) == "2026-11-30T10:00:00Z"
    evidence = Evidence(since=moment)
    assert evidence.since == datetime(2026, 11, 30, 10, tzinfo=UTC)
    assert evidence.to_dict()["since"] == "2026-11-30T10:00:00Z"


def test_times_without_a_zone_are_refused() -> None:
    with pytest.raises(ValueError, match="timezone"):
        Evidence(since=datetime(2026, 11, 30))


def test_a_long_message_is_cut_and_says_so() -> None:
    message = Check(name="AC@1", result=CheckResult.FAILED, message="x" * 5000).message
    assert message is not None
    assert len(message) == 2048
    assert message.endswith("…")


@pytest.mark.parametrize(
    "text", ["x" * 5000 + "the end", "ä" * 3000 + "the end", "\udcff" * 5000 + "the end"]
)
def test_of_a_log_the_end_is_kept(text: str) -> None:
    tail = EvalRunStatus(log_tail=text).log_tail
    assert tail is not None
    assert tail.endswith("the end")
    assert 2040 <= len(tail.encode()) <= 2048


def test_evolve_cuts_too_and_refuses_unknown_names() -> None:
    status = EvalRunStatus().evolve(message="x" * 5000, attempts=1)
    assert (len(status.message or ""), status.attempts) == (2048, 1)
    with pytest.raises(ValueError, match="not permitted"):
        status.evolve(mesage="typo")
