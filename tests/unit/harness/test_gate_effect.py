"""The NoEffect warning: it looks at what a reader of the rankings sees, in either arm, and at nothing else."""

import pytest

from rca_eval.contract import ScoredCandidate
from rca_eval.gate import GateContext, evaluate

MISSING = "not judged: the two sides cannot be compared, see Validity"
NONE = "With ranks as Without in every incident: the component changed no ranking here"


def told(card, baseline, context=None):
    found = [check for check in evaluate(card, baseline, None, context).checks if check.name == "NoEffect"]
    return [(check.result, check.message) for check in found]


def effect(count, of=18):
    return [
        (
            "Passed",
            f"With ranks otherwise than Without in {count} of {of} answers: the component has an effect",
        )
    ]


def variants(card, change):
    """The scorecard with `change(variant)` for each of its variants; None takes one out."""
    changed = tuple(new for one in card.deterministic.variants if (new := change(one)) is not None)
    return card.model_copy(
        update={"deterministic": card.deterministic.model_copy(update={"variants": changed})}
    )


def first_of(name, card, *, arm="LivePath", **changes):
    """The scorecard with other values in one variant's first answer of one arm."""

    def arm_of(one):
        first, *rest = one.incidents
        kept = one.arm != arm
        return (
            one if kept else one.model_copy(update={"incidents": (first.model_copy(update=changes), *rest)})
        )

    def change(one):
        return one.model_copy(update={"arms": tuple(map(arm_of, one.arms))}) if one.name == name else one

    return variants(card, change)


def candidates(*rows):
    return tuple(ScoredCandidate(key=key, score=score) for key, score in rows)


def test_a_component_that_changes_nothing_is_warned_about(make_scorecard, make_baseline):
    assert told(make_scorecard(), make_baseline()) == [("Warning", NONE)]


def test_another_order_is_an_effect_and_the_answers_are_counted(make_scorecard, make_baseline):
    assert told(make_scorecard(lost=("GT-01",)), make_baseline()) == effect(1)
    assert told(make_scorecard(lost=("GT-01", "GT-02")), make_baseline()) == effect(2)


@pytest.mark.parametrize("arm", ["LivePath", "ScorerOnly"])
@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"candidates": candidates(("cause", "0.800000000"))}, id="a candidate less"),
        pytest.param(
            {"candidates": candidates(("cause", "0.800000000"), ("other", "0.700000000"))},
            id="another candidate",
        ),
        pytest.param(
            {"candidates": candidates(("cause", "0.700000000"), ("trap", "0.700000000"))},
            id="a tie, which is judged as a miss although the order looks the same",
        ),
        pytest.param({"status": "Error", "candidates": ()}, id="no ranking"),
    ],
)
def test_whatever_a_reader_of_the_ranking_sees_is_an_effect_in_either_arm(
    make_scorecard, make_baseline, arm, changes
):
    assert told(first_of("With", make_scorecard(), arm=arm, **changes), make_baseline()) == effect(1)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"decision": "Verified"}, id="a decision"),
        pytest.param({"evidence": ("a log line",)}, id="evidence"),
        pytest.param({"table": "onset"}, id="the name of a table"),
    ],
)
def test_what_is_written_beside_the_same_order_is_no_effect(make_scorecard, make_baseline, changes):
    assert told(first_of("With", make_scorecard(), **changes), make_baseline()) == [("Warning", NONE)]


def test_scores_that_move_without_moving_an_order_are_no_effect_but_are_counted(
    make_scorecard, make_baseline
):
    raised = candidates(("cause", "0.900000000"), ("trap", "0.700000000"))
    assert told(first_of("With", make_scorecard(), candidates=raised), make_baseline()) == [
        ("Warning", f"{NONE}; scores moved in 1 of 18 answers, but no order")
    ]


def test_two_empty_answers_of_unlike_status_differ(make_scorecard, make_baseline):
    failed = first_of("With", make_scorecard(), status="Error", candidates=())
    both = first_of("Without", failed, status="Timeout", candidates=())
    assert told(both, make_baseline()) == effect(1)


def test_an_arm_or_an_incident_that_only_one_side_has_is_never_called_no_effect(
    make_scorecard, make_baseline
):
    def one_arm(name):
        return lambda one: one.model_copy(update={"arms": one.arms[1:]}) if one.name == name else one

    assert told(variants(make_scorecard(), one_arm("With")), make_baseline()) == effect(0, 9)
    assert told(variants(make_scorecard(), one_arm("Without")), make_baseline()) == effect(9)


def test_without_both_sides_or_without_a_component_nothing_is_judged(make_scorecard, make_baseline):
    for name in ("With", "Without"):
        card = variants(make_scorecard(), lambda one, name=name: None if one.name == name else one)
        assert told(card, make_baseline()) == [("NotApplicable", MISSING)]
    assert told(make_scorecard(), make_baseline(), GateContext(component=False)) == [
        ("NotApplicable", "the run measures no component")
    ]
