"""`rca-eval lint`: is a dataset fit to decide?"""

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rca_eval.cli import inputs
from rca_eval.cli.output import out, show, show_json
from rca_eval.lint import Options, Report, check
from rca_eval.report.lint_formats import github, sarif
from rca_eval.report.lint_table import lint_table

INVALID = 2


class LintFormat(StrEnum):
    TABLE = "table"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"


def command(  # noqa: PLR0917  (each parameter is an option, named by typer)
    dataset: Annotated[
        Path | None, typer.Argument(help="ground truth file; default: a bundled profile")
    ] = None,
    profile: Annotated[str, typer.Option(help="bundled incidents: graded, seed or headroom")] = "graded",
    strict: Annotated[bool, typer.Option("--strict", help="warnings are errors")] = False,
    expect: Annotated[int | None, typer.Option(min=0, help="incidents that the file must hold")] = None,
    baseline: Annotated[Path | None, typer.Option(help="hold the dataset against this baseline")] = None,
    policy: Annotated[Path | None, typer.Option(help="hold the dataset against this gate policy")] = None,
    format: Annotated[LintFormat, typer.Option(help="table, json, github or sarif")] = LintFormat.TABLE,
) -> None:
    """Exit 0 without errors (warnings are shown), 2 with errors. Nothing is written."""
    data, source = inputs.dataset(profile, dataset)
    options = Options(
        folder=dataset.parent if dataset else None,
        now=int(time.time()),
        expected=expect,
        baseline=inputs.baseline(baseline) if baseline else None,
        policy=inputs.policy(policy) if policy else None,
    )
    report = check(data, source, options)
    if strict:
        report = report.strict()
    _print(report, format)
    raise typer.Exit(INVALID if report.errors else 0)


def _print(report: Report, form: LintFormat) -> None:
    match form:
        case LintFormat.JSON:
            findings = [one.plain() for one in report.findings]
            show_json({"incidents": report.incidents, "errors": report.errors, "findings": findings})
        case LintFormat.GITHUB:
            out(github(report.findings))
        case LintFormat.SARIF:
            show_json(sarif(report.findings))
        case LintFormat.TABLE:
            show(lint_table(report.findings, incidents=report.incidents))
