"""`rca-eval simulate`: play an incident to a running agent, and see whether it finds the cause."""

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from rca_eval.cli import inputs
from rca_eval.cli.output import Format, show, show_json
from rca_eval.contract import one_line, parse_ground_truth
from rca_eval.simulate import AgentClient, Simulated, chosen, judge, notification, original_start

MISS = 1
SHOWN = 10


class At(StrEnum):
    NOW = "now"
    ORIGINAL = "original"


class State(StrEnum):
    FIRING = "firing"
    RESOLVED = "resolved"


def command(  # noqa: PLR0917  (each parameter is an option, named by typer)
    incident: Annotated[str, typer.Argument(help="its id or the beginning of it, e.g. GT-04")],
    agent: Annotated[str, typer.Option(help="address of the agent, e.g. http://127.0.0.1:8080")],
    profile: Annotated[str, typer.Option(help="bundled incidents: graded, seed or headroom")] = "graded",
    dataset: Annotated[Path | None, typer.Option(help="ground truth file, instead of a profile")] = None,
    status: Annotated[
        State, typer.Option(help="what the notification says: firing or resolved")
    ] = State.FIRING,
    at: Annotated[At, typer.Option(help="when it fired: now, or as in the dataset")] = At.NOW,
    acknowledge: Annotated[
        bool, typer.Option("--acknowledge", help="acknowledge it after the answer")
    ] = False,
    resolve: Annotated[bool, typer.Option("--resolve", help="send that it is resolved, last")] = False,
    wait: Annotated[
        float, typer.Option(min=0, max=600, help="seconds to wait for the agent to be ready")
    ] = 0.0,
    timeout: Annotated[float, typer.Option(min=0.1, max=3600, help="seconds for one request")] = 60.0,
    format: Annotated[Format, typer.Option(help="table or json")] = Format.TABLE,
) -> None:
    """Send an incident's alert as Alertmanager does; exit 0 if the cause is ranked first, 1 if not, 2 on an error."""
    data, source = inputs.dataset(profile, dataset)
    truth = chosen(parse_ground_truth(data, source=source), incident, source)
    starts = original_start(truth) if at is At.ORIGINAL else datetime.now(UTC)

    def ended() -> dict[str, Any]:
        return notification(truth, status="resolved", starts=starts, ends=datetime.now(UTC))

    with AgentClient(agent, seconds=timeout) as client:
        if wait:
            client.wait_until_ready(wait)
        if status is State.RESOLVED:
            found = judge(truth, client.notify(ended()))
        else:
            found = judge(
                truth, client.notify(notification(truth, status="firing", starts=starts, ends=None))
            )
            if acknowledge:
                client.acknowledge(found.incident_id)
            if resolve:
                judge(truth, client.notify(ended()))
    if format is Format.JSON:
        show_json(found.plain())
    else:
        _table(found)
    raise typer.Exit(MISS if found.answer is not None and not found.is_hit else 0)


def _table(found: Simulated) -> None:
    if found.answer is None:
        show(Text(f"{found.incident}: {found.outcome} ({found.incident_id}), lifecycle {found.lifecycle}"))
        return
    causes = ", ".join(found.expected)
    verdict = "HIT" if found.is_hit else "MISS"
    place = f"ranked {found.rank}" if found.rank else "not ranked"
    show(
        Text(
            f"{verdict} {found.incident}: the cause {causes} is {place} ({found.incident_id}, {found.outcome})"
        )
    )
    table = Table(box=None, pad_edge=False)
    for name, side in (("RANK", "right"), ("ENTITY", "left"), ("SCORE", "right"), ("", "left")):
        table.add_column(name, justify="right" if side == "right" else "left")
    for rank, one in enumerate(found.answer.candidates[:SHOWN], start=1):
        mark = "<- the cause" if one.entity in found.expected else ""
        table.add_row(str(rank), one_line(one.entity), one.score or "-", mark)
    show(table)
    told = [f"table {found.answer.table}"] if found.answer.table else []
    told += [f"decision {found.answer.decision}"] if found.answer.decision else []
    active = [str(one.get("component")) for one in found.answer.components if one.get("governed") is True]
    told.append(f"governed by {', '.join(active)}" if active else "all components in Shadow")
    show(Text(one_line("; ".join(told))))
