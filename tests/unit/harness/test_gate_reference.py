"""Answers with components Active, held against fingerprints that somebody committed: a fault that moves no cause is seen too."""

import json

import pytest

from rca_eval.contract import ContractError, parse_baseline
from rca_eval.contract.scorecard import Reference, fingerprint
from rca_eval.gate import GateContext, GatePolicy, evaluate
from rca_eval.replay import from_scorecard, references_of, to_text, with_references
from rca_eval.replay.accept import propose

ACTIVE = ("K.Mode",)


def rows(result):
    return [check for check in result.checks if check.name == "ReferenceDrift"]


def moved(card, incident="GT-04-falkordb-down", **change):
    """The scorecard with another answer of With in the live arm, ranks and metrics as before."""
    variants = []
    for each in card.deterministic.variants:
        variant = each
        if variant.name == "With":
            arms = []
            for arm in variant.arms:
                results = tuple(
                    r.model_copy(update=change or {"decision": "Unverified"})
                    if r.id == incident and arm.arm == "LivePath"
                    else r
                    for r in arm.incidents
                )
                arms.append(arm.model_copy(update={"incidents": results}))
            variant = variant.model_copy(update={"arms": tuple(arms)})
        variants.append(variant)
    return card.model_copy(
        update={"deterministic": card.deterministic.model_copy(update={"variants": tuple(variants)})}
    )


@pytest.fixture
def committed(make_scorecard):
    card = make_scorecard()
    return with_references(from_scorecard(card), [card])


def test_without_a_reference_nothing_is_asked(make_scorecard, make_baseline):
    (row,) = rows(evaluate(make_scorecard(), make_baseline()))
    assert (row.result, row.message) == (
        "NotApplicable",
        "the baseline holds no reference of these modes",
    )


def test_equal_answers_pass_in_both_arms(make_scorecard, committed):
    result = evaluate(make_scorecard(), committed)
    assert result.verdict == "Passed"
    assert [(row.arm, row.result, row.against) for row in rows(result)] == [
        ("LivePath", "Passed", "Baseline"),
        ("ScorerOnly", "Passed", "Baseline"),
    ]
    assert rows(result)[0].message == f'With equals the committed reference of "{ACTIVE[0]}", LivePath'


def test_one_other_answer_fails_names_the_incident_and_says_what_to_do(make_scorecard, committed):
    result = evaluate(moved(make_scorecard()), committed)
    assert (result.verdict, result.reason, result.exit_code) == ("Failed", "ReferenceDrift", 1)
    assert result.message == (
        f'With is not the committed reference of "{ACTIVE[0]}" in 1 of 9 incidents (GT-04); if that is wanted, '
        "accept it with `rca-eval baseline accept`, LivePath"
    )


def test_a_lost_incident_names_the_verdict_before_the_drift_does(make_scorecard, committed):
    lost = make_scorecard(lost="GT-04")
    result = evaluate(lost, committed)
    assert result.reason == "AC@1"
    assert rows(result)[0].result == "Failed"


def test_a_policy_makes_a_warning_of_it(make_scorecard, committed):
    result = evaluate(moved(make_scorecard()), committed, GatePolicy(reference_drift="Warn"))
    assert (result.verdict, rows(result)[0].result) == ("Passed", "Warning")


def test_a_reference_of_other_modes_says_nothing(make_scorecard, committed):
    other = tuple(one.model_copy(update={"active": ("Other.Mode",)}) for one in committed.references)
    (row,) = rows(evaluate(moved(make_scorecard()), committed.model_copy(update={"references": other})))
    assert row.result == "NotApplicable"


def test_an_incident_that_the_reference_lacks_or_has_too_many_is_drift(make_scorecard, committed):
    first = committed.references[0]
    fewer = first.model_copy(update={"incidents": dict(list(first.incidents.items())[1:])})
    more = first.model_copy(update={"incidents": {**first.incidents, "GT-99": "0" * 16}})
    for changed in (fewer, more):
        baseline = committed.model_copy(update={"references": (changed, *committed.references[1:])})
        assert evaluate(make_scorecard(), baseline).reason == "ReferenceDrift"


def test_a_batch_run_with_something_active_is_held_against_its_reference(make_scorecard, committed):
    card = make_scorecard()
    with_ = next(v for v in card.deterministic.variants if v.name == "With")
    variants = tuple(
        v.model_copy(update={"modes": with_.modes, "arms": with_.arms, "same_as": None})
        if v.name == "Without"
        else v
        for v in card.deterministic.variants
        if v.name != "With"
    )
    batch = card.model_copy(
        update={"deterministic": card.deterministic.model_copy(update={"variants": variants})}
    )
    result = evaluate(batch, committed, context=GateContext(component=False))
    assert {row.result for row in rows(result)} == {"Passed"}


def test_references_survive_the_file_and_older_files_keep_their_bytes(make_baseline, committed):
    assert parse_baseline(to_text(committed).encode()) == committed
    assert "references" not in json.loads(to_text(make_baseline()))


def test_a_fingerprint_is_of_everything_that_was_answered(make_scorecard):
    result = make_scorecard().deterministic.variants[0].arms[0].incidents[0]
    assert fingerprint(result) == fingerprint(result.model_copy())
    for change in (
        {"decision": "x"},
        {"table": "x"},
        {"evidence": ("x",)},
        {"candidates": result.candidates[::-1]},
    ):
        assert fingerprint(result.model_copy(update=change)) != fingerprint(result)


def test_two_scorecards_that_answer_otherwise_are_no_reference(make_scorecard):
    card = make_scorecard()
    with pytest.raises(ContractError, match="two scorecards answer otherwise"):
        with_references(from_scorecard(card), [card, moved(card)])


def test_a_scorecard_of_other_incidents_is_no_reference(make_scorecard):
    card = make_scorecard()
    other = card.deterministic.dataset.model_copy(update={"sha256": "0" * 64})
    foreign = card.model_copy(
        update={"deterministic": card.deterministic.model_copy(update={"dataset": other})}
    )
    with pytest.raises(ContractError, match="another dataset"):
        with_references(from_scorecard(card), [foreign])


@pytest.mark.parametrize("active", [(), ("b", "a"), ("a", "a")])
def test_a_reference_lists_its_keys_in_order_each_once(active):
    with pytest.raises(ValueError, match="active"):
        Reference(active=active, arm="LivePath", incidents={})


def test_accepting_renews_the_references_that_were_measured_and_tells_of_them(make_scorecard, committed):
    card = moved(make_scorecard())
    proposal = propose(committed, "0" * 64, card, reason="another word for it")
    assert proposal.refused == ()
    assert proposal.drifted == (f"LivePath reference of {ACTIVE[0]}: 1 of 9 incidents (GT-04-falkordb-down)",)
    assert evaluate(card, proposal.baseline).verdict == "Passed"
    assert {(one.active, one.arm) for one in proposal.baseline.references} == {
        (one.active, one.arm) for one in references_of(card)
    }


def test_accepting_without_any_difference_is_refused(make_scorecard, committed):
    with pytest.raises(ContractError, match="nothing to accept"):
        propose(committed, "0" * 64, make_scorecard(), reason="why not")
