"""`rca-eval lint`: a text with many mistakes, the four formats, the exit status, and what it never does.

All defects of a file are told in one go: of the text (line and column), of the schema (path and a hint), of the content.
"""

import json
from pathlib import Path

import pytest

from rca_eval.cli.main import run
from rca_eval.data import baseline_bytes, ground_truth_bytes
from rca_eval.lint import check

BROKEN = b"""{
 "schemaVersion": 1,
 "windowSecond": 1800,
 "windowSeconds": 1800,
 "incidents": [
  {"id": "A", "faultClass": "x/y", "expectedRootCause": "db",
   "change_induced": false, "changeInduced": NaN,
   "onset": 1700000000000,},
  {"id": "A", "faultClass": "X Y", "expectedRootCause": ["web-7d9f"], "changeInduced": 0,
   "alert": {"name": "X", "service": "web", "firedAt": "2023-11-14T22:13:20Z"},
   "alert": {"name": "X", "service": "web", "firedAt": 1700000000}
   "topology": {"services": [{"key": "web"}], "calls": []},
   "telemetry": {"availability": None, "services": {"web": {"criticality": 2, "errorRate": 1e999}}}
  }, // and so on
  {"id": "B", "faultClass": "x", "expectedRootCause": "web", "changeInduced": false,
   "label": {"status": "draft"}}
 ]
}
"""
TOLD = [
    (3, "E-SCHEMA", None, "windowSecond is unknown", "did you mean windowSeconds?"),
    (7, "E-SCHEMA", "A", "change_induced is unknown", "did you mean changeInduced?"),
    (7, "E-NOT-FINITE", "A", "NaN", "leave it out"),
    (8, "E-EPOCH", "A", "looks like Unix milliseconds", "write 1700000000, whole seconds"),
    (8, "E-SYNTAX", "A", "a comma too many", "remove the comma"),
    (9, "E-DUPLICATE-ID", "A", 'the id "A" is there twice, first on line 6', "an id of its own"),
    (9, "E-SCHEMA", "A", 'faultClass is "X Y"', "it must match"),
    (9, "E-SCHEMA", "A", "changeInduced is 0", "it must be true or false"),
    (11, "E-DUPLICATE-KEY", "A", 'the key "alert" twice in one object, first on line 10', "keep one"),
    (12, "E-SYNTAX", "A", 'no comma before ""topology"', "put a comma"),
    (13, "E-SYNTAX", "A", '"None" where a value is needed', "write null"),
    (13, "E-SCHEMA", "A", "criticality is 2", "it must be at most 1"),
    (13, "E-NUMBER", "A", "out of any sensible range", "the number that was meant"),
    (14, "E-SYNTAX", None, "a comment", "_comment"),
    (15, "E-INCOMPLETE", "B", "has no alert, topology, telemetry", "add them"),
    (16, "E-DRAFT", "B", "its label is draft", "confirm it"),
]


def test_every_mistake_of_a_file_is_told_in_one_go():
    found = check(BROKEN, "set.json").findings
    for line, code, incident, says, fix in TOLD:
        assert [
            one
            for one in found
            if (one.line, one.code, one.incident) == (line, code, incident)
            and says in one.message
            and fix in one.fix
        ], (line, code, [(one.line, one.code, one.message, one.fix) for one in found if one.code == code])
    assert len([one for one in found if one.level == "error"]) == len(TOLD)


@pytest.mark.parametrize(
    ("data", "says", "line", "column"),
    [
        (b"", "is empty", 1, 1),
        (b"\n\n{", "ends before the closing '}'", 3, 2),
        (b'{\n "a": [1, 2', "ends before the closing ']'", 2, 12),
        (b'{"a": "x\n"}', "a string without an end", 1, 7),
        (b"{'a': 1}", "where a key is needed", 1, 2),
        (b'{"a" 1}', "no colon after the key", 1, 6),
        (b'{"a": }', "'}' where a value is needed", 1, 7),
        (b'{"a": 1]', "']' where a comma or '}' is needed", 1, 8),
        (b"{} {}", "goes on after the end", 1, 4),
        (b'{"a": "\\x"}', "invalid \\escape", 1, 7),
        (b'{"a": "\\ud800"}', "half a surrogate pair", 1, 7),
        (b'{"a": 01}', '"01" where a value is needed', 1, 7),
        (b'{"a": +1}', '"+1" where a value is needed', 1, 7),
        (b"\xef\xbb\xbf{}", "byte order mark", 1, 1),
        (b"\xff\xfe{\x00", "not UTF-8", 1, 1),
        (b"[" * 100_000, "nested too deeply", 1, 201),
        (b" " * (16 * 1024 * 1024 + 1), "at most 16777216 are read", 1, 1),
    ],
)  # fmt: skip
def test_a_text_that_cannot_be_read_is_told_with_line_and_column(data, says, line, column):
    [found, *_] = [one for one in check(data, "set.json").findings if says in one.message]
    assert (found.code, found.line, found.column) == ("E-SYNTAX", line, column)


@pytest.mark.parametrize(
    ("data", "code", "says"),
    [
        (b"[]", "E-SCHEMA", "is a list of 0, but a dataset is an object"),
        (b"null", "E-SCHEMA", "is null"),
        (b"{}", "E-SCHEMA", "with no field"),
        (baseline_bytes("graded"), "E-SCHEMA", "is no dataset, but Baseline"),
        (b'{"schemaVersion": 1, "windowSeconds": 1800, "incidents": []}', "E-EMPTY", "holds no incident"),
        (b'{"schemaVersion": 1, "windowSeconds": 1800, "incidents": {}}', "E-SCHEMA", "must be a list"),
        (b'{"schemaVersion": 1, "windowSeconds": 1800, "incidents": [1, null]}', "E-SCHEMA", "incidents[1]"),
        (b'{"schemaVersion": 1, "windowSeconds": 9, "incidents": [{"id": "x"}]}', "E-SCHEMA", "windowSeconds is 9"),
        (b'{"schemaVersion": 1, "incidents": []}', "E-SCHEMA", "windowSeconds is missing"),
    ],
)  # fmt: skip
def test_what_is_no_dataset_is_told_so(data, code, says):
    found = check(data, "set.json").findings
    assert any(one.code == code and says in f"{one.message}; {one.fix}" for one in found), found


def test_of_a_thousand_bad_samples_three_are_told_and_the_rest_counted():
    document = json.loads(ground_truth_bytes("graded"))
    row = document["incidents"][0]["telemetry"]["services"]["authelia"]
    row["series"] = [{"metric": "m", "samples": [[1700000000000 + n, "x"] for n in range(1000)]}]
    found = [one for one in check(json.dumps(document).encode(), "set.json").findings if one.level == "error"]
    assert [one.code for one in found].count("E-EPOCH") == 4
    assert any("has 997 more such places, the last at" in one.message for one in found)
    assert len(found) == 8


def test_rules_that_need_the_window_wait_for_it_and_the_others_do_not():
    document = json.loads(ground_truth_bytes("graded"))
    document["windowSeconds"] = "half an hour"
    document["incidents"][0]["symptom"] = "nobody"
    codes = [one.code for one in check(json.dumps(document).encode(), "set.json").findings]
    assert set(codes) == {"E-SCHEMA", "E-DANGLING", "E-SYMPTOM", "W-FAMILY"}


def test_a_series_file_that_is_missing_is_a_finding_and_the_others_are_linted(tmp_path, capsys):
    document = json.loads(ground_truth_bytes("graded"))
    rows = document["incidents"][0]["telemetry"]["services"]["authelia"]["series"]
    rows += [
        {"metric": "a", "file": "a.csv", "sha256": "0" * 64},
        {"metric": "b", "file": "../b.csv", "sha256": "0" * 64},
    ]
    path = tmp_path / "set.json"
    path.write_text(json.dumps(document, indent=1))
    assert run(["lint", str(path), "--format", "json"]) == 2
    found = [one for one in json.loads(capsys.readouterr().out)["findings"] if one["level"] == "error"]
    assert [one["code"] for one in found] == ["E-SERIES-FILE"] * 2
    assert "authelia/a: the series file" in found[0]["message"]
    assert "does not exist" in found[0]["message"]
    assert "put it beside the dataset" in found[0]["fix"]
    assert '"a.csv"' in path.read_text().splitlines()[found[0]["line"] - 1]


@pytest.fixture
def broken(tmp_path) -> Path:
    path = tmp_path / "set.json"
    path.write_bytes(BROKEN)
    return path


def test_the_table_has_file_line_code_and_incident_in_80_columns(broken, monkeypatch, capsys):
    monkeypatch.chdir(broken.parent)
    assert run(["lint", "set.json"]) == 2
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("3 incidents; errors: 16, warnings: 0\n")
    assert "\nset.json:8: error E-EPOCH A: incidents[0].onset is 1700000000000, which looks\n  like" in out
    column = BROKEN.decode().splitlines()[12].index("None") + 1
    assert f"\nset.json:13:{column}: error E-SYNTAX A: has" in out
    assert max(map(len, out.splitlines())) <= 80


def test_json_has_the_same_findings_as_fields(broken, capsys):
    assert run(["lint", str(broken), "--format", "json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert (document["incidents"], document["errors"], len(document["findings"])) == (3, 16, 16)
    one = next(one for one in document["findings"] if one["code"] == "E-EPOCH")
    assert one == {
        "level": "error",
        "code": "E-EPOCH",
        "incident": "A",
        "message": "incidents[0].onset is 1700000000000, which looks like Unix milliseconds",
        "fix": "write 1700000000, whole seconds",
        "path": "incidents[0].onset",
        "file": str(broken),
        "line": 8,
        "column": 4,
    }


def test_annotations_are_one_line_each_and_escaped(tmp_path, capsys):
    path = tmp_path / "a,b: 100%.json"
    path.write_bytes(BROKEN)
    assert run(["lint", str(path), "--format", "github"]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 16
    assert all(line.startswith("::error file=") for line in lines)
    assert all("a%2Cb%3A 100%25.json,line=" in line for line in lines)
    assert any("title=E-DRAFT::B: its label is draft" in line for line in lines)


def test_sarif_names_each_rule_once_and_points_to_it(broken, capsys):
    assert run(["lint", str(broken), "--format", "sarif"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert document["version"] == "2.1.0"
    [one] = document["runs"]
    rules = [rule["id"] for rule in one["tool"]["driver"]["rules"]]
    assert len(set(rules)) == len(rules)
    assert len(one["results"]) == 16
    for result in one["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        [place] = result["locations"]
        assert place["physicalLocation"]["region"]["startLine"] >= 1
        assert place["physicalLocation"]["artifactLocation"]["uri"].endswith("set.json")


def test_warnings_end_with_0_and_with_strict_2(capsys):
    assert run(["lint"]) == 0
    assert "errors: 0, warnings: 2" in capsys.readouterr().out
    assert run(["lint", "--strict"]) == 2
    assert "errors: 2, warnings: 0" in capsys.readouterr().out


def test_expected_count_baseline_and_policy_are_held_against_the_dataset(tmp_path, capsys):
    (tmp_path / "seed.json").write_bytes(baseline_bytes("seed"))
    (tmp_path / "graded.json").write_bytes(baseline_bytes("graded"))
    (tmp_path / "policy.json").write_text('{"protectedIncidents": ["GT-77"]}')
    assert run(["lint", "--expect", "9", "--baseline", str(tmp_path / "graded.json")]) == 0
    for arguments, code in (
        (["--expect", "8"], "E-COUNT"),
        (["--baseline", str(tmp_path / "seed.json")], "E-BASELINE"),
        (["--policy", str(tmp_path / "policy.json")], "E-PROTECTED-UNKNOWN"),
    ):
        capsys.readouterr()
        assert run(["lint", *arguments]) == 2
        assert code in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["lint", "nowhere.json"], ["lint", "."], ["lint", "--profile", "x"], ["lint", "--expect", "-1"], ["lint", "--policy", "/dev/null"]], ids=" ".join)  # fmt: skip
def test_a_file_that_cannot_be_opened_is_one_sentence(arguments, capsys):
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert "InternalError" not in err


def test_lint_writes_nothing(broken, capsys):
    before = {path: path.read_bytes() for path in broken.parent.iterdir()}
    for form in ("table", "json", "github", "sarif"):
        run(["lint", str(broken), "--format", form])
    assert {path: path.read_bytes() for path in broken.parent.iterdir()} == before
