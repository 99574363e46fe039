"""Figures that no measurement can have, and measurements of which a part is missing: never a pass, whatever else is well."""

from __future__ import annotations

import itertools

import pytest

from rca_eval.gate import evaluate

IMPOSSIBLE = ("NaN", "Infinity", "-Infinity", "-0.100000000", "1.300000000")
VARIANTS = ("AllShadow", "Without", "With")
ARMS = ("ScorerOnly", "LivePath")


def with_variants(card, variants):
    return card.model_copy(
        update={"deterministic": card.deterministic.model_copy(update={"variants": tuple(variants)})}
    )


def claiming(card, variant, arm, value):
    """The scorecard with another AC@1 at one place."""
    changed = []
    for one in card.deterministic.variants:
        arms = tuple(
            a.model_copy(update={"metrics": {**a.metrics, "AC@1": value}})
            if (one.name, a.arm) == (variant, arm)
            else a
            for a in one.arms
        )
        changed.append(one.model_copy(update={"arms": arms}))
    return with_variants(card, changed)


@pytest.mark.parametrize("value", IMPOSSIBLE)
@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_an_accuracy_that_cannot_be_is_no_verdict_wherever_it_stands(
    make_scorecard, make_baseline, variant, arm, value
):
    result = evaluate(claiming(make_scorecard(), variant, arm, value), make_baseline())
    assert result.reason in ("NonFinite", "AggregateMismatch")
    assert (result.verdict in ("Inconclusive", "Error"), result.exit_code) == (True, 2)


@pytest.mark.parametrize("value", IMPOSSIBLE)
@pytest.mark.parametrize("arm", ARMS)
def test_a_floor_that_cannot_be_is_no_floor(make_scorecard, make_baseline, arm, value):
    """A baseline of -0.1 would let everything pass."""
    whole = make_baseline()
    arms = tuple(
        a.model_copy(update={"metrics": {**a.metrics, "AC@1": value}}) if a.arm == arm else a
        for a in whole.arms
    )
    for lost in ((), ("GT-01", "GT-02", "GT-04")):
        result = evaluate(make_scorecard(lost=lost), whole.model_copy(update={"arms": arms}))
        assert result.exit_code == 2, result.message


MISSING_VARIANTS = [
    names for size in (1, 2, 3) for names in itertools.combinations(VARIANTS, size)
]  # every one of the 2**3 combinations but the whole


@pytest.mark.parametrize("missing", MISSING_VARIANTS, ids="+".join)
def test_a_measurement_without_one_or_more_of_its_variants_is_no_verdict(
    make_scorecard, make_baseline, missing
):
    card = make_scorecard()
    left = with_variants(card, [v for v in card.deterministic.variants if v.name not in missing])
    measured = {
        name: tuple(row for row in getattr(card.measured, name) if row.variant not in missing)
        for name in ("seconds", "mttr_seconds", "would_be")
    }
    result = evaluate(
        left.model_copy(update={"measured": card.measured.model_copy(update=measured)}), make_baseline()
    )
    assert (result.reason, result.exit_code) == ("VariantMissing", 2)


MISSING_ARMS = [
    places
    for size in (1, 2, 5, 6)
    for places in itertools.combinations(itertools.product(VARIANTS, ARMS), size)
]


@pytest.mark.parametrize("missing", MISSING_ARMS, ids=lambda places: "+".join("/".join(p) for p in places))
def test_a_measurement_without_one_or_more_of_its_arms_is_no_verdict(make_scorecard, make_baseline, missing):
    card = make_scorecard()
    variants = [
        v.model_copy(update={"arms": tuple(a for a in v.arms if (v.name, a.arm) not in missing)})
        for v in card.deterministic.variants
    ]
    result = evaluate(with_variants(card, variants), make_baseline())
    assert result.exit_code == 2, result.message
    assert result.verdict != "Passed"


def test_the_whole_that_all_of_these_were_taken_from_passes(make_scorecard, make_baseline):
    assert evaluate(make_scorecard(), make_baseline()).verdict == "Passed"
