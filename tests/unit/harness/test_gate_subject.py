"""What is compared with what: the judged variant, its reference, and the arms that both have."""

import pytest

from rca_eval.contract.scorecard import Reference, fingerprint
from rca_eval.gate import CheckResult, GateContext, GatePolicy, evaluate
from rca_eval.gate.evaluate import _verdict as verdict_of
from rca_eval.gate.reference import active_keys, reference_check
from rca_eval.gate.subject import Subject

BATCH = GateContext(component=False)


def subject(card, baseline=None, context=None):
    return Subject(card, baseline, GatePolicy(), context or GateContext())


def only(card, *names):
    rows = tuple(one for one in card.deterministic.variants if one.name in names)
    return card.model_copy(update={"deterministic": card.deterministic.model_copy(update={"variants": rows})})


@pytest.mark.parametrize(
    ("names", "context", "judged", "reference"),
    [
        (("AllShadow", "Without", "With"), GateContext(), "With", "Without"),
        (("AllShadow",), GateContext(), "With", "Without"),
        (("AllShadow", "Without", "With"), BATCH, "With", "Without"),
        (("AllShadow", "Without"), BATCH, "Without", "Without"),
        (("AllShadow", "With"), BATCH, "With", "With"),
        (("AllShadow",), BATCH, "AllShadow", "AllShadow"),
    ],
)
def test_a_batch_run_judges_the_modes_that_there_are_and_a_component_run_always_with(
    make_scorecard, names, context, judged, reference
):
    found = subject(only(make_scorecard(), *names), None, context)
    assert (found.candidate_name, found.reference_name) == (judged, reference)


def test_a_time_that_is_missing_in_one_arm_leaves_the_other_arms_and_references_judged(
    make_scorecard, make_baseline
):
    card = make_scorecard()
    times = tuple(
        row.model_copy(update={"values": (None, None)})
        if (row.variant, row.arm) == ("With", "LivePath")
        else row
        for row in card.measured.seconds
    )
    broken = card.model_copy(update={"measured": card.measured.model_copy(update={"seconds": times})})
    rows = [check for check in evaluate(broken, make_baseline()).checks if check.name == "MTTR"]
    assert [(check.arm, check.against, check.result) for check in rows] == [
        ("LivePath", "Baseline", "Inconclusive"),
        ("LivePath", "Without", "Inconclusive"),
        ("ScorerOnly", "Baseline", "Passed"),
        ("ScorerOnly", "Without", "Passed"),
    ]


def test_an_arm_over_other_incidents_is_no_reference(make_scorecard, make_baseline):
    card, other = make_scorecard(), make_baseline(ids=("GT-01-login-break", "XX-2", "XX-3"))
    rows = [
        check for check in evaluate(card, other).checks if check.name in ("AC@1", "MTTR", "ShadowCollapse")
    ]
    assert [(check.name, check.against, check.result) for check in rows] == [
        ("AC@1", "Without", "Passed"),
        ("AC@1", "Without", "Passed"),
        ("MTTR", "Without", "Passed"),
        ("MTTR", "Without", "Passed"),
        ("ShadowCollapse", None, "NotApplicable"),
    ]


def check(name, result="Passed"):
    return CheckResult(name=name, result=result, message=name)


@pytest.mark.parametrize(
    "checks",
    [
        (check("Validity"),),
        (check("Validity"), check("AC@1"), check("MTTR", "NotApplicable")),
        (check("Validity"), check("AC@1", "NotApplicable"), check("MTTR")),
        (
            check("AC@1", "Warning"),
            check("MTTR", "Warning"),
            check("ShadowCollapse"),
            check("ShadowFidelity"),
        ),
    ],
)
def test_a_pass_rests_on_a_comparison_of_accuracy_and_of_time(make_scorecard, checks):
    found = verdict_of(checks, subject(make_scorecard()))
    text = "NothingCompared: no arm could be compared with a baseline"
    assert (found.verdict, found.reason, found.message) == ("Error", "NothingCompared", text)
    assert found.checks == checks


def reference(arm, card):
    mine = next(one for one in card.deterministic.arms_of("With") if one.arm == arm)
    return Reference(
        active=("K.Mode",), arm=arm, incidents={row.id: fingerprint(row) for row in mine.incidents}
    )


def with_arms(card, *arms):
    rows = tuple(
        one.model_copy(update={"arms": arms}) if one.name == "With" else one
        for one in card.deterministic.variants
    )
    return card.model_copy(update={"deterministic": card.deterministic.model_copy(update={"variants": rows})})


def test_a_reference_is_asked_in_the_arms_that_it_and_the_run_have(make_scorecard, make_baseline):
    card = make_scorecard()
    sentinel, live = card.deterministic.arms_of("With")
    both = tuple(reference(arm, card) for arm in ("LivePath", "ScorerOnly"))

    def asked(card, references):
        base = make_baseline(references=references)
        return [one.arm for one in reference_check(subject(card, base)) if one.result == "Passed"]

    assert asked(card, both) == ["LivePath", "ScorerOnly"]
    assert asked(card, both[:1]) == ["LivePath"]
    assert asked(card, both[1:]) == ["ScorerOnly"]
    assert asked(with_arms(card, live), both) == ["LivePath"]
    assert asked(with_arms(card, sentinel), both) == ["ScorerOnly"]
    assert asked(with_arms(card, sentinel, live.model_copy(update={"incidents": ()})), both) == ["ScorerOnly"]


def test_an_arm_without_incidents_is_not_judged_at_all(make_scorecard, make_baseline):
    card = make_scorecard()
    sentinel, live = card.deterministic.arms_of("With")
    result = evaluate(with_arms(card, sentinel, live.model_copy(update={"incidents": ()})), make_baseline())
    assert [one.arm for one in result.checks if one.name == "ProtectedIncidents"] == ["ScorerOnly"]


def test_a_component_that_is_much_slower_is_warned_about_in_words(make_scorecard, make_baseline):
    result = evaluate(make_scorecard(seconds={"Without": "0.1", "With": "0.4"}), make_baseline())
    assert [
        (one.arm, one.variant, one.against, one.message) for one in result.checks if one.name == "MTTRRatio"
    ] == [
        (arm, "With", "Without", f"MTTR 0.400 s is more than 3 times 0.100 s, {arm} against Without")
        for arm in ("LivePath", "ScorerOnly")
    ]


def test_only_modes_that_are_active_choose_the_reference(make_scorecard):
    card = make_scorecard()
    modes = {"Z.Mode": "Active", "K.Mode": "Active", "A.Mode": "Shadow"}
    rows = tuple(one.model_copy(update={"modes": modes}) for one in card.deterministic.variants)
    card = card.model_copy(update={"deterministic": card.deterministic.model_copy(update={"variants": rows})})
    assert active_keys(subject(card)) == ("K.Mode", "Z.Mode")


def test_a_term_that_is_no_number_is_found_although_the_scores_are(make_scorecard, make_baseline):
    card = make_scorecard()
    sentinel, live = card.deterministic.arms_of("With")
    first, *rest = live.incidents
    best, *others = first.candidates
    broken = first.model_copy(
        update={"candidates": (best.model_copy(update={"terms": {"topo": "NaN"}}), *others)}
    )
    result = evaluate(
        with_arms(card, sentinel, live.model_copy(update={"incidents": (broken, *rest)})), make_baseline()
    )
    assert result.reason == "NonFinite"
    assert "a score of GT-01" in result.message


def test_the_time_of_a_baseline_is_that_of_the_arm(make_scorecard, make_baseline):
    whole = make_baseline()
    times = tuple(
        row.model_copy(update={"value": f"{at}.000000000"}) for at, row in enumerate(whole.mttr_seconds, 1)
    )
    found = subject(make_scorecard(), whole.model_copy(update={"mttr_seconds": times}))
    assert [found.baseline_seconds(row.arm) for row in times] == [1, 2]
