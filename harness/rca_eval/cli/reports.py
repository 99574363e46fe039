"""The options by which a verdict becomes a report, shared by the commands that give one."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from rca_eval.cli import inputs
from rca_eval.cli.output import check_output, out, out_json, show, write_text
from rca_eval.contract import ContractError, GroundTruth, Reason, parse_ground_truth, sha256, shown
from rca_eval.contract.scorecard import DatasetInfo
from rca_eval.data import ALL_PROFILES, ground_truth_bytes
from rca_eval.gate import Comparison, GateResult
from rca_eval.job.series_files import with_files
from rca_eval.report.build import Sources
from rca_eval.report.document import Report
from rca_eval.report.render import ReportFormat, rendered
from rca_eval.report.terminal import report_table

DEFAULT_PROFILE = "graded"
FormatOption = Annotated[
    ReportFormat, typer.Option(help="what stdout gets: table, json, junit, markdown or html")
]
ReportOption = Annotated[
    list[str] | None,
    typer.Option(
        "--report",
        metavar="FORMAT=FILE",
        help="write a report to a file as well, e.g. html=gate.html; repeatable",
    ),
]
DatasetOption = Annotated[
    Path | None,
    typer.Option(help="ground truth file, for the context; default: a bundled one with the same digest"),
]
ProfileOption = Annotated[
    str | None, typer.Option(help="bundled incidents, for the context: graded, seed or headroom")
]


@dataclass(frozen=True)
class Order:
    """One `--report`: a format and the file that gets it."""

    form: ReportFormat
    path: Path


def orders(texts: Sequence[str] | None, *others: Path | None) -> tuple[Order, ...]:
    """The `--report` options, checked before anything long begins. `others` are files that are written too.

    Raises `ContractError`: Usage for a format or file that cannot be meant, FileUnreadable for one that cannot be
    written.
    """
    found = [_order(text) for text in texts or ()]
    taken = [one for one in others if one is not None]
    for order in found:
        if order.path.absolute() in {path.absolute() for path in taken}:
            raise ContractError(
                Reason.USAGE, f"{order.path} is written twice; give each output a file of its own."
            )
        taken.append(order.path)
        check_output(order.path)
    return tuple(found)


def _order(text: str) -> Order:
    name, separator, path = text.partition("=")
    known = [form.value for form in ReportFormat]
    if not separator or not path or name not in known:
        raise ContractError(
            Reason.USAGE, f"--report is {shown(text)}; write FORMAT=FILE with a format of {', '.join(known)}."
        )
    return Order(ReportFormat(name), Path(path))


def emit(
    report: Report, result: GateResult | Comparison, form: ReportFormat, ordered: Sequence[Order]
) -> None:
    """The files first, then stdout: a reader that goes away early costs no report."""
    emit_files(report, result, ordered)
    if form is ReportFormat.TABLE:
        show(report_table(report))
    elif form is ReportFormat.JSON:
        out_json(rendered(form, report, result))
    else:
        out(rendered(form, report, result))


def emit_files(report: Report, result: GateResult | Comparison, ordered: Sequence[Order]) -> None:
    """Every ordered file, each whole or not at all."""
    for order in ordered:
        write_text(order.path, rendered(order.form, report, result))


def known_truth(info: DatasetInfo, path: Path | None, profile: str | None) -> GroundTruth | None:
    """The dataset of a scorecard: the one that is named, else a bundled one of the same digest, else None.

    Only the incidents that the scorecard holds. Raises `ContractError(DatasetChanged)` if the named one is another.
    """
    if path is None and profile is None:
        named = ((ground_truth_bytes(one), f"the bundled profile {one}") for one in ALL_PROFILES)
        data, source = next(((data, name) for data, name in named if sha256(data) == info.sha256), (None, ""))
        if data is None:
            return None
    else:
        if path is not None and profile is not None:
            raise ContractError(Reason.USAGE, "--dataset and --profile name two datasets; give one of them.")
        data, source = inputs.dataset(profile or "", path)
        if sha256(data) != info.sha256:
            raise ContractError(
                Reason.DATASET_CHANGED,
                f"{source} has sha256 {sha256(data)[:12]}, but the scorecard is of {info.sha256[:12]}; give the "
                "dataset that was replayed.",
            )
    return held(data, source, path, info)


def sources_of(
    info: DatasetInfo,
    truth: GroundTruth | None,
    *,
    scorecard: Path | None,
    baseline: Path | None = None,
    dataset: Path | None = None,
) -> Sources:
    """What the commands to type next have to name; a dataset that is not known has to be named by the reader."""
    other = (
        info.profile if truth is not None and dataset is None and info.profile != DEFAULT_PROFILE else None
    )
    return Sources(
        scorecard=None if scorecard is None or str(scorecard) == inputs.STDIN else str(scorecard),
        baseline=str(baseline) if baseline else None,
        dataset=str(dataset) if dataset else "DATASET" if truth is None else None,
        profile=other,
    )


def held(data: bytes, source: str, path: Path | None, info: DatasetInfo) -> GroundTruth | None:
    """The incidents of a dataset that a scorecard holds, with their series; None if it holds none of them."""
    truth = parse_ground_truth(data, source=source)
    wanted = set(info.incidents)
    kept = tuple(one for one in truth.incidents if one.id in wanted)
    if not kept:
        return None
    return with_files(
        truth.model_copy(update={"incidents": kept}), path.parent if path else None, source=source
    )
