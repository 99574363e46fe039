"""The example engine, run as an evaluation runs it: a process, two folders, nothing of ours imported.

Aspects: its output is valid under the contract, the tables and the change window, ties, the component that loses,
identical bytes under another hash seed.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from rca_eval.contract.protocol import parse_predictions

ROOT = Path(__file__).resolve().parents[3]
ENGINE = ROOT / "examples" / "engines" / "plain" / "engine.py"
FIRED, HOLD = 1_700_000_060, 60
ONSET = FIRED - HOLD
SHADOW: dict[str, str] = {"RcaTopologyBoost.Mode": "Shadow"}
ACTIVE: dict[str, str] = {"RcaTopologyBoost.Mode": "Active"}


def incident(changes: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {
        "protocol": 1,
        "case": "case-00000001",
        "windowSeconds": 1800,
        "alert": {
            "name": "A",
            "service": "web",
            "firedAt": FIRED,
            "forSeconds": HOLD,
            "severity": "critical",
        },
        "topology": {
            "services": [
                {"key": key, "kind": "workload"} for key in ("web", "api", "db", "hub", "elsewhere")
            ],
            "calls": [["web", "api"], ["api", "db"], ["web", "hub"], ["elsewhere", "web"]],
        },
        "telemetry": {
            "availability": "full",
            "services": {
                "db": {"criticality": 0.9, "errorRate": 0.9},
                "hub": {"criticality": 0.95, "errorRate": 0.55},
                "elsewhere": {"criticality": 1, "errorRate": 1},
            },
        },
        "changes": changes or [],
    }


def run(
    folder: Path, data: dict[str, Any], modes: dict[str, str], seed: str = "0"
) -> tuple[bytes, list[list[str]]]:
    incidents, output = folder / "in", folder / "out"
    (incidents / "LivePath").mkdir(parents=True, exist_ok=True)
    output.mkdir(exist_ok=True)
    path = "LivePath/case-00000001.json"
    unit = {"variant": "With", "arm": "LivePath", "case": "case-00000001", "modes": modes, "incident": path}
    (incidents / path).write_text(json.dumps(data), encoding="utf-8")
    (incidents / "manifest.json").write_text(
        json.dumps({"protocol": 1, "revision": "r1", "runs": [unit]}), encoding="utf-8"
    )
    environment = {
        "RCA_EVAL_INCIDENTS": str(incidents),
        "RCA_EVAL_OUTPUT": str(output),
        "PYTHONHASHSEED": seed,
    }
    subprocess.run([sys.executable, str(ENGINE)], env={**os.environ, **environment}, check=True)
    written = (output / "predictions.json").read_bytes()
    candidates = json.loads(written)["predictions"][0]["candidates"]
    return written, [[item["entity"], item["score"]] for item in candidates]


def test_what_it_writes_is_valid_under_the_contract(tmp_path: Path) -> None:
    written, _ = run(tmp_path, incident(), SHADOW)
    assert len(parse_predictions(written).predictions) == 1


def test_without_a_change_the_floor_table_ranks_what_the_alert_can_reach(tmp_path: Path) -> None:
    _, ranked = run(tmp_path, incident(), SHADOW)
    assert ranked == [
        ["db", "0.840000000"],  # .5*.9 + .35*.9 + .15*.5
        ["hub", "0.742500000"],
        ["api", "0.075000000"],  # equal scores by name
        ["web", "0.075000000"],
    ]


def test_a_change_counts_at_both_ends_of_the_window_and_not_beyond(tmp_path: Path) -> None:
    def change(at: int) -> list[dict[str, Any]]:
        return [{"kind": "Deploy", "service": "db", "at": at, "ref": "x"}]

    for at in (ONSET, ONSET - 1800):
        _, ranked = run(tmp_path, incident(change(at)), SHADOW)
        assert ranked[0] == ["db", "0.855000000"]  # .4*.9 + .3*.9 + .15*.5 + .15
    for at in (ONSET + 1, ONSET - 1801):
        _, ranked = run(tmp_path, incident(change(at)), SHADOW)
        assert ranked[0] == ["db", "0.840000000"]


def test_a_change_of_something_that_is_no_candidate_changes_nothing(tmp_path: Path) -> None:
    _, ranked = run(tmp_path, incident([{"kind": "Change", "service": "elsewhere", "at": ONSET}]), SHADOW)
    assert ranked[0] == ["db", "0.840000000"]


def test_the_component_under_test_prefers_the_important_over_the_broken(tmp_path: Path) -> None:
    _, ranked = run(tmp_path, incident(), ACTIVE)
    assert [entity for entity, _ in ranked[:2]] == ["hub", "db"]


def test_in_shadow_it_writes_down_what_it_ranks_in_active(tmp_path: Path) -> None:
    written, ranked = run(tmp_path, incident(), SHADOW)
    active_bytes, active = run(tmp_path, incident(), ACTIVE)
    logged = json.loads(written)["predictions"][0]["wouldBe"]
    assert logged == {"RcaTopologyBoost.Mode": [entity for entity, _ in active]}
    assert active != ranked
    assert json.loads(active_bytes)["predictions"][0]["wouldBe"] == {}


def test_of_a_key_that_it_does_not_know_it_writes_down_that_nothing_would_change(tmp_path: Path) -> None:
    written, ranked = run(tmp_path, incident(), {"Other.Mode": "Shadow"})
    assert json.loads(written)["predictions"][0]["wouldBe"] == {
        "Other.Mode": [entity for entity, _ in ranked]
    }


def test_an_unknown_mode_is_shadow(tmp_path: Path) -> None:
    shadow = run(tmp_path, incident(), SHADOW)[1]
    for modes in ({}, {"RcaTopologyBoost.Mode": "active"}, {"Other.Mode": "Active"}):
        assert run(tmp_path, incident(), modes)[1] == shadow


def test_another_hash_seed_ranks_alike(tmp_path: Path) -> None:
    assert run(tmp_path, incident(), ACTIVE, seed="1")[1] == run(tmp_path, incident(), ACTIVE, seed="2")[1]


def test_it_is_plain_short_and_imports_nothing_of_ours() -> None:
    source = ENGINE.read_text(encoding="utf-8")
    imported = {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(source))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported <= sys.stdlib_module_names
    assert len(source.splitlines()) <= 60


def test_the_gate_names_its_bad_component_and_knows_its_baseline() -> None:
    baseline = ENGINE.with_name("baseline.json")
    engine = f"{sys.executable} {ENGINE}"
    command = [
        str(Path(sys.executable).parent / "rca-eval"),
        "replay",
        "--component",
        "RcaTopologyBoost.Mode",
    ]
    command += ["--engine", engine, "--gate", "--baseline", str(baseline), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    gate = json.loads(done.stdout)["gate"]
    assert (gate["verdict"], gate["reason"]) == ("Failed", "AC@1")
    assert gate["message"].startswith("AC@1 0.000 < 1.000 - 0.02 (GT-01")
    # In Shadow it ranks what the committed baseline says, byte for byte: a changed dataset or engine shows here.
    collapse = [check["result"] for check in gate["checks"] if check["name"] == "ShadowCollapse"]
    assert collapse == ["Passed", "Passed"]
    fidelity = [check["result"] for check in gate["checks"] if check["name"] == "ShadowFidelity"]
    assert fidelity == ["Passed", "Passed"]
