"""Findings of lint for machines: annotations of a workflow's log, and SARIF 2.1.0 for code scanning."""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any
from urllib.parse import quote

from rca_eval.lint import Finding

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def github(findings: Sequence[Finding]) -> str:
    """A workflow command for each finding; the runner shows them beside the lines of a change."""
    return "".join(
        f"::{one.level} file={_property(one.file or '')},line={one.line or 1},"
        f"title={_property(one.code)}::{_data(_text(one))}\n"
        for one in findings
    )


def sarif(findings: Sequence[Finding]) -> dict[str, Any]:
    """One run with the rules that were broken and a result for each finding."""
    rules = sorted({one.code for one in findings})
    return {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "rca-eval lint",
                        "version": version("rca-rollout"),
                        "rules": [{"id": code} for code in rules],
                    }
                },
                "results": [
                    {
                        "ruleId": one.code,
                        "ruleIndex": rules.index(one.code),
                        "level": one.level,
                        "message": {"text": _text(one)},
                        "locations": [
                            {
                                "physicalLocation": {
                                    "artifactLocation": {"uri": quote(one.file or "")},
                                    "region": {"startLine": one.line or 1, "startColumn": one.column or 1},
                                },
                                "logicalLocations": [{"fullyQualifiedName": one.path or "/"}],
                            }
                        ],
                    }
                    for one in findings
                ],
            }
        ],
    }


def _text(one: Finding) -> str:
    return f"{one.incident}: {one.message}; {one.fix}" if one.incident else f"{one.message}; {one.fix}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
