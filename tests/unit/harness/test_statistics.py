"""McNemar, bootstrap and Wilson: against published figures, against counting everything, and at their edges."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rca_eval.contract import nine
from rca_eval.gate import statistics
from rca_eval.gate.statistics import (
    bootstrap_drop,
    drop_weights,
    limit_places,
    mcnemar_exact,
    mcnemar_mid_p,
    wilson,
)

few = st.integers(0, 40)


def nines(pair):
    return tuple(map(nine, pair))


# Lost, won, exact and mid-p, each one-sided and two-sided.
MCNEMAR = [
    # One loss at N = 9, whatever N is: it proves nothing.
    (1, 0, "0.500000000", "0.250000000", "1.000000000", "0.500000000"),
    (2, 0, "0.250000000", "0.125000000", "0.500000000", "0.250000000"),
    # The fewest clean losses that reach 0.05 one-sided: 5 exact, 4 by mid-p.
    (4, 0, "0.062500000", "0.031250000", "0.125000000", "0.062500000"),
    (5, 0, "0.031250000", "0.015625000", "0.062500000", "0.031250000"),
    # Fagerland, Lydersen and Laake 2013, airway hyper-responsiveness: exact p 0.070, mid-p 0.039.
    (7, 1, "0.035156250", "0.019531250", "0.070312500", "0.039062500"),
    (1, 7, "0.996093750", "0.980468750", "0.070312500", "0.039062500"),
    (1, 1, "0.750000000", "0.500000000", "1.000000000", "0.750000000"),
    (3, 3, "0.656250000", "0.500000000", "1.000000000", "0.843750000"),
    (0, 1, "1.000000000", "0.750000000", "1.000000000", "0.500000000"),
]


@pytest.mark.parametrize(("lost", "won", "exact_1", "mid_1", "exact_2", "mid_2"), MCNEMAR)
def test_mcnemar_gives_the_published_figures(lost, won, exact_1, mid_1, exact_2, mid_2):
    assert nine(mcnemar_exact(lost, won, sides=1)) == exact_1
    assert nine(mcnemar_mid_p(lost, won, sides=1)) == mid_1
    assert nine(mcnemar_exact(lost, won)) == exact_2
    assert nine(mcnemar_mid_p(lost, won)) == mid_2


def test_without_a_discordant_pair_mcnemar_has_no_answer():
    for sides in (1, 2):
        assert mcnemar_exact(0, 0, sides=sides) is None
        assert mcnemar_mid_p(0, 0, sides=sides) is None


@pytest.mark.parametrize(("lost", "won"), [(a, b) for a in range(6) for b in range(6) if a + b])
def test_mcnemar_is_the_share_of_all_coin_sequences_that_are_as_extreme(lost, won):
    pairs = lost + won
    heads = Counter(sum(flips) for flips in product((0, 1), repeat=pairs))
    total, far = 2**pairs, abs(lost - won)
    as_far = sum(n for k, n in heads.items() if abs(2 * k - pairs) >= far)
    equally = sum(n for k, n in heads.items() if abs(2 * k - pairs) == far)
    assert mcnemar_exact(lost, won) == Fraction(as_far, total)
    assert mcnemar_mid_p(lost, won) == Fraction(as_far, total) - Fraction(equally, 2 * total)
    upper = sum(n for k, n in heads.items() if k >= lost)
    assert mcnemar_exact(lost, won, sides=1) == Fraction(upper, total)
    assert mcnemar_mid_p(lost, won, sides=1) == Fraction(2 * upper - comb(pairs, lost), 2 * total)


@given(few, few)
def test_two_sides_do_not_care_which_side_lost_and_mid_p_is_the_less_cautious(lost, won):
    assert mcnemar_exact(lost, won) == mcnemar_exact(won, lost)
    if lost + won:
        assert 0 < mcnemar_mid_p(lost, won) <= mcnemar_exact(lost, won) <= 1


# Newcombe 1998, Statistics in Medicine 17:857-872, table I, method 3.
WILSON = [
    (81, 263, "0.2553", "0.3662"),
    (15, 148, "0.0624", "0.1605"),
    (0, 20, "0.0000", "0.1611"),
    (1, 29, "0.0061", "0.1718"),
]


@pytest.mark.parametrize(("hits", "incidents", "low", "high"), WILSON)
def test_wilson_gives_the_published_intervals(hits, incidents, low, high):
    assert tuple(f"{float(limit):.4f}" for limit in wilson(hits, incidents)) == (low, high)


@given(st.integers(1, 5000), st.data())
def test_wilson_s_limits_are_the_rates_whose_test_just_reaches_the_level(incidents, data):
    """(x/n - p)² = z² p (1 - p) / n, at both ends."""
    hits = data.draw(st.integers(0, incidents))
    z_squared, rate = Fraction("3.841458820694125958361375437363"), Fraction(hits, incidents)
    low, high = wilson(hits, incidents)
    assert 0 <= low <= rate <= high <= 1
    for limit in (low, high):
        assert abs((rate - limit) ** 2 - z_squared * limit * (1 - limit) / incidents) < Fraction(1, 10**40)


def test_wilson_at_its_edges():
    assert wilson(0, 0) is None
    assert nines(wilson(0, 1)) == ("0.000000000", "0.793450686")
    assert nines(wilson(1, 1)) == ("0.206549314", "1.000000000")
    assert nines(wilson(9, 9)) == ("0.700854952", "1.000000000")
    assert wilson(9, 9)[0] == 9 / (9 + Fraction("3.841458820694125958361375437363"))  # n / (n + z²)
    assert wilson(0, 9)[0] == 0
    assert wilson(9, 9)[1] == 1


def everything(lost, won, incidents):
    """How often each drop comes among all N^N resamples."""
    pairs = [1] * lost + [-1] * won + [0] * (incidents - lost - won)
    return Counter(sum(draw) for draw in product(pairs, repeat=incidents))


@pytest.mark.parametrize(
    ("lost", "won", "incidents"),
    [(a, b, n) for n in range(1, 6) for a in range(n + 1) for b in range(n + 1 - a)],
)
def test_the_distribution_of_the_drop_is_that_of_all_resamples(lost, won, incidents):
    counted = everything(lost, won, incidents)
    weights = drop_weights(lost, won, incidents)
    assert len(weights) == 2 * incidents + 1
    whole = sum(map(Fraction, weights))
    for place, weight in enumerate(weights):
        share = Fraction(counted[place - incidents], incidents**incidents)
        assert abs(Fraction(weight) / whole - share) < Fraction(1, 10**40)


def test_the_two_halves_of_a_large_distribution_are_on_one_scale_and_add_up():
    weights = drop_weights(300, 200, 2000)
    whole = sum(map(Fraction, weights))
    assert abs(whole / 2000**2000 - 1) < Fraction(1, 10**40)  # (300 + 1500 + 200)^2000
    mean = sum((place - 2000) * Fraction(weight) for place, weight in enumerate(weights)) / whole
    assert abs(mean - 100) < Fraction(1, 10**40)  # N times the drop that was measured


BOOTSTRAP = [
    # One loss at N = 9: the interval that resampling gives is [0, 0.333].
    (1, 0, 9, "0.000000000", "0.333333333"),
    (2, 0, 9, "0.000000000", "0.555555556"),
    (0, 1, 9, "-0.333333333", "0.000000000"),
    (5, 0, 9, "0.222222222", "0.888888889"),
    (3, 2, 9, "-0.333333333", "0.555555556"),
    (9, 0, 9, "1.000000000", "1.000000000"),
    (0, 9, 9, "-1.000000000", "-1.000000000"),
    (0, 0, 9, "0.000000000", "0.000000000"),
    (0, 0, 1, "0.000000000", "0.000000000"),
    (1, 0, 1, "1.000000000", "1.000000000"),
    (1, 1, 2, "-1.000000000", "1.000000000"),
    (3000, 2500, 10_000, "0.035200000", "0.064600000"),
]


@pytest.mark.parametrize(("lost", "won", "incidents", "low", "high"), BOOTSTRAP)
def test_the_bootstrap_gives_the_same_nine_digits_on_every_python(lost, won, incidents, low, high):
    assert nines(bootstrap_drop(lost, won, incidents)) == (low, high)


def test_the_bootstrap_of_nothing_is_not_a_number():
    assert bootstrap_drop(0, 0, 0) is None


def test_it_is_what_drawing_ten_thousand_resamples_one_incident_at_a_time_gives():
    pairs, chance = [1] * 3 + [-1] * 1 + [0] * 16, Random(5)
    drops = sorted(sum(chance.choices(pairs, k=20)) for _ in range(10_000))
    drawn = (Fraction(drops[249], 20), Fraction(drops[9749], 20))
    for mine, theirs in zip(bootstrap_drop(3, 1, 20), drawn, strict=True):
        assert abs(mine - theirs) <= Fraction(1, 20)  # neighbours: another seed


@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 12))
def test_the_interval_turns_over_when_both_sides_change_places_up_to_one_step(lost, won, equal):
    incidents = lost + won + equal
    if not incidents:
        return
    low, high = bootstrap_drop(lost, won, incidents)
    assert -1 <= low <= high <= 1
    turned = bootstrap_drop(won, lost, incidents)
    # The seeded numbers are not quite symmetric; where no pair is equal, drops come in steps of two incidents.
    assert abs(low + turned[1]) <= Fraction(2, incidents)
    assert abs(high + turned[0]) <= Fraction(2, incidents)


@pytest.mark.parametrize(
    ("resamples", "places"),
    [(10_000, (249, 9749)), (1000, (24, 974)), (40, (0, 38)), (41, (1, 39)), (1, (0, 0))],
)
def test_the_limits_are_the_250th_and_the_9750th_smallest_of_ten_thousand(resamples, places):
    assert limit_places(resamples) == places


def test_the_seeded_numbers_are_those_that_python_promises():
    uniforms = statistics._uniforms(statistics.SEED, statistics.RESAMPLES)
    assert len(uniforms) == 10_000
    assert list(uniforms) == sorted(uniforms)
    assert min(uniforms) == uniforms[0] >= 0
    assert uniforms[-1] < 1
    chance = Random(1)
    assert [chance.random() for _ in range(2)] == [0.13436424411240122, 0.8474337369372327]
    assert 0.13436424411240122 in uniforms
    # The 250th and the 9750th smallest.
    assert uniforms[249] == pytest.approx(0.025, abs=0.005)
    assert uniforms[9749] == pytest.approx(0.975, abs=0.005)
