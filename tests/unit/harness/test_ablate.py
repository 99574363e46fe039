"""The ablation: all combinations on a real graph, what must hold in them, and that each check can fail."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from rca_eval.ablate import COMBINATIONS, Subject, judge, label, run
from rca_eval.ablate.judge import CHECKS
from rca_eval.ablate.run import ALL_SHADOW
from rca_eval.cli.main import run as command_line
from rca_eval.contract import canonical, parse_baseline, parse_ground_truth, sha256
from rca_eval.contract.scorecard import fingerprint
from rca_eval.data import PROFILES, baseline_bytes, ground_truth_bytes
from rca_eval.engine import HYPOTHESES, KEYS, LIVE_ACTIVATION, MEMORY, Blend, parse_blend, parse_without
from rca_eval.gate.subject import accuracy

TOLERANCE = Fraction("0.02")


def subject(profile, **changes):
    data = ground_truth_bytes(profile)
    baseline = parse_baseline(baseline_bytes(profile))
    return replace(Subject(profile, parse_ground_truth(data), sha256(data), baseline), **changes)


@pytest.fixture(scope="module")
def matrices(store):
    return {profile: run(subject(profile), store, blend=Blend(), name="test-ablate") for profile in PROFILES}


@pytest.mark.parametrize("profile", PROFILES)
def test_every_combination_finds_all_nine_causes_in_both_arms_and_all_checks_hold(matrices, profile):
    matrix = matrices[profile]
    assert len(matrix.arms) == 16
    for arms in matrix.arms.values():
        assert [(arm.arm, len(arm.incidents), accuracy(arm)) for arm in arms] == [
            ("ScorerOnly", 9, 1),
            ("LivePath", 9, 1),
        ]
    assert judge(matrix, tolerance=Fraction(0)) == []


@pytest.mark.parametrize("profile", ["graded", "headroom"])
def test_every_other_combination_answers_what_was_committed(store, profile):
    references = parse_baseline(baseline_bytes(profile)).references
    matrix = run(subject(profile), store, blend=Blend(), name="test-references")
    answered = {
        (tuple(sorted(active)), arm.arm): {row.id: fingerprint(row) for row in arm.incidents}
        for active, arms in matrix.arms.items()
        if active != ALL_SHADOW
        for arm in arms
    }
    assert {(one.active, one.arm): one.incidents for one in references} == answered


@pytest.mark.parametrize("profile", PROFILES)
def test_all_in_shadow_is_the_committed_baseline_byte_for_byte(matrices, profile):
    committed = parse_baseline(baseline_bytes(profile)).arms
    mine = matrices[profile].arms[ALL_SHADOW]
    assert [canonical(arm) for arm in mine] == [canonical(arm) for arm in committed]


@pytest.mark.parametrize("key", KEYS)
def test_every_component_has_an_effect_somewhere(matrices, key):
    """Else "no regression" would be said of nothing."""
    changed = [
        matrix.arms[active] != matrix.arms[active | {key}]
        for matrix in matrices.values()
        for active in COMBINATIONS
        if key not in active
    ]
    assert any(changed)


def test_there_are_sixteen_combinations_from_all_shadow_to_all_active():
    assert len(set(COMBINATIONS)) == 16
    assert (COMBINATIONS[0], COMBINATIONS[-1]) == (frozenset(), frozenset(KEYS))
    assert [label(one) for one in COMBINATIONS[:6]] == [
        "all Shadow",
        "live",
        "cap",
        "mem",
        "hyp",
        "live+cap",
    ]


def test_the_store_is_empty_afterwards(store, matrices):
    assert matrices
    assert store.keys() == []


def names(findings):
    return {one.check for one in findings}


def test_without_the_change_term_the_two_change_induced_incidents_are_named_in_every_combination(store):
    matrix = run(subject("graded"), store, blend=parse_without("chg"), name="test-ablate")
    found = judge(matrix, tolerance=TOLERANCE)
    assert names(found) == {"Baseline", "Protected"}
    protected = [one for one in found if one.check == "Protected"]
    assert [(one.arm, one.combination) for one in protected] == [("LivePath", one) for one in COMBINATIONS]
    assert {one.message for one in protected} == {"2 of 2 protected incidents lost (GT-03, GT-07)"}


def test_a_combination_that_is_worse_than_all_shadow_is_named_with_what_it_lost(matrices):
    matrix, active = matrices["graded"], frozenset({LIVE_ACTIVATION, MEMORY})
    worse = run_known_bad_arm(matrix, active)
    (found,) = [one for one in judge(worse, tolerance=TOLERANCE) if one.check == "Regression"]
    assert found.cell == "graded/LivePath/live+mem"
    assert found.message == "AC@1 0.889 < 1.000 - 0.02 (GT-01 lost)"
    assert "Regression" not in names(judge(worse, tolerance=Fraction(1, 9)))


def run_known_bad_arm(matrix, active):
    """The same matrix, with the two first candidates of one incident swapped in one combination."""
    planted, live = matrix.arms[active]
    first = live.incidents[0]
    a, b, *rest = first.candidates
    swapped = (b.model_copy(update={"score": a.score}), a.model_copy(update={"score": b.score}), *rest)
    lost = first.model_copy(update={"candidates": swapped, "rank": 2})
    live = live.model_copy(update={"incidents": (lost, *live.incidents[1:])})
    return replace(matrix, arms={**matrix.arms, active: (planted, live)})


def test_a_would_be_ranking_that_is_not_the_active_one_is_named(matrices):
    matrix = matrices["graded"]
    place = (frozenset({MEMORY}), "LivePath", matrix.subject.truth.incidents[3].id)
    for wrong in ((), matrix.would_be[place][HYPOTHESES][::-1]):
        logged = {**matrix.would_be, place: {**matrix.would_be[place], HYPOTHESES: wrong}}
        (found,) = judge(replace(matrix, would_be=logged), tolerance=TOLERANCE)
        assert (found.check, found.cell) == ("Fidelity", "graded/LivePath/mem")
        assert found.message.startswith("what hyp would have ranked is not what it ranks in 1 of 9")
        assert "(GT-04)" in found.message
    silent = {**matrix.would_be, place: {}}
    assert len(judge(replace(matrix, would_be=silent), tolerance=TOLERANCE)) == 3


@pytest.mark.parametrize("kind", ["none", "of another dataset"])
def test_without_its_baseline_a_matrix_is_not_judged(matrices, kind):
    other = None if kind == "none" else parse_baseline(baseline_bytes("seed"))
    matrix = matrices["graded"]
    (found,) = judge(replace(matrix, subject=subject("graded", baseline=other)), tolerance=TOLERANCE)
    assert (found.check, found.missing) == ("Baseline", True)


def test_the_command_prints_the_matrix_in_eighty_columns_and_passes(capsys):
    assert command_line(["ablate", "--profile", "graded", "--profile", "seed"]) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    rows = [line.split() for line in lines if line.startswith((".    ", "A    "))]
    assert len(rows) == 16
    assert rows[0] == [".", ".", ".", ".", "1.000", "1.000", "+0.0004", "1.000", "1.000", "+0.0975"]
    assert [line.split() for line in lines[-4:]] == [[check, "ok"] for check in CHECKS]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--without-term", "chg"], ["Protected   FAILED", "graded/LivePath", "GT-03, GT-07"]),
        (["--blend", "topo=.75,tele=.10,hist=.15"], ["Baseline    FAILED", "9 of 9 incidents differ"]),
    ],
)
def test_the_command_ends_with_status_1_and_names_the_cells(options, said, capsys):
    assert command_line(["ablate", "--profile", "graded", *options]) == 1
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert not [text for text in said if text not in out]


def test_json_holds_every_cell_and_finding(capsys):
    assert command_line(["ablate", "--profile", "graded", "--without-term", "chg", "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert [len(row["cells"]) for row in document["combinations"]] == [2] * 16
    cell = document["combinations"][-1]["cells"][1]
    assert cell == {
        "dataset": "graded",
        "arm": "LivePath",
        "AC@1": "0.777777778",
        "incidents": 9,
        "minMargin": "-0.104705883",
        "lost": ["GT-03", "GT-07"],
    }
    assert {row["check"] for row in document["findings"]} == {"Baseline", "Protected"}
    assert document["passed"] is False


def test_a_dataset_without_a_baseline_shows_its_matrix_and_ends_with_status_2(tmp_path, capsys):
    path = tmp_path / "mine.json"
    path.write_bytes(ground_truth_bytes("graded") + b"\n")
    assert command_line(["ablate", "--dataset", str(path)]) == 2
    out, err = capsys.readouterr()
    assert "Baseline    not judged" in out
    assert err.startswith("Baseline: mine.json: there is no baseline of this dataset;")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--profile", "nope"], "Usage"),
        (["--profile", "seed", "--dataset", "x.json"], "Usage"),
        (["--baseline", "x.json"], "Usage"),
        (["--blend", "topo=2"], "Usage"),
        (["--blend", "topo=1", "--without-term", "chg"], "Usage"),
        (["--dataset", "/nonexistent"], "FileUnreadable"),
        (["--store", "falkor://127.0.0.1:1"], "StoreUnavailable"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2(options, reason, capsys):
    assert command_line(["ablate", *options]) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert err.startswith(f"{reason}: ")


def test_a_dataset_without_a_live_incident_is_refused(tmp_path, capsys):
    document = json.loads(ground_truth_bytes("graded"))
    for incident in document["incidents"]:
        del incident["alert"]
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(document))
    assert command_line(["ablate", "--dataset", str(path)]) == 2
    assert capsys.readouterr().err.startswith("DatasetInvalid: no incident of mine.json can run in LivePath")


def test_a_topology_heavy_blend_is_no_regression_against_itself_but_no_pass_either(store):
    blend = parse_blend("topo=.75,tele=.10,hist=.15")
    matrix = run(subject("seed"), store, blend=blend, name="test-ablate")
    found = judge(matrix, tolerance=TOLERANCE)
    assert names(found) >= {"Baseline", "Protected"}
    assert {one.message for one in found if one.check == "Baseline"} == {
        "9 of 9 incidents differ from the baseline (GT-01, GT-02, GT-03, GT-04, GT-05 and 4 more)"
    }
