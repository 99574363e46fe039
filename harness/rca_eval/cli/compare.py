"""`rca-eval compare`: two measurements of one dataset, side by side."""

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
from rca_eval.contract import (
    Baseline,
    ContractError,
    Reason,
    Scorecard,
    load_json,
    parse_baseline,
    parse_scorecard,
    read_scorecard,
    shown,
    unpack,
)
from rca_eval.contract.packed import GZIP
from rca_eval.contract.protocol import VariantName
from rca_eval.contract.scorecard import SCORECARD_LIMIT
from rca_eval.gate import compare, side
from rca_eval.gate.compare import PREFERRED
from rca_eval.job.files import read_bytes
from rca_eval.report.comparison import comparison_report
from rca_eval.report.render import ReportFormat


def command(  # noqa: PLR0917  (each parameter is an option, named by typer)
    reference: Annotated[Path, typer.Argument(help="a baseline or a scorecard: what was")],
    candidate: Annotated[Path, typer.Argument(help="a baseline or a scorecard: what is")],
    variant: Annotated[
        str, typer.Option(help="of the candidate: With, Without or AllShadow; default: the first there is")
    ] = "",
    against: Annotated[
        str, typer.Option(help="variant of the reference; default: the candidate's, if it has it")
    ] = "",
    dataset: DatasetOption = None,
    profile: ProfileOption = None,
    format: FormatOption = ReportFormat.TABLE,
    report: ReportOption = None,
) -> None:
    """What moved between two measurements of one dataset: incidents, metrics, weights. No tolerance, no verdict.

    Exit 0 if no incident was lost, 1 if any was (in either arm, whatever the averages say), 2 if the two cannot be
    compared: another dataset, other incidents, a file that is neither a scorecard nor a baseline.
    """
    ordered = orders(report)
    old, new = _measurement(reference), _measurement(candidate)
    mine = _variant(variant, new, "--variant")
    theirs = _variant(against, old, "--against") or _same(mine or _first(new), old)
    before, now = side(old, name=str(reference), variant=theirs), side(new, name=str(candidate), variant=mine)
    found = compare(before, now)
    info = new.dataset if isinstance(new, Baseline) else new.deterministic.dataset
    truth = known_truth(info, dataset, profile)
    sources = sources_of(
        info,
        truth,
        scorecard=candidate if isinstance(new, Scorecard) else None,
        baseline=reference if isinstance(old, Baseline) else None,
        dataset=dataset,
    )
    built = comparison_report(before, now, found, new, truth=truth, sources=sources)
    emit(built, found, format, ordered)
    raise typer.Exit(found.exit_code)


def _measurement(path: Path) -> Scorecard | Baseline:
    """A scorecard in any form in which it is kept, or a baseline; its `kind` says which."""
    data = read_bytes(path, what="the measurement", limit=SCORECARD_LIMIT)
    if data.startswith(GZIP):
        data = unpack(data)
    if inputs.FRAME.search(data):
        return read_scorecard(data)[0]
    value = load_json(data, source=str(path), reason=Reason.SCORECARD_INVALID, limit=SCORECARD_LIMIT)
    if isinstance(value, dict) and value.get("kind") == "Baseline":
        return parse_baseline(data, source=str(path))
    return parse_scorecard(data, source=str(path))


def _variant(name: str, document: Scorecard | Baseline, option: str) -> VariantName | None:
    if not name:
        return None
    if isinstance(document, Baseline):
        raise ContractError(
            Reason.USAGE, f"{option} is {shown(name)}, but a baseline has no variants; leave it out."
        )
    for known in PREFERRED:
        if known == name:
            return known
    raise ContractError(Reason.USAGE, f"{option} is {shown(name)}; the variants are {', '.join(PREFERRED)}.")


def _first(document: Scorecard | Baseline) -> VariantName | None:
    if isinstance(document, Baseline):
        return "AllShadow"
    present = {one.name for one in document.deterministic.variants}
    return next((name for name in PREFERRED if name in present), None)


def _same(name: VariantName | None, document: Scorecard | Baseline) -> VariantName | None:
    """The same variant of the reference, where it is a scorecard and has it."""
    if isinstance(document, Baseline) or name is None:
        return None
    return name if any(one.name == name for one in document.deterministic.variants) else None
