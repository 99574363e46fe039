"""`rca-eval gate`: judge a scorecard."""

from pathlib import Path
from typing import Annotated

import typer

from rca_eval.cli import inputs
from rca_eval.cli.reports import (
    DatasetOption,
    FormatOption,
    ProfileOption,
    ReportOption,
    emit,
    known_truth,
    orders,
    sources_of,
)
from rca_eval.gate import GateContext, evaluate
from rca_eval.replay import bundled_for
from rca_eval.report.build import gate_report
from rca_eval.report.render import ReportFormat


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
    dataset: DatasetOption = None,
    profile: ProfileOption = None,
    format: FormatOption = ReportFormat.TABLE,
    report: ReportOption = None,
) -> None:
    """Exit 0 if it passes, 1 if it is a regression (AC@1 first, then MTTR), 2 if nothing can be decided.

    The report says why, what was lost and what is near; it never changes the verdict.
    """
    ordered = orders(report)
    card, rules = inputs.scorecard(scorecard), inputs.policy(policy)
    info = card.deterministic.dataset
    reference = inputs.baseline(baseline) if baseline else bundled_for(info.sha256)
    truth = known_truth(info, dataset, profile)
    context = GateContext(dataset_sha256=dataset_sha256, revision=revision, component=not batch)
    verdict = evaluate(card, reference, rules, context)
    sources = sources_of(info, truth, scorecard=scorecard, baseline=baseline, dataset=dataset)
    built = gate_report(card, reference, verdict, truth=truth, policy=rules, context=context, sources=sources)
    emit(built, verdict, format, ordered)
    raise typer.Exit(verdict.exit_code)
