"""The self-test for real: mutated copies, engine processes, one graph store, scorecards, the gate; and A/A replays."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rca_eval.cli.main import run as cli
from rca_eval.contract import Baseline, ContractError, Reason, parse_baseline, sha256
from rca_eval.data import baseline_bytes, ground_truth_bytes
from rca_eval.gate import GatePolicy
from rca_eval.selftest.aa import replays
from rca_eval.selftest.mutant import GROUPS, Mutant, select
from rca_eval.selftest.mutants import ALL
from rca_eval.selftest.outcome import Outcome
from rca_eval.selftest.plans import NOT_ACTIVE, questions, together
from rca_eval.selftest.run import Bench, bench, survey
from rca_eval.selftest.tree import mutated

QUIET = {"source": "graded", "policy": GatePolicy(), "on_step": lambda _: None}


@pytest.fixture(scope="module")
def made() -> Iterator[Bench]:
    with bench(ground_truth_bytes("graded"), baseline=None, **QUIET) as opened:  # type: ignore[arg-type]
        yield opened


def judged(made: Bench, *mutants: Mutant) -> list[Outcome]:
    return list(survey(made, mutants, parallel=2, on_step=lambda _: None).outcomes)


def named(*names: str) -> tuple[Mutant, ...]:
    return select(ALL, names, [])


def test_a_topology_heavy_floor_is_caught_by_accuracy_with_the_incidents_named(made: Bench) -> None:
    (outcome,) = judged(made, *named("floor-topology-heavy"))
    assert outcome.status == "caught"
    assert outcome.by_accuracy
    best = outcome.best
    assert best is not None
    assert best.verdict == "Failed"
    assert set(best.incidents) >= {"GT-01-login-break", "GT-04-falkordb-down"}


def test_a_fault_in_what_prepare_writes_is_run_by_the_mutated_prepare(made: Bench) -> None:
    lost = Mutant(
        "changes-not-handed-on", "change", "job/project.py", "for change in incident.changes\n", "for change in ()\n",
        "the engine is given no change",
    )  # fmt: skip
    (outcome,) = judged(made, lost)
    assert outcome.status == "caught"
    assert outcome.best is not None
    assert set(outcome.best.accuracy) >= {"GT-03-bad-deploy-archives-api", "GT-07-bad-commit-web"}


def test_an_equivalent_mutant_is_asked_everything_and_seen_by_nothing(made: Bench) -> None:
    (outcome,) = judged(made, *named("ties-without-a-key"))
    assert outcome.status == "equivalent"
    assert [one.question for one in outcome.sights] == [
        one.name for stage in questions("order") for one in stage
    ]
    assert all(one.verdict == "Passed" for one in outcome.sights)


def test_an_order_that_differs_between_processes_is_caught_as_repeats_that_differ(made: Bench) -> None:
    (outcome,) = judged(made, *named("order-by-hash"))
    assert outcome.caught
    assert "RepeatsDiffer" in outcome.plain()["checks"]


def test_an_engine_that_fails_at_an_incident_is_caught_with_that_incident_named(made: Bench) -> None:
    fails = Mutant(
        "divides-by-zero", "arithmetic", "engine/investigation.py", "return -one.score, one.key",
        "return -one.score / (one.key != 'qdrant'), one.key", "a division by zero at one service",
    )  # fmt: skip
    (outcome,) = judged(made, fails)
    assert outcome.status == "caught"
    assert outcome.best is not None
    assert set(outcome.best.accuracy) == {
        incident.id
        for incident in made.material.truth.incidents
        if incident.telemetry and "qdrant" in incident.telemetry.services
    }


def test_an_engine_that_cannot_be_started_is_caught_and_says_why(made: Bench) -> None:
    crash = Mutant(
        "cannot-start", "answers", "engine/answer.py", "MAX_ID, MAX_IDS = 253, 200",
        "MAX_ID, MAX_IDS = 253, 200 / 0", "a module that cannot be imported",
    )  # fmt: skip
    (outcome,) = judged(made, crash)
    assert outcome.status == "unnamed"
    assert outcome.best is not None
    assert outcome.best.reason == "EngineFailed"
    assert "ZeroDivisionError" in outcome.best.message


def test_an_engine_that_never_ends_is_ended_and_caught(made: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made.workers, "timeout_seconds", 3)
    endless = Mutant(
        "never-ends", "order", "engine/investigation.py", "return -one.score, one.key",
        "while True: pass", "a loop without an end",
    )  # fmt: skip
    (outcome,) = judged(made, endless)
    assert outcome.caught
    assert outcome.best is not None
    assert "did not end within 3 s" in outcome.best.message


def test_nothing_is_judged_when_the_engine_without_a_fault_does_not_pass() -> None:
    baseline = parse_baseline(baseline_bytes("graded"))
    changed = baseline.plain()
    changed["arms"][1]["incidents"][0]["candidates"][0]["score"] = "0.999000000"
    wrong = Baseline.model_validate(changed)
    with pytest.raises(ContractError) as raised, bench(ground_truth_bytes("graded"), baseline=wrong, **QUIET):  # type: ignore[arg-type]
        pytest.fail("a bench with a wrong reference was opened")
    assert raised.value.reason == Reason.BASELINE_INVALID
    assert "GT-01" in raised.value.message


@pytest.mark.parametrize("group", GROUPS)
def test_every_component_is_judged_alone_and_once_beside_the_others(group: str) -> None:
    asked = [question for stage in questions(group) for question in stage]
    assert len({one.name for one in asked}) == len(asked) == (6 if group == "modes" else 5)
    alone = [key for one in asked if len(one.variants[0].modes) == 1 for key in one.variants[0].modes]
    assert sorted(alone) == sorted(together().variants[0].modes)


def test_the_component_that_a_group_is_about_comes_first_and_words_that_are_no_mode_are_asked_about_modes() -> (
    None
):
    assert [one.name for one in questions("memory")[0]] == ["RcaMemory"]
    assert [one.name for one in questions("weights")[0]] == ["RcaLiveActivation", "RcaEvidenceCap"]
    words = questions("modes")[-1][-1]
    assert set(words.variants[0].modes.values()) == set(NOT_ACTIVE)


def test_the_engine_as_it_is_gives_the_same_bytes_in_every_replay(made: Bench) -> None:
    found = replays(made, made.base, 9, parallel=2, on_step=lambda _: None)
    assert (found.count, found.differing_bytes, found.differing) == (9, 0, ())
    assert found.identical
    assert (found.processes, found.shuffles) == (3, 3)
    assert found.answers == 9 * 36


@pytest.mark.parametrize("name", ["order-by-hash", "first-listed-first", "decision-with-the-time"])
def test_replays_of_an_engine_that_is_not_deterministic_differ(made: Bench, name: str) -> None:
    (mutant,) = named(name)
    tree = mutated(made.base, mutant, made.folder / f"aa-of-{name}" / "tree")
    found = replays(made, tree, 4, parallel=2, on_step=lambda _: None)
    assert not found.identical
    assert found.differing_bytes > 0
    assert any("LivePath/GT-" in incident for incident in found.differing)


def test_the_command_exits_0_when_the_goal_is_met_and_1_when_it_is_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli(["gate-selftest", "--only", "floor-topology-heavy", "--aa", "2", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["counted"], found["caughtNamed"], found["caughtByAccuracy"]) == (1, 1, 1)
    assert found["aa"]["replays"] == 2
    assert cli(["gate-selftest", "--only", "window-fixed"]) == 1
    text = capsys.readouterr().out
    assert "FAILED" in text
    assert "window-fixed" in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_dataset_of_ones_own_is_measured_against_the_engines_own_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = json.loads(ground_truth_bytes("graded"))
    series = mine["incidents"][0]["telemetry"]["services"]["authelia"]["series"][0]
    onset = mine["incidents"][0]["onset"]
    samples = [
        [onset + at, "0.9" if at >= 0 else str(0.01 + at % 120 / 6000)] for at in range(-1800, 601, 60)
    ]
    (tmp_path / "ratio.csv").write_text("time,value\n" + "".join(f"{at},{value}\n" for at, value in samples))
    digest = sha256((tmp_path / "ratio.csv").read_bytes())
    mine["incidents"][0]["telemetry"]["services"]["authelia"]["series"] = [
        {"metric": series["metric"], "file": "ratio.csv", "sha256": digest}
    ]
    dataset = tmp_path / "mine.json"
    dataset.write_text(json.dumps(mine))
    asked = ["--only", "floor-topology-heavy", "--only", "memory-knows-its-family", "--format", "json"]
    status = cli(["gate-selftest", "--dataset", str(dataset), *asked])
    found = json.loads(capsys.readouterr().out)
    assert found["dataset"] == sha256(dataset.read_bytes())
    assert found["outcomes"][0]["status"] == "caught"
    assert status == (0 if found["goalMet"] else 1)


def test_a_dataset_that_is_too_small_to_decide_is_no_measurement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = json.loads(ground_truth_bytes("graded"))
    small["incidents"] = small["incidents"][:3]
    (tmp_path / "small.json").write_text(json.dumps(small))
    assert cli(["gate-selftest", "--dataset", str(tmp_path / "small.json")]) == 2
    assert "incidents in LivePath < 9" in capsys.readouterr().err


def test_the_command_ends_with_2_for_what_it_cannot_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["gate-selftest", "--only", "no-such-mutant"]) == 2
    assert "no-such-mutant" in capsys.readouterr().err
    assert cli(["gate-selftest", "--group", "no-such-group"]) == 2
    assert "weights" in capsys.readouterr().err


def test_the_list_names_every_mutant_without_running_any(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["gate-selftest", "--list", "--format", "json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == [mutant.name for mutant in ALL]


def test_no_process_is_left_when_the_bench_is_closed() -> None:
    with bench(ground_truth_bytes("graded"), baseline=None, **QUIET) as opened:  # type: ignore[arg-type]
        folder = opened.folder
    assert not folder.exists()
    running = [
        name for name in os.listdir("/proc") if name.isdigit() and str(folder).encode() in _command_line(name)
    ]
    assert running == []


def _command_line(process: str) -> bytes:
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""
