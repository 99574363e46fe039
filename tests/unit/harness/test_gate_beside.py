"""What stands beside a verdict: movements, margins, statistics, hits by class. It informs, and never decides."""

from rca_eval.contract import ScoredCandidate, aggregate, nine
from rca_eval.gate import GateContext, GatePolicy, evaluate
from rca_eval.gate.beside import arm_statistics, class_counts, margins, movements

FIFTY = tuple(f"IN-{n:02d}-x" for n in range(50))


def statistics_of(result, arm="LivePath", against="Baseline"):
    return next(row for row in result.statistics if (row.arm, row.against) == (arm, against))


def arm_of(card, variant="With", arm="LivePath"):
    return next(one for one in card.deterministic.arms_of(variant) if one.arm == arm)


def with_rows(arm, rows):
    figures = aggregate([(row.order(), row.expected) for row in rows])
    metrics = {name: nine(value) for name, value in figures.items()}
    return arm.model_copy(update={"incidents": tuple(rows), "metrics": metrics})


def test_one_lost_incident_of_nine_shows_that_it_proves_nothing_and_fails_all_the_same(
    make_scorecard, make_baseline
):
    result = evaluate(make_scorecard(lost=("GT-01",)), make_baseline())
    assert result.verdict == "Failed"
    assert statistics_of(result).plain() == {
        "arm": "LivePath",
        "against": "Baseline",
        "incidents": 9,
        "regressed": 1,
        "fixed": 0,
        "mcnemarExact": "1.000000000",
        "mcnemarMidP": "0.500000000",
        "dropLow": "0.000000000",
        "dropHigh": "0.333333333",
        "level": "0.950000000",
        "resamples": 10_000,
        "seed": 1,
        "wilsonLow": "0.565000294",
        "wilsonHigh": "0.980109112",
        "resolution": "0.111111111",
        "underpowered": True,
    }


def test_there_is_a_row_for_each_arm_and_reference_in_the_order_of_the_checks(make_scorecard, make_baseline):
    result = evaluate(make_scorecard(), make_baseline())
    assert [(row.arm, row.against) for row in result.statistics] == [
        (check.arm, check.against) for check in result.checks if check.name == "AC@1"
    ]


def test_equal_answers_leave_p_open_and_give_an_interval_without_width(make_scorecard, make_baseline):
    row = statistics_of(evaluate(make_scorecard(), make_baseline()))
    assert (row.regressed, row.fixed, row.mcnemar_exact, row.mcnemar_mid_p) == (0, 0, None, None)
    assert (row.drop_low, row.drop_high) == ("0.000000000", "0.000000000")
    assert (row.wilson_low, row.wilson_high) == ("0.700854952", "1.000000000")


def test_lost_and_won_are_counted_apart_and_against_each_reference(make_scorecard, make_baseline):
    base = make_baseline(arms=make_scorecard(lost=("GT-05", "GT-06")).deterministic.arms_of("With"))
    result = evaluate(make_scorecard(lost=("GT-01",), without_lost=("GT-01", "GT-05")), base)
    counted = {row.against: (row.regressed, row.fixed) for row in result.statistics if row.arm == "LivePath"}
    assert counted == {"Baseline": (1, 2), "Without": (0, 1)}
    assert statistics_of(result).drop_low.startswith("-")


def test_underpowered_is_a_resolution_coarser_than_the_tolerance(make_scorecard, make_baseline):
    card = make_scorecard(ids=FIFTY, control_lost=FIFTY[:9])
    base = make_baseline(ids=FIFTY)
    exactly = statistics_of(evaluate(card, base))
    assert (exactly.resolution, exactly.underpowered) == ("0.020000000", False)
    strict = statistics_of(evaluate(card, base, GatePolicy(accuracy_drop="0.019999999")))
    assert strict.underpowered


def test_an_arm_without_incidents_has_statistics_without_figures(make_scorecard):
    live = arm_of(make_scorecard())
    empty = live.model_copy(update={"incidents": ()})
    row = arm_statistics(empty, live, "Without", GatePolicy().tolerance)
    assert (row.incidents, row.regressed, row.fixed, row.underpowered) == (0, 0, 0, True)
    figures = (
        row.mcnemar_exact,
        row.mcnemar_mid_p,
        row.drop_low,
        row.drop_high,
        row.wilson_low,
        row.wilson_high,
    )
    assert figures == (None,) * 6
    assert row.resolution is None


def test_only_incidents_that_both_sides_measured_are_pairs(make_scorecard):
    live = arm_of(make_scorecard(lost=("GT-01", "GT-02")))
    before = with_rows(live, arm_of(make_scorecard()).incidents[1:])
    row = arm_statistics(live, before, "Baseline", GatePolicy().tolerance)
    assert (row.incidents, row.regressed) == (8, 1)


def test_with_several_labels_an_incident_is_hit_when_any_of_them_is_alone_at_the_top(make_scorecard):
    live = arm_of(make_scorecard())
    two = live.incidents[0].model_copy(update={"expected": ("third", "cause")})
    trap = live.incidents[1].model_copy(update={"expected": ("third", "fourth"), "rank": None})
    row = arm_statistics(with_rows(live, (two, trap)), live, "Baseline", GatePolicy().tolerance)
    assert (row.incidents, row.regressed, row.fixed) == (2, 1, 0)


def test_nothing_is_computed_from_a_figure_that_is_no_number(make_scorecard, make_baseline):
    card = make_scorecard()
    broken = card.model_copy(
        update={"measured": card.measured.model_copy(update={"total_seconds": ("NaN", "NaN")})}
    )
    result = evaluate(broken, make_baseline())
    assert (result.reason, result.statistics, result.classes, result.margins) == ("NonFinite", (), (), ())


def test_statistics_never_change_a_verdict(make_scorecard, make_baseline):
    """A drop that no test calls significant fails; an interval that reaches far beyond the tolerance passes."""
    assert evaluate(make_scorecard(lost=("GT-01",)), make_baseline()).verdict == "Failed"
    ids = tuple(f"IN-{n:03d}-x" for n in range(100))
    card = make_scorecard(ids=ids, lost=("IN-001", "IN-002"), control_lost=("IN-",))
    result = evaluate(card, make_baseline(ids=ids))
    assert (result.verdict, statistics_of(result).drop_high) == ("Passed", "0.050000000")


def test_classes_show_where_incidents_were_lost(make_scorecard, make_baseline):
    result = evaluate(make_scorecard(lost=("GT-03", "GT-06"), without_lost=("GT-03",)), make_baseline())
    live = [row for row in result.classes if row.arm == "LivePath"]
    assert [(row.fault_class, row.incidents, row.hits, row.baseline, row.without) for row in live] == [
        ("auth/login", 3, 3, 3, 3),
        ("data/datastore", 3, 1, 3, 2),
        ("deploy/config", 3, 3, 3, 3),
    ]
    assert [row.arm for row in result.classes] == ["LivePath"] * 3 + ["ScorerOnly"] * 3


def test_a_class_says_nothing_of_a_reference_over_other_incidents(make_scorecard):
    card = make_scorecard()
    mine, fewer = arm_of(card), with_rows(arm_of(card), arm_of(card).incidents[1:])
    rows = list(class_counts({"LivePath": mine}, {"LivePath": fewer}, {"LivePath": mine}))
    assert {(row.baseline, row.without) for row in rows} == {(None, 3)}
    assert {(row.baseline, row.without) for row in class_counts({"LivePath": mine}, {}, {})} == {(None, None)}
    rows = list(class_counts({"LivePath": mine}, {"LivePath": mine}, {"LivePath": fewer}))
    assert {(row.baseline, row.without) for row in rows} == {(3, None)}


def test_an_arm_that_was_not_run_has_no_classes_and_hides_none_of_the_other(make_scorecard):
    sentinel = arm_of(make_scorecard(), arm="ScorerOnly")
    assert {row.arm for row in class_counts({"ScorerOnly": sentinel}, {}, {})} == {"ScorerOnly"}


def test_a_batch_run_is_its_own_without(make_scorecard, make_baseline):
    result = evaluate(make_scorecard(), make_baseline(), context=GateContext(component=False))
    assert {(row.hits, row.without) for row in result.classes} == {(3, 3)}


def test_movements_say_rank_before_and_after_of_what_both_measured(make_scorecard):
    before, after = arm_of(make_scorecard(lost=("GT-02",))), arm_of(make_scorecard(lost=("GT-01",)))
    regressed, fixed, unchanged = movements({"LivePath": after}, {"LivePath": before})
    assert [(m.arm, m.incident[:5], m.before, m.after) for m in regressed] == [("LivePath", "GT-01", 1, 2)]
    assert [(m.incident[:5], m.before, m.after) for m in fixed] == [("GT-02", 2, 1)]
    assert len(unchanged) == 7
    shorter = with_rows(before, before.incidents[:3])
    assert sum(map(len, movements({"LivePath": after}, {"LivePath": shorter}))) == 3
    later = with_rows(before, before.incidents[3:])
    assert sum(map(len, movements({"LivePath": after}, {"LivePath": later}))) == 6
    assert movements({"LivePath": after}, {}) == ((), (), ())
    assert movements({}, {"LivePath": before}) == ((), (), ())


def test_the_three_smallest_margins_come_with_what_they_were_and_by_how_much_they_moved(make_scorecard):
    before = arm_of(make_scorecard())
    rows = list(before.incidents)
    for place, score in ((4, "0.710000000"), (2, "0.720000000"), (7, "0.730000000"), (1, "0.900000000")):
        first, second = rows[place].candidates
        rows[place] = rows[place].model_copy(
            update={"candidates": (first.model_copy(update={"score": score}), second)}
        )
    found = margins(with_rows(before, rows), before)
    assert [(m.incident[:5], m.value, m.baseline, m.margin_delta) for m in found] == [
        ("GT-05", "0.010000000", "0.100000000", "-0.090000000"),
        ("GT-03", "0.020000000", "0.100000000", "-0.080000000"),
        ("GT-08", "0.030000000", "0.100000000", "-0.070000000"),
    ]
    assert {m.arm for m in found} == {"LivePath"}
    alone = margins(with_rows(before, rows), None)
    assert next((m.value, m.baseline, m.margin_delta) for m in alone) == ("0.010000000", None, None)
    assert margins(None, before) == ()


def test_an_incident_without_scores_has_no_margin(make_scorecard):
    before = arm_of(make_scorecard())
    bare = before.incidents[0].model_copy(
        update={"candidates": (ScoredCandidate(key="cause"), ScoredCandidate(key="trap"))}
    )
    found = margins(with_rows(before, (bare, before.incidents[1])), before)
    assert [m.incident[:5] for m in found] == ["GT-02"]
    now = margins(before, with_rows(before, (bare, *before.incidents[1:])))
    assert next((m.incident[:5], m.baseline, m.margin_delta) for m in now) == ("GT-01", None, None)
