"""`rca-eval gate`: judge a scorecard."""

from pathlib import Path
from typing import Annotated

import typer

from rca_eval.cli import inputs
from rca_eval.cli.output import Format, show, show_json
from rca_eval.gate import GateContext, evaluate
from rca_eval.replay import bundled_for
from rca_eval.report import gate_table


def command(  # noqa: PLR0917  (each parameter is an option, named by typer)
    scorecard: Annotated[Path, typer.Argument(help="a scorecard or the log of its container; - for stdin")],
    baseline: Annotated[
        Path | None, typer.Option(help="default: the bundled one of the same dataset")
    ] = None,
    policy: Annotated[Path | None, typer.Option(help="a JSON file of tolerances")] = None,
    revision: Annotated[str | None, typer.Option(help="the revision that must have been measured")] = None,
    dataset_sha256: Annotated[str | None, typer.Option(help="the dataset that must have been used")] = None,
    batch: Annotated[
        bool, typer.Option("--batch", help="the run has no component, so no With variant")
    ] = False,
    format: Annotated[Format, typer.Option(help="table or json")] = Format.TABLE,
) -> None:
    """Exit 0 if it passes, 1 if it is a regression (AC@1 first, then MTTR), 2 if nothing can be decided."""
    card, rules = inputs.scorecard(scorecard), inputs.policy(policy)
    reference = inputs.baseline(baseline) if baseline else bundled_for(card.deterministic.dataset.sha256)
    context = GateContext(dataset_sha256=dataset_sha256, revision=revision, component=not batch)
    verdict = evaluate(card, reference, rules, context)
    if format is Format.JSON:
        show_json(verdict.plain())
    else:
        show(gate_table(verdict))
    raise typer.Exit(verdict.exit_code)
