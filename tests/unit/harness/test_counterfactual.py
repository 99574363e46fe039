"""Counterfactuals: which weight was changed, and which one change brings a lost incident back."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rca_testing import report_cases

from rca_eval.contract import ArmResult, IncidentResult, ScoredCandidate, nine
from rca_eval.engine.blend import BARO, BARO_NO_CHANGE
from rca_eval.gate import evaluate
from rca_eval.gate.counterfactual import (
    RESIDUAL,
    changed_weights,
    common_ratio,
    counterfactual,
    recovered_weights,
    restores_all,
    simplest,
    times,
    weight,
    weights_text,
    what_changed,
)
from rca_eval.report.build import gate_report
from rca_eval.report.weights import PUBLISHED

WEIGHTS = {"topo": Fraction(1, 2), "tele": Fraction(7, 20), "hist": Fraction(3, 20)}


def row(name, values, weights, *, table="floor", cause="cause", extra=None, scored=True):
    """An incident whose candidates have these raw values, under these weights; best first."""
    candidates = []
    for key, terms in values.items():
        weighted = {term: nine(weights[term] * terms.get(term, 0)) for term in weights}
        score = sum(
            (weights[term] * terms.get(term, 0) for term in weights), Fraction((extra or {}).get(key, 0))
        )
        candidates.append(ScoredCandidate(key=key, score=nine(score) if scored else None, terms=weighted))
    candidates.sort(key=lambda one: (-Fraction(one.score or 0), one.key))
    result = IncidentResult(
        id=name, fault_class="a/b", change_induced=False, protected=False, expected=(cause,), status="Ranked",
        table=table, candidates=tuple(candidates),
    )  # fmt: skip
    return result.model_copy(update={"rank": result.true_rank()})


def arm(*rows):
    return ArmResult(arm="LivePath", incidents=rows, metrics={})


VALUES = {
    "cause": {"topo": Fraction("0.9"), "tele": Fraction("0.9"), "hist": 0},
    "trap": {"topo": Fraction("0.95"), "tele": Fraction("0.8"), "hist": 0},
}


def test_a_changed_weight_is_named_with_its_ratio_and_table():
    mine = arm(row("A-1", VALUES, {**WEIGHTS, "topo": Fraction("0.51")}))
    found = changed_weights(mine, arm(row("A-1", VALUES, WEIGHTS)))
    assert [str(one) for one in found] == ["topo x1.020 in table floor"]
    assert found[0].ratio == Fraction(51, 50)


def test_equal_answers_and_another_choice_of_table_are_no_changed_weight():
    same = arm(row("A-1", VALUES, WEIGHTS), row("A-2", VALUES, WEIGHTS, table="onset"))
    assert changed_weights(same, same) == ()
    chosen = arm(row("A-1", VALUES, {"topo": Fraction(1, 3)}, table="onset"), same.incidents[1])
    assert changed_weights(chosen, same) == ()
    assert what_changed(chosen, same) == "table floor -> onset in 1"


def test_values_that_moved_by_several_ratios_are_no_weight():
    other = {**VALUES, "cause": {**VALUES["cause"], "topo": Fraction("0.8")}}
    assert changed_weights(arm(row("A-1", other, WEIGHTS)), arm(row("A-1", VALUES, WEIGHTS))) == ()


def test_a_term_that_is_gone_has_the_ratio_nought():
    mine = arm(row("A-1", VALUES, {**WEIGHTS, "tele": Fraction(0)}))
    assert weights_text(changed_weights(mine, arm(row("A-1", VALUES, WEIGHTS)))) == "tele x0 in table floor"


@pytest.mark.parametrize("bad", ["NaN", "Infinity", "-Infinity"])
def test_figures_that_are_no_numbers_say_nothing_and_break_nothing(bad):
    whole = row("A-1", VALUES, WEIGHTS)
    broken = whole.candidates[0].model_copy(update={"terms": {"topo": bad}})
    mine = whole.model_copy(update={"candidates": (broken, *whole.candidates[1:])})
    assert changed_weights(arm(mine), arm(whole)) == ()
    assert counterfactual(mine, whole).restoring == ()


ratio = st.integers(1, 400).map(lambda n: Fraction(n, 100))
value = st.integers(1, 10**4).map(lambda n: Fraction(n, 10**4))


@given(then=ratio, now=ratio, values=st.lists(value, min_size=1, max_size=8))
def test_the_ratio_of_two_weights_is_found_exactly_from_nine_digits(then, now, values):
    pairs = [(Fraction(nine(now * v)), Fraction(nine(then * v))) for v in values]
    found = common_ratio(pairs)
    assert found is not None
    for figure, before in pairs:
        assert abs(figure - found * before) <= Fraction(1, 10**9) * (1 + found)
    if max(values) >= Fraction(1, 10):
        assert found == now / then


@given(
    low=st.fractions(min_value=-5, max_value=5),
    width=st.fractions(min_value=Fraction(1, 10**6), max_value=1, max_denominator=10**6),
)
def test_the_simplest_fraction_lies_in_the_interval_and_none_in_it_has_a_smaller_denominator(low, width):
    found = simplest(low, low + width)
    assert low <= found <= low + width
    for denominator in range(1, min(found.denominator, 60)):
        first = -((-low.numerator * denominator) // low.denominator)  # the least numerator at or above `low`
        assert Fraction(first, denominator) > low + width


@given(
    st.dictionaries(
        st.sampled_from(["cause", "a", "b", "c"]),
        st.fixed_dictionaries(dict.fromkeys(WEIGHTS, value)),
        min_size=2,
    ).filter(lambda found: "cause" in found),
    st.sampled_from(list(WEIGHTS)),
    st.integers(0, 300).map(lambda n: Fraction(n, 100)),
)
def test_what_is_said_to_restore_does_restore_when_it_is_done(values, term, share):
    then = row("A-1", values, WEIGHTS)
    now = row("A-1", values, {**WEIGHTS, term: WEIGHTS[term] * share})
    if then.rank != 1 or now.rank == 1:
        return
    for change in counterfactual(now, then).changes:
        if change.kind != "term":
            continue
        old = {one.key: one.terms[change.name] for one in then.candidates}
        back = [
            ScoredCandidate(
                key=one.key, score=nine(sum(map(Fraction, {**one.terms, change.name: old[one.key]}.values())))
            )
            for one in now.candidates
        ]
        redone = now.model_copy(update={"candidates": tuple(back)})
        assert (redone.true_rank() == 1) == change.restores
    assert [change.name for change in counterfactual(now, then).changes] == [term]


def test_a_step_after_the_blend_is_a_change_of_its_own():
    then = row("A-1", VALUES, WEIGHTS)
    now = row("A-1", VALUES, WEIGHTS, extra={"cause": "-0.2"})
    found = counterfactual(now, then)
    assert [(one.kind, one.name, one.restores) for one in found.changes] == [("step", RESIDUAL, True)]
    assert "cap, verification" in found.changes[0].text


def test_a_cause_that_is_no_candidate_any_more_is_told_as_retrieval():
    then = row("A-1", VALUES, WEIGHTS)
    now = then.model_copy(update={"candidates": then.candidates[1:]})
    found = counterfactual(now, then)
    assert [(one.kind, one.name) for one in found.changes] == [("candidate", "cause")]
    assert "retrieval lost it" in found.changes[0].text


@pytest.mark.parametrize("status", ["Error", "Timeout", "Missing"])
def test_without_a_ranking_there_is_nothing_to_put_back(status):
    then = row("A-1", VALUES, WEIGHTS)
    now = then.model_copy(update={"status": status, "candidates": ()})
    assert counterfactual(now, then).changes == ()
    assert "nothing was ranked" in counterfactual(now, then).note


def test_an_engine_without_terms_is_told_so():
    then = row("A-1", VALUES, WEIGHTS)
    plain = tuple(one.model_copy(update={"terms": None}) for one in reversed(then.candidates))
    now = then.model_copy(
        update={"candidates": tuple(one.model_copy(update={"score": None}) for one in plain)}
    )
    assert "no terms" in counterfactual(now, then).note


def test_none_alone_is_an_answer():
    then = row("A-1", VALUES, WEIGHTS)
    both = {"topo": Fraction("0.9"), "tele": Fraction("0.05"), "hist": Fraction("0.05")}
    values = {
        "cause": {"topo": Fraction("0.5"), "tele": Fraction("0.2"), "hist": 0},
        "trap": {"topo": Fraction("0.95"), "tele": Fraction("0.8"), "hist": 0},
    }
    found = counterfactual(row("A-1", values, both), then)
    assert found.restoring == ()
    assert restores_all([found]) is None


def test_the_smallest_change_that_restores_all_is_named():
    found = [
        counterfactual(now, then)
        for now, then in zip(
            (row for row in report_cases.card("two lost").deterministic.arms_of("With")[1].incidents),
            report_cases.baseline().arms[1].incidents,
            strict=True,
        )
        if now.rank != 1
    ]
    assert len(found) == 2
    change = restores_all(found)
    assert (change.kind, change.name) == ("term", "chg")
    assert change.text == "the chg term is gone (was up to .15)"


def test_weights_are_recovered_from_weighted_values_and_values():
    values = {("A-1", key, term): Fraction(v) for key, terms in VALUES.items() for term, v in terms.items()}
    found = recovered_weights(arm(row("A-1", VALUES, {**WEIGHTS, "topo": Fraction(7, 17)})), values)
    assert found == {("floor", "topo"): Fraction(7, 17), ("floor", "tele"): Fraction(7, 20)}


def test_numbers_are_shown_with_as_many_digits_as_they_need():
    assert times(Fraction(51, 50)) == "x1.020"
    assert times(Fraction(10001, 10000)) == "x1.000100"
    assert times(Fraction(0)) == "x0"
    assert (weight(Fraction(1, 2)), weight(Fraction(51, 100)), weight(Fraction(7, 17))) == (
        ".50",
        ".51",
        "7/17",
    )
    assert weight(Fraction(1)) == "1.00"


@pytest.mark.parametrize(
    ("table", "weights", "ratio", "named"),
    [
        ("FLOOR", ("topo=51/100",), "topo x1.020 in table floor", "topo .50 -> .51 in table floor"),
        ("ONSET", ("chg=1/10",), "chg x0.667 in table onset", "chg .15 -> .10 in table onset"),
    ],
)
def test_a_diff_of_one_weight_fails_the_gate_with_the_incidents_and_the_weight(table, weights, ratio, named):
    card = report_cases.edited_card(table, *weights)
    result = evaluate(card, report_cases.baseline())
    assert result.exit_code == 1
    collapse = next(one for one in result.checks if one.name == "ShadowCollapse" and one.arm == "LivePath")
    assert collapse.result == "Failed"
    assert ratio in collapse.message
    assert ("GT-03, GT-07" if table == "ONSET" else "GT-01, GT-02") in collapse.message
    report = gate_report(card, report_cases.baseline(), result, truth=report_cases.truth())
    assert report.why.weights == (named,)


@pytest.mark.parametrize(
    ("table", "weights", "named"),
    [
        ("BARO_NO_CHANGE", ("topo=7/20",), "table baroNoChange, published -> measured: topo 7/17 -> .35"),
        ("BARO", ("chg=1/20",), "table baro, published -> measured: chg .15 -> .05"),
    ],
)
def test_a_diff_of_a_weight_that_governs_in_active_only_is_named_with_the_dataset(table, weights, named):
    card = report_cases.edited_card(table, *weights)
    result = evaluate(card, report_cases.baseline())
    whole = gate_report(card, report_cases.baseline(), result, truth=report_cases.truth())
    assert [note for note in whole.why.notes if named in note]
    blind = gate_report(card, report_cases.baseline(), result)
    assert "give --dataset" in blind.why.notes[0]


def test_the_published_tables_are_those_of_the_engine():
    assert {"baro": dict(BARO.weights), "baroNoChange": dict(BARO_NO_CHANGE.weights)} == PUBLISHED
