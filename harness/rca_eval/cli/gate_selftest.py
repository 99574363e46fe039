"""`rca-eval gate-selftest`: how many faults of a ranker does the gate see on these incidents?"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rca_eval.cli import inputs
from rca_eval.cli.output import out, progress, show, show_json
from rca_eval.selftest.aa import Replays, replays
from rca_eval.selftest.mutant import select
from rca_eval.selftest.mutants import ALL
from rca_eval.selftest.outcome import Survey
from rca_eval.selftest.run import bench, check, cores, survey
from rca_eval.selftest.table import listing, markdown, table

MISSED = 1
FULL, QUICK = 1000, 100
MOST_WORKERS = 64


class Form(StrEnum):
    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"


def command(  # noqa: PLR0917  (each parameter is an option, named by typer)
    profile: Annotated[str, typer.Option(help="bundled incidents: graded, seed or headroom")] = "graded",
    dataset: Annotated[Path | None, typer.Option(help="your ground truth, instead of a profile")] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="default: the bundled one, else the engine's own answers")
    ] = None,
    policy: Annotated[Path | None, typer.Option(help="a JSON file of tolerances")] = None,
    only: Annotated[list[str] | None, typer.Option(help="a mutant's name; repeatable")] = None,
    group: Annotated[list[str] | None, typer.Option(help="a group of mutants; repeatable")] = None,
    list_: Annotated[bool, typer.Option("--list", help="show the mutants and end")] = False,
    aa: Annotated[
        int | None,
        typer.Option(min=0, max=100_000, help="A/A replays; default 1000, 0 with --only or --group"),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="100 A/A replays instead of 1000")] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, max=MOST_WORKERS, help="mutants at a time; default: the cores")
    ] = None,
    format: Annotated[Form, typer.Option(help="table, json or markdown")] = Form.TABLE,
) -> None:
    """Put known faults into the engine, one at a time: exit 0 if 90 % are caught with an incident named, 1 if not."""
    chosen = select(ALL, only or [], group or [])
    if list_:
        _list(format)
        return
    check(chosen)
    data, source = inputs.dataset(profile, dataset)
    reference = inputs.baseline(baseline) if baseline else None
    rules = inputs.policy(policy)
    count = aa if aa is not None else 0 if only or group else QUICK if quick else FULL
    parallel = workers or cores()
    again = None
    with (
        progress() as on_step,
        bench(data, source=source, baseline=reference, policy=rules, on_step=on_step, file=dataset) as made,
    ):
        found = survey(made, chosen, parallel=parallel, on_step=on_step)
        if count:
            again = replays(made, made.base, count, parallel=parallel, on_step=on_step)
        ids = made.material.ids
    _print(found, again, ids, format)
    raise typer.Exit(0 if _good(found, again) else MISSED)


def _good(found: Survey, again: Replays | None) -> bool:
    return found.met and not found.refuted and (again is None or again.identical)


def _print(found: Survey, again: Replays | None, ids: tuple[str, ...], form: Form) -> None:
    if form is Form.JSON:
        show_json({**found.plain(), "aa": again.plain() if again else None})
    elif form is Form.MARKDOWN:
        out(markdown(found, again))
    else:
        show(table(found, again, ids))


def _list(form: Form) -> None:
    if form is Form.JSON:
        rows = [
            {
                "name": mutant.name,
                "group": mutant.group,
                "module": mutant.module,
                "imitates": mutant.imitates,
                "equivalent": mutant.equivalent or None,
            }
            for mutant in ALL
        ]
        show_json(rows)
    else:
        show(listing(ALL))
