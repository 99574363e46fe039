"""`rca-eval job prepare | engine | scorecard`: what the containers of an eval Job run; `merge` puts together what the
shards of one printed.
"""

import os
from pathlib import Path
from typing import Annotated

import typer

from rca_eval.cli.judge_step import judge_step
from rca_eval.cli.output import check_output, show, write_text
from rca_eval.contract import canonical
from rca_eval.contract.merge import merge
from rca_eval.job.commands import engine_command, prepare_command, run_command, scorecard_command
from rca_eval.job.parts import read_part_file

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.command("prepare")
def prepare() -> None:
    """Write the incidents without labels below $RCA_EVAL_INCIDENTS, one folder for each repeat."""
    raise typer.Exit(run_command(prepare_command))


@app.command("engine")
def engine(
    blend: Annotated[str, typer.Option(help="one table for all, e.g. topo=.75,tele=.10,hist=.15")] = "",
    without_term: Annotated[str, typer.Option(help="leave a term out: chg, baro or chg,baro")] = "",
) -> None:
    """Answer $RCA_EVAL_INCIDENTS with the reference engine into $RCA_EVAL_OUTPUT/predictions.json."""
    given = {"RCA_ENGINE_BLEND": blend, "RCA_ENGINE_WITHOUT": without_term}
    env = {**os.environ, **{name: value for name, value in given.items() if value}}
    raise typer.Exit(run_command(engine_command, env))


@app.command("scorecard")
def scorecard() -> None:
    """Grade $RCA_EVAL_OUTPUT/N/predictions.json and print the framed scorecard."""
    raise typer.Exit(run_command(scorecard_command))


@app.command("judge")
def judge() -> None:
    """Ask the judge about the scorecard in $RCA_EVAL_SCORECARD_FILE. Advisory: it never fails."""
    raise typer.Exit(judge_step())


@app.command("merge")
def merge_parts(
    parts: Annotated[
        list[Path], typer.Argument(help="the parts of one run: JSON, gzip as it is stored, or a log")
    ],
    output: Annotated[Path | None, typer.Option(help="write the scorecard to this file")] = None,
) -> None:
    """Put the parts that the shards of one run printed together: the whole scorecard, or a refusal."""
    if output is not None:
        check_output(output)
    text = canonical(merge([read_part_file(path) for path in parts])).decode() + "\n"
    if output is not None:
        write_text(output, text)
    else:
        show(text.rstrip("\n"))
