"""What the gate says, word for word, and the exact number at which each rule turns.

The sentence is what a person sees in a condition, an Event and on the command line, so it is part of the contract.
"""

from fractions import Fraction

import pytest

from rca_eval.contract import Repeats, aggregate, nine
from rca_eval.gate import GateContext, GatePolicy, evaluate
from rca_eval.gate.subject import short_ids

IDS = tuple(f"GT-0{n}-x" for n in range(1, 10))


def deterministic(card, **changes):
    return card.model_copy(update={"deterministic": card.deterministic.model_copy(update=changes)})


def measured(card, **changes):
    return card.model_copy(update={"measured": card.measured.model_copy(update=changes)})


def dataset(card, **changes):
    return deterministic(card, dataset=card.deterministic.dataset.model_copy(update=changes))


def variant(card, name, **changes):
    rows = tuple(v.model_copy(update=changes) if v.name == name else v for v in card.deterministic.variants)
    return deterministic(card, variants=rows)


def dropped(card, *names):
    return deterministic(card, variants=tuple(v for v in card.deterministic.variants if v.name not in names))


def arm_of(card, name, at):
    return next(v for v in card.deterministic.variants if v.name == name).arms[at]


def with_arm(card, name, at, **changes):
    arms = list(next(v for v in card.deterministic.variants if v.name == name).arms)
    arms[at] = arms[at].model_copy(update=changes)
    return variant(card, name, arms=tuple(arms))


def shortened(arm, count):
    rows = arm.incidents[:count]
    figures = aggregate([(row.order(), row.expected) for row in rows])
    return arm.model_copy(
        update={"incidents": rows, "metrics": {name: nine(value) for name, value in figures.items()}}
    )


def first_row(card, name, at, **changes):
    row, *rest = arm_of(card, name, at).incidents
    return with_arm(card, name, at, incidents=(row.model_copy(update=changes), *rest))


def first_time(card, **changes):
    first, *rest = card.measured.seconds
    return measured(card, seconds=(first.model_copy(update=changes), *rest))


def control(card, **changes):
    live = card.deterministic.control.arms[1].model_copy(update=changes)
    arms = (card.deterministic.control.arms[0], live)
    return deterministic(card, control=card.deterministic.control.model_copy(update={"arms": arms}))


def metrics_of(card, name, at, metric, value):
    return with_arm(card, name, at, metrics={**arm_of(card, name, at).metrics, metric: value})


SAYS = {
    "another dataset than the one in use": (
        lambda c: (c, {}, GateContext(dataset_sha256="c" * 64)),
        "DatasetMismatch: the run measured dataset aaaaaaaaaaaa, but cccccccccccc is the one in use; run it again",
    ),
    "another dataset than the baseline's": (
        lambda c: (dataset(c, sha256="b" * 64), {}, None),
        "DatasetMismatch: the baseline is of dataset aaaaaaaaaaaa, the run of bbbbbbbbbbbb; write the baseline again",
    ),
    "other incidents in the dataset": (
        lambda c: (dataset(c, incidents=c.deterministic.dataset.incidents[:8]), {}, None),
        "IncidentSetMismatch: the baseline has 9 incidents, the run 8, or in another order",
    ),
    "another label": (
        lambda c: (first_row(c, "With", 1, change_induced=True), {}, None),
        "IncidentSetMismatch: the incidents or labels of With/LivePath are not those of the baseline; measure both on one dataset",
    ),
    "an incident twice in the control": (
        lambda c: (control(c, incidents=(c.deterministic.control.arms[1].incidents[0],) * 9), {}, None),
        "IncidentSetMismatch: LivePath holds an incident twice or one that the dataset does not have; score it again",
    ),
    "an unknown incident in the control": (
        lambda c: (
            control(
                c,
                incidents=tuple(
                    row.model_copy(update={"id": f"XX-{at}"})
                    for at, row in enumerate(c.deterministic.control.arms[1].incidents)
                ),
            ),
            {},
            None,
        ),
        "IncidentSetMismatch: LivePath holds an incident twice or one that the dataset does not have; score it again",
    ),
    "too few incidents": (
        lambda c: (c, {"min_incidents": 10}, None),
        "TooFewIncidents: 9 incidents in LivePath < 10 needed; add incidents",
    ),
    "too few classes": (
        lambda c: (c, {"min_fault_classes": 4}, None),
        "TooFewFaultClasses: 3 fault classes < 4 needed; add incidents of other classes",
    ),
    "an unknown protected incident": (
        lambda c: (c, {"protected_incidents": ("GT-02-rca-gateway-down-floor", "GT-99", "GT-98")}, None),
        "ProtectedUnknown: protectedIncidents names GT-99, which the dataset does not have",
    ),
    "no Without": (
        lambda c: (dropped(c, "Without"), {}, None),
        "VariantMissing: the scorecard has no variant Without; run all of AllShadow, Without, With",
    ),
    "an active AllShadow": (
        lambda c: (variant(c, "AllShadow", modes={"Z.Mode": "Active", "K.Mode": "Active"}), {}, None),
        "VariantMissing: AllShadow ran with K.Mode Active, so it does not show what Shadow does; run it again",
    ),
    "With that is Without": (
        lambda c: (variant(c, "With", modes={"K.Mode": "Shadow"}), {}, None),
        "VariantMissing: With ran under the modes of Without, so the component was never switched on; run it again",
    ),
    "With that is two steps away": (
        lambda c: (variant(c, "With", modes={"K.Mode": "Active", "L.Mode": "Active"}), {}, None),
        "VariantMissing: With differs from Without in 2 modes, so it shows no single component; run it again",
    ),
    "With that is off": (
        lambda c: (variant(c, "With", modes={"K.Mode": "Off"}), {}, None),
        "VariantMissing: With ran with K.Mode Off, not Active; run it again",
    ),
    "With that lost the key": (
        lambda c: (variant(c, "With", modes={}), {}, None),
        "VariantMissing: With ran with K.Mode unset, not Active; run it again",
    ),
    "an arm less": (
        lambda c: (variant(c, "With", arms=(arm_of(c, "With", 1),)), {}, None),
        "ArmMissing: variant With has no arm ScorerOnly; run both arms",
    ),
    "one repeat": (
        lambda c: (measured(c, repeats=Repeats(count=1, identical=True)), {}, None),
        "RepeatsDiffer: 1 repeats < 2 needed; a single run cannot show that the engine is deterministic",
    ),
    "repeats that differ": (
        lambda c: (
            measured(
                c, repeats=Repeats(count=2, identical=False, differences=("With/LivePath/GT-01 differs",))
            ),
            {},
            None,
        ),
        "RepeatsDiffer: 2 repeats of the same inputs differ: With/LivePath/GT-01 differs",
    ),
    "repeats that differ without a word": (
        lambda c: (measured(c, repeats=Repeats(count=2, identical=False)), {}, None),
        "RepeatsDiffer: 2 repeats of the same inputs differ",
    ),
    "a claimed rank": (
        lambda c: (first_row(c, "With", 1, rank=3), {}, None),
        "AggregateMismatch: LivePath/GT-01-login-break claims rank 3, its candidates give 1",
    ),
    "a claimed metric": (
        lambda c: (metrics_of(c, "With", 1, "MRR", "0.500000000"), {}, None),
        "AggregateMismatch: LivePath claims MRR 0.500000000, its rows give 1.000000000",
    ),
    "times for other repeats": (
        lambda c: (first_time(c, values=("0.003000000",)), {}, None),
        "AggregateMismatch: GT-01-login-break has 1 times for 2 repeats",
    ),
    "a claimed MTTR": (
        lambda c: (first_time(c, values=("0.003000000", "0.021000000")), {}, None),
        "AggregateMismatch: MTTR of AllShadow/ScorerOnly is given as 0.003000000, its rows give 0.004000000",
    ),
    "an MTTR of an unknown time": (
        lambda c: (first_time(c, values=(None, "0.003000000")), {}, None),
        "AggregateMismatch: MTTR of AllShadow/ScorerOnly is given as 0.003000000, its rows give none",
    ),
    "an MTTR that is not claimed": (
        lambda c: (
            measured(c, mttr_seconds=(c.measured.mttr_seconds[0].model_copy(update={"value": None}),)),
            {},
            None,
        ),
        "AggregateMismatch: MTTR of AllShadow/ScorerOnly is given as none, its rows give 0.003000000",
    ),
    "an MTTR where all times are zero": (
        lambda c: (
            measured(
                c,
                seconds=tuple(
                    r.model_copy(update={"values": ("0.000000000",) * 2}) for r in c.measured.seconds
                ),
            ),
            {},
            None,
        ),
        "AggregateMismatch: MTTR of AllShadow/ScorerOnly is given as 0.003000000, its rows give 0.000000000",
    ),
    "an infinite metric": (
        lambda c: (metrics_of(c, "With", 0, "AC@3", "Infinity"), {}, None),
        "NonFinite: ScorerOnly AC@3 is Infinity; a figure must be a finite number",
    ),
    "a time that is no number": (
        lambda c: (first_time(c, values=("NaN", "0.003000000")), {}, None),
        "NonFinite: a time of GT-01-login-break is NaN; a figure must be a finite number",
    ),
    "a total that is no number": (
        lambda c: (measured(c, total_seconds=("NaN",)), {}, None),
        "NonFinite: a total time is NaN; a figure must be a finite number",
    ),
    "an MTTR that is no number": (
        lambda c: (
            measured(c, mttr_seconds=(c.measured.mttr_seconds[0].model_copy(update={"value": "-Infinity"}),)),
            {},
            None,
        ),
        "NonFinite: MTTR is -Infinity; a figure must be a finite number",
    ),
    "another revision": (
        lambda c: (c, {}, GateContext(revision="r2")),
        "RevisionMismatch: the run measured revision r1, but r2 is to be judged; run it again",
    ),
    "no revision": (
        lambda c: (deterministic(c, revision=""), {}, GateContext(revision="x" * 70)),
        f"RevisionMismatch: the run measured revision (none), but {'x' * 63} is to be judged; run it again",
    ),
    "a wall that is too short": (
        lambda c: (measured(c), {}, GateContext(wall_seconds=(Fraction(1), Fraction(-2)))),
        "ImplausibleTimes: repeat 2 claims 0.162 s, its container ran -2.000 s",
    ),
    "no control": (
        lambda c: (deterministic(c, control=None), {}, None),
        "GateInsensitive: the known-bad control was not run, so nothing shows that this dataset can catch a regression",
    ),
    "a control over other incidents": (
        lambda c: (
            deterministic(
                c,
                control=c.deterministic.control.model_copy(
                    update={
                        "arms": (
                            c.deterministic.control.arms[0],
                            shortened(c.deterministic.control.arms[1], 3),
                        )
                    }
                ),
            ),
            {},
            None,
        ),
        "GateInsensitive: the known-bad control was not run over the same incidents",
    ),
    "a control without the live arm": (
        lambda c: (
            deterministic(
                c,
                control=c.deterministic.control.model_copy(update={"arms": c.deterministic.control.arms[:1]}),
            ),
            {},
            None,
        ),
        "GateInsensitive: the known-bad control was not run over the same incidents",
    ),
    "a control that is not caught": (
        lambda c: (c, {"accuracy_drop": "0.222222223"}, None),
        "GateInsensitive: the known-bad control was not caught: its AC@1 0.778 >= 1.000 - 0.222222223; the dataset needs harder incidents",
    ),
    "a self-made scorecard": (
        lambda c: (c.model_copy(update={"provenance": "SelfReported"}), {}, None),
        "SelfReported: the scorecard was not written by the scorecard container; it can be shown, but it cannot decide",
    ),
}


@pytest.mark.parametrize("name", SAYS)
def test_validity_says_what_is_wrong_and_what_to_do(make_scorecard, make_baseline, name):
    damage, text = SAYS[name]
    card, policy, context = damage(make_scorecard())
    result = evaluate(card, make_baseline(), GatePolicy(**policy), context)
    assert result.message == text
    assert result.reason == text.split(":")[0]


def test_a_baseline_without_an_arm_that_was_run_is_told_from_a_run_without_one(make_scorecard, make_baseline):
    base = make_baseline()
    live_only = base.model_copy(update={"arms": base.arms[1:]})
    assert evaluate(make_scorecard(), live_only).message == (
        "ArmMissing: the baseline has no arm ScorerOnly; run both arms"
    )
    planted = base.model_copy(update={"arms": base.arms[:1]})
    assert evaluate(make_scorecard(), planted).message == (
        "ArmMissing: the baseline has no arm LivePath, the one that measures; write it again from a whole run"
    )


def test_without_a_baseline_or_a_scorecard_the_sentence_says_which(make_scorecard, make_baseline):
    assert evaluate(make_scorecard(), None).message == (
        "NoBaseline: there is no baseline to compare with; write one from an AllShadow run with `rca-eval baseline write`"
    )
    result = evaluate(None, make_baseline())
    assert (result.verdict, result.reason) == ("Error", "NoScorecard")
    assert result.message == "NoScorecard: there is no scorecard, so there is nothing to judge"
    assert [(check.name, check.result, check.reason) for check in result.checks] == [
        ("Validity", "Error", "NoScorecard")
    ]


def test_a_valid_scorecard_has_one_row_that_says_so(make_scorecard, make_baseline):
    rows = [c for c in evaluate(make_scorecard(), make_baseline()).checks if c.name == "Validity"]
    assert [(row.result, row.message, row.reason) for row in rows] == [
        ("Passed", "the scorecard may decide", None)
    ]


def test_all_reasons_against_a_scorecard_are_listed_and_the_first_names_the_verdict(
    make_scorecard, make_baseline
):
    card = deterministic(make_scorecard(), control=None).model_copy(update={"provenance": "SelfReported"})
    result = evaluate(card, make_baseline(), GatePolicy(min_incidents=10))
    rows = [(c.reason, c.result) for c in result.checks if c.name == "Validity"]
    assert rows == [
        ("TooFewIncidents", "Inconclusive"),
        ("GateInsensitive", "Inconclusive"),
        ("SelfReported", "Inconclusive"),
    ]


def reason(card, base, policy=None, context=None):
    return evaluate(card, base, policy, context).reason


def test_exactly_as_many_as_needed_are_enough(make_scorecard, make_baseline):
    card, base = make_scorecard(), make_baseline()
    assert reason(card, base, GatePolicy(min_incidents=9, min_fault_classes=3, min_repeats=2)) == "GatePassed"
    assert reason(card, base, GatePolicy(min_repeats=3)) == "RepeatsDiffer"
    one = measured(card, repeats=Repeats(count=1, identical=True))
    one = measured(
        one, seconds=tuple(r.model_copy(update={"values": r.values[:1]}) for r in one.measured.seconds)
    )
    assert reason(one, base, GatePolicy(min_repeats=1)) == "GatePassed"


def test_a_container_s_wall_has_a_second_of_slack_and_not_a_nanosecond_more(make_scorecard, make_baseline):
    card, base = make_scorecard(seconds={"With": "1"}), make_baseline()
    total = Fraction("0.003") * 36 + 18  # of one repeat
    for wall, expected in ((total - 1, "GatePassed"), (total - 1 - Fraction(1, 10**9), "ImplausibleTimes")):
        assert reason(card, base, context=GateContext(wall_seconds=(wall, 100))) == expected
        assert reason(card, base, context=GateContext(wall_seconds=(100, wall))) == expected
    assert (
        reason(card, base, context=GateContext(wall_seconds=(100, 100, 0))) == "GatePassed"
    )  # no third repeat


def test_a_control_exactly_at_the_limit_is_not_caught(make_scorecard, make_baseline):
    fifty = tuple(f"IN-{n:02d}-x" for n in range(50))
    for lost, expected in ((1, "GateInsensitive"), (2, "GatePassed")):
        card = make_scorecard(ids=fifty, control_lost=fifty[:lost])
        assert reason(card, make_baseline(ids=fifty)) == expected


def test_a_self_made_scorecard_may_decide_where_the_policy_says_so(make_scorecard, make_baseline):
    card = make_scorecard().model_copy(update={"provenance": "SelfReported"})
    assert reason(card, make_baseline(), GatePolicy(allow_self_reported=True)) == "GatePassed"


def test_mttr_says_whose_time_is_unknown(make_scorecard, make_baseline):
    base = make_baseline()
    times = tuple(row.model_copy(update={"value": None}) for row in base.mttr_seconds)
    result = evaluate(make_scorecard(), make_baseline(mttr_seconds=times))
    assert (result.verdict, result.reason) == ("Inconclusive", "MTTR")
    assert result.message == (
        "MTTR of the baseline is not known for every incident in LivePath, so its rise cannot be judged"
    )
    row = next(c for c in result.checks if c.result == "Inconclusive")
    assert (row.arm, row.variant, row.against, row.value) == ("LivePath", "With", "Baseline", None)
    card = make_scorecard()
    for name in ("With", "Without"):
        rows = tuple(
            row.model_copy(update={"values": (None, None)})
            if (row.variant, row.arm) == (name, "LivePath")
            else row
            for row in card.measured.seconds
        )
        mttr = tuple(
            row.model_copy(update={"value": None}) if (row.variant, row.arm) == (name, "LivePath") else row
            for row in card.measured.mttr_seconds
        )
        result = evaluate(measured(card, seconds=rows, mttr_seconds=mttr), make_baseline())
        assert result.message == (
            f"MTTR of {name} is not known for every incident in LivePath, so its rise cannot be judged"
        )


def test_mttr_has_both_numbers_in_every_row(make_scorecard, make_baseline):
    result = evaluate(make_scorecard(seconds={"With": "31", "Without": "0.5"}), make_baseline())
    rows = [c for c in result.checks if c.name == "MTTR"]
    assert [(c.arm, c.against, c.result, c.message) for c in rows] == [
        ("LivePath", "Baseline", "Failed", "MTTR 31.000 s > 0.003 s + 30 s, LivePath against the baseline"),
        ("LivePath", "Without", "Failed", "MTTR 31.000 s > 0.500 s + 30 s, LivePath against Without"),
        (
            "ScorerOnly",
            "Baseline",
            "Failed",
            "MTTR 31.000 s > 0.003 s + 30 s, ScorerOnly against the baseline",
        ),
        ("ScorerOnly", "Without", "Failed", "MTTR 31.000 s > 0.500 s + 30 s, ScorerOnly against Without"),
    ]
    assert (rows[0].value, rows[0].baseline, rows[0].limit, rows[0].variant) == (
        "31.000000000", "0.003000000", "30.003000000", "With",
    )  # fmt: skip


def test_accuracy_has_both_numbers_in_every_row(make_scorecard, make_baseline):
    result = evaluate(make_scorecard(lost=("GT-01", "GT-02"), without_lost=("GT-01",)), make_baseline())
    rows = [c for c in result.checks if c.name == "AC@1"]
    assert [(c.arm, c.against, c.result, c.message) for c in rows] == [
        ("LivePath", "Baseline", "Failed", "AC@1 0.778 < 1.000 - 0.02 (GT-01, GT-02 lost), LivePath against the baseline"),
        ("LivePath", "Without", "Failed", "AC@1 0.778 < 0.889 - 0.02 (GT-02 lost), LivePath against Without"),
        ("ScorerOnly", "Baseline", "Passed", "AC@1 1.000 >= 1.000 - 0.02, ScorerOnly against the baseline"),
        ("ScorerOnly", "Without", "Passed", "AC@1 1.000 >= 1.000 - 0.02, ScorerOnly against Without"),
    ]  # fmt: skip
    assert (rows[0].value, rows[0].baseline, rows[0].limit, rows[0].variant) == (
        "0.777777778", "1.000000000", "0.980000000", "With",
    )  # fmt: skip


def test_protected_incidents_have_their_count_in_every_row(make_scorecard, make_baseline):
    result = evaluate(make_scorecard(lost=("GT-03",)), make_baseline())
    rows = [c for c in result.checks if c.name == "ProtectedIncidents"]
    assert [(c.arm, c.result, c.message, c.value, c.baseline, c.limit, c.variant) for c in rows] == [
        ("LivePath", "Failed", "protected incidents with AC@1 = 1: 1 of 2 (GT-03 lost), LivePath",
         "0.500000000", "1.000000000", "1.000000000", "With"),
        ("ScorerOnly", "Passed", "protected incidents with AC@1 = 1: 2 of 2, ScorerOnly",
         "1.000000000", "1.000000000", "1.000000000", "With"),
    ]  # fmt: skip
    none = evaluate(make_scorecard(), make_baseline(), GatePolicy(protected_incidents=()))
    rows = [c for c in none.checks if c.name == "ProtectedIncidents"]
    assert [(c.arm, c.result, c.message) for c in rows] == [
        (arm, "NotApplicable", f"no incident of {arm} is protected") for arm in ("LivePath", "ScorerOnly")
    ]


def test_an_incident_that_is_marked_is_protected_by_itself(make_scorecard, make_baseline):
    def marked(arm):
        rows = tuple(
            row.model_copy(update={"protected": row.id.startswith("GT-05")}) for row in arm.incidents
        )
        return arm.model_copy(update={"incidents": rows})

    card = make_scorecard(lost=("GT-05",), control_lost=("GT-0",))
    card = deterministic(
        card,
        variants=tuple(
            v.model_copy(update={"arms": tuple(map(marked, v.arms))}) for v in card.deterministic.variants
        ),
    )
    base = make_baseline(arms=tuple(map(marked, make_baseline().arms)))
    result = evaluate(card, base, GatePolicy(accuracy_drop="0.5"))
    assert (result.reason, result.message) == (
        "ProtectedIncidents",
        "protected incidents with AC@1 = 1: 2 of 3 (GT-05 lost), LivePath",
    )


def test_collapse_passes_and_fails_in_words(make_scorecard, make_baseline):
    rows = [c for c in evaluate(make_scorecard(), make_baseline()).checks if c.name == "ShadowCollapse"]
    assert [(c.arm, c.result, c.message, c.variant, c.against) for c in rows] == [
        (arm, "Passed", f"AllShadow equals the baseline byte for byte, {arm}", "AllShadow", "Baseline")
        for arm in ("LivePath", "ScorerOnly")
    ]
    moved = first_row(make_scorecard(), "AllShadow", 1, decision="Verified")
    result = evaluate(moved, make_baseline())
    assert (result.reason, result.message) == (
        "ShadowCollapse",
        "AllShadow differs from the baseline in 1 of 9 incidents (GT-01); Shadow must change nothing, LivePath",
    )
    other = metrics_of(make_scorecard(), "AllShadow", 0, "MRR", "0.900000000")
    rows = [c for c in evaluate(other, make_baseline()).checks if c.name == "ShadowCollapse"]
    assert [(c.arm, c.result) for c in rows] == [("LivePath", "Passed"), ("ScorerOnly", "Failed")]


@pytest.mark.parametrize(
    ("without", "with_", "warned"),
    [
        ("0.003", "0.053", False),  # 50 ms more
        ("0.003", "0.053000001", True),
        ("0.1", "0.3", False),  # three times
        ("0.1", "0.300000001", True),
        ("0.1", "0.1", False),
    ],
)
def test_the_ratio_warns_beyond_three_times_and_fifty_milliseconds(
    make_scorecard, make_baseline, without, with_, warned
):
    result = evaluate(make_scorecard(seconds={"Without": without, "With": with_}), make_baseline())
    rows = [c for c in result.checks if c.name == "MTTRRatio"]
    assert [c.arm for c in rows] == (["LivePath", "ScorerOnly"] if warned else [])
    for row in rows:
        assert (row.result, row.variant, row.against) == ("Warning", "With", "Without")
        assert row.message.startswith("MTTR 0.")
        assert f" s, {row.arm} against Without" in row.message
        assert " s is more than 3 times 0." in row.message
    assert result.verdict == "Passed"


def test_a_pass_says_numbers_arm_and_count(make_scorecard, make_baseline):
    assert evaluate(make_scorecard(), make_baseline()).message == (
        "AC@1 1.000 >= 1.000 - 0.02; MTTR 0.003 s <= 0.003 s + 30 s; LivePath, 9 incidents"
    )
    one = evaluate(
        make_scorecard(ids=IDS[:1], control_lost=IDS),
        make_baseline(ids=IDS[:1]),
        GatePolicy(min_incidents=1, min_fault_classes=1),
    )
    assert one.message.endswith("; LivePath, 1 incident")


def test_few_incidents_are_noted_in_words_and_a_tolerance_of_none_needs_no_note(
    make_scorecard, make_baseline
):
    assert evaluate(make_scorecard(), make_baseline()).notes == (
        "underpowered: of 9 incidents one lost is 0.111 > 0.02; a pass shows no loss on these, it does not prove a rate",
    )
    assert evaluate(make_scorecard(), make_baseline(), GatePolicy(accuracy_drop="0")).notes == ()
    assert evaluate(dropped(make_scorecard(), "With"), make_baseline()).notes == ()


def test_ids_are_shortened_where_that_is_unique_and_counted_beyond_five():
    assert short_ids([IDS[0], IDS[1]], IDS) == "GT-01, GT-02"
    assert short_ids(["GT-01-a"], ["GT-01-a", "GT-01-b"]) == "GT-01-a"
    assert short_ids(["plain", "A1-2"], []) == "plain, A1-2"
    assert short_ids(list(IDS[:5]), IDS) == "GT-01, GT-02, GT-03, GT-04, GT-05"
    assert short_ids(list(IDS[:6]), IDS) == "GT-01, GT-02, GT-03, GT-04, GT-05 and 1 more"
    long = [f"{'x' * 70}{n}" for n in range(3)]
    assert short_ids(long, long) == f"{long[0]}, {long[1]} and 1 more"
    assert short_ids([f"{'x' * 200}1", "b"], []) == f"{'x' * 200}1 and 1 more"
