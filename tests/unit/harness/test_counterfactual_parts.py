"""Counterfactuals piece by piece, on answers written by hand: every sentence, every limit, every order."""

from fractions import Fraction

import pytest

from rca_eval.contract import ArmResult, IncidentResult, ScoredCandidate, nine
from rca_eval.gate.counterfactual import (
    HALF,
    RESIDUAL,
    Change,
    Counterfactual,
    WeightChange,
    changed_weights,
    common_ratio,
    counterfactual,
    in_order,
    recovered_weights,
    restores_all,
    simplest,
    terms_of,
    times,
    weight,
    weights_text,
    what_changed,
    with_residual,
)


def answer(name, terms, *, table="floor", expected=("cause",), scores=None, status="Ranked"):
    """An answer whose candidates have these weighted terms; the score is their sum, or what `scores` says."""
    rows = []
    for key, one in terms.items():
        total = (scores or {}).get(key, nine(sum(map(Fraction, one.values()), Fraction(0))))
        rows.append(
            ScoredCandidate(key=key, score=total, terms={t: nine(Fraction(v)) for t, v in one.items()})
        )
    rows.sort(key=lambda one: (-Fraction(one.score or 0), one.key))
    return IncidentResult(
        id=name, fault_class="a/b", change_induced=False, protected=False, expected=expected, status=status,
        table=table, candidates=tuple(rows),
    )  # fmt: skip


def arm(*rows):
    return ArmResult(arm="LivePath", incidents=rows, metrics={})


THEN = {"cause": {"topo": "0.5", "tele": "0.3"}, "trap": {"topo": "0.4", "tele": "0.3"}}
HALVED = {"cause": {"topo": "0.25", "tele": "0.3"}, "trap": {"topo": "0.2", "tele": "0.3"}}


def ratios(mine, reference):
    return [(one.table, one.term, one.ratio, one.values) for one in changed_weights(mine, reference)]


def test_an_incident_that_only_one_side_has_hides_none_of_those_after_it():
    mine = arm(answer("A-0", THEN), answer("A-1", HALVED))
    assert ratios(mine, arm(answer("A-1", THEN))) == [("floor", "topo", Fraction(1, 2), 2)]


def test_another_choice_of_table_hides_none_of_the_incidents_after_it():
    mine = arm(answer("A-0", THEN, table="onset"), answer("A-1", HALVED))
    reference = arm(answer("A-0", THEN), answer("A-1", THEN), answer("A-2", THEN, table="onset"))
    assert ratios(mine, reference) == [("floor", "topo", Fraction(1, 2), 2)]


def test_a_new_table_in_place_of_an_old_one_is_compared_and_says_both_names():
    found = ratios(arm(answer("A-1", HALVED, table="given")), arm(answer("A-1", THEN)))
    assert found == [("floor (now given)", "topo", Fraction(1, 2), 2)]
    unnamed = ratios(arm(answer("A-1", HALVED, table=None)), arm(answer("A-1", THEN, table=None)))
    assert unnamed == [("-", "topo", Fraction(1, 2), 2)]
    named = ratios(arm(answer("A-1", HALVED)), arm(answer("A-1", THEN, table=None)))
    assert named == [("floor", "topo", Fraction(1, 2), 2)]


def test_tables_come_by_name_and_terms_as_people_know_them():
    quarter = {key: {t: nine(Fraction(v) / 4) for t, v in one.items()} for key, one in THEN.items()}
    mine = arm(answer("A-1", quarter, table="z"), answer("A-2", quarter, table="a"))
    reference = arm(answer("A-1", THEN, table="z"), answer("A-2", THEN, table="a"))
    assert [(table, term) for table, term, *_ in ratios(mine, reference)] == [
        ("a", "topo"),
        ("a", "tele"),
        ("z", "topo"),
        ("z", "tele"),
    ]
    both = arm(answer("A-1", quarter), answer("A-2", quarter))
    mixed = arm(answer("A-1", THEN), answer("A-2", THEN, table=None))
    assert [(term, count) for _, term, _, count in ratios(both, mixed)] == [("topo", 2), ("tele", 2)]


def test_without_terms_on_one_side_there_is_no_ratio():
    bare = answer("A-1", {"cause": {}, "trap": {}})
    assert changed_weights(arm(bare), arm(answer("A-1", THEN))) == ()
    assert changed_weights(arm(answer("A-1", THEN)), arm(bare)) == ()


def test_the_first_three_moves_between_tables_are_counted_and_unnamed_tables_are_no_move():
    tables = ("d", "b", "b", "e", "c")
    reference = arm(*(answer(f"A-{n}", THEN, table="a") for n in range(5)), answer("A-9", THEN, table=None),
                    *(answer(f"B-{t}", THEN, table=t) for t in "bcde"))  # fmt: skip
    mine = arm(*(answer(f"A-{n}", THEN, table=t) for n, t in enumerate(tables)), answer("A-9", THEN, table="b"),
               answer("A-8", THEN, table="b"))  # fmt: skip
    assert what_changed(mine, reference) == "table a -> b in 2, table a -> c in 1, table a -> d in 1"
    assert what_changed(arm(answer("A-1", THEN, table=None)), reference) == ""
    assert what_changed(reference, reference) == ""


def test_a_changed_weight_is_said_before_a_change_of_table():
    assert what_changed(arm(answer("A-1", HALVED)), arm(answer("A-1", THEN))) == "topo x0.500 in table floor"


def test_no_pair_has_no_ratio_and_figures_at_one_end_of_their_rounding_still_have_one():
    assert common_ratio([]) is None
    assert common_ratio([(Fraction(1), Fraction(0))]) is None
    assert common_ratio([(Fraction(1), HALF)]) is None
    assert common_ratio([(Fraction(-1), Fraction(-2))]) == Fraction(1, 2)
    assert common_ratio([(Fraction(1), Fraction(-2))]) == Fraction(-1, 2)
    assert common_ratio([(Fraction(1, 4), Fraction(-1, 2))]) == Fraction(-1, 2)
    assert common_ratio([(2 - HALF, 1 + HALF), (2 + HALF, 1 - HALF)]) == 2
    assert common_ratio([(-3 * HALF * 2, 2 * HALF * 2)]) == -1
    assert common_ratio([(Fraction(1), Fraction(2)), (Fraction(1), Fraction(3))]) is None
    one = Fraction(1)
    touching = [(one, one), ((one - HALF) * (one + HALF) / (one - HALF) + HALF + HALF, one)]
    assert common_ratio(touching) is not None
    for now in (Fraction("0.3"), Fraction("-0.3"), Fraction(0)):
        assert common_ratio([(now, Fraction("0.6"))]) == now / Fraction("0.6")


@pytest.mark.parametrize(
    "now", [Fraction(1, 10**9), Fraction(-1, 10**9), Fraction(2, 10**10), Fraction(-2, 10**10)]
)
@pytest.mark.parametrize("then", [Fraction(1, 10**9), Fraction(3, 10**9)])
def test_the_ratios_of_small_figures_are_those_of_all_numbers_that_round_to_them(now, then):
    ends = [(now + a) / (then + b) for a in (-HALF, HALF) for b in (-HALF, HALF)]
    assert common_ratio([(now, then)]) == simplest(min(ends), max(ends))


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [("0.3", "0.4", "1/3"), ("-0.4", "-0.3", "-1/3"), ("-1", "1", "0"), ("0", "1", "0"), ("-1", "0", "0"),
     ("2", "2.5", "2"), ("2.5", "3", "3"), ("2.5", "3.5", "3"), ("2.4", "2.6", "5/2"), ("-1.5", "-0.5", "-1"), ("-2.5", "-0.5", "-1"),
     ("0.5", "0.5", "1/2")],
)  # fmt: skip
def test_the_simplest_fraction_of_an_interval_is_the_one_a_person_would_type(low, high, found):
    assert simplest(Fraction(low), Fraction(high)) == Fraction(found)


def test_a_weight_is_recovered_only_where_all_candidates_agree():
    found = answer("A-1", THEN, table=None)
    values = {("A-1", "cause", "topo"): Fraction(1), ("A-1", "trap", "topo"): Fraction("0.8"),
              ("A-1", "cause", "tele"): Fraction(1), ("A-1", "trap", "tele"): Fraction("0.5"),
              ("A-2", "trap", "tele"): Fraction(1)}  # fmt: skip
    assert recovered_weights(arm(found), values) == {("-", "topo"): Fraction(1, 2)}
    nought = {("A-1", "cause", "topo"): Fraction(0)}
    assert recovered_weights(arm(found), nought) == {}


def notes(now, then):
    found = counterfactual(now, then)
    return found.incident, found.changes, found.note


def test_each_reason_why_nothing_can_be_put_back_is_a_sentence():
    then, lost = answer("A-1", THEN), answer("A-1", {**THEN, "trap": {"topo": "0.6", "tele": "0.3"}})
    error = lost.model_copy(update={"status": "Error"})
    assert notes(error, then) == ("A-1", (), "nothing was ranked, so there is nothing to put back")
    first = "the reference did not have the cause first either"
    assert notes(lost, lost) == ("A-1", (), first)
    assert notes(lost, then.model_copy(update={"status": "Error"})) == ("A-1", (), first)
    broken = then.candidates[0].model_copy(update={"score": "NaN"})
    nan = "a score is no finite number, so nothing can be put back"
    assert notes(lost.model_copy(update={"candidates": (broken,)}), then) == ("A-1", (), nan)
    assert notes(lost, then.model_copy(update={"candidates": (broken,)})) == ("A-1", (), nan)
    bare = tuple(one.model_copy(update={"terms": None}) for one in then.candidates)
    terms = "the engine gives no terms for its scores, so none can be put back"
    assert notes(lost.model_copy(update={"candidates": bare}), then) == ("A-1", (), terms)
    assert notes(lost, then.model_copy(update={"candidates": bare})) == ("A-1", (), terms)


def test_a_lost_candidate_with_several_labels_is_named_by_all_of_them():
    then = answer("A-1", THEN, expected=("cause", "other"))
    now = then.model_copy(update={"candidates": then.candidates[1:]})
    text = "cause, other is no candidate any more: retrieval lost it, not the order"
    assert counterfactual(now, then).changes == (
        Change("candidate", "cause, other", text, None, restores=True),
    )


def changes(now, then, **options):
    found = counterfactual(answer("A-1", now, **options), answer("A-1", then))
    return [(one.kind, one.name, one.text, one.size, one.restores) for one in found.changes]


def test_what_restores_comes_first_and_then_the_smaller():
    then = {"cause": {"a": "0.5", "b": "0.3", "c": "0.1"}, "trap": {"a": "0.4", "b": "0.3", "c": "0.1"}}
    now = {"cause": {"a": "0.5", "b": "0.1", "c": "0.05"}, "trap": {"a": "0.4", "b": "0.3", "c": "0.1"}}
    assert changes(now, then) == [
        ("term", "b", "the b term moved", Fraction("0.2"), True),
        ("term", "c", "the c term moved", Fraction("0.05"), False),
    ]


def test_a_term_is_told_as_moved_by_a_ratio_as_gone_or_as_new():
    then = {"cause": {"a": "0.5", "b": "0.3"}, "trap": {"a": "0.2", "b": "0.5"}}
    halved = {"cause": {"a": "0.25", "b": "0.3"}, "trap": {"a": "0.1", "b": "0.5"}}
    assert changes(halved, then) == [("term", "a", "the a term moved x0.500", Fraction("0.25"), True)]
    then = {"cause": {"a": "0.5"}, "trap": {"a": "0.2"}}
    new = {"cause": {"a": "0.5", "n": "0.1"}, "trap": {"a": "0.2", "n": "0.5"}}
    assert changes(new, then) == [("term", "n", "the n term is new (up to .50)", Fraction("0.5"), True)]
    then = {"cause": {"a": "0.2", "g": "0.5"}, "trap": {"a": "0.5", "g": "-0.1"}}
    gone = {"cause": {"a": "0.2"}, "trap": {"a": "0.5"}}
    assert changes(gone, then) == [("term", "g", "the g term is gone (was up to .50)", Fraction("0.5"), True)]


def test_a_candidate_that_the_reference_did_not_have_keeps_its_terms():
    then = {"cause": {"a": "0.5"}}
    now = {"cause": {"a": "0.2"}, "new": {"a": "0.3"}}
    assert changes(now, then) == [("term", "a", "the a term moved x0.400", Fraction("0.3"), True)]


def test_another_table_is_put_back_as_a_whole_and_named_from_and_to():
    then = {"cause": {"a": "0.5", "b": "0.1"}, "trap": {"a": "0.2", "b": "0.2"}}
    now = {"cause": {"a": "0.1", "b": "0.2"}, "trap": {"a": "0.04", "b": "0.4"}}
    found = changes(now, then, table="onset")
    assert ("table", "floor -> onset", "the table changed: floor -> onset", Fraction("0.3"), True) in found
    assert [one[0] for one in found if one[4]] == ["term", "table"]
    assert not [one for one in changes(now, then) if one[0] == "table"]
    assert not [one for one in changes(now, then, table=None) if one[0] == "table"]
    # Without one ratio for a term, its old figures are taken as they were; unknown candidates have had none.
    odd = {
        "cause": {"a": "0.1", "b": "0.2"},
        "trap": {"a": "0.1", "b": "0.4"},
        "new": {"a": "0.05", "b": "0"},
    }
    assert ("table", "floor -> onset", "the table changed: floor -> onset", Fraction("0.3"), True) in changes(
        odd, then, table="onset"
    )


def test_what_a_score_holds_beyond_its_terms_is_a_step_and_rounding_is_none():
    terms = {"cause": {"a": "0.5", "b": "0.3"}}
    assert with_residual(answer("A-1", terms, scores={"cause": "0.800000001"}))["cause"].keys() == {"a", "b"}
    found = with_residual(answer("A-1", terms, scores={"cause": "0.800000002"}))
    assert found["cause"][RESIDUAL] == Fraction(2, 10**9)
    assert with_residual(answer("A-1", terms, scores={"cause": None}))["cause"].keys() == {"a", "b"}
    assert (
        with_residual(answer("A-1", terms, status="Error"))
        == terms_of(answer("A-1", terms, status="Error"))
        == {}
    )
    assert with_residual(answer("A-1", {"cause": {"a": "0.1"}, "trap": {}})) == {}
    step = counterfactual(answer("A-1", THEN, scores={"cause": "0.100000000"}), answer("A-1", THEN)).changes
    assert [(one.text, one.size) for one in step] == [
        ("what follows the blend (cap, verification, hypotheses) moved the scores", Fraction("0.7"))
    ]


def test_a_tie_at_the_top_restores_nothing():
    then = {"cause": {"a": "0.5"}, "trap": {"a": "0.4"}}
    now = {"cause": {"a": "0.5", "b": "-0.3"}, "trap": {"a": "0.4", "b": "0.1"}}
    assert changes(now, then)[0][4] is True
    tied = {"cause": {"a": "0.4", "b": "0"}, "trap": {"a": "0.5", "b": "0.1"}}
    equal = {"cause": {"a": "0.5"}, "trap": {"a": "0.4", "b": "0.1"}}
    assert [one[4] for one in changes(equal, then)] == [True]
    assert [(one[1], one[4]) for one in changes(tied, then)] == [("a", False), ("b", False)]


def lost(name, *found):
    return Counterfactual(name, tuple(found))


def change(kind, name, size, text="", restores=True):
    return Change(kind, name, text or name, None if size is None else Fraction(size), restores)


def test_what_restores_all_is_what_restores_each_and_of_several_the_smallest():
    one = lost(
        "A-1", change("term", "chg", "0.3"), change("term", "topo", "0.1"), change("term", "hist", "0.01")
    )
    two = lost("A-2", change("term", "chg", "0.2"), change("term", "topo", "0.4"))
    assert restores_all([one, two]) == change("term", "chg", "0.3")
    assert restores_all([two, one]) == change("term", "chg", "0.3")
    assert restores_all([one]) == change("term", "hist", "0.01")
    assert restores_all([]) is None
    assert restores_all([one, lost("A-3")]) is None
    assert restores_all([one, lost("A-3", change("term", "chg", "0.3", restores=False))]) is None
    assert restores_all([one, lost("A-3", change("term", "baro", "0.3"))]) is None


def test_a_term_is_named_before_a_table_and_tables_with_one_end_are_one_change():
    first = lost("A-1", change("table", "floor -> onset", "0.1"), change("term", "chg", "0.9"))
    second = lost("A-2", change("table", "baro -> onset", "0.2"), change("term", "chg", "0.8"))
    assert restores_all([first, second]) == change("term", "chg", "0.9")
    tables = [lost(one.incident, one.changes[0]) for one in (first, second)]
    assert restores_all(tables) == change(
        "table", "baro -> onset", "0.2", "the table changed: baro -> onset, floor -> onset"
    )
    apart = [tables[0], lost("A-3", change("table", "onset -> floor", "0.1"))]
    assert restores_all(apart) is None


def test_a_change_without_a_number_restores_too_and_equal_ones_go_by_name():
    gone = change("candidate", "db", None)
    assert restores_all([lost("A-1", gone), lost("A-2", gone)]) == gone
    pair = (change("term", "b", "0.1"), change("term", "a", "0.1"))
    assert restores_all([lost("A-1", *pair)]) == change("term", "a", "0.1")


def test_terms_stand_in_the_engines_order_then_by_name_and_the_step_last():
    mixed = ["zeta", RESIDUAL, "baro", "alpha", "chg", "hist", "tele", "topo"]
    assert in_order(mixed) == ["topo", "tele", "hist", "chg", "baro", "alpha", "zeta", RESIDUAL]
    assert RESIDUAL == "after the blend"


def test_a_weight_is_shown_as_known_weights_or_as_a_ratio():
    assert str(WeightChange("floor", "topo", Fraction(2), 1)) == "topo x2.000 in table floor"
    known = WeightChange("floor", "topo", Fraction(2), 1, Fraction(1, 4), Fraction(1, 2))
    assert (known.short, str(known)) == ("topo .25 -> .50", "topo .25 -> .50 in table floor")
    assert WeightChange("floor", "topo", Fraction(2), 1, before=Fraction(1, 4)).short == "topo x2.000"
    assert WeightChange("floor", "topo", Fraction(2), 1, after=Fraction(1, 4)).short == "topo x2.000"


def test_changed_weights_stand_by_table_and_are_cut_after_a_whole_table():
    rows = [
        WeightChange(table, term, Fraction(2), 1) for table in ("a", "b", "c") for term in ("topo", "tele")
    ]
    one = "topo x2.000, tele x2.000 in table "
    whole = "; ".join(one + table for table in "abc")
    assert len(whole) == 109
    assert weights_text(rows) == whole == weights_text(rows, 109)
    assert weights_text(rows, 108) == f"{one}a; {one}b and 1 more"
    assert weights_text(rows, 80) == f"{one}a and 2 more"
    assert weights_text(rows, 20) == f"{one}a and 2 more"[:19] + "…"
    assert weights_text([]) == ""
    long = [WeightChange("t" * 110, "a", Fraction(2), 1)]
    assert len(weights_text(long)) == 120
    assert weights_text(long)[-1] == "…"
    fitting = [WeightChange("t" * 102, "a", Fraction(2), 1)]
    assert len(weights_text(fitting)) == 120
    assert weights_text(fitting)[-1] == "t"


def test_figures_have_the_digits_that_tell_them_from_one():
    assert [times(Fraction(text)) for text in ("2", "1.0004", "1.0000004", "1.0000000004", "0.5")] == [
        "x2.000", "x1.000400", "x1.000000400", "x1.000000000", "x0.500",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "text"),
    [("1/2", ".50"), ("-1/2", "-.50"), ("3/2", "1.50"), ("0.1234", ".1234"), ("0.123", ".123"), ("7/17", "7/17"),
     ("-7/17", "-7/17"), ("1/1001", ".001"), ("1/32", "1/32"), ("1/16", ".0625"),
     ("1/1000", ".001"), ("1/999", "1/999"), ("1/3000", ".0003"), ("10", "10.00"), ("0", ".00")],
)  # fmt: skip
def test_a_weight_has_two_digits_at_least_or_is_a_fraction(value, text):
    assert weight(Fraction(value)) == text


def test_a_table_that_is_still_in_use_was_not_replaced():
    mine = arm(answer("A-1", HALVED, table="given"), answer("A-2", THEN))
    assert changed_weights(mine, arm(answer("A-1", THEN), answer("A-2", THEN))) == ()


def test_a_new_table_in_place_of_several_is_told_for_each_in_their_order():
    mine = arm(*(answer(f"A-{n}", HALVED, table="given") for n in range(3)))
    reference = arm(
        answer("A-0", THEN, table="b"), answer("A-1", THEN, table="a"), answer("A-2", THEN, table=None)
    )
    assert [one.table for one in changed_weights(mine, reference)] == [
        "given",
        "a (now given)",
        "b (now given)",
    ]


def test_a_term_that_is_missing_counts_as_nought_on_either_side():
    without = {key: {"topo": one["topo"]} for key, one in THEN.items()}
    gone = ratios(arm(answer("A-1", without)), arm(answer("A-1", THEN)))
    assert gone == [("floor", "tele", Fraction(0), 2)]
    assert ratios(arm(answer("A-1", THEN)), arm(answer("A-1", without))) == []


def test_figures_that_round_to_the_very_end_of_a_weight_still_recover_it():
    values = {
        ("A-1", "cause", "topo"): 2 * (Fraction("0.5") + HALF),
        ("A-1", "trap", "topo"): 2 * (Fraction("0.4") - HALF),
    }
    assert recovered_weights(arm(answer("A-1", THEN)), values) == {("floor", "topo"): Fraction(1, 2)}


def test_a_step_is_ordered_among_the_terms_by_its_size():
    then = {"cause": {"z": "0.5"}, "trap": {"z": "0.4"}}
    for step, term, order in (("0.2", "0.3", ["step", "term"]), ("0.3", "0.2", ["term", "step"])):
        now = {"cause": {"z": nine(Fraction("0.5") - Fraction(term))}, "trap": {"z": "0.4"}}
        score = nine(Fraction("0.5") - Fraction(term) - Fraction(step))
        found = counterfactual(answer("A-1", now, scores={"cause": score}), answer("A-1", then))
        assert [one.kind for one in found.changes if not one.restores] == order


def test_of_changes_that_restore_the_smaller_comes_first_whatever_its_name():
    then = {"cause": {"a": "0.5", "b": "0.3"}, "trap": {"a": "0.4", "b": "0.3"}}
    now = {"cause": {"a": "0.3", "b": "0.2"}, "trap": {"a": "0.4", "b": "0.3"}}
    now["cause"] = {"a": "0.2", "b": "0.2"}
    now["trap"] = {"a": "0.3", "b": "0.2"}
    then = {"cause": {"a": "0.5", "b": "0.4"}, "trap": {"a": "0.3", "b": "0.2"}}
    assert [(one[1], one[3], one[4]) for one in changes(now, then)] == [
        ("b", Fraction("0.2"), True),
        ("a", Fraction("0.3"), True),
    ]
    now["cause"] = {"a": "0.45", "b": "0.05"}
    now["trap"] = {"a": "0.4", "b": "0.2"}
    then = {"cause": {"a": "0.5", "b": "0.3"}, "trap": {"a": "0.4", "b": "0.2"}}
    assert [(one[1], one[4]) for one in changes(now, then)] == [("b", True), ("a", False)]


def test_a_change_without_a_number_counts_as_the_smallest():
    rows = (change("term", "a", "0.1"), change("candidate", "db", None))
    assert restores_all([lost("A-1", *rows)]) == rows[1]


def test_many_tables_with_one_end_are_named_in_order():
    starts = ("e", "b", "d", "a", "f", "c")
    found = restores_all([lost(f"A-{start}", change("table", f"{start} -> z", "0.1")) for start in starts])
    assert found.text == "the table changed: a -> z, b -> z, c -> z, d -> z, e -> z, f -> z"


def test_figures_that_are_no_numbers_have_no_terms_and_no_step():
    whole = answer("A-1", THEN)
    broken = whole.candidates[0].model_copy(update={"terms": {"topo": "NaN"}})
    assert terms_of(whole.model_copy(update={"candidates": (broken,)})) == {}
    endless = answer("A-1", THEN).candidates[0].model_copy(update={"score": "Infinity"})
    assert RESIDUAL not in with_residual(whole.model_copy(update={"candidates": (endless,)}))["cause"]


def test_a_candidate_without_a_score_hides_no_step_of_the_next():
    found = with_residual(answer("A-1", THEN, scores={"cause": None, "trap": "0.900000000"}))
    rows = answer("A-1", THEN, scores={"cause": None, "trap": "0.900000000"}).candidates
    assert RESIDUAL in found["trap"]
    assert RESIDUAL not in found["cause"]
    turned = answer("A-1", THEN).model_copy(update={"candidates": tuple(reversed(rows))})
    assert with_residual(turned) == found


def test_what_rounding_can_explain_is_no_step_to_the_last_digit():
    one = {"cause": {"a": "0.5"}}
    assert with_residual(answer("A-1", one, scores={"cause": "0.500000001"}))["cause"].keys() == {"a"}
    assert with_residual(answer("A-1", one, scores={"cause": "0.500000002"}))["cause"].keys() == {
        "a",
        RESIDUAL,
    }


def test_no_table_on_either_side_is_no_change_of_table():
    then = answer("A-1", THEN, table=None)
    lost_one = {**THEN, "trap": {"topo": "0.6", "tele": "0.3"}}
    assert [one.kind for one in counterfactual(answer("A-1", lost_one), then).changes] == ["term"]


def test_a_table_puts_back_nothing_for_a_term_that_there_is_not():
    then = {"cause": {"a": "0.5"}, "trap": {"a": "0.2"}}
    now = {"cause": {"a": "0.1"}, "trap": {"a": "0.04", "b": "0.3"}}
    found = [one for one in changes(now, then, table="onset") if one[0] == "table"]
    assert found == [("table", "floor -> onset", "the table changed: floor -> onset", Fraction("0.4"), True)]


def test_the_size_of_a_new_or_lost_term_is_that_of_its_largest_figure_of_either_sign():
    plain = {"cause": {"a": "0.5"}, "trap": {"a": "0.2"}}
    signed = {"cause": {"a": "0.5", "n": "-0.5"}, "trap": {"a": "0.2", "n": "0.1"}}
    assert changes(signed, plain)[0][2] == "the n term is new (up to -.50)"
    first = {"cause": {"a": "0.5", "n": "0.1"}, "trap": {"a": "0.2", "n": "-0.5"}}
    assert changes(plain, first)[0][2] == "the n term is gone (was up to -.50)"
