"""The live view: two components on their way, one to Active and one to a stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from hack.demo.cluster import Cluster
from hack.demo.shell import DemoError

GOOD, BAD = "live-activation", "topology-boost"
# The shortest story is 30 s of observation and a run on either side; this is several of them on a slow machine.
LIMIT = 300.0
POLL = 1.0
COLOURS = {"Active": "green", "Blocked": "red", "Pending": "dim", "Promoting": "green"}


@dataclass(frozen=True)
class Row:
    """One component as a person would want to see it."""

    name: str
    phase: str
    mode: str
    accuracy: str
    delta: str
    observed: str
    message: str

    @classmethod
    def of(cls, component: dict[str, Any]) -> Row:
        status = component.get("status") or {}
        evaluation = status.get("evaluation") or {}
        return cls(
            name=component["metadata"]["name"],
            phase=status.get("phase") or "-",
            mode=status.get("mode") or "-",
            accuracy=evaluation.get("accuracy") or "-",
            delta=evaluation.get("delta") or "-",
            observed=(status.get("observation") or {}).get("summary") or "-",
            message=message_of(status),
        )


def message_of(status: dict[str, Any]) -> str:
    """Why it is where it is: the verdict's sentence, or what is being waited for."""
    conditions = {item["type"]: item for item in status.get("conditions") or []}
    for kind in ("Stalled", "Promoted", "Ready"):
        condition = conditions.get(kind)
        if (
            condition
            and condition.get("message")
            and not (kind == "Stalled" and condition["status"] != "True")
        ):
            return str(condition["message"])
    return ""


def rows(cluster: Cluster) -> list[Row]:
    return sorted((Row.of(item) for item in cluster.objects("rcacomponents")), key=lambda row: row.name)


def runs(cluster: Cluster) -> list[str]:
    """The evaluations so far, oldest first."""
    found = sorted(
        cluster.objects("evalruns"),
        key=lambda item: (item["metadata"]["creationTimestamp"], item["metadata"]["name"]),
    )
    lines = []
    for item in found:
        status = item.get("status") or {}
        component = (item["spec"].get("componentRef") or {}).get("name", "-")
        phase = status.get("phase") or "Pending"
        lines.append(
            f"{component:<16} {item['spec']['trigger']:<12} {phase:<13} {status.get('accuracy') or ''}"
        )
    return lines


def settled(seen: list[Row]) -> bool:
    phases = {row.name: row.phase for row in seen}
    return phases.get(GOOD) == "Active" and phases.get(BAD) == "Blocked"


def gone_wrong(seen: list[Row]) -> str:
    """An end that is not the story's: no need to wait for the clock then."""
    phases = {row.name: row.phase for row in seen}
    if phases.get(GOOD) == "Blocked":
        return f"{GOOD} was blocked: {next(row.message for row in seen if row.name == GOOD)}"
    if phases.get(BAD) == "Active":
        return f"{BAD} was promoted, which must not happen"
    return ""


def _table(seen: list[Row], elapsed: float) -> Table:
    table = Table(
        title=f"kubectl get rcac, {elapsed:.0f} s",
        title_justify="left",
        expand=True,
        box=None,
        pad_edge=False,
    )
    for heading in ("COMPONENT", "PHASE", "MODE", "AC@1", "DELTA", "OBSERVED"):
        table.add_column(heading, no_wrap=True)
    table.add_column("MESSAGE", ratio=1)
    for row in seen:
        style = COLOURS.get(row.phase, "yellow")
        mode = Text(row.mode, style="green" if row.mode == "Active" else "")
        table.add_row(
            row.name, Text(row.phase, style=style), mode, row.accuracy, row.delta, row.observed, row.message
        )
    return table


def _follow(cluster: Cluster, show: Callable[[list[Row], float], None]) -> list[Row]:
    began, trouble = time.monotonic(), ""
    while (elapsed := time.monotonic() - began) < LIMIT:
        try:
            seen = rows(cluster)
        except DemoError as error:
            # One unanswered question is no reason to end; the clock is.
            trouble = str(error)
            time.sleep(POLL)
            continue
        show(seen, elapsed)
        if settled(seen):
            return seen
        if wrong := gone_wrong(seen):
            raise DemoError(wrong)
        time.sleep(POLL)
    raise DemoError(f"the components did not settle within {LIMIT:.0f} s. {trouble}".strip())


def watch(cluster: Cluster, console: Console) -> list[Row]:
    """Follow both until one is Active and the other Blocked."""
    if console.is_terminal:
        with Live(console=console, refresh_per_second=4, transient=False) as live:

            def draw(seen: list[Row], elapsed: float) -> None:
                history = Text("\n".join(runs(cluster)[-8:]), style="dim")
                live.update(Group(_table(seen, elapsed), Text(), history))

            return _follow(cluster, draw)
    told: dict[str, Row] = {}

    def tell(seen: list[Row], elapsed: float) -> None:
        for row in seen:
            if told.get(row.name) != row:
                told[row.name] = row
                line = f"{elapsed:4.0f} s  {row.name:<16} {row.phase:<11} mode {row.mode:<7} AC@1 {row.accuracy:<6}"
                print(f"{line} delta {row.delta:<7} {row.observed:<16} {row.message}", flush=True)

    return _follow(cluster, tell)
