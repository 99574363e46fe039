"""`rca-eval ablate`: the reference engine under every combination of its components."""

import os
from pathlib import Path
from typing import Annotated

import typer

from rca_eval.ablate import Finding, Matrix, Subject, judge, run
from rca_eval.ablate.table import matrix_json, matrix_table
from rca_eval.cli import inputs
from rca_eval.cli.output import Format, progress, say, show, show_json
from rca_eval.contract import (
    Baseline,
    ContractError,
    Reason,
    one_line,
    parse_ground_truth,
    require_confirmed,
    sha256,
)
from rca_eval.data import PROFILES
from rca_eval.engine import Blend, parse_blend, parse_without
from rca_eval.gate import GatePolicy
from rca_eval.graph import open_store
from rca_eval.job.series_files import with_files
from rca_eval.replay import bundled_for

REGRESSION, INVALID = 1, 2


def command(  # noqa: PLR0917  (each parameter is an option, named by typer)
    profile: Annotated[
        list[str] | None, typer.Option(help="bundled incidents, repeatable; default: all that are gated")
    ] = None,
    dataset: Annotated[Path | None, typer.Option(help="ground truth file, instead of the profiles")] = None,
    baseline: Annotated[Path | None, typer.Option(help="of --dataset; default: the bundled one")] = None,
    blend: Annotated[str, typer.Option(help="one table for all, e.g. topo=.75,tele=.10,hist=.15")] = "",
    without_term: Annotated[str, typer.Option(help="leave out chg or baro")] = "",
    store: Annotated[str, typer.Option(help="embedded, or a URL such as falkor://host:6379")] = "embedded",
    format: Annotated[Format, typer.Option(help="table or json")] = Format.TABLE,
) -> None:
    """All combinations of Shadow and Active, on both arms: exit 0 if all holds, 1 if not, 2 if it cannot be judged."""
    table = _blend(blend, without_term)
    subjects = _subjects(profile or [], dataset, baseline)
    matrices: list[Matrix] = []
    findings: list[Finding] = []
    name = f"ablate-{os.getpid()}-{os.urandom(4).hex()}"
    with progress() as on_step, open_store(store) as graphs:
        for subject in subjects:
            matrix = run(subject, graphs, blend=table, name=name, on_step=on_step)
            matrices.append(matrix)
            findings += judge(matrix, tolerance=GatePolicy().tolerance)
    if format is Format.JSON:
        show_json(matrix_json(matrices, findings))
    else:
        show(matrix_table(matrices, findings))
    failed = [one for one in findings if not one.missing]
    for one in findings:
        if one.missing:
            say(f"{one.check}: {one.cell}: {one.message}.")
    raise typer.Exit(REGRESSION if failed else INVALID if findings else 0)


def _subjects(profiles: list[str], dataset: Path | None, baseline: Path | None) -> list[Subject]:
    if dataset is not None and profiles:
        raise ContractError(Reason.USAGE, "--profile and --dataset are given; choose one of them.")
    if baseline is not None and dataset is None:
        raise ContractError(Reason.USAGE, "--baseline is of a --dataset; a bundled profile has its own.")
    given = inputs.baseline(baseline) if baseline else None
    names = list(dict.fromkeys(profiles)) or list(PROFILES)
    wanted = [(dataset.name, dataset)] if dataset else [(inputs.known_profile(name), None) for name in names]
    return [_subject(name, path, given) for name, path in wanted]


def _subject(name: str, path: Path | None, given: Baseline | None) -> Subject:
    data, source = inputs.dataset(name, path)
    truth = require_confirmed(parse_ground_truth(data, source=source), source=source)
    truth = with_files(truth, path.parent if path else None, source=source)
    digest = sha256(data)
    return Subject(one_line(name), truth, digest, given or bundled_for(digest))


def _blend(blend: str, without_term: str) -> Blend:
    if blend and without_term:
        raise ContractError(Reason.USAGE, "--blend and --without-term are given; choose one of them.")
    return parse_blend(blend) if blend else parse_without(without_term) if without_term else Blend()
