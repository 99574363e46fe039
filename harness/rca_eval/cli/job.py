"""`rca-eval job prepare | engine | scorecard`: what the containers of an eval Job run."""

import os
from typing import Annotated

import typer

from rca_eval.job.commands import engine_command, prepare_command, run_command, scorecard_command

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
