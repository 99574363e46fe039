"""`rca-eval judge`: a language model's opinion on a scorecard. Advisory."""

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from rca_eval.cli import inputs
from rca_eval.cli.output import Format, check_output, say, show, show_json, write_text
from rca_eval.contract import ContractError, Reason, canonical, display, exact
from rca_eval.contract.judgement import Judgement
from rca_eval.job.files import read_bytes
from rca_eval.judge import Endpoint, Limits, judge

KEY = "RCA_JUDGE_KEY"


def command(  # noqa: PLR0917  (each parameter is an option, named by typer)
    scorecard: Annotated[Path, typer.Argument(help="a scorecard: JSON, gzip, a Job's log, or - for stdin")],
    endpoint: Annotated[str, typer.Option(help="where /chat/completions is, e.g. https://llm.example/v1")],
    model: Annotated[str, typer.Option(help="the model's name there")],
    key_file: Annotated[
        Path | None, typer.Option(help=f"a file with the key; else ${KEY}, else no key is sent")
    ] = None,
    tokens: Annotated[int, typer.Option(min=1, max=10**9, help="never spend more")] = 50_000,
    timeout: Annotated[float, typer.Option(min=0.1, max=3600, help="seconds for everything")] = 300.0,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="write the judgement here")] = None,
    format: Annotated[Format, typer.Option(help="table or json")] = Format.TABLE,
) -> None:
    """Ask whether the evidence supports each ranking. It sees no label, decides nothing, and is never read by the gate.

    Exit 0 when at least one incident was judged, else 2.
    """
    card = inputs.scorecard(scorecard)
    if output is not None:
        check_output(output)
    found = judge(card, Endpoint(endpoint, model, _key(key_file)), Limits(tokens, timeout))
    if output is not None:
        write_text(output, canonical(found).decode() + "\n")
    if format is Format.JSON:
        show_json(found.plain())
    else:
        _show(found)
    if found.message:
        say(found.message)
    if not found.judged:
        raise ContractError(Reason.JUDGE_UNAVAILABLE, "no incident was judged; the verdict is as it was.")


def _show(found: Judgement) -> None:
    table = Table("incident", "score", "opinion", "reason", box=None, pad_edge=False)
    for one in found.incidents:
        score = display(exact(one.score), 2) if one.score else "-"
        table.add_row(one.incident, score, one.opinion or one.skipped or "", one.reason or "")
    show(table)
    mean = f"mean score {display(exact(found.mean_score), 2)}, " if found.mean_score else ""
    show(
        f"{found.judged} of {len(found.incidents)} judged by {found.model}, {mean}{found.tokens} of "
        f"{found.token_limit} tokens. Advisory: no verdict depends on it."
    )


def _key(path: Path | None) -> str:
    if path is None:
        return os.environ.get(KEY, "").strip()
    data = read_bytes(path, what="the key", limit=16 * 1024, reason=Reason.FILE_UNREADABLE)
    try:
        return data.decode("ascii").strip()
    except UnicodeDecodeError:
        raise ContractError(Reason.FILE_UNREADABLE, f"{path} holds no key: it is not ASCII text.") from None
