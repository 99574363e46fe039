"""`rca-eval describe`: what a dataset holds, and how much it can show."""

from pathlib import Path
from typing import Annotated

import typer

from rca_eval.cli import inputs
from rca_eval.cli.output import Format, show, show_json
from rca_eval.contract import Baseline, ContractError, Reason, parse_ground_truth, sha256
from rca_eval.job.series_files import with_files
from rca_eval.replay import bundled_for
from rca_eval.report.describe_table import describe_table
from rca_eval.report.description import description


def command(
    dataset: Annotated[
        Path | None, typer.Argument(help="ground truth file; default: a bundled profile")
    ] = None,
    profile: Annotated[str, typer.Option(help="bundled incidents: graded, seed or headroom")] = "graded",
    baseline: Annotated[
        Path | None, typer.Option(help="adds margins; default: the bundled one of the same dataset")
    ] = None,
    format: Annotated[Format, typer.Option(help="table or json")] = Format.TABLE,
) -> None:
    """Incidents, causes, changes and telemetry, who labelled them, what chance and simple rules score.

    Exit 0, or 2 if the dataset cannot be read. Whether it is fit to decide is for `rca-eval lint` to say.
    """
    data, source = inputs.dataset(profile, dataset)
    truth = parse_ground_truth(data, source=source)
    truth = with_files(truth, dataset.parent if dataset else None, source=source)
    found = sha256(data)
    reference = _of(inputs.baseline(baseline), found, source) if baseline else bundled_for(found)
    whole = description(truth, source=source, sha256=found, baseline=reference)
    if format is Format.JSON:
        show_json(whole.plain())
    else:
        show(describe_table(whole))


def _of(baseline: Baseline, sha: str, source: str) -> Baseline:
    if baseline.dataset.sha256 != sha:
        raise ContractError(
            Reason.DATASET_CHANGED,
            f"the baseline is of dataset {baseline.dataset.sha256[:12]}, but {source} is {sha[:12]}; give the "
            "baseline of this dataset.",
        )
    return baseline
