"""docs/datasets.md is complete: every code that lint knows, no other one, and an example that is a dataset."""

import json
import re
from pathlib import Path

import rca_eval.lint
from rca_eval.contract import parse_ground_truth
from rca_eval.lint import check

PAGE = (Path(__file__).parents[3] / "docs" / "datasets.md").read_text(encoding="utf-8")
CODE = re.compile(r"\b[EW]-[A-Z]+(?:-[A-Z]+)*\b")


def test_every_code_is_in_a_table_once_and_no_other_code_is():
    source = "".join(path.read_text() for path in Path(rca_eval.lint.__file__).parent.glob("*.py"))
    known = set(re.findall(r'"([EW]-[A-Z-]+)"', source))
    listed = [
        code
        for line in PAGE.splitlines()
        if line.startswith("| ")
        for code in CODE.findall(line.split("|")[1])
    ]
    assert sorted(listed) == sorted(known)


def test_the_example_is_a_dataset_without_an_error_beside_its_file():
    text = re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)[1].replace("<64 hex digits>", "0" * 64)
    assert parse_ground_truth(text.encode()).incidents[0].id == "IN-7"
    report = check(text.encode(), "incidents.json")
    assert {one.code for one in report.findings if one.level == "error"} == {"E-SERIES-FILE"}


def test_the_finding_that_is_shown_is_what_lint_says():
    text = re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)[1].replace(
        '"onset": 1700000000', '"onset": 1700000000000'
    )
    [found] = [one for one in check(text.encode(), "x").findings if one.code == "E-EPOCH"]
    assert " ".join(PAGE.split()).count(f"{found.message}; {found.fix}") == 1
    assert json.dumps(found.incident) == '"IN-7"'
