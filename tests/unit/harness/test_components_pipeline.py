"""The pipeline under every set of active components: cap, gate, would-be rankings, and what the protocol demands."""

import json
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, pairwise

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rca_eval.contract import (
    Prediction,
    RankedEntity,
    Run,
    Variant,
    nine,
    parse_ground_truth,
    parse_predictions,
    sha256,
)
from rca_eval.contract.protocol import (
    MAX_CANDIDATES,
    EngineAlert,
    EngineIncident,
    EngineService,
    EngineTelemetry,
    EngineTelemetryRow,
    EngineTopology,
)
from rca_eval.data import ground_truth_bytes
from rca_eval.engine import (
    EVIDENCE_CAP,
    HYPOTHESES,
    KEYS,
    LIVE_ACTIVATION,
    MEMORY,
    Blend,
    Findings,
    Pipeline,
    active_keys,
    answer,
    rank,
)
from rca_eval.engine.answer import evidence_ids
from rca_eval.engine.baro import BaroSignal
from rca_eval.engine.cap import KAPPA, capped
from rca_eval.engine.investigation import Ranking
from rca_eval.graph import graph_key
from rca_eval.graph.store import Candidate
from rca_eval.job.engine import decisions, run_engine
from rca_eval.job.prepare import prepare
from rca_eval.job.scoring import score
from rca_eval.modes import line_schema

T = 1700000000
COMBINATIONS = [frozenset(some) for size in range(5) for some in combinations(KEYS, size)]
ratios = st.decimals(0, 1, places=3)
thousandths = st.integers(0, 1000).map(lambda n: Fraction(n, 1000))


def case(services, *, changes=(), present=False, history=None, availability="full"):
    """An incident whose symptom is the first service; `services` is key to (criticality, error, before, baro)."""
    keys = list(services)
    incident = EngineIncident(
        case="case-0000000a",
        window_seconds=1800,
        alert=EngineAlert(name="A", service=keys[0], fired_at=T + 60, for_seconds=60),
        topology=EngineTopology(
            services=tuple(EngineService(key=key) for key in keys),
            calls=tuple((keys[0], key) for key in keys[1:]),
        ),
        telemetry=EngineTelemetry(
            availability=availability,
            services={key: EngineTelemetryRow(error_rate=row[1]) for key, row in services.items()},
        ),
        changes=(),
    )
    terms = {key: Fraction(row[3]) for key, row in services.items()}
    findings = Findings(
        [Candidate(key, row[0], row[1], row[2]) for key, row in services.items()],
        {key: [f"{key}@v2"] for key in changes},
        BaroSignal(present, terms, dict.fromkeys(terms, Fraction(0)), Fraction(1)),
        T,
        history or {},
    )
    return incident, findings


def pipeline(services, **more):
    return Pipeline(*case(services, **more), Blend())


def half(*numbers):
    return tuple(Decimal(str(n)) for n in numbers)


@given(thousandths, thousandths, st.integers(0, 6))
def test_the_cap_is_strictly_monotone_for_every_number_of_kinds(a, b, kinds):
    assert (a < b) == (capped(a, kinds) < capped(b, kinds))
    assert capped(a, kinds) <= a


@given(thousandths, st.integers(0, 6))
def test_more_kinds_of_evidence_never_lower_a_score(score, kinds):
    assert capped(score, kinds) <= capped(score, kinds + 1)


@pytest.mark.parametrize(
    ("score", "kinds", "expected"),
    [
        (".45", 0, ".45"),
        (".85", 0, ".55"),
        (".70", 1, ".70"),
        (".90", 1, ".75"),
        ("1", 2, "1"),
        ("1", 4, "1"),
    ],
)
def test_above_the_cap_a_score_counts_a_quarter(score, kinds, expected):
    assert capped(Fraction(score), kinds) == Fraction(expected)
    assert (Fraction("0.45"), Fraction("0.70")) == KAPPA


def test_a_capped_candidate_has_a_negative_term_for_what_it_lost():
    ranking = pipeline({"web": half(0, 0, 0, 0), "db": half(1, 1, 1, 0)}).conclude({EVIDENCE_CAP}).ranking
    first = ranking.candidates[0]
    assert (first.key, first.score, first.terms["cap"]) == ("db", Fraction("0.55"), Fraction("-0.3"))
    assert "cap" not in ranking.candidates[1].terms


def test_hard_evidence_of_two_kinds_lets_a_score_through_the_cap():
    services = {"web": half(0, 0, 0, 0), "db": half(1, 1, 0, 0)}
    one = pipeline(services).conclude({EVIDENCE_CAP}).ranking.candidates[0]
    two = pipeline(services, changes=["db"]).conclude({EVIDENCE_CAP}).ranking.candidates[0]
    assert one.score == Fraction("0.7375")  # .85 with E2
    assert (two.score, "cap" in two.terms) == (Fraction("0.85"), False)  # .70 + .15 with E1 and E2


def test_the_gate_lifts_the_verified_candidate_and_says_so_in_its_terms():
    services = {"web": half(0, 0, 0, 0), "trap": half(1, 1, 1, 0), "db": half("0.5", "0.5", 0, 0)}
    legacy = pipeline(services).conclude(set())
    found = pipeline(services).conclude({LIVE_ACTIVATION})
    assert (legacy.keys, legacy.decision) == (("trap", "db", "web"), None)
    assert (found.keys, found.decision) == (("db", "trap", "web"), "Verified at place 2 by E2")
    lifted = found.ranking.candidates[0]
    assert lifted.score == found.ranking.candidates[1].score + Fraction(1, 10**9)
    assert nine(lifted.terms["gate"]) == "0.425000001"
    assert found.ranking.evidence == ("db/errorRate=0.5,before=0",)


def test_a_change_of_the_verified_candidate_is_named_once():
    services = {"web": half(0, 0, 0, 0), "db": half("0.5", "0.5", 0, 0)}
    found = pipeline(services, changes=["db"]).conclude({LIVE_ACTIVATION})
    assert found.ranking.evidence == ("db@v2", "db/errorRate=0.5,before=0")


@pytest.mark.parametrize(
    ("availability", "decision"),
    [
        ("full", "Unverified: no hard evidence for the first 3, so the legacy ranking stands"),
        ("none", "Blind: no telemetry, so the legacy ranking stands"),
    ],
)
def test_what_is_not_verified_leaves_the_legacy_ranking_with_its_table(availability, decision):
    """Also where the BARO term would have ranked otherwise: without hard evidence it does not govern."""
    services = {"web": half(0, 1, 1, 0), "a": half("0.9", "0.5", "0.5", 0), "b": half("0.8", "0.5", "0.5", 1)}
    incident, findings = case(services, present=True, availability=availability)
    shadow, active = (
        Pipeline(incident, findings, Blend()).conclude(keys) for keys in (set(), {LIVE_ACTIVATION})
    )
    assert rank(findings, Blend(), use_baro=True).candidates[0].key == "b"
    assert (shadow.keys, active.decision) == (("a", "b", "web"), decision)
    assert active.ranking == shadow.ranking


def test_history_counts_only_while_memory_is_active():
    services = {"web": half(0, 0, 0, 0), "a": half("0.5", "0.5", 0, 0), "b": half("0.5", "0.5", 0, 0)}
    shadow, active = (
        pipeline(services, history={"b": Fraction(1, 2)}).conclude(keys) for keys in (set(), {MEMORY})
    )
    assert shadow.keys == ("a", "b", "web")
    assert active.keys == ("b", "a", "web")
    assert active.ranking.candidates[0].terms["hist"] == Fraction("0.075")


incidents = st.builds(
    lambda rows, changed, present, history: case(
        {f"s{n}": row for n, row in enumerate(rows)},
        changes=[f"s{n}" for n in changed if n < len(rows)],
        present=present,
        history={f"s{n}": share for n, share in history.items()},
    ),
    st.lists(st.tuples(ratios, ratios, st.none() | ratios, ratios), min_size=1, max_size=7),
    st.sets(st.integers(0, 6), max_size=2),
    st.booleans(),
    st.dictionaries(st.integers(0, 6), thousandths.map(lambda share: share / 2), max_size=3),
)


@given(incidents)
def test_in_every_combination_scores_do_not_rise_and_terms_add_up_to_them(incident):
    found = Pipeline(*incident, Blend())
    for active in COMBINATIONS:
        candidates = found.conclude(active).ranking.candidates
        assert sorted(one.key for one in candidates) == sorted(row.key for row in incident[1].candidates)
        assert all(a.score >= b.score for a, b in pairwise(candidates))
        assert all(nine(sum(one.terms.values(), Fraction(0))) == nine(one.score) for one in candidates)


@given(incidents)
def test_with_everything_in_shadow_the_ranking_is_that_of_the_blend_alone(incident):
    found = Pipeline(*incident, Blend()).conclude(frozenset())
    assert found.ranking == rank(incident[1], Blend(), use_baro=False)
    assert found.decision is None


@given(incidents, st.sampled_from(COMBINATIONS), st.randoms())
def test_an_answer_does_not_depend_on_what_was_asked_before(incident, active, random):
    shared, order = Pipeline(*incident, Blend()), list(COMBINATIONS)
    random.shuffle(order)
    for other in order:
        shared.conclude(other)
    assert shared.conclude(active) == Pipeline(*incident, Blend()).conclude(active)


def test_every_component_in_shadow_says_what_it_would_have_ranked_and_that_is_what_it_ranks(store):
    services = {"web": half(0, 0, 0, 0), "trap": half(1, 1, 1, 0), "db": half("0.5", "0.5", 0, 0)}
    incident, _ = case(services)
    answers = {}
    with store.incident(graph_key("would-be", "LivePath"), incident) as graph:
        for active in COMBINATIONS:
            modes = {key: "Active" if key in active else "Shadow" for key in KEYS}
            run = Run(
                variant="With",
                arm="LivePath",
                case=incident.case,
                modes=modes,
                incident=f"LivePath/{incident.case}.json",
            )
            assert active_keys(modes) == active
            answers[active] = answer(run, incident, graph, Blend())
    for active, found in answers.items():
        assert set(found.would_be or {}) == set(KEYS) - active
        for key, ranked in (found.would_be or {}).items():
            assert ranked == tuple(one.entity for one in answers[active | {key}].candidates)


def test_keys_are_in_the_order_of_the_pipeline():
    assert KEYS == (LIVE_ACTIVATION, EVIDENCE_CAP, MEMORY, HYPOTHESES)


@pytest.mark.parametrize(
    ("ref", "shown"), [("x" * 300, "x" * 253), ("a\x1b[2Jb", "a\N{REPLACEMENT CHARACTER}[2Jb"), (" ", "?")]
)
def test_a_ref_that_the_protocol_cannot_hold_does_not_end_the_run(ref, shown):
    assert evidence_ids(Ranking(None, (), (ref,))) == (shown,)
    assert len(evidence_ids(Ranking(None, (), (ref,) * 300))) == 200


def test_the_jobs_engine_tells_every_would_be_decision_as_a_line_of_the_mode_library(tmp_path, capsys):
    data = ground_truth_bytes("graded")
    modes = {
        "AllShadow": dict.fromkeys(KEYS, "Shadow"),
        "With": {**dict.fromkeys(KEYS, "Shadow"), LIVE_ACTIVATION: "Active"},
    }
    prepare(
        parse_ground_truth(data),
        sha256(data),
        [Variant(name=name, modes=vector) for name, vector in modes.items()],
        revision="r",
        repeats=1,
        folder=tmp_path,
        memory=parse_ground_truth(data),
    )
    assert run_engine(tmp_path / "1", tmp_path, blend=Blend(), store="embedded") == 36
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    answers = {
        (one.variant, one.case): one
        for one in parse_predictions((tmp_path / "predictions.json").read_bytes()).predictions
    }
    assert len(lines) == 18 * (4 + 3)
    for line in lines:
        jsonschema.validate(line, json.loads(line_schema()))
        assert (line["event"], line["mode"]) == ("shadowDecision", "Shadow")
        assert (line["outcome"] == "agree") is (line["governing"] == line["wouldBe"])
    live = {line["incident"]: line["wouldBe"] for line in lines if line["component"] == LIVE_ACTIVATION}
    assert live == {
        case: [c.entity for c in one.candidates] for (name, case), one in answers.items() if name == "With"
    }


@pytest.mark.parametrize(
    ("ranked", "outcome"), [(["a", "b"], "agree"), (["b", "a"], "disagree"), (["a"], "disagree")]
)
def test_a_would_be_ranking_agrees_only_if_it_is_the_governing_one(ranked, outcome):
    prediction = Prediction(
        variant="With",
        arm="LivePath",
        case="case-0000000a",
        candidates=(RankedEntity(entity="a"), RankedEntity(entity="b")),
        seconds=Decimal("0.002"),
        would_be={MEMORY: tuple(ranked)},
    )
    (found,) = decisions(prediction)
    assert (found.component, found.outcome, found.seconds) == (MEMORY, outcome, 0.002)


def test_the_scorecard_counts_a_would_be_ranking_that_is_not_the_governing_one(tmp_path, capsys):
    data = ground_truth_bytes("seed")
    truth, shadow = parse_ground_truth(data), (Variant(name="AllShadow", modes={"K": "Shadow"}),)
    prepare(truth, sha256(data), shadow, revision="r", repeats=1, folder=tmp_path)
    run_engine(tmp_path / "1", tmp_path, blend=Blend(), store="embedded")
    document = parse_predictions((tmp_path / "predictions.json").read_bytes())
    first, *rest = document.predictions
    turned = first.model_copy(update={"would_be": {**first.would_be, MEMORY: first.would_be[MEMORY][::-1]}})
    changed = document.model_copy(update={"predictions": (turned, *rest)})
    card = score(truth, sha256(data), shadow, [changed], revision="r", control=None)
    counts = {row.component: (row.agree, row.disagree) for row in card.measured.shadow_decisions}
    assert counts == {**dict.fromkeys(KEYS, (18, 0)), MEMORY: (17, 1)}
    capsys.readouterr()


def test_more_candidates_than_the_protocol_holds_are_cut_off_at_the_end(store):
    rows = {f"s{n}": half(0, n / 10000, 0, 0) for n in range(MAX_CANDIDATES + 2)}
    incident, _ = case(rows)
    run = Run(
        variant="With",
        arm="LivePath",
        case=incident.case,
        modes={},
        incident=f"LivePath/{incident.case}.json",
    )
    with store.incident(graph_key("many", "LivePath"), incident) as graph:
        found = answer(run, incident, graph, Blend())
    assert [one.entity for one in found.candidates[:2]] == [f"s{MAX_CANDIDATES + 1}", f"s{MAX_CANDIDATES}"]
    assert {len(found.candidates), *map(len, found.would_be.values())} == {MAX_CANDIDATES}
