"""The whole road on one machine: processes, files, graph, scorecard, gate, command line."""

import json
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import psutil
import pytest

from rca_eval.cli.main import run
from rca_eval.cli.output import show
from rca_eval.contract import canonical, encode_frame, pack, parse_baseline, parse_scorecard
from rca_eval.data import PROFILES, baseline_bytes, ground_truth_bytes
from rca_eval.engine import KEYS, LIVE_ACTIVATION
from rca_eval.gate import evaluate
from rca_eval.replay import (
    DEFAULT_COMPONENT,
    Plan,
    from_scorecard,
    references_of,
    replay,
    to_text,
    variants,
)
from rca_eval.report import scorecard_table
from rca_eval.report.scorecard_table import trust


@pytest.fixture(scope="session")
def scorecards():
    """A real replay of each profile: two engine processes with different hash seeds and orders."""
    return {
        profile: replay(Plan(dataset=ground_truth_bytes(profile), variants=variants(DEFAULT_COMPONENT, {})))
        for profile in PROFILES
    }


@pytest.fixture
def card_file(scorecards, tmp_path) -> Path:
    path = tmp_path / "scorecard.json"
    path.write_bytes(canonical(scorecards["graded"]))
    return path


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("variant", ["AllShadow", "Without", "With"])
def test_both_arms_find_all_nine_causes_in_shadow_and_active(scorecards, profile, variant):
    arms = scorecards[profile].deterministic.arms_of(variant)
    assert [(arm.arm, arm.recomputed()["AC@1"], len(arm.incidents)) for arm in arms] == [
        ("ScorerOnly", Fraction(1), 9),
        ("LivePath", Fraction(1), 9),
    ]


@pytest.mark.parametrize("profile", PROFILES)
def test_two_processes_with_other_hash_seeds_and_orders_give_identical_answers(scorecards, profile):
    repeats = scorecards[profile].measured.repeats
    assert (repeats.count, repeats.identical, repeats.differences) == (2, True, ())


@pytest.mark.parametrize("profile", PROFILES)
def test_shadow_is_the_committed_baseline_byte_for_byte(scorecards, profile):
    committed = parse_baseline(baseline_bytes(profile))
    mine = from_scorecard(scorecards[profile], comment=committed.comment)
    # Times are a machine's, and where a file comes from is its own; all else must be the very bytes of the file.
    timeless = mine.model_copy(
        update={
            "mttr_seconds": committed.mttr_seconds,
            "provenance": committed.provenance,
            "references": committed.references,  # of Active, see below
        }
    )
    assert to_text(timeless).encode() == baseline_bytes(profile)


def test_active_is_what_the_committed_references_of_graded_say(scorecards):
    committed = parse_baseline(baseline_bytes("graded"))
    mine = list(references_of(scorecards["graded"]))
    assert {(one.arm, one.active) for one in mine} == {
        ("ScorerOnly", (LIVE_ACTIVATION,)),
        ("LivePath", (LIVE_ACTIVATION,)),
    }
    assert all(one in committed.references for one in mine)
    assert {one.active for one in committed.references} >= {(key,) for key in KEYS} | {tuple(sorted(KEYS))}


@pytest.mark.parametrize("profile", PROFILES)
def test_the_gate_passes_the_reference_engine_and_has_caught_the_known_bad_one(scorecards, profile):
    card = scorecards[profile]
    result = evaluate(card, parse_baseline(baseline_bytes(profile)))
    assert result.verdict == "Passed"
    control = next(arm for arm in card.deterministic.control.arms if arm.arm == "LivePath")
    assert control.recomputed()["AC@1"] == 0


@pytest.mark.parametrize("profile", PROFILES)
def test_baro_reranks_in_active_only_and_shadow_has_written_down_exactly_that(scorecards, profile):
    card = scorecards[profile]
    active = {row.id: row.order() for arm in card.deterministic.arms_of("With")[1:] for row in arm.incidents}
    logged = {
        row.incident: list(row.entities)
        for row in card.measured.would_be
        if (row.component, row.variant, row.arm) == (DEFAULT_COMPONENT, "AllShadow", "LivePath")
    }
    assert logged == active
    tables = {row.table for row in card.deterministic.arms_of("With")[1].incidents}
    assert tables <= {"baro", "baroNoChange", "floor"}
    assert {row.table for row in card.deterministic.arms_of("AllShadow")[1].incidents} == {"onset", "floor"}


def test_a_topology_heavy_blend_ends_with_status_1_and_says_accuracy(capsys):
    status = run(["replay", "--blend", "topo=.75,tele=.10,hist=.15", "--gate", "--format", "json"])
    said = json.loads(capsys.readouterr().out)
    assert status == 1
    assert (said["gate"]["verdict"], said["gate"]["reason"]) == ("Failed", "AC@1")
    assert said["gate"]["message"].startswith("AC@1 0.000 < 1.000 - 0.02 (GT-01, ")


def test_without_the_change_term_the_gate_names_the_two_change_induced_incidents(capsys):
    assert run(["replay", "--without-term", "chg", "--gate"]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "AC@1 0.778 < 1.000 - 0.02 (GT-03, GT-07 lost)" in text
    assert "regressed GT-03, GT-07 | fixed none | unchanged 7" in text


ENGINE = """
import json, os, pathlib, sys
folder = pathlib.Path(os.environ["RCA_EVAL_INCIDENTS"])
manifest = json.loads((folder / "manifest.json").read_text())
rows = []
for run in manifest["runs"]:
    services = json.loads((folder / run["incident"]).read_text())["telemetry"]["services"]
    ranked = {ranking}
    rows.append({"variant": run["variant"], "arm": run["arm"], "case": run["case"], "seconds": 0.001,
                 "candidates": [{"entity": key} for key in ranked]})
document = {"protocol": 1, "engine": {"name": "foreign", "version": "1"}, "predictions": rows}
pathlib.Path(os.environ["RCA_EVAL_OUTPUT"], "predictions.json").write_text(json.dumps(document))
"""


def foreign(tmp_path, ranking) -> str:
    path = tmp_path / "engine.py"
    path.write_text(ENGINE.replace("{ranking}", ranking))
    return f"{sys.executable} {path}"


def test_any_command_that_speaks_the_protocol_can_be_measured(tmp_path, capsys):
    engine = foreign(tmp_path, "sorted(services, key=lambda key: -services[key].get('errorRate', 0))")
    output = tmp_path / "card.json"
    assert run(["replay", "--engine", engine, "--output", str(output)]) == 0
    card = parse_scorecard(output.read_bytes())
    assert card.measured.engine.name == "foreign"
    assert card.deterministic.variants[2].arms[0].metrics["AC@1"] == "1.000000000"
    assert card.deterministic.variants[2].arms[1].metrics["AC@1"] == "0.000000000"
    capsys.readouterr()


def test_an_engine_whose_answer_depends_on_the_hash_seed_cannot_pass(tmp_path, capsys):
    engine = foreign(tmp_path, "list(set(services))")
    assert run(["replay", "--engine", engine, "--gate", "--format", "json"]) == 2
    assert json.loads(capsys.readouterr().out)["gate"]["reason"] == "RepeatsDiffer"


def test_an_engine_that_reads_only_the_order_of_its_input_cannot_pass_either(tmp_path, capsys):
    ranking = "[s['key'] for s in json.loads((folder / run['incident']).read_text())['topology']['services']]"
    assert run(["replay", "--engine", foreign(tmp_path, ranking), "--gate", "--format", "json"]) == 2
    assert json.loads(capsys.readouterr().out)["gate"]["reason"] == "RepeatsDiffer"


@pytest.mark.parametrize(
    ("engine", "reason"),
    [
        ("false", "EngineFailed"),
        ("no-such-program-anywhere", "EngineFailed"),
        ("true", "PredictionsMissing"),
        ("sh -c 'echo junk > $RCA_EVAL_OUTPUT/predictions.json'", "PredictionsInvalid"),
        ("sh -c 'head -c 9000000 /dev/zero > $RCA_EVAL_OUTPUT/predictions.json'", "PredictionsTooLarge"),
        ("sh -c 'ln -s /etc/hostname $RCA_EVAL_OUTPUT/predictions.json'", "PredictionsInvalid"),
        ("sleep 60", "EngineFailed"),
        ("sh -c 'mkfifo $RCA_EVAL_TERMINATION_LOG; exit 3'", "EngineFailed"),
        ("sh -c 'ln -s /dev/zero $RCA_EVAL_TERMINATION_LOG; exit 3'", "EngineFailed"),
        ("'", "Usage"),
    ],
)
def test_an_engine_that_fails_is_one_sentence_and_status_2(engine, reason, capsys):
    assert run(["replay", "--engine", engine, "--timeout", "1"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"{reason}: ")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("status", [0, 3])
def test_what_an_engine_leaves_running_ends_with_it(status, tmp_path, capsys):
    """It could write on, into what the next repeat is graded by."""
    engine = f"sh -c 'sleep 600 & echo $! >> {tmp_path}/left; exit {status}'"
    assert run(["replay", "--engine", engine]) == 2
    capsys.readouterr()
    (pid,) = map(int, (tmp_path / "left").read_text().split())
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_an_engine_gets_no_setting_that_could_name_the_labels(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RCA_EVAL_DATASET", "/the/labels")
    seen = tmp_path / "seen"
    run(["replay", "--engine", f"sh -c 'env > {seen}'"])
    names = {line.partition("=")[0] for line in seen.read_text().splitlines() if line.startswith("RCA_EVAL_")}
    assert names == {
        "RCA_EVAL_INCIDENTS",
        "RCA_EVAL_OUTPUT",
        "RCA_EVAL_REVISION",
        "RCA_EVAL_REPEAT",
        "RCA_EVAL_TERMINATION_LOG",
    }
    capsys.readouterr()


def test_a_foreign_engine_is_not_told_the_store_and_its_password(tmp_path, capsys):
    seen = tmp_path / "seen"
    run(["replay", "--engine", f"sh -c 'env > {seen}'", "--store", "falkor://me:geheim@127.0.0.1:1"])
    assert "geheim" not in seen.read_text()
    assert "geheim" not in capsys.readouterr().err


BAD_FILES = {
    "absent": lambda path: None,
    "folder": lambda path: path.mkdir(),
    "empty": lambda path: path.write_bytes(b""),
    "junk": lambda path: path.write_bytes(b"{{{"),
    "byte order mark": lambda path: path.write_bytes(b"\xef\xbb\xbf{}"),
    "nan": lambda path: path.write_bytes(b'{"a": NaN}'),
    "another document": lambda path: path.write_bytes(b'{"protocol": 1}'),
    "huge": lambda path: path.write_bytes(b" " * (16 * 1024 * 1024 + 1)),
    "binary": lambda path: path.write_bytes(bytes(range(256))),
}


@pytest.mark.parametrize("kind", BAD_FILES)
@pytest.mark.parametrize("command", ["gate", "baseline", "policy", "replay", "baseline write"])
def test_every_bad_file_is_one_sentence_and_status_2(kind, command, tmp_path, card_file, capsys):
    bad = tmp_path / "bad.json"
    BAD_FILES[kind](bad)
    arguments = {
        "gate": ["gate", str(bad)],
        "baseline": ["gate", str(card_file), "--baseline", str(bad)],
        "policy": ["gate", str(card_file), "--policy", str(bad)],
        "replay": ["replay", "--dataset", str(bad)],
        "baseline write": ["baseline", "write", str(bad), "-o", str(tmp_path / "new.json")],
    }[command]
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert "Traceback" not in err
    assert "InternalError" not in err
    assert not (tmp_path / "new.json").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["replay", "--only", "GT-99"],
        ["replay", "--only", "GT-0"],
        ["replay", "--mode", "RcaMemory.Mode"],
        ["replay", "--component", "RcaMemory.Mode", "--mode", "RcaMemory.Mode=Active"],
        ["replay", "--mode", "A=Active", "--mode", "A=Shadow"],
        ["replay", "--component", ""],
        ["replay", "--blend", "topo=1,tele=1"],
        ["replay", "--without-term", "topo"],
        ["replay", "--blend", "topo=1", "--engine", "true"],
        ["replay", "--profile", "nowhere"],
        ["replay", "--repeat", "0"],
        ["replay", "--store", "falkor://127.0.0.1:1"],
        ["replay", "--format", "xml"],
        ["no-such-command"],
        ["gate"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_one_sentence_and_status_2(arguments, capsys):
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert "InternalError" not in err


@pytest.mark.parametrize("where", ["missing/card.json", ""], ids=["no such folder", "a folder"])
def test_an_output_that_cannot_be_written_is_told_before_anything_runs(where, tmp_path, capsys):
    marker = tmp_path / "ran"
    arguments = ["replay", "--engine", f"touch {marker}", "--output", str(tmp_path / where)]
    assert run(arguments) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert not marker.exists()


def test_the_gate_command_has_the_three_exit_states_and_strict_json(card_file, scorecards, tmp_path, capsys):
    assert run(["gate", str(card_file), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "Passed"
    other = tmp_path / "seed.json"
    other.write_bytes(baseline_bytes("seed"))
    assert run(["gate", str(card_file), "--baseline", str(other)]) == 2
    assert "DatasetMismatch" in capsys.readouterr().out


def test_a_partial_replay_can_be_read_but_never_passes(capsys):
    assert run(["replay", "--only", "GT-03", "--gate"]) == 2
    out = capsys.readouterr().out
    assert "IncidentSetMismatch" in out
    assert "one lost is 1.000" in out


def test_the_table_fits_in_80_columns_and_shows_the_sentinel_only_beside_the_honest_arm(
    scorecards, card_file, capsys
):
    show(scorecard_table(scorecards["graded"]))
    run(["gate", str(card_file)])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert text.index("LivePath") < text.index("ScorerOnly")
    assert "by construction" in text
    assert "9 incidents are few: one lost is 0.111" in text


def test_a_baseline_that_the_command_writes_lets_the_same_scorecard_pass(card_file, tmp_path, capsys):
    written = tmp_path / "baseline.json"
    assert run(["baseline", "write", str(card_file), "-o", str(written), "--comment", "because"]) == 0
    baseline = parse_baseline(written.read_bytes())
    assert (baseline.comment, baseline.provenance.created_by) == ("because", "rca-eval baseline write")
    assert run(["gate", str(card_file), "--baseline", str(written)]) == 0
    capsys.readouterr()


def test_the_installed_command_runs_and_a_closed_pipe_is_no_traceback():
    command = [sys.executable, "-m", "rca_eval.cli", "lint", "--format", "json"]
    done = subprocess.run(f"{' '.join(command)} | head -c 1", shell=True, capture_output=True, check=False)
    assert done.stdout == b"{"
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("form", ["gzip", "log", "json"])
def test_a_scorecard_is_read_in_every_form_in_which_it_is_kept(form, scorecards, tmp_path, capsys):
    card = scorecards["graded"]
    data = {
        "json": canonical(card),
        "gzip": pack(canonical(card)),
        "log": b"noise\n" + encode_frame(card).text.encode(),
    }[form]
    path = tmp_path / "scorecard"
    path.write_bytes(data)
    assert run(["gate", str(path)]) == 0
    capsys.readouterr()


def test_words_of_an_engine_do_not_turn_a_scorecard_into_a_log(scorecards, tmp_path, capsys):
    document = scorecards["seed"].plain()  # nothing is committed of what it says in Active
    row = document["deterministic"]["variants"][-1]["arms"][-1]["incidents"][0]
    row["decision"] = "RCA-SCORECARD-BEGIN v1"
    path = tmp_path / "card.json"
    path.write_bytes(canonical(document))
    assert run(["gate", str(path)]) == 0
    assert "PASSED" in capsys.readouterr().out


@pytest.mark.parametrize(("count", "few"), [(1, True), (49, True), (50, False), (1000, False)])
def test_only_few_incidents_are_called_few(count, few):
    assert (" few: one lost is" in trust(count)) == few
    assert "does not prove a rate" in trust(count)


def test_text_of_an_engine_stays_text_in_the_table(tmp_path, capsys):
    path = tmp_path / "engine.py"
    rows = ENGINE.replace(
        '"candidates": [{"entity": key} for key in ranked]', r'"error": "[/red] :boom: \x1b[2J" + "x" * 500'
    )
    path.write_text(rows.replace("{ranking}", "[]"))
    assert run(["replay", "--engine", f"{sys.executable} {path}"]) == 0
    out = capsys.readouterr().out
    assert "[/red] :boom:" in out
    assert "\x1b" not in out
    assert "Error" in out


def test_long_ids_give_way_to_figures_in_80_columns(scorecards, capsys):
    card = scorecards["graded"]
    text = canonical(card).decode()
    for row in card.deterministic.dataset.incidents:
        text = text.replace(row, f"{row[:5]}-{'x' * 57}")
    show(scorecard_table(parse_scorecard(text.encode())))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum("1 +0.0324" in line for line in lines) == 1


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name
)
def test_a_replay_that_is_stopped_leaves_no_server_process_and_no_file_behind(number, tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    # Whoever started the tests may have had the signal ignored (nohup, a shell's background), and that is inherited.
    command = ["env", f"--default-signal={number.name[3:]}", sys.executable, "-m", "rca_eval.cli", "replay"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        deadline = time.monotonic() + 30
        while not list(tmp_path.rglob("redis.socket")) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(number)
        assert process.wait(timeout=30) in (129, 130, 143)
    assert list(tmp_path.iterdir()) == []
    assert [p for p in psutil.process_iter() if str(tmp_path) in " ".join(command_of(p))] == []


def command_of(process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
