"""No data is never a pass: what is missing, empty, partial, stale, forged or not finite ends with exit status
2.
"""

from fractions import Fraction

import pytest

from rca_eval.contract import Repeats, nine
from rca_eval.gate import VALIDITY_REASONS, GateContext, GatePolicy, evaluate


def with_deterministic(card, **changes):
    return card.model_copy(update={"deterministic": card.deterministic.model_copy(update=changes)})


def with_measured(card, **changes):
    return card.model_copy(update={"measured": card.measured.model_copy(update=changes)})


def with_live(card, change, variant="With"):
    """The scorecard with `change` applied to the live arm of one variant."""
    variants = []
    for v in card.deterministic.variants:
        arms = tuple(change(a) if v.name == variant and a.arm == "LivePath" else a for a in v.arms)
        variants.append(v.model_copy(update={"arms": arms}))
    return with_deterministic(card, variants=tuple(variants))


def drop_last(arm):
    return arm.model_copy(update={"incidents": arm.incidents[:-1]})


def empty(arm):
    return arm.model_copy(update={"incidents": ()})


def claim(metric, value):
    return lambda arm: arm.model_copy(update={"metrics": {**arm.metrics, metric: value}})


def first_incident(**changes):
    return lambda arm: arm.model_copy(
        update={"incidents": (arm.incidents[0].model_copy(update=changes), *arm.incidents[1:])}
    )


def nan_score(arm):
    first = arm.incidents[0]
    broken = first.candidates[0].model_copy(update={"score": "NaN"})
    return first_incident(candidates=(broken, *first.candidates[1:]))(arm)


def only_live(card):
    variants = tuple(
        v.model_copy(update={"arms": tuple(a for a in v.arms if a.arm == "LivePath")})
        for v in card.deterministic.variants
    )
    return with_deterministic(card, variants=variants)


def no_live(card):
    variants = tuple(
        v.model_copy(update={"arms": tuple(a for a in v.arms if a.arm != "LivePath")})
        for v in card.deterministic.variants
    )
    return with_deterministic(card, variants=variants)


def without_variant(card, name):
    kept = tuple(v for v in card.deterministic.variants if v.name != name)
    rows = tuple(row for row in card.measured.mttr_seconds if row.variant != name)
    return with_measured(with_deterministic(card, variants=kept), mttr_seconds=rows)


def other_dataset(card):
    info = card.deterministic.dataset.model_copy(update={"sha256": "b" * 64})
    return with_deterministic(card, dataset=info)


def forged_mttr(card):
    first, *rest = card.measured.mttr_seconds
    return with_measured(card, mttr_seconds=(first.model_copy(update={"value": "0.000000001"}), *rest))


def repeats(count, *, identical):
    return lambda card: with_measured(card, repeats=Repeats(count=count, identical=identical))


def live(change):
    return lambda card: with_live(card, change)


def with_modes(name, mode):
    def change(card):
        variants = tuple(
            v.model_copy(update={"modes": {"K.Mode": mode}}) if v.name == name else v
            for v in card.deterministic.variants
        )
        return with_deterministic(card, variants=variants)

    return change


def swapped(card):
    names = {"With": "Without", "Without": "With"}
    variants = tuple(
        v.model_copy(update={"name": names.get(v.name, v.name)}) for v in card.deterministic.variants
    )
    return with_deterministic(card, variants=variants)


def two_switched_on(card):
    modes = {"K.Mode": "Active", "Other.Mode": "Active"}
    variants = tuple(
        v.model_copy(update={"modes": modes}) if v.name == "With" else v for v in card.deterministic.variants
    )
    return with_deterministic(card, variants=variants)


def one_time_short(card):
    first, *rest = card.measured.seconds
    return with_measured(card, seconds=(first.model_copy(update={"values": first.values[:1]}), *rest))


DAMAGE = {
    "With was never switched on": (with_modes("With", "Shadow"), "VariantMissing"),
    "With and Without changed places": (swapped, "VariantMissing"),
    "With ran under a mode that is neither": (with_modes("With", "Off"), "VariantMissing"),
    "With had a second component switched on": (two_switched_on, "VariantMissing"),
    "AllShadow had something Active in it": (with_modes("AllShadow", "Active"), "VariantMissing"),
    "a time of one repeat is missing": (one_time_short, "AggregateMismatch"),
    "the baseline is of another dataset": (other_dataset, "DatasetMismatch"),
    "an incident is missing from the candidate": (live(drop_last), "IncidentSetMismatch"),
    "a label was changed": (live(first_incident(change_induced=True)), "IncidentSetMismatch"),
    "all live incidents are missing": (live(empty), "IncidentSetMismatch"),
    "Without is missing": (lambda card: without_variant(card, "Without"), "VariantMissing"),
    "With is missing": (lambda card: without_variant(card, "With"), "VariantMissing"),
    "AllShadow is missing": (lambda card: without_variant(card, "AllShadow"), "VariantMissing"),
    "the sentinel arm is missing": (only_live, "ArmMissing"),
    "the honest arm is missing": (no_live, "ArmMissing"),
    "one repeat only": (repeats(1, identical=True), "RepeatsDiffer"),
    "repeats are called identical beside their differences": (
        lambda card: with_measured(
            card, repeats=Repeats(count=2, identical=True, differences=("GT-01 differs",))
        ),
        "RepeatsDiffer",
    ),
    "repeats differ": (repeats(2, identical=False), "RepeatsDiffer"),
    "a metric that its rows do not give": (live(claim("AC@1", "0.990000000")), "AggregateMismatch"),
    "a rank that its candidates do not give": (live(first_incident(rank=2)), "AggregateMismatch"),
    "an MTTR that its rows do not give": (forged_mttr, "AggregateMismatch"),
    "a NaN metric": (live(claim("MRR", "NaN")), "NonFinite"),
    "a NaN score": (live(nan_score), "NonFinite"),
    "an infinite time": (
        lambda card: with_measured(card, total_seconds=("Infinity", "0.000000000")),
        "NonFinite",
    ),
    "no control": (lambda card: with_deterministic(card, control=None), "GateInsensitive"),
    "a scorecard that the candidate wrote itself": (
        lambda card: card.model_copy(update={"provenance": "SelfReported"}),
        "SelfReported",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_measurement_names_its_reason_and_never_passes(name, make_scorecard, make_baseline):
    damage, reason = DAMAGE[name]
    result = evaluate(damage(make_scorecard()), make_baseline())
    assert (result.reason, result.exit_code) == (reason, 2)
    assert result.message.startswith(f"{reason}: ")


def test_no_scorecard_and_no_baseline_are_errors_of_their_own(make_scorecard, make_baseline):
    assert (evaluate(None, make_baseline()).reason, evaluate(None, None).exit_code) == ("NoScorecard", 2)
    result = evaluate(make_scorecard(), None)
    assert (result.reason, result.verdict) == ("NoBaseline", "Inconclusive")


def test_a_baseline_without_the_honest_arm_is_nothing_to_compare_with(make_scorecard, make_baseline):
    whole = make_baseline()
    planted = whole.model_copy(update={"arms": whole.arms[:1]})
    for card in (make_scorecard(), make_scorecard(lost=("GT-01",), without_lost=("GT-01",))):
        result = evaluate(card, planted)
        assert (result.reason, result.exit_code) == ("ArmMissing", 2)
        assert "the baseline has no arm LivePath" in result.message


def test_too_few_incidents_or_fault_classes_cannot_decide(make_scorecard, make_baseline):
    ids = ("GT-01-a", "GT-04-b", "GT-07-c")
    few = evaluate(make_scorecard(ids=ids), make_baseline(ids=ids))
    assert few.reason == "TooFewIncidents"
    assert "3 incidents in LivePath < 9" in few.message
    classes = evaluate(make_scorecard(), make_baseline(), GatePolicy(min_fault_classes=4))
    assert classes.reason == "TooFewFaultClasses"


def test_another_revision_or_dataset_than_intended_cannot_decide(make_scorecard, make_baseline):
    context = GateContext(revision="r2")
    assert evaluate(make_scorecard(), make_baseline(), context=context).reason == "RevisionMismatch"
    context = GateContext(dataset_sha256="c" * 64)
    assert evaluate(make_scorecard(), make_baseline(), context=context).reason == "DatasetMismatch"
    known = GateContext(revision="r1", dataset_sha256="a" * 64)
    assert evaluate(make_scorecard(), make_baseline(), context=known).verdict == "Passed"


def test_times_that_the_container_cannot_have_needed_are_implausible(make_scorecard, make_baseline):
    card = make_scorecard(seconds={"With": "10"})  # 18 runs of 10 s in one repeat
    wall = GateContext(wall_seconds=(Fraction(20), Fraction(20)))
    assert evaluate(card, make_baseline(), context=wall).reason == "ImplausibleTimes"
    enough = GateContext(wall_seconds=(Fraction(200), Fraction(200)))
    assert evaluate(card, make_baseline(), context=enough).verdict == "Passed"


def with_times(card, values, only=lambda row: True):
    """The scorecard with other times, and the MTTR that they give."""
    rows = tuple(
        row.model_copy(update={"values": values}) if only(row) else row for row in card.measured.seconds
    )
    card = with_measured(card, seconds=rows)
    mttr = []
    for row in card.measured.mttr_seconds:
        mine = [r.values for r in rows if (r.variant, r.arm) == (row.variant, row.arm)]
        medians = [sum(map(Fraction, one)) / 2 for one in mine]
        mttr.append(row.model_copy(update={"value": nine(sum(medians) / len(medians))}))
    return with_measured(card, mttr_seconds=tuple(mttr))


ZERO, TIME = "0.000000000", "0.003000000"
NO_TIME = {
    "everywhere": ((ZERO, ZERO), lambda row: True, "AllShadow/ScorerOnly in repeat 1"),
    "in With only": ((ZERO, ZERO), lambda row: row.variant == "With", "With/ScorerOnly in repeat 1"),
    "in one arm only": (
        (ZERO, ZERO),
        lambda row: (row.variant, row.arm) == ("Without", "LivePath"),
        "Without/LivePath in repeat 1",
    ),
    "in the second repeat only": (
        (TIME, ZERO),
        lambda row: row.variant == "With",
        "With/ScorerOnly in repeat 2",
    ),
}


@pytest.mark.parametrize("where", NO_TIME)
@pytest.mark.parametrize("wall", [None, (Fraction(20), Fraction(20))])
def test_times_that_are_all_exactly_zero_were_not_measured(make_scorecard, make_baseline, where, wall):
    values, only, says = NO_TIME[where]
    card = with_times(make_scorecard(), values, only)
    result = evaluate(card, make_baseline(), context=GateContext(wall_seconds=wall))
    assert (result.reason, result.verdict, result.exit_code) == ("ImplausibleTimes", "Error", 2)
    assert f"all times of {says} are exactly zero; let the engine report" in result.message


def test_a_single_zero_can_be_a_coarse_clock_s_and_a_nanosecond_is_a_time(make_scorecard, make_baseline):
    one = with_times(make_scorecard(), (ZERO, ZERO), lambda row: row.incident.startswith("GT-01"))
    assert evaluate(one, make_baseline()).verdict == "Passed"
    fast = with_times(make_scorecard(), ("0.000000001", "0.000000001"))
    assert evaluate(fast, make_baseline()).verdict == "Passed"


def test_answers_that_are_none_need_not_have_taken_any_time(make_scorecard, make_baseline):
    def crashed(arm):
        rows = tuple(
            row.model_copy(update={"status": "Error", "rank": None, "candidates": ()})
            for row in arm.incidents
        )
        return arm.model_copy(update={"incidents": rows, "metrics": dict.fromkeys(arm.metrics, ZERO)})

    card = with_live(make_scorecard(), crashed)
    card = with_times(card, (ZERO, ZERO), lambda row: (row.variant, row.arm) == ("With", "LivePath"))
    assert evaluate(card, make_baseline()).reason == "AC@1"  # a crash is a loss, and no question of times


def test_a_negative_time_is_implausible(make_scorecard, make_baseline):
    card = with_times(
        make_scorecard(),
        ("-0.000000001", TIME),
        lambda row: (row.variant, row.incident[:5]) == ("With", "GT-02"),
    )
    result = evaluate(card, make_baseline())
    assert result.reason == "ImplausibleTimes"
    assert result.message.endswith("With/ScorerOnly/GT-02-rca-gateway-down-floor took a negative time")


def test_a_control_that_is_not_caught_makes_the_gate_insensitive_unless_it_is_not_asked_for(
    make_scorecard, make_baseline
):
    card = make_scorecard(control_lost=())
    assert evaluate(card, make_baseline()).reason == "GateInsensitive"
    assert evaluate(card, make_baseline(), GatePolicy(require_known_bad=False)).verdict == "Passed"


def test_an_unknown_protected_incident_protects_nothing_and_is_named(make_scorecard, make_baseline):
    policy = GatePolicy(protected_incidents=("GT-99-typo",))
    result = evaluate(make_scorecard(), make_baseline(), policy)
    assert result.reason == "ProtectedUnknown"
    assert "GT-99-typo" in result.message


@pytest.mark.parametrize("by", ["policy", "dataset"])
def test_a_protected_incident_that_the_honest_arm_does_not_have_is_guarded_by_nothing(
    make_scorecard, make_baseline, by
):
    """As of one without telemetry, which only the arm with the planted answer shows."""

    def blind(arms):
        kept = []
        for arm in arms:
            first, *rest = arm.incidents
            rows = (
                rest
                if arm.arm == "LivePath"
                else [first.model_copy(update={"protected": by == "dataset"}), *rest]
            )
            lean = arm.model_copy(update={"incidents": tuple(rows)})
            kept.append(
                lean.model_copy(update={"metrics": {k: nine(v) for k, v in lean.recomputed().items()}})
            )
        return tuple(kept)

    card = make_scorecard()
    name = card.deterministic.dataset.incidents[0]
    variants = tuple(v.model_copy(update={"arms": blind(v.arms)}) for v in card.deterministic.variants)
    control = card.deterministic.control.model_copy(update={"arms": blind(card.deterministic.control.arms)})
    card = with_deterministic(card, variants=variants, control=control)
    baseline = make_baseline()
    baseline = baseline.model_copy(update={"arms": blind(baseline.arms)})
    policy = GatePolicy(min_incidents=1, protected_incidents=(name,) if by == "policy" else None)
    result = evaluate(card, baseline, policy)
    assert (result.verdict, result.reason) == ("Inconclusive", "ProtectedUnknown")
    assert f"{name} is protected, but not in LivePath" in result.message


@pytest.mark.parametrize("values", [(None, None), ("0.003000000", None), (None, "0.003000000")])
def test_an_unknown_time_makes_mttr_inconclusive_and_is_not_skipped_in_the_mean(
    make_scorecard, make_baseline, values
):
    card = make_scorecard()
    rows = tuple(
        row.model_copy(update={"values": values})
        if (row.variant, row.arm, row.incident[:5]) == ("With", "LivePath", "GT-04")
        else row
        for row in card.measured.seconds
    )
    mttr = tuple(
        row.model_copy(update={"value": None}) if (row.variant, row.arm) == ("With", "LivePath") else row
        for row in card.measured.mttr_seconds
    )
    result = evaluate(with_measured(card, seconds=rows, mttr_seconds=mttr), make_baseline())
    assert (result.reason, result.verdict, result.exit_code) == ("MTTR", "Inconclusive", 2)


def test_harm_stays_visible_in_a_run_that_is_not_valid(make_scorecard, make_baseline):
    card = with_deterministic(make_scorecard(lost=("GT-03",)), control=None)
    result = evaluate(card, make_baseline())
    assert result.reason == "GateInsensitive"
    assert any(check.name == "AC@1" and check.result == "Failed" for check in result.checks)


def test_every_documented_validity_reason_has_a_test_here(make_scorecard):
    tested = {reason for _, reason in DAMAGE.values()} | {
        "NoBaseline",
        "TooFewIncidents",
        "TooFewFaultClasses",
        "ProtectedUnknown",
        "RevisionMismatch",
        "ImplausibleTimes",
    }
    assert tested == set(VALIDITY_REASONS)
