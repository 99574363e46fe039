"""The gate over random scorecards: total, monotone, equal to counting by hand, and deaf to the order of rows."""

import random
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rca_eval.contract import (
    ArmResult,
    Baseline,
    BaselineMttr,
    BaselineProvenance,
    Control,
    DatasetInfo,
    Deterministic,
    Engine,
    IncidentResult,
    Measured,
    MttrRow,
    Repeats,
    Scorecard,
    ScoredCandidate,
    SecondsRow,
    VariantResult,
    WouldBeRow,
    canonical,
)
from rca_eval.gate import VALIDITY_REASONS, GateContext, GatePolicy, evaluate
from rca_eval.gate.evaluate import CHAIN

IDS = ("GT-01-a", "GT-02-b", "IN-3")
ENGINE = Engine(name="e", version="1")
NINE = tuple(f"IN-{n}-x" for n in range(1, 10))
CHECKS = ("Validity", *(name for name, _ in CHAIN), "MTTRRatio")


def made(model, **fields):
    """Documents of a model. `st.builds` would look at its signature, which has the names of the JSON form."""
    return st.fixed_dictionaries(fields).map(lambda values: model(**values))


ids = st.sampled_from(IDS)
arm_names = st.sampled_from(["ScorerOnly", "LivePath"])
variant_names = st.sampled_from(["AllShadow", "Without", "With"])
keys = st.sampled_from(["cause", "trap", "other"])
figures = st.sampled_from(
    ["0.000000000", "0.000000001", "0.333333333", "1.000000000", "-1.000000000", "99.000000000"] * 3
    + ["NaN", "Infinity", "-Infinity"]
)
usual = st.sampled_from(["0.000000000", "0.003000000", "1.000000000"])
modes = st.dictionaries(
    st.sampled_from(["K.Mode", "L.Mode"]), st.sampled_from(["Active", "Shadow", "Off"]), max_size=2
)
incidents = made(
    IncidentResult,
    id=ids,
    fault_class=st.sampled_from(["auth/login", "data/datastore"]),
    change_induced=st.booleans(),
    protected=st.booleans(),
    expected=st.lists(keys, min_size=1, max_size=2, unique=True).map(tuple),
    status=st.sampled_from(["Ranked", "Ranked", "Ranked", "Error", "Timeout", "Missing"]),
    table=st.sampled_from([None, "floor"]),
    candidates=st.lists(
        made(
            ScoredCandidate,
            key=keys,
            score=st.none() | figures,
            terms=st.none() | st.dictionaries(st.sampled_from(["topo", "tele"]), figures, max_size=2),
        ),
        max_size=3,
    ).map(tuple),
    rank=st.none() | st.integers(1, 3),
)
arms = st.lists(
    made(
        ArmResult,
        arm=arm_names,
        incidents=st.lists(incidents, max_size=3).map(tuple),
        metrics=st.dictionaries(
            st.sampled_from(["AC@1", "AC@3", "AC@5", "Avg@5", "MRR"]), figures, max_size=5
        ),
    ),
    max_size=2,
    unique_by=lambda one: one.arm,
).map(tuple)
datasets = made(
    DatasetInfo,
    sha256=st.sampled_from(["a" * 64, "b" * 64]),
    profile=st.just("graded"),
    window_seconds=st.just(1800),
    incidents=st.lists(ids, max_size=3).map(tuple),
)
whoes = {"variant": variant_names, "arm": arm_names}


@st.composite
def variants(draw):
    found = []
    for name in draw(st.lists(variant_names, max_size=3, unique=True)):
        owners = [one for one in found if one.same_as is None]
        if owners and draw(st.booleans()):
            owner = draw(st.sampled_from(owners))
            found.append(VariantResult(name=name, modes=owner.modes, same_as=owner.name))
        else:
            found.append(VariantResult(name=name, modes=draw(modes), arms=draw(arms)))
    return tuple(found)


scorecards = made(
    Scorecard,
    provenance=st.sampled_from(["Scored", "SelfReported"]),
    deterministic=made(
        Deterministic,
        dataset=datasets,
        revision=st.sampled_from(["", "r1"]),
        variants=variants(),
        control=st.none() | made(Control, name=st.just("KnownBad"), arms=arms),
    ),
    measured=made(
        Measured,
        engine=st.just(ENGINE),
        mttr_seconds=st.lists(made(MttrRow, value=st.none() | figures, **whoes), max_size=4).map(tuple),
        seconds=st.lists(
            made(
                SecondsRow,
                incident=ids,
                values=st.lists(st.none() | figures | usual, max_size=3).map(tuple),
                **whoes,
            ),
            max_size=6,
        ).map(tuple),
        repeats=made(
            Repeats,
            count=st.integers(0, 3),
            identical=st.booleans(),
            differences=st.lists(st.just("one differs"), max_size=1).map(tuple),
        ),
        total_seconds=st.lists(figures, max_size=2).map(tuple),
        would_be=st.lists(
            made(
                WouldBeRow,
                component=st.sampled_from([None, "K.Mode", "L.Mode"]),
                incident=ids,
                entities=st.lists(keys, max_size=3).map(tuple),
                **whoes,
            ),
            max_size=6,
        ).map(tuple),
    ),
)
baselines = made(
    Baseline,
    provenance=st.just(BaselineProvenance(engine=ENGINE, created_by="x")),
    dataset=datasets,
    arms=arms,
    mttr_seconds=st.lists(made(BaselineMttr, arm=arm_names, value=st.none() | figures), max_size=2).map(
        tuple
    ),
)
policies = made(
    GatePolicy,
    accuracy_drop=st.sampled_from(["0", "0.02", "0.5", "1"]),
    mttr_rise=st.sampled_from([0, 30]),
    protected_incidents=st.none() | st.lists(ids, max_size=2).map(tuple),
    max_regressed_incidents=st.none() | st.integers(0, 2),
    shadow_fidelity=st.sampled_from(["Required", "IfLogged"]),
    min_incidents=st.integers(1, 3),
    min_fault_classes=st.integers(1, 2),
    min_repeats=st.integers(1, 2),
    require_known_bad=st.booleans(),
    allow_self_reported=st.booleans(),
)
contexts = made(
    GateContext,
    dataset_sha256=st.none() | st.just("a" * 64),
    revision=st.none() | st.just("r1"),
    component=st.booleans(),
    wall_seconds=st.none() | st.lists(st.integers(0, 200), max_size=3).map(tuple),
)


def holds(result):
    """What is true of every verdict, whatever was judged."""
    assert result.exit_code == {"Passed": 0, "Failed": 1, "Inconclusive": 2, "Error": 2}[result.verdict]
    assert 0 < len(result.message) <= 300
    assert all(0 < len(check.message) <= 300 for check in result.checks)
    assert canonical(result)
    order = [CHECKS.index(check.name) for check in result.checks]
    assert order == sorted(order)
    assert {check.name for check in result.checks} >= set(CHECKS[:-1])
    validity = [check for check in result.checks if check.name == "Validity"]
    outcomes = [check.result for check in result.checks if check.name != "Validity"]
    if validity[0].result != "Passed":
        assert (result.verdict, result.reason) == (validity[0].result, validity[0].reason)
        assert {check.reason for check in validity} <= set(VALIDITY_REASONS)
        return
    assert len(validity) == 1
    if result.verdict == "Passed":
        assert not {"Failed", "Inconclusive", "Error"} & set(outcomes)
        assert {"AC@1", "MTTR"} <= {check.name for check in result.checks if check.result == "Passed"}
    else:
        named = next(check for check in result.checks if check.result == result.verdict)
        assert (result.reason, result.message) == (named.name, named.message)
        assert ("Failed" in outcomes) == (result.verdict == "Failed")


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example])
@given(st.none() | scorecards, st.none() | baselines, policies, contexts)
def test_every_document_that_the_contract_can_hold_gets_a_verdict(card, baseline, policy, context):
    result = evaluate(card, baseline, policy, context)
    if card is not None:
        holds(result)
    if baseline is None:
        assert result.exit_code == 2
    assert evaluate(card, baseline, policy, context) == result


def damaged(draw, card):
    """A whole scorecard with a few fields replaced by others that the contract allows."""
    measured, deterministic = {}, {}
    for _ in range(draw(st.integers(1, 3))):
        match draw(st.integers(0, 7)):
            case 0:
                measured["would_be"] = tuple(draw(st.permutations(card.measured.would_be)))[
                    draw(st.integers(0, 40)) :
                ]
            case 1:
                measured["seconds"] = card.measured.seconds[draw(st.integers(0, 60)) :]
            case 2:
                measured["mttr_seconds"] = card.measured.mttr_seconds[draw(st.integers(0, 6)) :]
            case 3:
                measured["repeats"] = Repeats(count=draw(st.integers(0, 3)), identical=draw(st.booleans()))
            case 4:
                deterministic["control"] = draw(
                    st.none() | made(Control, name=st.just("KnownBad"), arms=arms)
                )
            case 5:
                chosen = draw(st.integers(0, 2))
                deterministic["variants"] = tuple(
                    one.model_copy(update={"arms": draw(arms)}) if at == chosen else one
                    for at, one in enumerate(card.deterministic.variants)
                )
            case 6:
                deterministic["variants"] = tuple(
                    one.model_copy(update={"modes": draw(modes)}) for one in card.deterministic.variants
                )
            case _:
                deterministic["revision"] = draw(st.sampled_from(["", "r2"]))
    return card.model_copy(
        update={
            "measured": card.measured.model_copy(update=measured),
            "deterministic": card.deterministic.model_copy(update=deterministic),
        }
    )


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), policy=policies, context=contexts)
def test_a_whole_scorecard_with_some_damage_gets_a_verdict(
    make_scorecard, make_baseline, data, policy, context
):
    card = damaged(data.draw, make_scorecard())
    holds(evaluate(card, make_baseline(), policy.model_copy(update={"protected_incidents": None}), context))


lost_sets = st.sets(st.sampled_from(NINE)).map(lambda found: tuple(sorted(found)))


def judged(make_scorecard, make_baseline, lost, without_lost=(), base_lost=(), policy=None, seconds=None):
    card = make_scorecard(
        ids=NINE,
        lost=lost,
        without_lost=without_lost,
        control_lost=NINE,
        seconds={"With": seconds or "0.003"},
    )
    shadow = make_scorecard(ids=NINE, lost=base_lost).deterministic.arms_of("With")
    first, *others = card.deterministic.variants
    card = card.model_copy(
        update={
            "deterministic": card.deterministic.model_copy(
                update={"variants": (first.model_copy(update={"arms": shadow}), *others)}
            )
        }
    )
    return evaluate(card, make_baseline(ids=NINE, arms=shadow), policy)


lenient = made(
    GatePolicy,
    accuracy_drop=st.sampled_from(["0", "0.02", "0.111111111", "0.112", "0.34", "0.5"]),
    mttr_rise=st.sampled_from([0, 1, 30]),
    max_regressed_incidents=st.none() | st.integers(0, 9),
    protected_incidents=st.sets(st.sampled_from(NINE), max_size=2).map(lambda found: tuple(sorted(found))),
    require_known_bad=st.just(False),
)


@settings(max_examples=60)
@given(
    lost=lost_sets,
    without_lost=lost_sets,
    base_lost=lost_sets,
    policy=lenient,
    seconds=st.sampled_from(["0.003", "0.004", "1.003", "1.004", "30.003", "30.004"]),
)
def test_the_verdict_is_what_counting_by_hand_gives(
    make_scorecard, make_baseline, lost, without_lost, base_lost, policy, seconds
):
    result = judged(make_scorecard, make_baseline, lost, without_lost, base_lost, policy, seconds)
    drop, rise = Fraction(policy.accuracy_drop), policy.mttr_rise
    failed = []
    if any(Fraction(len(lost) - len(was), 9) > drop for was in (base_lost, without_lost)):
        failed.append("AC@1")
    if Fraction(seconds) - Fraction("0.003") > rise:
        failed.append("MTTR")
    if set(lost) & set(policy.protected_incidents):
        failed.append("ProtectedIncidents")
    most = policy.max_regressed_incidents
    if most is not None and any(len(set(lost) - set(was)) > most for was in (base_lost, without_lost)):
        failed.append("RegressedIncidents")
    found = dict.fromkeys(check.name for check in result.checks if check.result == "Failed")
    assert list(found) == failed
    assert (result.verdict, result.reason) == (("Failed", failed[0]) if failed else ("Passed", "GatePassed"))
    assert {move.incident for move in result.regressed} == set(lost) - set(base_lost)
    assert {move.incident for move in result.fixed} == set(base_lost) - set(lost)
    holds(result)


@settings(max_examples=50)
@given(lost=lost_sets, more=st.sampled_from(NINE), base_lost=lost_sets, policy=lenient)
def test_losing_one_more_incident_never_makes_a_pass_of_a_failure(
    make_scorecard, make_baseline, lost, more, base_lost, policy
):
    before = judged(make_scorecard, make_baseline, lost, base_lost=base_lost, policy=policy)
    after = judged(make_scorecard, make_baseline, tuple({*lost, more}), base_lost=base_lost, policy=policy)
    assert before.verdict == "Passed" or after.verdict == "Failed"


@pytest.mark.parametrize(("lost", "verdict"), [(2, "Passed"), (3, "Passed"), (4, "Failed")])
def test_forty_eight_of_fifty_may_become_forty_seven_and_not_forty_six(
    make_scorecard, make_baseline, lost, verdict
):
    fifty = tuple(f"IN-{n:02d}-x" for n in range(50))
    base_arms = make_scorecard(ids=fifty, lost=fifty[:2]).deterministic.arms_of("With")
    card = make_scorecard(ids=fifty, lost=fifty[:lost], without_lost=fifty[:2], control_lost=fifty)
    first, *others = card.deterministic.variants
    variants_ = (first.model_copy(update={"arms": base_arms}), *others)
    card = card.model_copy(
        update={"deterministic": card.deterministic.model_copy(update={"variants": variants_})}
    )
    result = evaluate(card, make_baseline(ids=fifty, arms=base_arms))
    assert result.verdict == verdict
    numbers = {
        2: "0.960 >= 0.960 - 0.02;",
        3: "0.940 >= 0.960 - 0.02 (IN-02 lost);",
        4: "0.920 < 0.960 - 0.02 (IN-02, IN-03 lost),",
    }
    assert result.message.startswith(f"AC@1 {numbers[lost]}")


def turned(arms_, order):
    return tuple(
        arm.model_copy(update={"incidents": tuple(arm.incidents[at] for at in order)}) for arm in arms_
    )


def numbers_of(result):
    return [(row.name, row.result, row.arm, row.against, row.value, row.limit) for row in result.checks]


@settings(max_examples=20)
@given(lost=lost_sets, order=st.permutations(range(9)))
def test_the_order_of_the_incidents_changes_no_verdict_and_no_number(
    make_scorecard, make_baseline, lost, order
):
    card, base = make_scorecard(ids=NINE, lost=lost, control_lost=NINE), make_baseline(ids=NINE)
    info = card.deterministic.dataset.model_copy(update={"incidents": tuple(NINE[at] for at in order)})
    shuffled = card.model_copy(
        update={
            "deterministic": card.deterministic.model_copy(
                update={
                    "dataset": info,
                    "variants": tuple(
                        one.model_copy(update={"arms": turned(one.arms, order)})
                        for one in card.deterministic.variants
                    ),
                    "control": card.deterministic.control.model_copy(
                        update={"arms": turned(card.deterministic.control.arms, order)}
                    ),
                }
            )
        }
    )
    other = base.model_copy(update={"dataset": info, "arms": turned(base.arms, order)})
    one, two = evaluate(card, base), evaluate(shuffled, other)
    assert (one.verdict, one.reason, one.statistics, one.classes) == (
        two.verdict,
        two.reason,
        two.statistics,
        two.classes,
    )
    assert numbers_of(one) == numbers_of(two)
    # An order that only one side has is no comparison.
    if list(order) != sorted(order):
        assert evaluate(shuffled, base).reason == "IncidentSetMismatch"


@settings(max_examples=20)
@given(lost=lost_sets, seed=st.integers(0, 10**6))
def test_the_order_of_measured_rows_and_of_modes_changes_nothing(make_scorecard, make_baseline, lost, seed):
    card, chance = make_scorecard(ids=NINE, lost=lost, control_lost=NINE), random.Random(seed)
    rows = {
        name: tuple(chance.sample(getattr(card.measured, name), len(getattr(card.measured, name))))
        for name in ("seconds", "mttr_seconds", "would_be")
    }
    other = card.model_copy(update={"measured": card.measured.model_copy(update=rows)})
    base = make_baseline(ids=NINE)
    mixed = base.model_copy(update={"mttr_seconds": tuple(reversed(base.mttr_seconds))})
    assert evaluate(other, mixed) == evaluate(card, base)
