"""A dataset on a terminal: 80 columns."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rca_eval.contract import exact
from rca_eval.report.description import Counted, DescribedIncident, Description
from rca_eval.report.terminal import LABEL
from rca_eval.report.text import brief, count, margin, middle, number

SHOWN = 40
COUNTED = 8
NEAREST = 3


def describe_table(found: Description) -> RenderableType:
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=LABEL, no_wrap=True)
    grid.add_column()
    for position, (name, parts) in enumerate(_blocks(found)):
        if position:
            grid.add_row("", "")
        grid.add_row(Text(name, style="bold"), Group(*parts))
    return grid


def _blocks(found: Description) -> Iterator[tuple[str, Sequence[RenderableType]]]:
    total = len(found.incidents)
    span = f"; {found.first} to {found.last}" if found.first else ""
    head = [
        Text(f"{found.profile}, {count(total, 'incident')}, {found.live} in LivePath{span}", style="bold"),
        Text(f"{found.source}, sha256 {found.sha256[:12]}, window {found.window_seconds} s"),
    ]
    yield "DATASET", [*head, *([Text(found.comment, style="dim")] if found.comment else [])]
    yield "TRUTH", [Text(f"labels: {_listed(found.labels)}"), *(Text(line) for line in found.truth)]
    yield "HOLDS", [Text(line) for line in _holds(found)]
    yield "ROWS", list(_rows(found))
    yield "HARDNESS", [Text(line) for line in _hardness(found)]
    if found.baseline:
        yield "BASELINE", [Text(line) for line in _baseline(found)]
    yield "SHOWS", [Text(line) for line in found.caveats]


def _holds(found: Description) -> Iterator[str]:
    rows = found.incidents
    yield f"fault classes: {_listed(found.classes)}"
    yield f"causes: {_listed(found.causes)}"
    yield f"change-induced {sum(row.change_induced for row in rows)}, protected {sum(row.protected for row in rows)}"
    inside, changes = sum(row.changes_in_window for row in rows), sum(row.changes for row in rows)
    yield f"{count(changes, 'change')}, {inside} of them in a window; {sum(row.series for row in rows)} series"
    yield f"telemetry: {_listed(found.telemetry)}"


def _listed(counted: Sequence[Counted]) -> str:
    text = ", ".join(f"{middle(one.name, 40)} {one.incidents}" for one in counted[:COUNTED])
    return text + (f" and {len(counted) - COUNTED} more" if len(counted) > COUNTED else "")


def _rows(found: Description) -> Iterator[RenderableType]:
    ids = [row.id for row in found.incidents]
    table = Table(box=None, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("id", no_wrap=True, max_width=16, overflow="ellipsis")
    table.add_column("true cause", no_wrap=True, max_width=21, overflow="ellipsis")
    table.add_column("symptom", no_wrap=True, max_width=17, overflow="ellipsis")
    table.add_column("of", justify="right", no_wrap=True)
    table.add_column("chg", justify="right", no_wrap=True)
    table.add_column("margin" if found.baseline else "series", justify="right", no_wrap=True)
    for row in found.incidents[:SHOWN]:
        table.add_row(*_cells(row, ids, graded=found.baseline is not None))
    yield table
    if len(ids) > SHOWN:
        yield Text(f"and {len(ids) - SHOWN} more; --format json has them all")
    yield Text("of: candidates that the alert reaches; chg: changes in the window", style="dim")


def _cells(row: DescribedIncident, ids: Sequence[str], *, graded: bool) -> list[str]:
    last = margin(row.margin) if graded else str(row.series)
    return [
        middle(brief(row.id, ids), 16),
        middle(", ".join(row.causes), 21)
        + ("" if row.label in ("confirmed", "absent") else f" ({row.label})"),
        middle(row.symptom or "-", 17),
        str(row.candidates or "-"),
        f"{row.changes_in_window}" + ("!" if row.change_induced else ""),
        last,
    ]


def _hardness(found: Description) -> Iterator[str]:
    yield f"chance {number(found.chance)}; always the same answer {number(found.constant)}"
    if found.rankers:
        yield "simple rules: " + ", ".join(f"{one.name} {number(one.accuracy)}" for one in found.rankers)
    else:
        yield "simple rules: no incident has telemetry, so they score nothing"


def _baseline(found: Description) -> Iterator[str]:
    yield f"{(found.baseline or '').partition(', sha256 ')[0]}: AC@1 {number(found.baseline_accuracy)}"
    known = [row for row in found.incidents if row.margin is not None]
    known.sort(key=lambda row: (exact(row.margin or "0.000000000"), row.id))
    if known:
        ids = [row.id for row in found.incidents]
        near = ", ".join(f"{brief(row.id, ids)} {margin(row.margin)}" for row in known[:NEAREST])
        differing = len({row.margin for row in known})
        yield f"smallest margins: {near}; {count(differing, 'different margin')} in all"
