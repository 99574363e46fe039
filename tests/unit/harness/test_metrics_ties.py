"""A ranking with ties: every view against counting all orders, every edge, and scores that are none."""

from fractions import Fraction
from itertools import groupby, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rca_eval.contract import aggregate, nine, pessimistic_order, pessimistic_rank
from rca_eval.contract.metrics import accuracy_at
from rca_eval.contract.ties import (
    Group,
    Grouped,
    accuracy_within,
    found_within,
    grouped,
    reachable_within,
    reciprocal_rank_of,
)

KEYS = "abcdefg"
VIEWS = ("pessimistic", "optimistic", "expected")


@st.composite
def answers(draw, *, scored=True, most=6):
    """Candidates with few distinct scores, and labels of which some may be no candidates."""
    count = draw(st.integers(0, most))
    scores = sorted((draw(st.integers(0, 2)) for _ in range(count)), reverse=True)
    keys = draw(st.permutations(KEYS))[:count]
    candidates = [(key, nine(score) if scored else None) for key, score in zip(keys, scores, strict=True)]
    return candidates, draw(st.sets(st.sampled_from([*KEYS, "absent"]), min_size=1, max_size=4))


def orders(candidates):
    """Every order in which equal scores could stand."""
    found = [[]]
    for _, run in groupby(candidates, key=lambda row: row[1]):
        inside = list(permutations([key for key, _ in run]))
        found = [[*before, *after] for before in found for after in inside]
    return found


def first_place(order, truth):
    return next((Fraction(1, at) for at, key in enumerate(order, 1) if key in truth), Fraction(0))


@given(answers())
def test_the_three_views_are_the_least_the_most_and_the_mean_over_all_orders(answer):
    candidates, truth = answer
    ranking, every = grouped(candidates, truth), orders(candidates)
    for k in range(1, 8):
        values = [accuracy_at(k, order, truth) for order in every]
        assert accuracy_within(k, ranking, "pessimistic") == min(values)
        assert accuracy_within(k, ranking, "optimistic") == max(values)
        assert accuracy_within(k, ranking, "expected") == sum(values) / len(values)
    places = [first_place(order, truth) for order in every]
    assert reciprocal_rank_of(ranking, "pessimistic") == min(places)
    assert reciprocal_rank_of(ranking, "optimistic") == max(places)
    assert reciprocal_rank_of(ranking, "expected") == sum(places) / len(places)
    ranks = {tuple(sorted(at for at, key in enumerate(order, 1) if key in truth)) for order in every}
    assert ranking.tied == (len(ranks) > 1)


@given(st.lists(answers(), min_size=1, max_size=5))
def test_the_pessimistic_view_is_the_scorecard_s_metric(cases):
    figures = aggregate([(pessimistic_order(rows, truth), sorted(truth)) for rows, truth in cases])
    rankings = [grouped(rows, truth) for rows, truth in cases]
    for k in (1, 3, 5):
        values = [accuracy_within(k, one, "pessimistic") for one in rankings]
        assert figures[f"AC@{k}"] == sum(values) / len(values)
    values = [reciprocal_rank_of(one, "pessimistic") for one in rankings]
    assert figures["MRR"] == sum(values) / len(values)


@given(answers(scored=False))
def test_without_scores_the_order_is_the_answer_s_and_nothing_is_tied(answer):
    candidates, truth = answer
    ranking = grouped(candidates, truth)
    assert [group.size for group in ranking.groups] == [1] * len(candidates)
    assert not ranking.tied
    order = [key for key, _ in candidates]
    for view in VIEWS:
        assert reciprocal_rank_of(ranking, view) == first_place(order, truth)
        for k in range(1, 8):
            assert accuracy_within(k, ranking, view) == accuracy_at(k, order, truth)


@given(answers(), st.randoms(use_true_random=False))
def test_a_shuffled_answer_changes_nothing(answer, chance):
    candidates, truth = answer
    if not candidates:
        return
    shuffled = list(candidates)
    chance.shuffle(shuffled)
    assert grouped(shuffled, truth) == grouped(candidates, truth)


@pytest.mark.parametrize(
    ("k", "expected"), [(1, "1/6"), (2, "1/3"), (3, "1/2"), (5, "5/6"), (6, "1"), (7, "1")]
)
def test_a_constant_scorer_over_six_gets_chance_on_average_and_nothing_at_worst(k, expected):
    ranking = grouped([(key, "1.000000000") for key in "abcdef"], ["f"])
    assert accuracy_within(k, ranking, "expected") == Fraction(expected)
    assert accuracy_within(k, ranking, "pessimistic") == (1 if k >= 6 else 0)
    assert accuracy_within(k, ranking, "optimistic") == 1


def test_the_published_formula_for_one_label_among_equals():
    """g = 2 better, e = 3 tied: clip((k - g)/e, 0, 1), and the mean of 1/3, 1/4, 1/5."""
    ranking = Grouped((Group(0, 1, 0), Group(1, 1, 0), Group(2, 3, 1)), 1)
    shares = [accuracy_within(k, ranking, "expected") for k in range(1, 7)]
    assert shares == [0, 0, Fraction(1, 3), Fraction(2, 3), 1, 1]
    assert reciprocal_rank_of(ranking, "expected") == Fraction(47, 180)
    assert reciprocal_rank_of(ranking, "pessimistic") == Fraction(1, 5)
    assert reciprocal_rank_of(ranking, "optimistic") == Fraction(1, 3)


def test_several_labels_among_equals():
    """Two of four equal: the first of them stands at 1, 2 or 3 in 3, 2 and 1 of 6 cases."""
    ranking = Grouped((Group(0, 4, 2),), 2)
    assert (
        reciprocal_rank_of(ranking, "expected") == (3 * Fraction(1) + 2 * Fraction(1, 2) + Fraction(1, 3)) / 6
    )
    assert [accuracy_within(k, ranking, "expected") for k in (1, 2, 3, 4)] == [
        Fraction(1, 2), Fraction(1, 2), Fraction(3, 4), 1,
    ]  # fmt: skip
    assert [found_within(k, ranking, "pessimistic") for k in (1, 2, 3, 4, 5)] == [0, 0, 1, 2, 2]
    assert [found_within(k, ranking, "optimistic") for k in (1, 2, 3, 4, 5)] == [1, 2, 2, 2, 2]
    assert reciprocal_rank_of(ranking, "pessimistic") == Fraction(1, 3)


def test_more_labels_than_places_are_measured_by_the_places():
    ranking = grouped([("a", None), ("b", None), ("x", None)], ["a", "b", "c"])
    assert [accuracy_within(k, ranking, "expected") for k in (1, 2, 3, 4)] == [
        1,
        1,
        Fraction(2, 3),
        Fraction(2, 3),
    ]
    assert ranking.retrieved == 2


@pytest.mark.parametrize("none", [None, "NaN", "Infinity", "-Infinity"])
def test_a_score_that_is_none_is_never_first_wherever_it_stands(none):
    for rows in ([("cause", none), ("trap", "0.100000000")], [("trap", "0.100000000"), ("cause", none)]):
        ranking = grouped(rows, ["cause"])
        assert ranking.groups == (Group(0, 1, 0), Group(1, 1, 1))
        assert accuracy_within(1, ranking, "optimistic") == 0


def test_scores_that_are_none_are_one_group_at_the_end():
    rows = [("a", "NaN"), ("b", "-5.000000000"), ("cause", None), ("c", "Infinity")]
    assert grouped(rows, ["cause"]).groups == (Group(0, 1, 0), Group(1, 3, 1))
    rows = [("a", "NaN"), ("cause", "NaN"), ("b", "NaN")]
    assert grouped(rows, ["cause"]).groups == (Group(0, 3, 1),)


def test_the_gate_s_own_order_puts_a_missing_score_last_too():
    assert pessimistic_order([("cause", None), ("trap", "0.100000000")], ["cause"]) == ["trap", "cause"]
    assert pessimistic_rank([("cause", None), ("trap", "-9.000000000")], ["cause"]) == 2
    assert pessimistic_order([("cause", None), ("b", None), ("trap", "0.100000000")], ["cause"]) == [
        "trap",
        "b",
        "cause",
    ]
    assert pessimistic_order([("cause", None), ("trap", None)], ["cause"]) == ["cause", "trap"]


def test_of_a_key_that_occurs_twice_the_first_counts():
    ranking = grouped([("a", None), ("a", None), ("cause", None)], ["cause"])
    assert accuracy_within(2, ranking, "pessimistic") == 1
    ranking = grouped([("cause", "0.900000000"), ("b", "0.500000000"), ("cause", "0.100000000")], ["cause"])
    assert ranking.groups == (Group(0, 1, 1), Group(1, 1, 0))


def test_nothing_ranked_is_a_miss_in_every_view():
    ranking = grouped([], ["cause"])
    assert (ranking.groups, ranking.labels, ranking.tied, ranking.retrieved) == ((), 1, False, 0)
    for view in VIEWS:
        assert accuracy_within(3, ranking, view) == reciprocal_rank_of(ranking, view) == 0
    assert reachable_within(1, ranking, None) == 0


@given(answers(), st.integers(1, 7), st.integers(1, 7))
def test_no_order_is_better_than_a_perfect_re_ranking_of_what_was_retrieved(answer, k, budget):
    ranking = grouped(*answer)
    if k > budget:
        with pytest.raises(ValueError, match="k must be at most the budget"):
            reachable_within(k, ranking, budget)
        return
    mine, within, whole = (
        accuracy_within(k, ranking, "pessimistic"),
        reachable_within(k, ranking, budget),
        reachable_within(k, ranking, None),
    )
    assert 0 <= mine <= within <= whole <= 1
    assert reachable_within(k, ranking, 100) == whole


def test_a_large_tie_is_exact_and_counts_every_place():
    ranking = grouped([(f"k{n}", "0.500000000") for n in range(2000)], ["k7"])
    harmonic = sum((Fraction(1, n) for n in range(1, 2001)), Fraction(0))
    assert reciprocal_rank_of(ranking, "expected") == harmonic / 2000
