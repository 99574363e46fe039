"""The headroom profile: most of it is lost in Shadow, each component finds a known part of it, and loses nothing."""

import json

import pytest

from rca_eval.ablate import Subject, judge, run
from rca_eval.cli.main import run as command_line
from rca_eval.contract import parse_baseline, parse_ground_truth, sha256
from rca_eval.data import ALL_PROFILES, PROFILES, baseline_bytes, ground_truth_bytes
from rca_eval.engine import EVIDENCE_CAP, HYPOTHESES, LIVE_ACTIVATION, MEMORY, Blend
from rca_eval.gate.subject import hits
from rca_eval.lint import check

FOUND_IN_SHADOW = {"HR-12"}
FIXED = {
    LIVE_ACTIVATION: {"HR-08", "HR-09", "HR-10"},
    EVIDENCE_CAP: {"HR-09", "HR-10", "HR-11"},
    MEMORY: {"HR-13", "HR-14"},
    HYPOTHESES: {"HR-10"},
}


@pytest.fixture(scope="module")
def matrix(store):
    data = ground_truth_bytes("headroom")
    baseline = parse_baseline(baseline_bytes("headroom"))
    subject = Subject("headroom", parse_ground_truth(data), sha256(data), baseline)
    return run(subject, store, blend=Blend(), name="test-headroom")


def found(matrix, *active):
    live = next(arm for arm in matrix.arms[frozenset(active)] if arm.arm == "LivePath")
    return {name[:5] for name, hit in hits(live).items() if hit}


@pytest.mark.parametrize("component", FIXED)
def test_each_component_alone_finds_its_part_of_what_shadow_loses(matrix, component):
    assert found(matrix) == FOUND_IN_SHADOW
    assert found(matrix, component) == FOUND_IN_SHADOW | FIXED[component]


def test_no_component_finds_an_innocent_deploy_innocent_or_a_cause_that_nobody_measured(matrix):
    together = found(matrix, *FIXED)
    assert together == FOUND_IN_SHADOW.union(*FIXED.values())
    assert not together & {f"HR-{number:02}" for number in (1, 2, 3, 4, 5, 6, 7, 15, 16, 17)}


def test_every_combination_keeps_what_shadow_finds_and_ranks_what_it_logs(matrix):
    assert list(judge(matrix, tolerance=0)) == []


@pytest.mark.parametrize("component", FIXED)
def test_the_gate_passes_a_component_that_helps_and_names_what_it_fixed(component, capsys):
    asked = ["replay", "--profile", "headroom", "--component", component, "--gate", "--format", "json"]
    assert command_line(asked) == 0
    gate = json.loads(capsys.readouterr().out)["gate"]
    assert gate["verdict"] == "Passed"
    assert {row["incident"][:5] for row in gate["fixed"]} == FIXED[component]
    assert gate["regressed"] == []
    results = {(one["name"], one["arm"]): one["result"] for one in gate["checks"]}
    assert results["NoEffect", None] == "Passed"
    assert results["ReferenceDrift", "LivePath"] == "Passed"


def test_it_is_bundled_and_linted_but_never_gated_by_default():
    report = check(ground_truth_bytes("headroom"), "set.json")
    codes = {one.code for one in report.findings}
    assert (report.errors, codes) == (0, {"W-FEW", "W-CAUSE-UNSEEN"})
    assert "headroom" not in PROFILES
    assert set(ALL_PROFILES) - set(PROFILES) == {"headroom"}
