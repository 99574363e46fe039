"""`rca-eval lint`: is a dataset fit to decide?"""

from pathlib import Path
from typing import Annotated

import typer

from rca_eval.cli import inputs
from rca_eval.cli.output import Format, show, show_json
from rca_eval.contract import parse_ground_truth
from rca_eval.lint import lint
from rca_eval.report import lint_table

INVALID = 2


def command(
    dataset: Annotated[
        Path | None, typer.Argument(help="ground truth file; default: a bundled profile")
    ] = None,
    profile: Annotated[str, typer.Option(help="bundled incidents: graded or seed")] = "graded",
    format: Annotated[Format, typer.Option(help="table or json")] = Format.TABLE,
) -> None:
    """Exit 0 without errors (warnings are shown), 2 with errors."""
    data, source = inputs.dataset(profile, dataset)
    truth = parse_ground_truth(data, source=source)
    findings = lint(truth)
    if format is Format.JSON:
        show_json({"incidents": len(truth.incidents), "findings": [finding.plain() for finding in findings]})
    else:
        show(lint_table(findings, incidents=len(truth.incidents)))
    raise typer.Exit(INVALID if any(finding.level == "error" for finding in findings) else 0)
