"""The gate's checks 1 to 4: what fails, at which exact number, and what the sentence says."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rca_eval.contract import ContractError
from rca_eval.gate import GateContext, GatePolicy, evaluate, parse_policy

FIFTY = tuple(f"IN-{n:02d}-x" for n in range(50))


def rows(result, name):
    return [check for check in result.checks if check.name == name]


def test_an_equal_candidate_passes_and_is_told_that_it_had_no_effect(make_scorecard, make_baseline):
    result = evaluate(make_scorecard(), make_baseline())
    assert (result.verdict, result.exit_code, result.reason) == ("Passed", 0, "GatePassed")
    assert rows(result, "NoEffect")[0].result == "Warning"
    assert "1.000 >= 1.000 - 0.02" in result.message


def test_two_lost_incidents_fail_as_accuracy_with_both_numbers_and_the_lost_ids(
    make_scorecard, make_baseline
):
    result = evaluate(make_scorecard(lost=("GT-03", "GT-07")), make_baseline())
    assert (result.verdict, result.exit_code, result.reason) == ("Failed", 1, "AC@1")
    assert result.message.startswith("AC@1 0.778 < 1.000 - 0.02 (GT-03, GT-07 lost)")
    assert "LivePath" in result.message
    assert [move.incident[:5] for move in result.regressed] == ["GT-03", "GT-07"]
    assert len(result.unchanged) == 16


def test_all_checks_are_reported_although_the_first_failure_names_the_verdict(make_scorecard, make_baseline):
    result = evaluate(make_scorecard(lost=("GT-03",), seconds={"With": "40"}), make_baseline())
    assert result.reason == "AC@1"
    assert {check.name for check in result.checks if check.result == "Failed"} == {
        "AC@1",
        "MTTR",
        "ProtectedIncidents",
    }


def test_a_loss_against_without_fails_even_when_the_baseline_was_as_bad(make_scorecard, make_baseline):
    worse = make_scorecard(lost=("GT-01",))
    bad_arms = worse.deterministic.arms_of("With")
    baseline = make_baseline(arms=bad_arms)
    result = evaluate(worse, baseline)
    failed = [check for check in rows(result, "AC@1") if check.result == "Failed"]
    assert [check.against for check in failed] == ["Without"]


def test_a_drop_of_exactly_the_tolerance_passes_although_floats_would_fail_it(make_scorecard, make_baseline):
    assert 0.96 - 0.94 > 0.02  # why the gate does not use floats
    two, three = FIFTY[:2], FIFTY[:3]
    ids = {"ids": FIFTY, "control_lost": FIFTY[:9]}
    base = make_baseline(ids=FIFTY, arms=make_scorecard(lost=two, **ids).deterministic.arms_of("With"))
    result = evaluate(make_scorecard(lost=three, without_lost=two, **ids), base)
    assert all(check.result == "Passed" for check in rows(result, "AC@1"))
    one_more = evaluate(make_scorecard(lost=FIFTY[:4], without_lost=two, **ids), base)
    assert one_more.reason == "AC@1"


@pytest.mark.parametrize(("seconds", "outcome"), [("30.003", "Passed"), ("30.003000001", "Failed")])
def test_mttr_may_rise_by_exactly_thirty_seconds_and_not_a_nanosecond_more(
    make_scorecard, make_baseline, seconds, outcome
):
    result = evaluate(make_scorecard(seconds={"With": seconds}), make_baseline())
    assert {check.result for check in rows(result, "MTTR")} == {outcome}
    if outcome == "Failed":
        assert (result.reason, result.exit_code) == ("MTTR", 1)
        assert "30.003 s > 0.003 s + 30 s" in result.message or "30.003000001" in result.message


def test_a_rise_by_a_nanosecond_too_much_is_printed_with_the_digits_that_show_it(
    make_scorecard, make_baseline
):
    result = evaluate(make_scorecard(seconds={"With": "30.003000001"}), make_baseline())
    assert result.message.startswith("MTTR 30.003000001 s > 0.003000000 s + 30 s")


def test_a_pass_that_lost_several_incidents_names_them_all(make_scorecard, make_baseline):
    ids = tuple(f"IN-{n:03d}-x" for n in range(100))
    card = make_scorecard(ids=ids, lost=("IN-001", "IN-002"), control_lost=("IN-",))
    result = evaluate(card, make_baseline(ids=ids))
    assert result.verdict == "Passed"
    assert result.message.startswith("AC@1 0.980 >= 1.000 - 0.02 (IN-001, IN-002 lost); MTTR")


def test_a_slower_candidate_within_the_limit_is_a_warning_beside_the_pass(make_scorecard, make_baseline):
    result = evaluate(make_scorecard(seconds={"With": "1"}), make_baseline())
    assert result.verdict == "Passed"
    assert {check.result for check in rows(result, "MTTRRatio")} == {"Warning"}


def test_a_protected_incident_may_not_be_lost_even_within_the_tolerance(make_scorecard, make_baseline):
    policy = GatePolicy(accuracy_drop="0.5", protected_incidents=("GT-05-postgres-meshed-reset",))
    strict = evaluate(make_scorecard(lost=("GT-05",), control_lost=("GT-0",)), make_baseline(), policy)
    assert (strict.reason, strict.exit_code) == ("ProtectedIncidents", 1)
    assert "GT-05 lost" in strict.message
    other = evaluate(make_scorecard(lost=("GT-01",), control_lost=("GT-0",)), make_baseline(), policy)
    assert other.verdict == "Passed"


def test_change_induced_incidents_are_protected_unless_the_policy_says_otherwise(
    make_scorecard, make_baseline
):
    lax = {"accuracy_drop": "0.5"}
    card = make_scorecard(lost=("GT-07",), control_lost=("GT-0",))
    assert evaluate(card, make_baseline(), GatePolicy(**lax)).reason == "ProtectedIncidents"
    assert evaluate(card, make_baseline(), GatePolicy(**lax, protected_incidents=())).verdict == "Passed"


def test_shadow_that_differs_in_one_score_fails_although_no_metric_moves(make_scorecard, make_baseline):
    card = make_scorecard()
    variant = card.deterministic.variants[0]
    live = variant.arms[1]
    first = live.incidents[0]
    moved = first.candidates[0].model_copy(update={"score": "0.800000001"})
    changed = first.model_copy(update={"candidates": (moved, *first.candidates[1:])})
    arm = live.model_copy(update={"incidents": (changed, *live.incidents[1:])})
    shadow = variant.model_copy(update={"arms": (variant.arms[0], arm)})
    deterministic = card.deterministic.model_copy(
        update={"variants": (shadow, *card.deterministic.variants[1:])}
    )
    result = evaluate(card.model_copy(update={"deterministic": deterministic}), make_baseline())
    assert (result.reason, result.exit_code) == ("ShadowCollapse", 1)
    assert "GT-01" in result.message


def test_a_batch_run_without_a_component_is_judged_by_its_effective_modes(make_scorecard, make_baseline):
    card = make_scorecard(without_lost=("GT-03",))
    variants = tuple(v for v in card.deterministic.variants if v.name != "With")
    keep = tuple(row for row in card.measured.mttr_seconds if row.variant != "With")
    batch = card.model_copy(
        update={
            "deterministic": card.deterministic.model_copy(update={"variants": variants}),
            "measured": card.measured.model_copy(update={"mttr_seconds": keep}),
        }
    )
    result = evaluate(batch, make_baseline(), context=GateContext(component=False))
    assert result.reason == "AC@1"
    assert [check.result for check in rows(result, "AC@1") if check.against == "Without"] == [
        "Passed",
        "Passed",
    ]
    assert evaluate(batch, make_baseline()).reason == "VariantMissing"


def test_few_incidents_are_called_few_beside_the_verdict(make_scorecard, make_baseline):
    assert "underpowered" in evaluate(make_scorecard(), make_baseline()).notes[0]
    fifty = evaluate(make_scorecard(ids=FIFTY, control_lost=FIFTY[:9]), make_baseline(ids=FIFTY))
    assert fifty.verdict == "Passed"
    assert fifty.notes == ()


def test_the_smallest_margins_are_reported(make_scorecard, make_baseline):
    result = evaluate(make_scorecard(lost=("GT-05",)), make_baseline())
    assert result.margins[0].incident == "GT-05-postgres-meshed-reset"
    assert (result.margins[0].value, result.margins[0].baseline) == ("-0.100000000", "0.100000000")


def test_a_message_stays_within_its_limit_however_many_and_long_the_lost_ids_are(
    make_scorecard, make_baseline
):
    ids = tuple(f"incident-with-a-very-long-identifier-{'x' * 20}{n:02d}" for n in range(12))
    result = evaluate(make_scorecard(ids=ids, lost=ids, control_lost=ids), make_baseline(ids=ids))
    assert result.reason == "AC@1"
    assert all(len(check.message) <= 300 for check in result.checks)
    assert "more lost)" in result.message


@pytest.mark.parametrize(
    "text",
    [
        '{"accuracyDropp": "0.02"}',
        '{"accuracyDrop": 0.02}',
        '{"accuracyDrop": "-0.1"}',
        '{"mttrRise": -1}',
        '{"mttrRise": "30s"}',
        "[]",
        "",
        '{"minIncidents": 0}',
    ],
)
def test_a_policy_with_an_unknown_key_or_a_wrong_value_is_refused_in_one_sentence(text):
    with pytest.raises(ContractError) as caught:
        parse_policy(text.encode())
    assert caught.value.reason == "PolicyInvalid"
    assert "\n" not in caught.value.message


@settings(max_examples=40)
@given(total=st.integers(1, 60), lost=st.integers(0, 60), drop=st.integers(0, 100))
def test_the_accuracy_rule_is_the_exact_fraction_rule_for_every_count(
    make_scorecard, make_baseline, total, lost, drop
):
    lost = min(lost, total)
    ids = tuple(f"IN-{n:02d}-x" for n in range(total))
    policy = GatePolicy(accuracy_drop=f"{drop / 100:.2f}", protected_incidents=())
    result = evaluate(make_scorecard(ids=ids, lost=ids[:lost]), make_baseline(ids=ids), policy, GateContext())
    failed = any(check.result == "Failed" for check in rows(result, "AC@1"))
    assert failed == (Fraction(lost, total) > Fraction(drop, 100))
