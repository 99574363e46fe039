"""Where the output goes may break: then the exit status is 2, never 1, which would be a regression. A locale is no reason."""

import json
import os
import subprocess
import sys

import pytest

from rca_eval.contract import canonical, parse_baseline

COMMAND = (sys.executable, "-m", "rca_eval.cli")
SHOWN = (["lint"], ["describe"], ["--help"], ["lint", "--format", "json"])
NO_INPUT = ["gate", "/no/such/scorecard"]


@pytest.mark.parametrize("arguments", SHOWN, ids=" ".join)
def test_a_reader_that_went_away_is_no_regression(arguments):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [*COMMAND, *arguments], check=False, stdout=writing, stderr=subprocess.PIPE, text=True
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (2, "")


@pytest.mark.parametrize("arguments", SHOWN, ids=" ".join)
def test_a_full_disk_is_one_sentence_and_status_2(arguments):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, *arguments], check=False, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert done.stderr.startswith("FileUnreadable: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("where", ["2>/dev/full", "2>&-", ">&- 2>&-"])
def test_an_error_that_cannot_be_told_is_status_2_all_the_same(where):
    line = " ".join([*COMMAND, *NO_INPUT, where])
    assert subprocess.run(["sh", "-c", line], check=False).returncode == 2


def test_without_a_standard_output_the_status_is_that_of_the_command():
    line = " ".join([*COMMAND, "describe", ">&-"])
    assert subprocess.run(["sh", "-c", line], check=False).returncode == 0


@pytest.mark.parametrize("form", ["table", "json", "github", "sarif"])
def test_a_locale_without_the_words_of_a_dataset_still_gets_its_findings(form, tmp_path):
    path = tmp_path / "incidents.json"
    path.write_text('{"schemaVersion": 1, "windowSeconds": 1800, "ключ": "ñ😀"}', encoding="utf-8")
    done = in_ascii("lint", str(path), "--format", form)
    assert (done.returncode, done.stderr) == (2, "")
    if form in ("json", "sarif"):
        assert "ключ" in json.dumps(json.loads(done.stdout), ensure_ascii=False)
    else:
        assert r"\u043a" in done.stdout


def test_a_baseline_on_standard_output_is_the_same_document_in_every_locale(tmp_path, make_scorecard):
    card = tmp_path / "card.json"
    card.write_bytes(canonical(make_scorecard()))
    done = in_ascii("baseline", "write", str(card), "--comment", "señal 😀")
    assert done.returncode == 0
    assert parse_baseline(done.stdout.encode()).comment == "señal 😀"


def in_ascii(*arguments):
    env = {**os.environ, "PYTHONIOENCODING": "ascii:strict", "PYTHONUTF8": "1"}
    return subprocess.run([*COMMAND, *arguments], check=False, env=env, capture_output=True, encoding="ascii")
