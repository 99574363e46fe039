"""The BARO term's arithmetic, and generated series that have exactly the statistics they were asked for."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rca_eval.contract import ContractError
from rca_eval.contract.groundtruth import Generator
from rca_eval.contract.metrics import median
from rca_eval.contract.protocol import EngineSeries
from rca_eval.engine.baro import baro_signal, deviation, iqr
from rca_eval.job.series import expand

T, W = 1700000000, 1800

cents = st.integers(-(10**6), 10**6).map(lambda n: Decimal(n).scaleb(-2))
generators = st.builds(
    Generator,
    metric=st.just("m"),
    median=cents,
    iqr=st.integers(1, 10**6).map(lambda n: Decimal(n).scaleb(-2)),
    z=st.integers(-995, 995).map(lambda n: Decimal(n).scaleb(-1)),
    lag_seconds=st.integers(-60, 600),
)


def series(pre, post):
    rows = [(T - W + 60 * at, value) for at, value in enumerate(pre)]
    rows += [(T + 60 * at, value) for at, value in enumerate(post)]
    return EngineSeries(
        metric="m", samples=tuple((at, None if v is None else Decimal(str(v))) for at, v in rows)
    )


@given(generators)
def test_a_generated_series_has_exactly_the_statistics_it_was_asked_for(generator):
    made = expand(generator, onset=T, window=W, where="x")
    pre = [Fraction(v) for at, v in made.samples if T - W <= at < T - 60]
    assert median(pre) == Fraction(generator.median)
    assert iqr(pre) == Fraction(generator.iqr)
    assert deviation(made, T, W) == abs(Fraction(generator.z))


@given(generators)
def test_the_step_comes_with_the_first_sample_after_the_lag_and_stays(generator):
    made = expand(generator, onset=T, window=W, where="x")
    loud = generator.median + generator.z * generator.iqr
    begin = T + generator.lag_seconds
    assert all(v == loud for at, v in made.samples if at >= begin)
    assert all(v != loud for at, v in made.samples if T <= at < begin) or generator.z == 0
    assert list(made.samples) == sorted(made.samples)


@pytest.mark.parametrize(
    ("change", "window"),
    [
        ({"z": Decimal("99.6")}, W),
        ({"z": Decimal(-100)}, W),
        ({"lag_seconds": 601}, W),
        ({"lag_seconds": -61}, W),
        ({}, 80),
    ],
)
def test_statistics_that_no_series_can_have_are_refused(change, window):
    base = {"metric": "m", "median": Decimal(0), "iqr": Decimal(1), "z": Decimal(3)}
    with pytest.raises(ContractError) as caught:
        expand(Generator(**(base | change)), onset=T, window=window, where="IN-1, series of db")
    assert caught.value.reason == "DatasetInvalid"
    assert "IN-1, series of db" in caught.value.message


values = st.lists(st.integers(-1000, 1000), min_size=8, max_size=20)


@given(
    values,
    st.lists(st.integers(-1000, 1000), min_size=3, max_size=8),
    st.integers(1, 10**6),
    st.integers(-999, 999),
)
def test_z_is_blind_to_unit_and_offset_and_at_most_one_hundred(pre, post, scale, shift):
    plain = deviation(series(pre, post), T, W)
    scaled = deviation(series([v * scale + shift for v in pre], [v * scale + shift for v in post]), T, W)
    assert plain == scaled
    assert plain <= 100


def test_a_flat_metric_says_nothing_and_a_metric_that_was_flat_is_capped():
    assert deviation(series([5] * 10, [5] * 5), T, W) == 0
    assert deviation(series([5] * 10, [6] * 5), T, W) == 100


def test_a_drop_counts_as_much_as_a_rise():
    assert deviation(series([0, 1] * 5, [-9] * 3), T, W) == deviation(series([0, 1] * 5, [10] * 3), T, W)


@pytest.mark.parametrize(("pre", "post"), [(7, 3), (8, 2), (0, 0)])
def test_too_few_samples_are_not_a_signal(pre, post):
    assert deviation(series(([1, 2] * 8)[:pre], [9] * post), T, W) is None


def test_gaps_are_not_samples():
    assert deviation(series([1, 2, None] * 3, [9, 9, 9]), T, W) is None


@pytest.mark.parametrize(
    ("at", "counts"), [(T - W - 1, False), (T - W, True), (T - 61, True), (T - 60, False), (T - 1, False)]
)
def test_the_quiet_time_before_the_onset_ends_a_minute_early(at, counts):
    samples = [(T - W + 60 * n, Decimal(n % 2)) for n in range(1, 8)]
    post = [(T + 60 * n, Decimal(9)) for n in range(3)]
    made = EngineSeries(metric="m", samples=(*samples, (at, Decimal(1)), *post))
    assert (deviation(made, T, W) is not None) == counts


@pytest.mark.parametrize(("at", "counts"), [(T - 1, False), (T, True), (T + 600, True), (T + 601, False)])
def test_the_time_after_the_onset_is_ten_minutes_both_ends_included(at, counts):
    pre = [(T - W + 60 * n, Decimal(n % 2)) for n in range(10)]
    post = [(T + 60, Decimal(9)), (T + 120, Decimal(9))]
    made = EngineSeries(metric="m", samples=(*pre, *post, (at, Decimal(9))))
    assert (deviation(made, T, W) is not None) == counts


def test_the_term_is_relative_to_the_loudest_and_present_from_three_on():
    def signal(loud):
        rows = {"a": (series([0, 1] * 5, [loud] * 3),), "b": (series([0, 1] * 5, [2] * 3),), "c": ()}
        return baro_signal(rows, T, W)

    assert not signal(Decimal("3.49")).present
    strong = signal(Decimal("3.5"))
    assert strong.present
    assert strong.terms == {"a": 1, "b": Fraction(1, 2), "c": 0}
    assert strong.coverage == Fraction(2, 3)


def test_nothing_to_look_at_is_no_signal():
    assert baro_signal({}, T, W).present is False
    assert baro_signal({"a": ()}, T, W).terms == {"a": 0}
