"""Check 5: an observation in Shadow is worth something only if Shadow logs what Active ranks, for every incident."""

import pytest

from rca_eval.contract import ScoredCandidate, WouldBeRow
from rca_eval.gate import GateContext, GatePolicy, evaluate

ARMS = ("LivePath", "ScorerOnly")
IF_LOGGED = GatePolicy(shadow_fidelity="IfLogged")


def with_rows(card, change):
    """The scorecard with other would-be rows: `change` gets each row and returns rows."""
    rows = tuple(new for row in card.measured.would_be for new in change(row))
    return card.model_copy(update={"measured": card.measured.model_copy(update={"would_be": rows})})


def edited(card, **changes):
    """The scorecard with the first live row of Without changed."""
    first = next(r for r in card.measured.would_be if (r.variant, r.arm) == ("Without", "LivePath"))
    return with_rows(card, lambda row: [row.model_copy(update=changes) if row is first else row])


def fidelity(card, baseline, policy=None, context=None):
    result = evaluate(card, baseline, policy, context)
    return result, [check for check in result.checks if check.name == "ShadowFidelity"]


def test_equal_rankings_in_both_arms_pass_with_the_count(make_scorecard, make_baseline):
    result, rows = fidelity(make_scorecard(), make_baseline())
    assert result.verdict == "Passed"
    assert [(row.arm, row.result, row.value, row.baseline, row.limit) for row in rows] == [
        (arm, "Passed", "1.000000000", "1.000000000", "1.000000000") for arm in ARMS
    ]
    assert [row.message for row in rows] == [
        f"Shadow logged what Active ranks in 9 of 9 incidents, {arm}" for arm in ARMS
    ]
    assert {(row.against, row.variant) for row in rows} == {("Without", "With")}


def test_another_order_fails_and_names_the_incident_and_the_arm(make_scorecard, make_baseline):
    result, rows = fidelity(edited(make_scorecard(), entities=("trap", "cause")), make_baseline())
    assert (result.verdict, result.reason, result.exit_code) == ("Failed", "ShadowFidelity", 1)
    text = "Shadow logged what Active ranks in 8 of 9 incidents (GT-01 ranked otherwise), LivePath"
    assert result.message == text
    assert [(row.result, row.value) for row in rows] == [
        ("Failed", "0.888888889"),
        ("Passed", "1.000000000"),
    ]


@pytest.mark.parametrize("entities", [(), ("cause",), ("cause", "trap", "third"), ("cause", "other")])
def test_a_shorter_longer_or_other_ranking_is_another_one(make_scorecard, make_baseline, entities):
    assert (
        fidelity(edited(make_scorecard(), entities=entities), make_baseline())[0].reason == "ShadowFidelity"
    )


def test_a_missing_row_fails_as_not_logged(make_scorecard, make_baseline):
    card = make_scorecard()
    gone = with_rows(
        card,
        lambda row: (
            [] if (row.variant, row.arm, row.incident[:5]) == ("Without", "ScorerOnly", "GT-04") else [row]
        ),
    )
    for policy in (None, IF_LOGGED):
        result, rows = fidelity(gone, make_baseline(), policy)
        assert result.reason == "ShadowFidelity"
        assert result.message == (
            "Shadow logged what Active ranks in 8 of 9 incidents (GT-04 not logged), ScorerOnly"
        )
        assert [row.result for row in rows] == ["Passed", "Failed"]


def test_both_kinds_of_difference_are_told_apart_in_one_sentence(make_scorecard, make_baseline):
    gone = edited(make_scorecard(), incident="GT-09-ollama-embeddings-down", entities=("trap", "cause"))
    result, _ = fidelity(gone, make_baseline())
    assert result.message == (
        "Shadow logged what Active ranks in 7 of 9 incidents (GT-09 ranked otherwise; GT-01 not logged), LivePath"
    )


def test_an_incident_that_is_logged_twice_is_not_logged_right(make_scorecard, make_baseline):
    card = make_scorecard()
    twice = with_rows(card, lambda row: [row, row] if row.incident.startswith("GT-05") else [row])
    result, rows = fidelity(twice, make_baseline())
    assert result.reason == "ShadowFidelity"
    assert [row.result for row in rows] == ["Failed", "Failed"]
    assert "(GT-05 ranked otherwise)" in rows[0].message


def test_nothing_logged_fails_and_says_what_to_do_unless_the_policy_allows_it(make_scorecard, make_baseline):
    silent = with_rows(make_scorecard(), lambda row: [])
    result, _ = fidelity(silent, make_baseline())
    assert (result.verdict, result.reason) == ("Failed", "ShadowFidelity")
    assert result.message == (
        'Shadow logged no would-be ranking of "K.Mode"; let the engine answer with wouldBe, or set '
        "shadowFidelity to IfLogged, LivePath"
    )
    result, rows = fidelity(silent, make_baseline(), IF_LOGGED)
    assert result.verdict == "Passed"
    assert [(row.result, row.arm) for row in rows] == [("NotApplicable", None)]
    assert rows[0].message == "the engine logs no would-be rankings, and the policy does not ask for them"


@pytest.mark.parametrize(
    "other",
    [{"component": "Other.Mode"}, {"variant": "AllShadow"}, {"variant": "With"}],
    ids=["of another component", "of another variant", "of With"],
)
def test_rows_of_something_else_are_no_answer_and_not_silence_either(make_scorecard, make_baseline, other):
    card = make_scorecard()
    elsewhere = with_rows(
        card, lambda row: [row.model_copy(update=other)] if row.variant == "Without" else []
    )
    for policy in (None, IF_LOGGED):
        assert fidelity(elsewhere, make_baseline(), policy)[0].reason == "ShadowFidelity"


def test_the_list_form_speaks_for_the_component_that_with_switches_on(make_scorecard, make_baseline):
    listed = with_rows(make_scorecard(), lambda row: [row.model_copy(update={"component": None})])
    assert fidelity(listed, make_baseline())[0].verdict == "Passed"
    wrong = with_rows(listed, lambda row: [row.model_copy(update={"entities": ("trap", "cause")})])
    assert fidelity(wrong, make_baseline())[0].reason == "ShadowFidelity"


def test_rows_of_other_components_beside_the_right_one_do_not_matter(make_scorecard, make_baseline):
    def beside(row):
        return [row, row.model_copy(update={"component": "Other.Mode", "entities": ("trap", "cause")})]

    assert fidelity(with_rows(make_scorecard(), beside), make_baseline())[0].verdict == "Passed"


def test_the_order_of_the_rows_does_not_matter(make_scorecard, make_baseline):
    card = make_scorecard()
    turned = tuple(reversed(card.measured.would_be))
    other = card.model_copy(update={"measured": card.measured.model_copy(update={"would_be": turned})})
    assert evaluate(other, make_baseline()) == evaluate(card, make_baseline())


def shared(card):
    """Without ran once, together with AllShadow: its rows stand under that name."""
    all_shadow, without, with_ = card.deterministic.variants
    same = without.model_copy(update={"same_as": "AllShadow", "arms": ()})
    deterministic = card.deterministic.model_copy(update={"variants": (all_shadow, same, with_)})
    measured = card.measured.model_copy(
        update={
            "seconds": tuple(row for row in card.measured.seconds if row.variant != "Without"),
            "mttr_seconds": tuple(row for row in card.measured.mttr_seconds if row.variant != "Without"),
            "would_be": tuple(row for row in card.measured.would_be if row.variant != "Without"),
        }
    )
    return card.model_copy(update={"deterministic": deterministic, "measured": measured})


def test_a_variant_that_ran_as_another_one_is_found_under_its_name(make_scorecard, make_baseline):
    card = shared(make_scorecard())
    assert fidelity(card, make_baseline())[0].verdict == "Passed"
    wrong = with_rows(card, lambda row: [row.model_copy(update={"entities": ("trap", "cause")})])
    assert fidelity(wrong, make_baseline())[0].reason == "ShadowFidelity"
    misplaced = with_rows(card, lambda row: [row.model_copy(update={"variant": "Without"})])
    assert fidelity(misplaced, make_baseline())[0].reason == "ShadowFidelity"


def without_an_answer(card, **changes):
    """The scorecard with With's answer to GT-01 in the live arm replaced by none."""
    *others, with_ = card.deterministic.variants
    planted, live = with_.arms
    first = live.incidents[0].model_copy(update={"status": "Error", "rank": None, **changes})
    broken = live.model_copy(update={"incidents": (first, *live.incidents[1:])})
    arm = broken.model_copy(
        update={"metrics": {name: f"{float(value):.9f}" for name, value in broken.recomputed().items()}}
    )
    variant = with_.model_copy(update={"arms": (planted, arm)})
    return card.model_copy(
        update={"deterministic": card.deterministic.model_copy(update={"variants": (*others, variant)})}
    )


@pytest.mark.parametrize(
    "candidates", [(), (ScoredCandidate(key="cause", score="0.800000000"),)], ids=["none", "some"]
)
def test_an_answer_that_is_an_error_ranks_nothing_and_shadow_must_have_said_so(
    make_scorecard, make_baseline, candidates
):
    card = without_an_answer(make_scorecard(), candidates=candidates)
    result, rows = fidelity(card, make_baseline())
    assert "(GT-01 ranked otherwise)" in rows[0].message
    honest = edited(card, entities=())
    assert [row.result for row in fidelity(honest, make_baseline())[1]] == ["Passed", "Passed"]
    assert result.reason == "AC@1"


def test_a_batch_run_has_no_component_and_needs_no_log(make_scorecard, make_baseline):
    silent = with_rows(make_scorecard(), lambda row: [])
    result, rows = fidelity(silent, make_baseline(), context=GateContext(component=False))
    assert result.verdict == "Passed"
    assert [(row.result, row.message) for row in rows] == [("NotApplicable", "the run measures no component")]


def test_modes_that_show_no_single_component_are_validity_s_to_name(make_scorecard, make_baseline):
    card = make_scorecard()
    modes = {"K.Mode": "Active", "Other.Mode": "Active"}
    variants = tuple(
        v.model_copy(update={"modes": modes}) if v.name == "With" else v for v in card.deterministic.variants
    )
    two = card.model_copy(
        update={"deterministic": card.deterministic.model_copy(update={"variants": variants})}
    )
    result, rows = fidelity(two, make_baseline())
    assert result.reason == "VariantMissing"
    assert [(row.result, row.message) for row in rows] == [
        ("NotApplicable", "not judged: the two sides cannot be compared, see Validity")
    ]


def test_a_sentence_about_many_incidents_with_long_ids_stays_within_its_limit(make_scorecard, make_baseline):
    ids = tuple(f"incident-with-a-very-long-identifier-{'x' * 20}{n:02d}" for n in range(12))
    card = make_scorecard(ids=ids, control_lost=ids)
    half = with_rows(
        card,
        lambda row: (
            [] if row.incident in ids[:5] else [row.model_copy(update={"entities": ("trap", "cause")})]
        ),
    )
    _, rows = fidelity(half, make_baseline(ids=ids))
    assert [len(row.message) <= 300 for row in rows] == [True, True]
    assert rows[0].message.startswith("Shadow logged what Active ranks in 0 of 12 incidents (")


def test_the_first_failure_still_names_the_verdict(make_scorecard, make_baseline):
    worse = edited(make_scorecard(lost=("GT-03",)), entities=("x",))
    result, rows = fidelity(worse, make_baseline())
    assert (result.reason, rows[0].result) == ("AC@1", "Failed")


def test_a_row_may_name_no_incident_of_the_run(make_scorecard, make_baseline):
    card = make_scorecard()
    stray = WouldBeRow(
        component="K.Mode", variant="Without", arm="LivePath", incident="GT-99", entities=("a",)
    )
    more = card.measured.model_copy(update={"would_be": (*card.measured.would_be, stray)})
    assert evaluate(card.model_copy(update={"measured": more}), make_baseline()).verdict == "Passed"
