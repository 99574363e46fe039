"""What readings come to, condition by condition.

Aspects: every answer has one state; comparisons are exact; harm comes before validity; no data is neither; memory bridges what
was not read and promotes nothing; placeholders cannot break out of a string; a status is written only for a change.
"""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rca_rollout.api.live import ConditionReading, LiveCondition, OnNoData, ReadingState, Role
from rca_rollout.core.lifecycle.comparison import show
from rca_rollout.core.lifecycle.conditions import (
    ConditionsVerdict,
    Reading,
    Subject,
    judge,
    render,
)

NOW = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
SUBJECT = Subject("live", "shop", "RcaLiveActivation.Mode", "v1")


def condition(name: str = "latency", **spec: Any) -> LiveCondition:
    content = {
        "name": name,
        "query": 'latency{component="$(key)"}',
        "operator": "LessThanOrEqual",
        "threshold": "0.25",
        "role": "Signal",
        **spec,
    }
    return LiveCondition.model_validate(content)


def reading(*values: str, at: datetime = NOW, of: LiveCondition | None = None, **more: Any) -> Reading:
    return Reading(render((of or condition()).query, SUBJECT), at, values, **more)


def one(
    answer: Reading | None,
    of: LiveCondition | None = None,
    old: tuple[ConditionReading, ...] = (),
    now: datetime = NOW,
) -> ConditionsVerdict:
    asked = of or condition()
    return judge({} if answer is None else {asked.name: answer}, [asked], old, now, SUBJECT)


def state(verdict: ConditionsVerdict) -> str:
    return str(verdict.judged[0].state)


@pytest.mark.parametrize(
    ("values", "expected", "message"),
    [
        (("0.25",), "Holds", "0.25 <= 0.25 (Signal)"),
        (("0.31",), "Violated", "0.31 > 0.25 (Signal)"),
        (("0.2500000000000000001",), "Violated", "0.2500000000000000001 > 0.25 (Signal)"),
        (("2.5e-01",), "Holds", "0.25 <= 0.25 (Signal)"),
        (("1e+300",), "Violated", "1.00e300 > 0.25 (Signal)"),
        (("-3",), "Holds", "-3 <= 0.25 (Signal)"),
        (("0.1", "0.9", "0.4"), "Violated", "0.9 > 0.25 (Signal, 2 of 3 series)"),
        (("0.1", "NaN"), "NoData", "no data since 2026-11-30T10:00:00Z: the value is NaN"),
        (("0.9", "NaN"), "Violated", "0.9 > 0.25 (Signal, 1 of 2 series)"),
        (("+Inf",), "NoData", "no data since 2026-11-30T10:00:00Z: the value is +Inf"),
        (("-Inf",), "NoData", "no data since 2026-11-30T10:00:00Z: the value is -Inf"),
        (("what",), "NoData", "no data since 2026-11-30T10:00:00Z: the value is what"),
        ((), "NoData", "no data since 2026-11-30T10:00:00Z: the query found no series"),
    ],
)
def test_an_answer_has_one_state(values: tuple[str, ...], expected: str, message: str) -> None:
    verdict = one(reading(*values))
    assert (state(verdict), verdict.judged[0].message) == (expected, message)
    assert verdict.counts is (expected == "Holds")


def test_a_failed_query_is_no_data_and_never_a_zero() -> None:
    verdict = one(reading(problem="Prometheus does not answer"))
    assert state(verdict) == "NoData"
    assert verdict.missing == ("latency no data since 2026-11-30T10:00:00Z: Prometheus does not answer",)
    assert not verdict.counts


@pytest.mark.parametrize(
    ("operator", "below", "equal", "above"),
    [
        ("LessThan", True, False, False),
        ("LessThanOrEqual", True, True, False),
        ("GreaterThan", False, False, True),
        ("GreaterThanOrEqual", False, True, True),
    ],
)
def test_operators_mean_what_they_say(operator: str, below: bool, equal: bool, above: bool) -> None:
    asked = condition(operator=operator, threshold="-0.5")
    found = [one(reading(value, of=asked), asked).counts for value in ("-0.6", "-0.50", "-0.4")]
    assert found == [below, equal, above]


@given(st.floats(), st.sampled_from(["LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual"]))
def test_a_value_of_prometheus_compares_as_the_number_that_it_is(value: float, operator: str) -> None:
    asked = condition(operator=operator, threshold="0.3")
    found = state(one(reading(repr(value), of=asked), asked))
    if not math.isfinite(value):
        assert found == "NoData"
        return
    exact, limit = Decimal(repr(value)), Decimal("0.3")
    holds = {
        "LessThan": exact < limit,
        "LessThanOrEqual": exact <= limit,
        "GreaterThan": exact > limit,
        "GreaterThanOrEqual": exact >= limit,
    }[operator]
    assert found == ("Holds" if holds else "Violated")


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_what_is_shown_is_a_number_near_the_value(value: Decimal) -> None:
    text = show(value)
    assert len(text) <= 20
    assert abs(Decimal(text) - value) <= abs(value) / 100


@pytest.mark.parametrize("on_no_data", OnNoData)
@pytest.mark.parametrize("role", Role)
def test_no_data_lets_only_pass_what_is_told_to_ignore_it(role: Role, on_no_data: OnNoData) -> None:
    if role is Role.GUARDRAIL and on_no_data is OnNoData.IGNORE:
        with pytest.raises(ValueError, match="a Guardrail cannot ignore"):
            condition(role=role, onNoData=on_no_data)
        return
    asked = condition(role=role, onNoData=on_no_data)
    passes = role is Role.INFO or on_no_data is OnNoData.IGNORE
    assert one(reading(of=asked), asked).counts is passes


def test_what_was_never_read_lets_nothing_pass() -> None:
    verdict = one(None)
    assert not verdict.counts
    assert not verdict.fresh
    assert verdict.missing == ("latency was not read yet",)
    assert verdict.remembered((), NOW) == ()


def test_memory_bridges_a_restart_for_the_clock_and_promotes_nothing() -> None:
    kept = one(reading("0.1")).remembered((), NOW)
    later = one(None, old=kept, now=NOW + MINUTE)
    assert (later.counts, later.fresh) == (True, False)
    again = one(reading("0.2", at=NOW + MINUTE), old=kept, now=NOW + MINUTE)
    assert (again.counts, again.fresh) == (True, True)


@pytest.mark.parametrize("age", [timedelta(minutes=2, seconds=1), -timedelta(seconds=61)])
def test_a_reading_that_is_too_old_or_from_the_future_is_not_fresh(age: timedelta) -> None:
    assert not one(reading("0.1", at=NOW - age)).fresh
    assert one(reading("0.1", at=NOW - MINUTE)).fresh


def test_an_answer_to_another_query_is_no_answer() -> None:
    kept = one(reading("0.1")).remembered((), NOW)
    changed = condition(query="other")
    verdict = judge({"latency": reading("0.1")}, [changed], kept, NOW, SUBJECT)
    assert not verdict.counts
    assert not verdict.fresh


@pytest.mark.parametrize("change", [{"threshold": "0.05"}, {"operator": "LessThan"}, {"query": "other"}])
def test_a_changed_condition_is_not_judged_by_what_was_read_for_the_old_one(change: dict[str, str]) -> None:
    kept = one(reading("0.1")).remembered((), NOW)
    assert not one(None, condition(**change), kept).counts


def test_harm_is_two_readings_in_a_row_each_of_its_own_query() -> None:
    asked = condition(role="Guardrail")
    first = one(reading("0.9", of=asked), asked)
    assert first.violated
    assert first.harmful is None
    kept = first.remembered((), NOW)
    assert one(reading("0.9", of=asked), asked, kept).harmful is None  # the same reading, looked at again
    later = NOW + MINUTE
    assert one(None, asked, kept, later).harmful is None  # from memory
    assert one(reading("0.8", at=later, of=asked), asked, kept, later).harmful
    between = one(reading(at=later, of=asked), asked, kept, later).remembered(kept, later)
    much_later = later + MINUTE
    assert one(reading("0.9", at=much_later, of=asked), asked, between, much_later).harmful is None


@pytest.mark.parametrize("role", [Role.SIGNAL, Role.INFO])
def test_only_a_guardrail_is_harmful(role: Role) -> None:
    asked = condition(role=role)
    kept = one(reading("0.9", of=asked), asked).remembered((), NOW)
    verdict = one(reading("0.9", at=NOW + MINUTE, of=asked), asked, kept, NOW + MINUTE)
    assert verdict.violated is None
    assert verdict.harmful is None


def test_a_grace_is_over_once_and_counts_from_the_first_reading_without_data() -> None:
    asked = condition(noDataGrace="5m")
    kept = one(reading(of=asked), asked).remembered((), NOW)
    assert one(reading(of=asked), asked, kept).due(NOW) == NOW + MINUTE
    before = NOW + timedelta(minutes=4, seconds=59)
    early = one(reading(at=before, of=asked), asked, kept, before)
    assert early.unreported(before) == ()
    assert early.due(before) == NOW + timedelta(minutes=5)
    end = NOW + timedelta(minutes=5)
    late = one(reading(at=end, of=asked), asked, kept, end)
    assert [each.condition.name for each in late.unreported(end)] == ["latency"]
    told = tuple(entry.evolve(reported_at=end) for entry in late.remembered(kept, end))
    assert one(reading(at=end, of=asked), asked, told, end).unreported(end) == ()
    holds = one(reading("0.1", at=end, of=asked), asked, told, end).remembered(told, end)
    assert holds[0].reported_at is None


def test_a_value_that_moves_is_written_at_most_every_ten_minutes_and_a_state_at_once() -> None:
    kept = one(reading("0.1")).remembered((), NOW)
    soon, late = NOW + MINUTE, NOW + 10 * MINUTE
    assert one(reading("0.2", at=soon), old=kept, now=soon).remembered(kept, soon) == kept
    assert one(reading("0.1", at=late), old=kept, now=late).remembered(kept, late) == kept
    moved = one(reading("0.2", at=late), old=kept, now=late).remembered(kept, late)
    assert (moved[0].value, moved[0].since) == ("0.2", NOW)
    turned = one(reading("0.3", at=soon), old=kept, now=soon).remembered(kept, soon)
    assert (turned[0].state, turned[0].since) == (ReadingState.VIOLATED, soon)


@given(
    st.lists(
        st.tuples(st.integers(-300, 300), st.sampled_from(["0.1", "0.3", "NaN", "", "gone"]), st.booleans()),
        max_size=30,
    )
)
def test_judging_is_total_and_remembering_is_idempotent(steps: list[tuple[int, str, bool]]) -> None:
    """Over any order of answers, silences, restarts and steps of the clock."""
    asked = condition(role="Guardrail")
    kept: tuple[ConditionReading, ...] = ()
    now = NOW
    for seconds, value, restart in steps:
        now += timedelta(seconds=seconds)
        answer = None if restart else reading(*([value] if value else []), at=now, of=asked)
        if answer and value == "gone":
            answer = replace(answer, values=(), problem="gone")
        verdict = one(answer, asked, kept, now)
        was = kept[0].state if kept else ReadingState.NO_DATA
        if restart:
            assert state(verdict) == was
            assert not verdict.fresh
        else:
            assert verdict.counts is (value == "0.1")
        due = verdict.due(now)
        assert due is not None
        assert due > now
        kept = verdict.remembered(kept, now)
        assert one(answer, asked, kept, now).remembered(kept, now) == kept


@given(st.text(max_size=40))
def test_a_value_cannot_leave_the_string_that_it_stands_in(value: str) -> None:
    query = render('a{b="$(revision)"}', Subject("c", "n", "k", value))
    inner = query.removeprefix('a{b="').removesuffix('"}')
    escaped = False
    for char in inner:
        assert char != "\n"
        assert char != '"' or escaped
        escaped = char == "\\" and not escaped
    assert not escaped


def test_placeholders_are_replaced_once_by_what_they_name() -> None:
    found = render("$(component) $(namespace) $(key) $(revision) $(key) $5", SUBJECT)
    assert found == "live shop RcaLiveActivation.Mode v1 RcaLiveActivation.Mode $5"
