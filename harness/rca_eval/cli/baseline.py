"""`rca-eval baseline write`: make the AllShadow variant of a scorecard the committed reference."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from rca_eval.cli import inputs
from rca_eval.cli.output import say, write_text
from rca_eval.replay import from_scorecard, to_text

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def group() -> None:
    """Keeps `write` a subcommand although it is the only one."""


@app.command("write")
def write(
    scorecard: Annotated[Path, typer.Argument(help="a scorecard or the log of its container; - for stdin")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="file; default: stdout")] = None,
    comment: Annotated[str, typer.Option(help="why this is the reference")] = "",
) -> None:
    """Write a baseline with its provenance: engine, dataset digest, every incident's ranking."""
    text = to_text(from_scorecard(inputs.scorecard(scorecard), comment=comment))
    if output is None:
        sys.stdout.write(text)
        return
    write_text(output, text)
    say(f"wrote {output}")
