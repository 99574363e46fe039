"""Check 6: a limit for single lost incidents, which an average hides. Off unless somebody sets it."""

import pytest

from rca_eval.contract import ContractError
from rca_eval.gate import GatePolicy, evaluate, parse_policy

HUNDRED = tuple(f"IN-{n:03d}-x" for n in range(100))


def rows_of(result):
    return [check for check in result.checks if check.name == "RegressedIncidents"]


def limited(most, **more):
    return GatePolicy(max_regressed_incidents=most, **more)


def hundred(make_scorecard, lost=(), without_lost=()):
    return make_scorecard(ids=HUNDRED, lost=lost, without_lost=without_lost, control_lost=("IN-",))


def test_it_is_off_by_default_and_says_so(make_scorecard, make_baseline):
    result = evaluate(make_scorecard(), make_baseline())
    assert [(row.result, row.message, row.arm) for row in rows_of(result)] == [
        ("NotApplicable", "the policy does not limit the number of lost incidents", None)
    ]


def test_one_lost_incident_of_a_hundred_is_within_the_tolerance_and_over_a_limit_of_none(
    make_scorecard, make_baseline
):
    card, base = hundred(make_scorecard, ("IN-007",)), make_baseline(ids=HUNDRED)
    assert evaluate(card, base).verdict == "Passed"
    result = evaluate(card, base, limited(0))
    assert (result.verdict, result.reason, result.exit_code) == ("Failed", "RegressedIncidents", 1)
    assert result.message == "regressed incidents 1 > 0 (IN-007 lost), LivePath against the baseline"
    assert [(row.against, row.value, row.limit, row.baseline) for row in rows_of(result)] == [
        ("Baseline", "1.000000000", "0.000000000", None),
        ("Without", "1.000000000", "0.000000000", None),
    ]
    assert {(row.arm, row.variant) for row in rows_of(result)} == {("LivePath", "With")}


@pytest.mark.parametrize(("most", "outcome"), [(0, "Failed"), (1, "Failed"), (2, "Passed"), (3, "Passed")])
def test_exactly_as_many_as_allowed_pass(make_scorecard, make_baseline, most, outcome):
    card = hundred(make_scorecard, ("IN-001", "IN-002"))
    result = evaluate(card, make_baseline(ids=HUNDRED), limited(most))
    assert [row.result for row in rows_of(result)] == [outcome, outcome]
    if outcome == "Passed":
        assert rows_of(result)[1].message == (
            f"regressed incidents 2 <= {most} (IN-001, IN-002 lost), LivePath against Without"
        )


def test_what_is_won_does_not_pay_for_what_is_lost(make_scorecard, make_baseline):
    base_arms = hundred(make_scorecard, ("IN-050",)).deterministic.arms_of("With")
    card = hundred(make_scorecard, ("IN-001",), without_lost=("IN-050",))
    result = evaluate(card, make_baseline(ids=HUNDRED, arms=base_arms), limited(0))
    assert all(check.result == "Passed" for check in result.checks if check.name == "AC@1")
    assert [row.message for row in rows_of(result)] == [
        "regressed incidents 1 > 0 (IN-001 lost), LivePath against the baseline",
        "regressed incidents 1 > 0 (IN-001 lost), LivePath against Without",
    ]


def test_each_reference_counts_for_itself(make_scorecard, make_baseline):
    card = hundred(make_scorecard, ("IN-001",), without_lost=("IN-001",))
    result = evaluate(card, make_baseline(ids=HUNDRED), limited(0))
    assert [(row.against, row.result) for row in rows_of(result)] == [
        ("Baseline", "Failed"),
        ("Without", "Passed"),
    ]
    assert rows_of(result)[1].message == "regressed incidents 0 <= 0, LivePath against Without"


def test_the_sentinel_arm_is_not_counted(make_scorecard, make_baseline):
    card = make_scorecard()
    *others, with_ = card.deterministic.variants
    planted = make_scorecard(lost=("GT-01",)).deterministic.arms_of("With")[1]
    swapped = with_.model_copy(
        update={"arms": (planted.model_copy(update={"arm": "ScorerOnly"}), with_.arms[1])}
    )
    card = card.model_copy(
        update={"deterministic": card.deterministic.model_copy(update={"variants": (*others, swapped)})}
    )
    result = evaluate(card, make_baseline(), limited(0))
    assert result.reason == "AC@1"  # there it is a tolerance, as everywhere
    assert {(row.arm, row.result) for row in rows_of(result)} == {("LivePath", "Passed")}


@pytest.mark.parametrize("text", ["-1", '"0"', "true", "0.5"])
def test_a_limit_that_is_no_count_is_refused(text):
    with pytest.raises(ContractError) as caught:
        parse_policy(f'{{"maxRegressedIncidents": {text}}}'.encode())
    assert caught.value.reason == "PolicyInvalid"
    assert "maxRegressedIncidents" in caught.value.message


def test_null_is_no_limit_and_the_other_new_field_has_two_words():
    policy = parse_policy(b'{"maxRegressedIncidents": null, "shadowFidelity": "IfLogged"}')
    assert (policy.max_regressed_incidents, policy.shadow_fidelity) == (None, "IfLogged")
    assert GatePolicy().shadow_fidelity == "Required"
    with pytest.raises(ContractError, match="shadowFidelity"):
        parse_policy(b'{"shadowFidelity": "Off"}')
