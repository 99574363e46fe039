"""The commands that report: gate, replay, compare, explain, describe; their files, formats and exit statuses."""

import json
import os
import stat
from xml.etree import ElementTree

import pytest
from rca_testing import report_cases
from rich.cells import cell_len

from rca_eval.cli.main import run
from rca_eval.cli.output import write_text
from rca_eval.contract import ContractError, canonical, encode_frame, pack
from rca_eval.data import baseline_bytes, ground_truth_bytes
from rca_eval.report.render import ReportFormat


@pytest.fixture
def cards(tmp_path):
    """A passing and a failing scorecard, and the baseline, as files."""
    found = {}
    for name, case in (("good", "passed"), ("bad", "two lost")):
        found[name] = tmp_path / f"{name}.json"
        found[name].write_bytes(canonical(report_cases.card(case)))
    found["baseline"] = tmp_path / "baseline.json"
    found["baseline"].write_bytes(baseline_bytes("graded"))
    return {name: str(path) for name, path in found.items()}


@pytest.mark.parametrize("form", list(ReportFormat))
def test_the_gate_gives_every_format_on_stdout_and_the_same_text_in_a_file(form, cards, tmp_path, capsys):
    target = tmp_path / f"out.{form}"
    assert run(["gate", cards["bad"], "--format", form, "--report", f"{form}={target}"]) == 1
    out = capsys.readouterr().out
    assert target.read_text() == out
    assert "GT-03" in out
    assert len(out.splitlines()) > 10


def test_several_reports_are_written_in_one_go(cards, tmp_path, capsys):
    orders = [f"{form}={tmp_path / form}" for form in ReportFormat]
    assert run(["gate", cards["good"], *(word for order in orders for word in ("--report", order))]) == 0
    assert {path.name for path in tmp_path.iterdir()} >= set(ReportFormat)
    ElementTree.parse(tmp_path / "junit")
    assert json.loads((tmp_path / "json").read_text())["report"]["verdict"]["verdict"] == "Passed"
    capsys.readouterr()


@pytest.mark.parametrize(
    "order", ["html", "=x", "html=", "pdf=/tmp/x", "HTML=/tmp/x", "html=/no/such/folder/x", "html=."]
)
def test_a_report_that_cannot_be_written_is_told_before_anything_runs(order, tmp_path, capsys):
    assert run(["replay", "--gate", "--engine", f"touch {tmp_path}/ran", "--report", order]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "ran").exists()


def test_one_file_is_not_written_twice(tmp_path, capsys):
    same = tmp_path / "same"
    assert run(["replay", "--gate", "--output", str(same), "--report", f"html={same}"]) == 2
    assert "written twice" in capsys.readouterr().err
    assert not same.exists()


def test_a_report_of_a_replay_needs_the_gate(capsys):
    for words in (["--format", "html"], ["--report", "html=/tmp/x.html"]):
        assert run(["replay", *words]) == 2
        assert "add --gate" in capsys.readouterr().err


def test_a_replay_with_a_gate_writes_its_reports_and_keeps_what_its_json_had(tmp_path, capsys):
    page = tmp_path / "report.html"
    assert run(["replay", "--gate", "--format", "json", "--report", f"html={page}", "--only", "GT-03"]) == 2
    said = json.loads(capsys.readouterr().out)
    assert {"gate", "scorecard", "report"} == said.keys()
    assert said["report"]["verdict"]["message"] == said["gate"]["message"]
    assert "<!doctype html>" in page.read_text()


def test_a_file_is_replaced_whole_and_keeps_its_permissions(tmp_path):
    target, link = tmp_path / "report", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_text(link, "new")
    assert (target.read_text(), link.is_symlink()) == ("new", True)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "report"]


def test_a_write_that_fails_leaves_the_old_file_and_no_scrap(tmp_path):
    target = tmp_path / "report"
    target.write_text("old")
    with pytest.raises(ContractError):
        write_text(target, "half\ud800")  # cannot be encoded
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_a_new_file_has_the_permissions_of_the_users_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "new", "text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_the_context_comes_from_the_bundled_dataset_of_the_same_digest(cards, capsys):
    assert run(["gate", cards["good"], "--format", "json"]) == 0
    rankers = json.loads(capsys.readouterr().out)["report"]["context"]["rankers"]
    assert {"loudest service", "most changed service"} <= {one["name"] for one in rankers}


def test_without_its_dataset_a_report_says_what_is_not_known(cards, tmp_path, capsys):
    other = report_cases.card("passed")
    info = other.deterministic.dataset.model_copy(update={"sha256": "0" * 64})
    changed = other.model_copy(
        update={"deterministic": other.deterministic.model_copy(update={"dataset": info})}
    )
    path = tmp_path / "other.json"
    path.write_bytes(canonical(changed))
    assert run(["gate", str(path)]) == 2
    assert "not known without the dataset" in " ".join(capsys.readouterr().out.split())


def test_a_dataset_that_was_not_replayed_is_refused(cards, capsys):
    for command in (["gate", cards["good"]], ["explain", "--scorecard", cards["good"]]):
        assert run([*command, "--profile", "seed"]) == 2
        assert capsys.readouterr().err.startswith("DatasetChanged: the bundled profile seed has sha256")


@pytest.mark.parametrize(
    ("reference", "candidate", "status", "word"),
    [
        ("good", "bad", 1, "WORSE"),
        ("bad", "good", 0, "BETTER"),
        ("good", "good", 0, "EQUAL"),
        ("baseline", "bad", 1, "WORSE"),
        ("baseline", "baseline", 0, "EQUAL"),
    ],
)
def test_compare_says_worse_with_status_1_and_better_or_equal_with_0(
    reference, candidate, status, word, cards, capsys
):
    assert run(["compare", cards[reference], cards[candidate]]) == status
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(word)
    assert max(map(cell_len, lines)) <= 80
    if word == "WORSE":
        assert "AC@1 1.000 -> 0.778, LivePath; lost GT-03, GT-07; fixed none" in " ".join(lines)


@pytest.mark.parametrize("form", list(ReportFormat))
def test_a_comparison_has_all_formats_too(form, cards, capsys):
    assert run(["compare", cards["good"], cards["bad"], "--format", form]) == 1
    out = capsys.readouterr().out
    assert "GT-03" in out
    if form is ReportFormat.JUNIT:
        root = ElementTree.fromstring(out)
        assert [suite.get("name") for suite in root] == ["comparison", "LivePath", "ScorerOnly"]
        assert root.get("failures") == "3"
    if form is ReportFormat.JSON:
        said = json.loads(out)
        assert [one["incident"][:5] for one in said["regressed"]] == ["GT-03", "GT-07"]
        assert said["report"]["kind"] == "Comparison"


def test_compare_compares_the_same_variant_of_both(cards, capsys):
    assert run(["compare", cards["good"], cards["bad"], "--variant", "AllShadow", "--format", "json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert (said["reference"].split()[-1], said["candidate"].split()[-1]) == ("AllShadow", "AllShadow")


@pytest.mark.parametrize("kind", ["gzip", "log"])
def test_compare_reads_a_scorecard_in_every_form_in_which_it_is_kept(kind, cards, tmp_path, capsys):
    card = report_cases.card("passed")
    path = tmp_path / "kept"
    path.write_bytes(pack(canonical(card)) if kind == "gzip" else encode_frame(card).text.encode())
    assert run(["compare", cards["baseline"], str(path)]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    "words",
    [
        ["--variant", "Nobody"],
        ["--against", "With"],
        ["--dataset", "/no/such/file"],
        ["--profile", "seed"],
    ],
)
def test_what_cannot_be_compared_is_one_sentence_and_status_2(words, cards, capsys):
    assert run(["compare", cards["baseline"], cards["good"], *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1


def test_other_datasets_cannot_be_compared(cards, tmp_path, capsys):
    other = tmp_path / "seed.json"
    other.write_bytes(baseline_bytes("seed"))
    assert run(["compare", str(other), cards["good"]]) == 2
    assert capsys.readouterr().err.startswith("DatasetChanged: ")


def test_explain_tells_what_was_lost_or_what_was_asked_for(cards, capsys):
    assert run(["explain", "--scorecard", cards["bad"]]) == 0
    out = capsys.readouterr().out
    assert out.count("the true cause\n") >= 2
    assert "GT-03-bad-deploy" in out
    assert "GT-07-bad-commit" in out
    assert (
        run(["explain", "GT-04", "GT-01-login-break", "--scorecard", cards["good"], "--format", "json"]) == 0
    )
    said = json.loads(capsys.readouterr().out)
    assert [one["id"][:5] for one in said["explanations"]] == ["GT-04", "GT-01"]
    assert run(["explain", "--scorecard", cards["good"]]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("", "nothing was lost; name an incident to have it explained\n")


@pytest.mark.parametrize(
    "words",
    [["GT-99"], [""], ["GT-03", "--variant", "X"], ["GT-03", "--arm", "X"], ["GT-03", "--baseline", "/no"]],
)
def test_what_cannot_be_explained_is_one_sentence_and_status_2(words, cards, capsys):
    assert run(["explain", *words, "--scorecard", cards["good"]]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("profile", ["graded", "seed"])
def test_describe_tells_what_a_dataset_holds(profile, capsys):
    assert run(["describe", "--profile", profile]) == 0
    out = capsys.readouterr().out
    assert max(map(cell_len, out.splitlines())) <= 80
    said = " ".join(out.split())
    assert f"{profile}, 9 incidents, 9 in LivePath" in said
    assert "9 incidents: one loss is 0.111" in said
    assert "labelled by simulation catalogue (9)" in said
    margins = "2 different margins in all" if profile == "seed" else "smallest margins: GT-02 +0.0004"
    assert margins in said


def test_describe_in_json_has_the_figures_and_every_incident(capsys):
    assert run(["describe", "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert len(said["incidents"]) == 9
    assert said["chance"] == "0.161467853"
    assert said["resolution"] == "0.111111111"
    assert said["constant"] == "0.222222222"
    assert {one["name"]: one["incidents"] for one in said["classes"]} == {
        "auth/login": 2,
        "deploy/config": 3,
        "data/datastore": 4,
    }
    assert said["baselineAccuracy"] == "1.000000000"


def test_describe_takes_a_file_with_hostile_words_and_no_more_than_the_schema_needs(tmp_path, capsys):
    document = {
        "schemaVersion": 1,
        "windowSeconds": 1800,
        "_comment": "\u001b[2J[red]\u202e",
        "incidents": [
            {"id": "A-1", "faultClass": "a/b", "expectedRootCause": ["x", "y"], "changeInduced": False},
            {
                "id": "A-2", "faultClass": "a/b", "expectedRootCause": "x", "changeInduced": False,
                "label": {"status": "draft", "by": "\u001b]0;x\u0007", "source": "[link]"},
            },
        ],
    }  # fmt: skip
    path = tmp_path / "truth.json"
    path.write_text(json.dumps(document))
    assert run(["describe", str(path)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "user, 2 incidents, 0 in LivePath" in out
    assert "LivePath measured nothing" in out
    assert "no incident has telemetry" in out


def test_describe_refuses_a_baseline_of_another_dataset(cards, tmp_path, capsys):
    path = tmp_path / "seed.json"
    path.write_bytes(ground_truth_bytes("seed"))
    assert run(["describe", str(path), "--baseline", cards["baseline"]]) == 2
    assert capsys.readouterr().err.startswith("DatasetChanged: the baseline is of dataset")


@pytest.mark.parametrize("command", ["gate", "replay", "compare", "explain", "describe"])
def test_the_help_of_each_command_says_what_its_exit_status_means_or_what_it_shows(command, capsys):
    assert run([command, "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Usage: rca-eval" in said
    assert "exit status" in said or "Exit 0" in said
