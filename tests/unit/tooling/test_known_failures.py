"""docs/known-failures.md names tests that are there, and says of every row what it stands on."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
DOC = (ROOT / "docs/known-failures.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)(?:\[(\w+)\])?`")
HEAD = ("reference", "what failed", "here")


def rows() -> list[tuple[str, str, str]]:
    found = []
    for line in DOC.splitlines():
        if line.startswith("| ") and not line.startswith("|---"):
            cells = tuple(cell.strip() for cell in line.strip("| ").split(" | "))
            assert len(cells) == 3, line
            if cells != HEAD:
                found.append((cells[0], cells[1], cells[2]))
    return found


@functools.cache
def collected(path: str) -> tuple[frozenset[str], frozenset[str]]:
    """The tests of a file, by its syntax tree, and every other name and word in it: a case has one of them."""
    tests: set[str] = set()
    words: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                (tests if name.lower().startswith("test") else words).add(name)
            case ast.Assign(targets=[ast.Name(id=name)]) if name.startswith("Test"):
                tests.add(name)  # a state machine of hypothesis
            case ast.Constant(value=str(word)):
                words.add(word)
    return frozenset(tests), frozenset(words)


def missing(path: str, test: str, case: str) -> str | None:
    """What is wrong with a test that is named, or None."""
    if not (ROOT / path).is_file():
        return f"{path} is not there"
    tests, words = collected(path)
    if test not in tests:
        return f"{path} has no {test}"
    if case and case not in words:
        return f"{path} has no case {case}"
    return None


def test_every_test_that_is_named_is_there() -> None:
    named = NAMED.findall(DOC)
    assert len(named) > 200
    assert [problem for each in named if (problem := missing(*each))] == []
    assert DOC.count("`tests/") == len(named) + len(
        re.findall(r"`tests/\w+`|`tests/unit/tooling/[\w.]+`", DOC)
    )


def test_every_row_has_a_test_or_says_what_it_waits_for() -> None:
    assert len(rows()) > 100
    for reference, failure, here in rows():
        assert re.fullmatch(r"\*design\*|[\w ,.#'()-]+", reference), reference
        assert len(failure) > 15, reference
        assert NAMED.search(here) or "not built yet: " in here, (reference, failure)


def test_a_name_that_is_wrong_is_seen() -> None:
    this = "tests/unit/tooling/test_known_failures.py"
    assert missing(this, "test_a_name_that_is_wrong_is_seen", "") is None
    assert missing("tests/unit/tooling/test_nothing.py", "test_x", "")
    assert missing(this, "test_that_was_renamed", "")
    assert missing(this, "test_a_name_that_is_wrong_is_seen", "no_case" + "_of_it")
