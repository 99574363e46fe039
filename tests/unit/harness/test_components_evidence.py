"""Hard evidence and contradictions: every threshold at its edge, and that nothing else counts."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rca_eval.contract.protocol import (
    EngineAlert,
    EngineIncident,
    EngineSeries,
    EngineService,
    EngineTelemetry,
    EngineTelemetryRow,
    EngineTopology,
)
from rca_eval.engine.baro import baro_signal, deviation
from rca_eval.engine.evidence import CONTRADICTIONS, CRASHES, HARD, Evidence
from rca_eval.engine.investigation import Findings
from rca_eval.engine.starts import first_deviation
from rca_eval.graph.store import Candidate

T, W = 1700000000, 1800


def metric(name="error_ratio", *, step=Decimal("0.9"), at=0, quiet=(Decimal("0.010"), Decimal("0.012"))):
    """A quiet half hour, then `step` from `at` seconds after T on; a sample each minute."""
    rows = [(T - W + 60 * n, quiet[n % len(quiet)]) for n in range(30)]
    rows += [(T + 60 * n, step if 60 * n >= at else quiet[0]) for n in range(11)]
    return EngineSeries(metric=name, samples=tuple(rows))


def values(name, before, after):
    rows = [(T - 60 * (len(before) - n), value) for n, value in enumerate(before)]
    rows += [(T + 60 * n, value) for n, value in enumerate(after)]
    return EngineSeries(metric=name, samples=tuple((at, None if v is None else Decimal(v)) for at, v in rows))


def evidence(
    *,
    error=None,
    before=None,
    series=(),
    symptom_series=(),
    changes=(),
    calls=(("web", "db"),),
    availability="full",
):
    """The evidence about `db`, which the symptom `web` calls."""
    rows = {
        "db": EngineTelemetryRow(error_rate=error, error_rate_before=before, series=tuple(series)),
        "web": EngineTelemetryRow(series=tuple(symptom_series)),
    }
    incident = EngineIncident(
        case="case-0000000a",
        window_seconds=W,
        alert=EngineAlert(name="A", service="web", fired_at=T + 60, for_seconds=60),
        topology=EngineTopology(services=tuple(EngineService(key=key) for key in rows), calls=tuple(calls)),
        telemetry=EngineTelemetry(availability=availability, services=rows),
        changes=(),
    )
    candidates = [Candidate(key, None, row.error_rate, row.error_rate_before) for key, row in rows.items()]
    signal = baro_signal({key: row.series for key, row in rows.items()}, T, W)
    found = {"db": list(changes)} if changes else {}
    return Evidence(incident, Findings(candidates, found, signal, T))


def contradictions(found):
    return [kind for kind in CONTRADICTIONS if found.contradicts("db", kind)]


def test_a_change_of_this_very_service_is_hard_evidence_and_its_ref_is_the_id():
    found = evidence(changes=["db@v2", "db@v1"])
    assert found.hard("db", "E1") == ("db@v1", "db@v2")
    assert found.hard("web", "E1") == ()


@pytest.mark.parametrize(
    ("error", "before", "counts"),
    [
        ("0.2", "0", True),
        ("0.199999999", "0", False),
        ("0.6", "0.2", True),
        ("0.6", "0.200000001", False),
        ("0.9", None, False),
        (None, "0", False),
    ],
)
def test_an_error_ratio_counts_from_a_fifth_and_from_three_times_the_known_one_before(error, before, counts):
    ratio = [None if value is None else Decimal(value) for value in (error, before)]
    assert bool(evidence(error=ratio[0], before=ratio[1]).hard("db", "E2")) is counts


def test_the_id_of_an_error_ratio_says_both_figures_in_one_spelling():
    assert evidence(error=Decimal("0.90"), before=Decimal("1E-2")).hard("db", "E2") == (
        "db/errorRate=0.9,before=0.01",
    )


@pytest.mark.parametrize(("cause", "symptom", "counts"), [(0, 60, True), (60, 60, True), (120, 60, False)])
def test_a_deviation_counts_if_it_is_not_later_than_the_symptoms(cause, symptom, counts):
    found = evidence(series=[metric(at=cause)], symptom_series=[metric(at=symptom)])
    assert found.hard("db", "E3") == ((f"db/error_ratio@{T + cause}",) if counts else ())


@pytest.mark.parametrize(("cause", "counts"), [(0, True), (60, False)])
def test_a_symptom_without_a_deviation_of_its_own_began_at_the_onset(cause, counts):
    assert bool(evidence(series=[metric(at=cause)]).hard("db", "E3")) is counts


@pytest.mark.parametrize(
    ("name", "before", "after", "counts"),
    [
        ("up", [1, 1], [1, 0], True),
        ("up", [1, 0], [0, 0], False),
        ("up", [1, 1], [1, 1], False),
        ("up", [], [0, 0], False),
        ("up", [1, None], [None, 0], True),
        ("upstream", [1, 1], [0, 0], False),
        ("restarts", [4, 4], [4, 5], True),
        ("restarts", [4, 5], [5, 5], False),
        ("restarts", [], [0, 5], False),
        ("requests_total", [4, 4], [4, 5], False),
    ],
)
def test_only_what_went_down_or_crashed_after_the_onset_counts(name, before, after, counts):
    found = evidence(series=[values(name, before, after)]).hard("db", "E4")
    assert bool(found) is counts
    assert all(one.startswith(f"db/{name}@") for one in found)


@pytest.mark.parametrize("name", sorted(CRASHES))
def test_every_named_counter_counts_when_it_rises(name):
    assert evidence(series=[values(name, [0], [0, 1])]).hard("db", "E4") == (f"db/{name}@{T + 60}=1",)


def test_a_service_that_no_call_leads_to_is_contradicted_whatever_its_telemetry_says():
    assert contradictions(evidence(calls=(("db", "web"),), error=Decimal(1))) == ["Unreachable"]
    assert contradictions(evidence(calls=(("web", "a"), ("a", "web"), ("a", "db")))) == []


@pytest.mark.parametrize(
    ("error", "z", "changes", "quiet"),
    [
        ("0.049999999", None, (), True),
        ("0.05", None, (), False),
        (None, None, (), False),
        ("0", "0.9", (), False),
        ("0", None, ("db@v2",), False),
    ],
)
def test_quiet_is_a_known_low_error_ratio_without_deviation_and_change(error, z, changes, quiet):
    found = evidence(
        error=None if error is None else Decimal(error),
        series=[] if z is None else [metric(step=Decimal(z))],
        symptom_series=[metric()],
        changes=changes,
    )
    assert contradictions(found) == (["Quiet"] if quiet else [])


@pytest.mark.parametrize(
    ("cause", "changes", "late"), [(180, (), False), (240, (), True), (240, ("db@v2",), False)]
)
def test_late_is_more_than_two_minutes_after_the_symptom_and_without_a_change(cause, changes, late):
    found = evidence(series=[metric(at=cause)], symptom_series=[metric(at=60)], changes=changes)
    assert contradictions(found) == (["Late"] if late else [])


def test_without_any_telemetry_nothing_is_hard_and_nothing_is_contradicted():
    found = evidence(availability="none")
    assert found.blind
    assert found.kinds("db") == ()
    assert contradictions(found) == []


def test_a_service_that_nobody_knows_has_no_evidence():
    found = evidence()
    assert [found.hard("nobody", kind) for kind in HARD] == [(), (), (), ()]


numbers = st.lists(st.integers(-50, 50).map(lambda n: Decimal(n).scaleb(-1)), min_size=8, max_size=12)


@given(numbers, numbers)
def test_a_metric_has_a_first_deviation_after_the_onset_exactly_if_its_z_is_three(before, after):
    rows = [(T - W + 60 * n, value) for n, value in enumerate(before)]
    rows += [(T + 30 * n, value) for n, value in enumerate(after)]
    series = EngineSeries(metric="m", samples=tuple(rows))
    z, first = deviation(series, T, W), first_deviation(series, T, W)
    assert (z is not None and z >= 3) == (first is not None)
    assert first is None or first in dict(rows)


def test_a_deviation_in_the_last_minute_before_the_onset_is_the_first_one():
    series = metric(at=0)
    early = EngineSeries(metric="m", samples=(*series.samples, (T - 30, Decimal("0.9"))))
    assert first_deviation(early, T, W) == T - 30
    assert first_deviation(series, T, W) == T


def test_a_flat_metric_and_one_with_too_few_samples_never_deviate():
    flat = EngineSeries(metric="m", samples=tuple((T - W + 60 * n, Decimal(1)) for n in range(41)))
    assert first_deviation(flat, T, W) is None
    assert first_deviation(values("m", ["1"] * 8, ["9", "9"]), T, W) is None
    assert deviation(flat, T, W) == Fraction(0)
