"""The ready workflow files: nothing in them lets a job go on, or turn green, after the gate has failed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

CI = Path(__file__).resolve().parents[3] / "examples" / "ci"
SWALLOWS = re.compile(r"\|\|\s*(true|:|exit 0|echo)|;\s*true\b|set \+e|--exit-zero")
# A pipe's status is that of its last command, so a gate may not stand before one.
PIPED = re.compile(r"rca-eval\s+(?:gate|replay|lint|ablate|gate-selftest|compare)\b[^|\n]*(?<!\|)\|(?!\|)")
GATES = re.compile(r"rca-eval\s+(?:gate|lint|ablate|gate-selftest|replay)\b")


def keys(node: Any) -> Iterator[tuple[str, Any]]:
    match node:
        case dict():
            for key, value in node.items():
                yield str(key), value
                yield from keys(value)
        case list():
            for value in node:
                yield from keys(value)


def swallowed(text: str) -> list[str]:
    """What in a workflow file hides a failure."""
    found = [match[0] for match in SWALLOWS.finditer(text)] + [match[0] for match in PIPED.finditer(text)]
    document = yaml.safe_load(text)
    found += [
        f"{key}: {value}"
        for key, value in keys(document)
        if key in ("continue-on-error", "allow_failure", "ignore-errors") and value is not False
    ]
    for key, value in keys(document):
        # A step that runs after a failure may show it, and may not be the gate itself.
        if key == "steps":
            found += [
                f"if: {step['if']}"
                for step in value
                if GATES.search(str(step.get("run", ""))) and "if" in step
            ]
    return found


@pytest.mark.parametrize("path", sorted(CI.glob("*.y*ml")), ids=lambda path: path.name)
def test_no_step_of_a_ready_workflow_hides_that_the_gate_failed(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert GATES.search(text)
    assert swallowed(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "a: rca-eval gate scorecard.json || true",
        "a: rca-eval gate scorecard.json | tee gate.txt",
        "gate: {continue-on-error: true, run: rca-eval gate scorecard.json}",
        "gate: {allow_failure: {exit_codes: 2}, script: [rca-eval gate scorecard.json]}",
        "steps: [{if: success() && false, run: rca-eval gate scorecard.json}]",
        "a: |\n  set +e\n  rca-eval gate scorecard.json",
    ],
)
def test_what_would_hide_it_is_seen(text: str) -> None:
    assert swallowed(text)
