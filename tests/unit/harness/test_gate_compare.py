"""Two measurements of one dataset side by side; of two datasets none."""

from fractions import Fraction

import pytest

from rca_eval.contract import ContractError
from rca_eval.gate import compare, side
from rca_eval.gate.compare import Comparison


def both(make_scorecard, make_baseline, **card):
    return compare(side(make_baseline(), name="OLD"), side(make_scorecard(**card), name="NEW"))


def refused(reference, candidate):
    with pytest.raises(ContractError) as caught:
        compare(reference, candidate)
    assert "\n" not in caught.value.message
    return caught.value


def test_what_moved_and_by_how_much(make_scorecard, make_baseline):
    found = both(make_scorecard, make_baseline, lost=("GT-03", "GT-07"), seconds={"With": "1.5"})
    assert isinstance(found, Comparison)
    assert (found.reference, found.candidate, found.dataset_sha256) == ("OLD", "NEW With", "a" * 64)
    assert [move.incident[:5] for move in found.regressed] == ["GT-03", "GT-07"]
    assert (found.fixed, len(found.unchanged), found.exit_code) == ((), 16, 1)
    live = {
        row.metric: (row.reference, row.candidate, row.delta)
        for row in found.metrics
        if row.arm == "LivePath"
    }
    assert list(live) == ["AC@1", "AC@3", "AC@5", "Avg@5", "MRR", "MTTR"]
    assert live["AC@1"] == ("1.000000000", "0.777777778", "-0.222222222")
    assert live["AC@3"] == ("1.000000000", "1.000000000", "0.000000000")
    assert live["MRR"] == ("1.000000000", "0.888888889", "-0.111111111")
    assert live["MTTR"] == ("0.003000000", "1.500000000", "1.497000000")
    assert [(row.arm, row.against, row.regressed) for row in found.statistics] == [
        ("LivePath", "Baseline", 2),
        ("ScorerOnly", "Baseline", 0),
    ]
    assert {(row.hits, row.baseline, row.without) for row in found.classes if row.arm == "LivePath"} == {
        (2, 3, None),
        (3, 3, None),
    }
    assert found.margins[0].margin_delta == "-0.200000000"


def test_the_other_way_round_they_are_won(make_scorecard, make_baseline):
    found = compare(side(make_scorecard(lost=("GT-03",)), name="A"), side(make_baseline(), name="B"))
    assert ([move.incident[:5] for move in found.fixed], found.regressed, found.exit_code) == (
        ["GT-03"],
        (),
        0,
    )


@pytest.mark.parametrize(
    ("variant", "lost"), [(None, ["GT-01"]), ("With", ["GT-01"]), ("Without", ["GT-02"]), ("AllShadow", [])]
)
def test_a_variant_is_taken_by_name_else_the_one_that_was_switched_on(
    make_scorecard, make_baseline, variant, lost
):
    card = make_scorecard(lost=("GT-01",), without_lost=("GT-02",))
    found = compare(side(make_baseline(), name="A"), side(card, name="B", variant=variant))
    assert [move.incident[:5] for move in found.regressed] == lost
    assert found.candidate == f"B {variant or 'With'}"


def test_a_batch_run_stands_for_its_effective_modes_and_a_variant_that_ran_as_another_for_itself(
    make_scorecard, make_baseline
):
    card = make_scorecard()
    all_shadow, without, _ = card.deterministic.variants
    same = without.model_copy(update={"same_as": "AllShadow", "arms": ()})
    batch = card.model_copy(
        update={"deterministic": card.deterministic.model_copy(update={"variants": (all_shadow, same)})}
    )
    mine = side(batch, name="B")
    assert mine.name == "B Without"
    assert mine.mttr == {"ScorerOnly": "0.003000000", "LivePath": "0.003000000"}
    assert compare(side(make_baseline(), name="A"), mine).exit_code == 0
    only = batch.model_copy(
        update={"deterministic": batch.deterministic.model_copy(update={"variants": (all_shadow,)})}
    )
    assert side(only, name="C").name == "C AllShadow"


def test_a_variant_that_is_not_there_is_named_with_those_that_are(make_scorecard, make_baseline):
    card = make_scorecard()
    few = card.model_copy(
        update={
            "deterministic": card.deterministic.model_copy(
                update={"variants": card.deterministic.variants[:2]}
            )
        }
    )
    with pytest.raises(
        ContractError, match=r"^B has no variant With; it has AllShadow, Without: name one"
    ) as one:
        side(few, name="B", variant="With")
    none = card.model_copy(update={"deterministic": card.deterministic.model_copy(update={"variants": ()})})
    with pytest.raises(ContractError, match=r"^B has no variant at all; it has none") as two:
        side(none, name="B")
    with pytest.raises(ContractError, match=r"^A is a baseline, which has no variant With") as three:
        side(make_baseline(), name="A", variant="With")
    assert {one.value.reason, two.value.reason, three.value.reason} == {"Usage"}


def test_another_dataset_is_refused(make_scorecard, make_baseline):
    base = make_baseline()
    other = base.model_copy(update={"dataset": base.dataset.model_copy(update={"sha256": "b" * 64})})
    error = refused(side(other, name="A"), side(make_scorecard(), name="B"))
    assert error.reason == "DatasetChanged"
    assert error.message == (
        "A is of dataset bbbbbbbbbbbb, B With of aaaaaaaaaaaa; only measurements of one dataset can be compared."
    )


def test_a_part_of_the_incidents_is_not_compared_with_all(make_scorecard, make_baseline):
    base = make_baseline()
    fewer = tuple(arm.model_copy(update={"incidents": arm.incidents[1:]}) for arm in base.arms)
    error = refused(side(make_baseline(arms=fewer), name="A"), side(make_scorecard(), name="B"))
    assert (error.reason, error.message) == (
        "DatasetChanged",
        "A and B With hold other incidents in LivePath; replay both with the same --only.",
    )


def test_only_arms_that_both_have_are_compared_and_the_one_that_measures_must_be_there(
    make_scorecard, make_baseline
):
    base = make_baseline()
    planted, live = (side(make_baseline(arms=(arm,)), name=arm.arm) for arm in base.arms)
    found = compare(live, side(make_scorecard(), name="B"))
    assert {row.arm for row in (*found.metrics, *found.statistics, *found.classes)} == {"LivePath"}
    for one, other in ((planted, live), (live, planted), (planted, planted)):
        error = refused(one, other)
        assert error.message == (
            "ScorerOnly has no arm LivePath, the one that measures; replay incidents that have telemetry."
        )


@pytest.mark.parametrize("which", [0, 1])
def test_a_figure_that_is_no_number_is_refused_on_either_side(make_scorecard, make_baseline, which):
    base, good = make_baseline(), side(make_scorecard(), name="B")
    broken = base.arms[1].model_copy(update={"metrics": {**base.arms[1].metrics, "MRR": "NaN"}})
    bad = side(make_baseline(arms=(base.arms[0], broken)), name="A")
    error = refused(*((bad, good), (good, bad))[which])
    assert (error.reason, error.message) == ("ScorecardInvalid", 'A: LivePath MRR is "NaN"; replay it again.')
    times = tuple(row.model_copy(update={"value": "Infinity"}) for row in base.mttr_seconds)
    error = refused(side(make_baseline(mttr_seconds=times), name="A"), good)
    assert error.message.startswith("A: MTTR of ")


def test_metrics_are_recomputed_and_an_unknown_time_stays_unknown(make_scorecard, make_baseline):
    base = make_baseline()
    claimed = tuple(
        arm.model_copy(update={"metrics": dict.fromkeys(arm.metrics, "0.500000000")}) for arm in base.arms
    )
    times = tuple(row.model_copy(update={"value": None}) for row in base.mttr_seconds)
    found = compare(
        side(make_baseline(arms=claimed, mttr_seconds=times), name="A"), side(make_scorecard(), name="B")
    )
    assert {row.reference for row in found.metrics if row.metric == "AC@1"} == {"1.000000000"}
    assert {(row.reference, row.candidate, row.delta) for row in found.metrics if row.metric == "MTTR"} == {
        (None, "0.003000000", None)
    }
    back = compare(
        side(make_scorecard(), name="B"), side(make_baseline(arms=claimed, mttr_seconds=times), name="A")
    )
    assert {(row.candidate, row.delta) for row in back.metrics if row.metric == "MTTR"} == {(None, None)}


def test_arms_without_incidents_have_no_metrics(make_scorecard, make_baseline):
    empty = tuple(arm.model_copy(update={"incidents": ()}) for arm in make_baseline().arms)
    one = side(make_baseline(arms=empty), name="A")
    found = compare(one, one)
    assert {(row.reference, row.delta) for row in found.metrics if row.metric != "MTTR"} == {(None, None)}
    assert {row.incidents for row in found.statistics} == {0}


def test_underpowered_goes_by_the_tolerance_that_is_given(make_scorecard, make_baseline):
    a, b = side(make_baseline(), name="A"), side(make_scorecard(), name="B")
    assert compare(a, b).statistics[0].underpowered
    assert not compare(a, b, tolerance=Fraction(1, 9)).statistics[0].underpowered
    assert compare(a, b, tolerance=Fraction(0)).statistics[0].underpowered
