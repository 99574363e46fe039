"""The BARO term's arithmetic, held against the formula in plain fractions; generated series that have exactly the
statistics they were asked for.
"""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rca_eval.contract import ContractError
from rca_eval.contract.groundtruth import Generator
from rca_eval.contract.metrics import median
from rca_eval.contract.protocol import EngineSeries
from rca_eval.engine.baro import baro_signal, deviation, iqr
from rca_eval.engine.starts import first_deviation
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


def by_the_book(samples, onset, window):
    """The formula of the module's docstring, sample by sample, in fractions."""
    known = [(at, Fraction(value)) for at, value in samples if value is not None]
    pre = sorted(value for at, value in known if onset - window <= at < onset - 60)
    post = [value for at, value in known if onset <= at <= onset + 600]
    if len(pre) < 8 or len(post) < 3:
        return None
    spread = max(pre + post) - min(pre + post)
    if spread == 0:
        return 0

    def quantile(share):
        place = share * (len(pre) - 1)
        below = place.numerator // place.denominator
        above = min(below + 1, len(pre) - 1)
        return pre[below] + (place - below) * (pre[above] - pre[below])

    middle, reach = quantile(Fraction(1, 2)), quantile(Fraction(3, 4)) - quantile(Fraction(1, 4))
    return max(abs(value - middle) for value in post) / max(reach, spread / 100)


decimals = st.one_of(
    st.integers(-(10**6), 10**6).map(lambda n: Decimal(n).scaleb(-3)),
    st.decimals(-(10**30), 10**30, allow_nan=False, allow_infinity=False),
    st.sampled_from(
        [Decimal("1E-130"), Decimal("-0"), Decimal("1E+30"), Decimal("0.1000000000000000055511151231257827")]
    ),
)
samples = st.lists(
    st.tuples(st.integers(T - W - 200, T + 800), st.none() | decimals), min_size=11, max_size=60
)


@given(samples)
@example(
    [(T - 600 + 10 * n, Decimal(n % 3)) for n in range(9)] + [(T + n, Decimal("1E-500")) for n in range(3)]
)
def test_z_is_exactly_what_the_formula_says_for_any_decimals_gaps_and_times(rows):
    made = EngineSeries.model_construct(metric="m", samples=tuple(rows))
    assert deviation(made, T, W) == by_the_book(rows, T, W)


@given(st.integers(300, 900))
def test_numbers_too_far_apart_for_one_decimal_are_computed_as_fractions(exponent):
    rows = [(T - 600 + 10 * n, Decimal(n % 3)) for n in range(9)]
    rows += [(T + n, Decimal(1).scaleb(-exponent) + 0) for n in range(3)]
    rows += [(T + 3, Decimal(f"1E+{exponent}"))]
    made = EngineSeries.model_construct(metric="m", samples=tuple(rows))
    assert deviation(made, T, W) == by_the_book(rows, T, W)


@given(samples, st.randoms(use_true_random=False))
def test_the_order_of_samples_says_nothing_and_a_time_may_occur_twice(rows, random):
    def z(of):
        return deviation(EngineSeries.model_construct(metric="m", samples=tuple(of)), T, W)

    turned = list(rows)
    random.shuffle(turned)
    assert z(turned) == z(rows)
    twice = [row for row in rows for _ in range(2)]
    assert z(twice) == by_the_book(twice, T, W)


@given(st.dictionaries(st.sampled_from("abcdef"), st.lists(samples, max_size=3), max_size=6))
def test_the_signal_is_the_formula_over_all_services(services):
    made = {
        key: tuple(EngineSeries.model_construct(metric="m", samples=tuple(rows)) for rows in many)
        for key, many in services.items()
    }
    found = baro_signal(made, T, W)
    scores = {key: [by_the_book(rows, T, W) for rows in many] for key, many in services.items()}
    raw = {key: max((z for z in many if z is not None), default=0) for key, many in scores.items()}
    highest = max(raw.values(), default=0)
    assert found.raw == raw
    assert found.terms == {key: value / highest if highest else 0 for key, value in raw.items()}
    assert found.present == (highest >= 3)
    usable = [key for key, many in scores.items() if any(z is not None for z in many)]
    assert found.coverage == (Fraction(len(usable), len(services)) if services else 0)


def first_by_the_book(rows, onset, window):
    """The first sample from a minute before the onset on that alone would make z at least 3."""
    if by_the_book(rows, onset, window) in (None, 0):
        return None
    known = [(at, Fraction(value)) for at, value in rows if value is not None]
    pre = sorted(value for at, value in known if onset - window <= at < onset - 60)
    seen = [value for at, value in known if onset <= at <= onset + 600]
    scale = max(iqr(pre), (max(pre + seen) - min(pre + seen)) / 100)
    late = [(at, value) for at, value in known if onset - 60 <= at <= onset + 600]
    return min((at for at, value in late if abs(value - median(pre)) >= 3 * scale), default=None)


@given(samples)
@example([(T - 600 + 10 * n, Decimal(n % 3)) for n in range(9)] + [(T + n, Decimal(n + 2)) for n in range(9)])
def test_the_first_deviation_is_where_the_formula_reaches_three(rows):
    made = EngineSeries.model_construct(metric="m", samples=tuple(rows))
    assert first_deviation(made, T, W) == first_by_the_book(rows, T, W)
