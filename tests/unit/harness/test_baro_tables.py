"""Rankings of whole tables: ours is the term's formula, the published one its own; units, order and gaps."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rca_eval.contract import ContractError
from rca_eval.contract.protocol import EngineSeries
from rca_eval.engine.baro import deviation
from rca_eval.engine.baro_tables import OURS, PUBLISHED, Ranked, rank_metrics, rank_services

NAMES = ("cart_cpu", "cart_mem", "db_cpu", "db_mem")
T = 1700000000

# Quarters are exact in binary, so that a float score is the rounded exact one.
quarters = st.integers(-4000, 4000).map(lambda n: n / 4)
gaps = quarters | st.just(float("nan"))


def tables(element):
    return st.tuples(
        *(
            st.integers(low, low + 20).flatmap(lambda n: arrays(np.float64, (n, 4), elements=element))
            for low in (4, 1)
        )
    )


def names(ranked):
    return [one.name for one in ranked]


@given(tables(gaps))
def test_a_table_scores_as_its_columns_do_as_series(pair):
    before, after = pair
    found = dict(rank_metrics(before, after, NAMES))
    for at, name in enumerate(NAMES):
        rows = [(T - 1000 + row, value) for row, value in enumerate(before[:, at])]
        rows += [(T + row, value) for row, value in enumerate(after[:, at])]
        exact = tuple((when, None if np.isnan(value) else Decimal(float(value))) for when, value in rows)
        z = deviation(EngineSeries.model_construct(metric=name, samples=exact), T, 1800)
        assert (name in found) == (z is not None)
        if z is not None:
            assert found[name] == pytest.approx(float(z), rel=1e-12)


def published(before, after, name):
    """The published score of one metric in fractions, or None where it is left out."""
    divisor = 10**6 if name.endswith("_mem") else 1
    early = sorted(Fraction(x) / divisor for x in before)
    late = [Fraction(x) / divisor for x in after]
    if len(set(early)) == 1 or len(set(late)) == 1:
        return None

    def quantile(share):
        place = share * (len(early) - 1)
        below = int(place)
        return early[below] + (place - below) * (early[min(below + 1, len(early) - 1)] - early[below])

    scale = quantile(Fraction(3, 4)) - quantile(Fraction(1, 4))
    return max(x - quantile(Fraction(1, 2)) for x in late) / (scale or 1)


@given(tables(quarters))
def test_the_published_definition_is_one_sided_drops_constants_and_has_a_unit(pair):
    before, after = pair
    found = dict(rank_metrics(before, after, NAMES, PUBLISHED))
    wanted = {name: published(before[:, at], after[:, at], name) for at, name in enumerate(NAMES)}
    assert found.keys() == {name for name, score in wanted.items() if score is not None}
    for name, score in found.items():
        assert score == pytest.approx(float(wanted[name]), rel=1e-9, abs=1e-12)


@given(tables(gaps), st.integers(-20, 20), st.integers(0, 3))
def test_a_metric_in_another_unit_keeps_its_place(pair, power, column):
    before, after = (table.copy() for table in pair)
    plain = rank_metrics(before, after, NAMES)
    for table in (before, after):
        table[:, column] *= 2.0**power
    assert rank_metrics(before, after, NAMES) == plain


def test_a_metric_in_bytes_ranks_as_it_does_in_megabytes_unlike_in_the_published_form_without_a_unit():
    random = np.random.default_rng(7)
    before = random.normal(100, 5, (300, 2))
    after = np.add(before[:200], [40.0, 0.0])
    before[:, 1], after[:, 1] = 200e6, np.where(np.arange(200) % 2, 200e6, 200e6 + 4096)
    for scale in (1, 1e-6, 1e6):
        unit = [1, scale]
        ranked = rank_metrics(before * unit, after * unit, ["cart_cpu", "db_bytes"])
        assert ranked[0].score == pytest.approx(100)  # flat and then not: the cap
    assert names(rank_metrics(before, after, ["cart_cpu", "db_mem"], PUBLISHED)) == ["cart_cpu"]


@given(tables(gaps), st.randoms(use_true_random=False))
def test_the_order_of_rows_and_columns_says_nothing(pair, random):
    before, after = pair
    order = list(range(4))
    random.shuffle(order)
    turned = rank_metrics(before[::-1, order], after[::-1, order], [NAMES[at] for at in order])
    assert turned == rank_metrics(before, after, NAMES)


def test_a_flat_metric_scores_nothing_and_one_without_samples_is_not_ranked():
    before, after = np.ones((10, 2)), np.ones((4, 2))
    before[:, 1] = np.nan
    assert rank_metrics(before, after, ["a_x", "b_x"]) == [Ranked("a_x", 0.0)]
    assert rank_metrics(before, after, ["a_x", "b_x"], PUBLISHED) == []
    assert rank_metrics(np.empty((0, 2)), after, ["a_x", "b_x"]) == []


def test_a_drop_counts_by_default_and_nothing_in_the_published_form():
    before = np.array([[0.0, 1.0], [1.0, 0.0]] * 5)
    after = np.array([[-9.0, 1.5]] * 3 + [[-8.0, 1.0]])
    assert names(rank_metrics(before, after, ["a_x", "b_x"], OURS)) == ["a_x", "b_x"]
    assert names(rank_metrics(before, after, ["a_x", "b_x"], PUBLISHED)) == ["b_x", "a_x"]


def test_infinities_are_no_samples():
    before = np.array([[0.0], [1.0]] * 5)
    after = np.array([[np.inf], [2.0], [2.0], [-np.inf], [2.0]])
    assert rank_metrics(before, after, ["a_x"]) == rank_metrics(before, after[[1, 2, 4]], ["a_x"])


def test_a_service_stands_where_its_most_unusual_metric_does_and_once():
    metrics = [Ranked("cart-db_cpu", 9.0), Ranked("cart_mem", 8.0), Ranked("cart-db_mem", 7.0)]
    assert rank_services(metrics) == [Ranked("cart-db", 9.0), Ranked("cart", 8.0)]
    assert names(rank_services(metrics, owner=lambda name: name.rpartition("_")[2])) == ["cpu", "mem"]


@pytest.mark.parametrize(
    ("shape", "columns", "says"),
    [
        ((9,), ["a"], "shape (9,)"),
        ((9, 2), ["a"], "for 1 metrics"),
        ((9, 2), ["a", "a"], "a has two columns"),
    ],
)
def test_tables_that_do_not_fit_are_refused_with_the_reason(shape, columns, says):
    with pytest.raises(ContractError) as caught:
        rank_metrics(np.zeros(shape), np.zeros(shape), columns)
    assert caught.value.reason == "DatasetInvalid"
    assert says in caught.value.message
