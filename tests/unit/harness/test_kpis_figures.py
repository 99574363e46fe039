"""MTTD, MTTA, MTTC, MTTR: exact figures, with what they leave out.

Aspects: percentiles against NumPy's, no values, what is lacking and open, formulas, times on the command line.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rca_eval.contract import ContractError
from rca_eval.kpis import Lifecycle, Moment, mean, parse_time, percentile, report, rfc3339

FIRED = datetime(2026, 11, 30, tzinfo=UTC)


def lifecycle(number: int, **seconds: float) -> Lifecycle:
    times = {Moment(name): FIRED + timedelta(seconds=value) for name, value in seconds.items()}
    return Lifecycle(f"inc-{number}", "A", "s", None, {Moment.FIRED: FIRED, **times})


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=50), st.integers(0, 100))
def test_a_percentile_is_the_inclusive_linear_one(values: list[int], percent: int) -> None:
    exact = percentile([Fraction(value) for value in values], Fraction(percent, 100))
    assert exact is not None
    assert float(exact) == pytest.approx(float(numpy.percentile(values, percent)), rel=1e-9, abs=1e-6)


@given(st.lists(st.fractions(0, 100), min_size=1, max_size=20))
def test_percentiles_lie_within_the_values_and_do_not_fall(values: list[Fraction]) -> None:
    found = [percentile(values, Fraction(share, 20)) for share in range(21)]
    known = [one for one in found if one is not None]
    assert known == sorted(known)
    assert (known[0], known[-1]) == (min(values), max(values))
    middle = mean(values)
    assert middle is not None
    assert min(values) <= middle <= max(values)


def test_without_a_value_there_is_no_figure() -> None:
    plain = report([]).plain()
    assert plain["incidents"] == 0
    for kpi in plain["kpis"]:
        assert (kpi["n"], kpi["p50"], kpi["p95"], kpi["mean"]) == (0, None, None, None)


def test_incidents_that_lack_a_time_are_counted_and_not_dropped() -> None:
    rows = [
        lifecycle(1, detected=1, acknowledged=30, concluded=2, resolved=60),
        lifecycle(2, detected=3, resolved=600.5),
        lifecycle(3),
    ]
    plain = report(rows).plain()
    assert (plain["incidents"], plain["open"], plain["unclassified"]) == (3, 1, 3)
    by_name = {kpi["name"]: kpi for kpi in plain["kpis"]}
    assert {name: (kpi["n"], kpi["lacking"]) for name, kpi in by_name.items()} == {
        "MTTD": (2, 1),
        "MTTA": (1, 2),
        "MTTC": (1, 2),
        "MTTR": (2, 1),
    }
    assert by_name["MTTD"]["mean"] == "2.000000000"
    assert by_name["MTTR"]["p50"] == "330.250000000"
    assert by_name["MTTR"]["p95"] == "573.475000000"


def test_every_figure_comes_with_its_formula_field_and_unit() -> None:
    plain = report([], since=FIRED, fault_class="auth/login").plain()
    assert {kpi["field"]: kpi["formula"] for kpi in plain["kpis"]} == {
        "timeToDetectSeconds": "detectedAt - firedAt",
        "timeToAcknowledgeSeconds": "acknowledgedAt - firedAt",
        "timeToConcludeSeconds": "concludedAt - firedAt",
        "timeToResolveSeconds": "resolvedAt - firedAt",
    }
    assert (plain["since"], plain["until"], plain["class"]) == ("2026-11-30T00:00:00Z", None, "auth/login")
    assert "inclusive linear" in plain["percentile"]


@pytest.mark.parametrize("text", ["2026-11-30", "2026-11-30T00:00:00Z", "2026-11-30T01:00:00+01:00"])
def test_times_may_be_written_as_people_write_them(text: str) -> None:
    assert rfc3339(parse_time(text, source="--since")) == "2026-11-30T00:00:00Z"


@pytest.mark.parametrize("text", ["", "yesterday", "2026-11-30T00:00:00", "2026-13-01", "1"])
def test_a_time_that_cannot_be_read_is_told_with_an_example(text: str) -> None:
    with pytest.raises(ContractError, match=r"--since is .*(write a time|without a zone)"):
        parse_time(text, source="--since")
