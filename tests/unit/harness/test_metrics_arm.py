"""Everything that a report says about an arm, from one function."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rca_eval.contract import ArmResult, IncidentResult, ScoredCandidate, canonical, parse_ground_truth
from rca_eval.contract.arm_metrics import (
    accuracy,
    average,
    describe_arm,
    random_order,
    ranking_of,
    reciprocal_rank,
    rerank,
    retrieval,
)
from rca_eval.contract.pools import candidate_pools
from rca_eval.data import ground_truth_bytes

STATUSES = ("Ranked", "Error", "Timeout", "Missing")


def row(name="I-1", *, rows=(("cause", "0.900000000"), ("trap", "0.500000000")), expected=("cause",), **more):
    candidates = tuple(ScoredCandidate(key=key, score=score) for key, score in rows)
    return IncidentResult(
        id=name,
        fault_class=more.pop("fault_class", "data/datastore"),
        change_induced=False,
        protected=False,
        expected=expected,
        status=more.pop("status", "Ranked"),
        candidates=candidates,
        **more,
    )


def arm(*rows, kind="LivePath"):
    return ArmResult(arm=kind, incidents=rows, metrics={})


def at(metrics, k):
    return next(one for one in metrics.at if one.k == k)


TIED = (("trap", "0.500000000"), ("cause", "0.500000000"))


def test_an_arm_without_incidents_has_no_figures_and_no_error():
    found = describe_arm(arm())
    assert found.plain() == {
        "arm": "LivePath", "classes": (), "incidents": 0, "ranked": 0, "errors": 0, "timeouts": 0, "missing": 0,
        "nonFinite": 0, "tieRate": None, "reciprocalRank": None, "at": (),
    }  # fmt: skip


def test_a_tie_shows_as_three_views_and_as_a_rate():
    found = describe_arm(arm(row(), row("I-2", rows=TIED)))
    one = at(found, 1)
    assert one.accuracy.plain() == {
        "pessimistic": "0.500000000", "optimistic": "1.000000000", "expected": "0.750000000",
    }  # fmt: skip
    assert one.average == one.accuracy
    assert at(found, 3).average.plain() == {
        "pessimistic": "0.833333333", "optimistic": "1.000000000", "expected": "0.916666667",
    }  # fmt: skip
    assert found.reciprocal_rank.plain() == {
        "pessimistic": "0.750000000", "optimistic": "1.000000000", "expected": "0.875000000",
    }  # fmt: skip
    assert found.tie_rate == "0.500000000"


def test_errors_time_outs_and_missing_answers_are_counted_and_stay_in_the_denominator():
    rows = [row(f"I-{n}", status=status) for n, status in enumerate(STATUSES)]
    found = describe_arm(arm(*rows))
    assert (found.incidents, found.ranked, found.errors, found.timeouts, found.missing) == (4, 1, 1, 1, 1)
    assert at(found, 1).accuracy.optimistic == "0.250000000"
    assert at(found, 5).retrieval == "0.250000000"


def test_scores_that_are_no_numbers_are_counted_and_rank_last():
    rows = (("cause", "NaN"), ("a", "Infinity"), ("trap", "0.100000000"))
    found = describe_arm(arm(row(rows=rows)))
    assert (found.non_finite, found.tie_rate) == (2, "1.000000000")
    assert at(found, 1).accuracy.optimistic == "0.000000000"
    assert at(found, 3).accuracy.pessimistic == "1.000000000"


def test_what_was_not_retrieved_is_told_from_what_is_ordered_wrongly():
    wrong = row("I-1", rows=(("trap", "0.900000000"), ("cause", "0.500000000")))
    absent = row("I-2", rows=(("trap", "0.900000000"),))
    right = row("I-3")
    one = at(describe_arm(arm(wrong, absent, right)), 1)
    assert (one.accuracy.pessimistic, one.retrieval, one.rerank) == (
        "0.333333333",
        "0.666666667",
        "0.500000000",
    )
    nothing = at(describe_arm(arm(absent)), 1)
    assert (nothing.retrieval, nothing.rerank) == ("0.000000000", None)


def test_classes_are_described_like_the_whole_and_add_up_to_it():
    rows = [
        row("I-1", fault_class="deploy/config"),
        row("I-2", fault_class="auth/login", rows=TIED),
        row("I-3", fault_class="deploy/config", status="Error"),
    ]
    found = describe_arm(arm(*rows))
    assert [(one.fault_class, one.incidents) for one in found.classes] == [
        ("auth/login", 1),
        ("deploy/config", 2),
    ]
    for one in found.classes:
        alone = describe_arm(arm(*(r for r in rows if r.fault_class == one.fault_class)))
        mine = {name: value for name, value in one.plain().items() if name != "faultClass"}
        assert mine == {
            name: value for name, value in alone.plain().items() if name not in ("arm", "classes")
        }
    assert found.errors == sum(one.errors for one in found.classes) == 1


def test_chance_and_lift_need_the_candidates_of_every_incident():
    rows = (row("I-1"), row("I-2", rows=TIED))
    assert at(describe_arm(arm(*rows)), 1).chance is None
    pools = {"I-1": ["cause", "a", "b", "c"]}
    partly = at(describe_arm(arm(*rows), pools), 1)
    assert (partly.chance, partly.chance_average, partly.lift) == (None, None, None)
    whole = describe_arm(arm(*rows), {**pools, "I-2": ["cause", "trap"]})
    one, three = at(whole, 1), at(whole, 3)
    assert (one.chance, one.chance_average, one.lift) == ("0.375000000", "0.375000000", "0.125000000")
    assert three.chance == "0.875000000"  # (3/4 + 1) / 2
    assert three.chance_average == "0.666666667"  # (.375 + .75 + .875) / 3
    assert three.lift == "0.166666667"
    assert at(whole.classes[0], 1).chance == "0.375000000"


def test_a_class_can_have_a_chance_where_the_whole_has_none():
    rows = (row("I-1", fault_class="auth/login"), row("I-2"))
    found = describe_arm(arm(*rows), {"I-2": ["cause", "trap"]})
    assert at(found, 1).chance is None
    assert [at(one, 1).chance for one in found.classes] == [None, "0.500000000"]


@pytest.mark.parametrize(
    ("pool", "expected", "chances"),
    [
        ((), ("cause",), [0, 0, 0]),
        (("a", "b"), ("cause",), [0, 0, 0]),
        (("cause",), ("cause",), [1, 1, 1]),
        (("cause", "a", "b", "c"), ("cause",), [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]),
        (("one", "two", "a", "b"), ("one", "two"), [Fraction(1, 2), Fraction(1, 2), Fraction(3, 4)]),
        (("one", "a", "b", "c"), ("one", "absent"), [Fraction(1, 4), Fraction(1, 4), Fraction(3, 8)]),
        (("cause", "cause", "a"), ("cause", "cause"), [Fraction(1, 2), 1, 1]),
    ],
)
def test_chance_is_what_a_random_order_gives(pool, expected, chances):
    order = [random_order(pool, expected)]
    assert [accuracy(k, order, "expected") for k in (1, 2, 3)] == chances


def test_the_planted_arm_has_other_candidates_and_no_chance():
    pools = {"I-1": ["cause", "trap"]}
    assert at(describe_arm(arm(row(), kind="ScorerOnly"), pools), 1).lift is None
    assert at(describe_arm(arm(row()), pools), 1).lift == "0.500000000"


@pytest.mark.parametrize("cutoffs", [(0,), (1, -1)])
def test_a_cutoff_below_one_is_refused(cutoffs):
    with pytest.raises(ValueError, match="a cutoff is at least 1"):
        describe_arm(arm(row()), cutoffs=cutoffs)


def test_any_cutoff_can_be_asked_for():
    assert [one.k for one in describe_arm(arm(row())).at] == [1, 3, 5]
    found = describe_arm(
        arm(row(rows=[(f"t{n}", None) for n in range(9)] + [("cause", None)])), cutoffs=(2, 10)
    )
    assert [(one.k, one.accuracy.expected, one.average.expected) for one in found.at] == [
        (2, "0.000000000", "0.000000000"),
        (10, "1.000000000", "0.100000000"),
    ]


keys = st.sampled_from("abcd")
figures = st.sampled_from([None, "NaN", "Infinity", "0.000000000", "0.500000000", "-1.000000000"])
rows_of = st.builds(
    row,
    name=st.sampled_from(["I-1", "I-2", "I-3"]),
    rows=st.lists(st.tuples(keys, figures), max_size=5),
    expected=st.lists(keys, min_size=1, max_size=3, unique=True).map(tuple),
    status=st.sampled_from(STATUSES),
    fault_class=st.sampled_from(["auth/login", "data/datastore"]),
)


@given(
    st.lists(rows_of, max_size=6),
    st.none() | st.dictionaries(st.sampled_from(["I-1", "I-2", "I-3"]), st.sets(keys)),
)
def test_whatever_a_scorecard_may_hold_is_described(rows, pools):
    found = describe_arm(arm(*rows), pools)
    assert canonical(found)
    for one in found.at:
        for views in (one.accuracy, one.average):
            assert (
                0
                <= Fraction(views.pessimistic)
                <= Fraction(views.expected)
                <= Fraction(views.optimistic)
                <= 1
            )
        assert Fraction(one.accuracy.pessimistic) <= Fraction(one.retrieval) <= 1


@given(st.lists(rows_of, min_size=1, max_size=6), st.integers(1, 5), st.integers(5, 8))
def test_accuracy_is_retrieval_times_rerank_exactly(rows, k, budget):
    rankings = [ranking_of(one) for one in rows]
    for depth in (budget, None):
        ordered = rerank(k, rankings, depth)
        if ordered is None:
            assert accuracy(k, rankings) == retrieval(k, rankings, depth) == 0
        else:
            assert retrieval(k, rankings, depth) * ordered == accuracy(k, rankings)
            assert 0 <= ordered <= 1


@given(st.lists(rows_of, min_size=1, max_size=6))
def test_neither_the_order_of_incidents_nor_that_of_scored_candidates_matters(rows):
    turned = [
        one.model_copy(update={"candidates": tuple(reversed(one.candidates))})
        if len({c.key for c in one.candidates}) == len(one.candidates)
        and any(c.score is not None for c in one.candidates)
        else one
        for one in reversed(rows)
    ]
    assert describe_arm(arm(*turned)) == describe_arm(arm(*rows))


def test_the_mean_of_no_incidents_is_an_error_and_no_number():
    for function in (accuracy, average, retrieval):
        with pytest.raises(ValueError, match="the mean of nothing"):
            function(1, [])
    with pytest.raises(ValueError, match="the mean of nothing"):
        reciprocal_rank([])


def test_the_bundled_incidents_offer_the_candidates_that_the_investigation_has():
    truth = parse_ground_truth(ground_truth_bytes("graded"))
    pools = candidate_pools(truth)
    assert len(pools) == 9
    for incident in truth.incidents:
        assert {incident.alert.service, *incident.expected_root_cause} <= pools[incident.id]
        assert pools[incident.id] <= set(incident.topology.keys)


def test_candidates_are_three_calls_away_at_most_and_unknown_without_an_alert():
    incident = parse_ground_truth(ground_truth_bytes("seed")).incidents[0]
    calls = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("x", "a"), ("c", "a")]
    alert = incident.alert.model_copy(update={"service": "a"})
    topology = incident.topology.model_copy(update={"calls": tuple(reversed(calls))})
    chain = incident.model_copy(update={"alert": alert, "topology": topology})
    bare = incident.model_copy(update={"id": "I-2", "alert": None})
    flat = incident.model_copy(update={"id": "I-3", "topology": None})
    truth = parse_ground_truth(ground_truth_bytes("seed")).model_copy(
        update={"incidents": (chain, bare, flat)}
    )
    assert candidate_pools(truth) == {chain.id: frozenset("abcd")}
