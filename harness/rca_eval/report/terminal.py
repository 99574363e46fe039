"""A report on a terminal: 80 columns, words beside every colour, the sentence first."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rca_eval.contract import exact, is_finite
from rca_eval.report.document import LostRow, Report, TermRow
from rca_eval.report.lines import (
    context_lines,
    folded,
    ids_of,
    margin_moved,
    moved_line,
    near_line,
    rank_moved,
    run_lines,
    what_now,
    why_lines,
)
from rca_eval.report.text import brief, middle, moved, number, term

STYLE = {
    "Passed": "bold green",
    "Failed": "bold red",
    "Inconclusive": "bold yellow",
    "Error": "bold yellow",
    "Warning": "yellow",
    "Worse": "bold red",
    "Better": "bold green",
    "Equal": "bold green",
}
RESULTS = {"Passed": "Passed", "NotApplicable": "Not asked"}
LABEL = 9
DETAILED = 10
FIGURE = 6  # of a column; on a narrow terminal names give way, figures do not
FEWER = 5  # in detail, where more than DETAILED were lost
LISTED = 20
TERMS = 5  # six columns of figures and a name fill 80
NAME_WIDTH = 20


def report_table(report: Report) -> RenderableType:
    """All blocks, each with its name at the left."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=LABEL, no_wrap=True)
    grid.add_column()
    for position, (name, style, parts) in enumerate(_blocks(report)):
        if position:
            grid.add_row("", "")
        grid.add_row(Text(name, style=style), Group(*parts))
    return grid


def _blocks(report: Report) -> Iterator[tuple[str, str, Sequence[RenderableType]]]:
    verdict = report.verdict.verdict
    label = verdict.upper()
    fits = len(label) < LABEL
    message = Text(report.verdict.message, style="bold")
    if not fits:
        message = Text.assemble((label, STYLE.get(verdict, "bold")), "  ", report.verdict.message)
    yield (label if fits else "VERDICT"), STYLE.get(verdict, "bold"), [message]
    if why := list(why_lines(report)):
        yield "WHY", "bold", [Text(line) for line in why]
    if report.lost:
        yield "LOST", "bold red", list(_lost(report))
    if report.near:
        yield (
            "NEAR",
            "bold",
            [Text(near_line(report)), Text("the smallest margins that are left", style="dim")],
        )
    yield "MOVED", "bold", [Text(moved_line(report))]
    if report.checks:
        yield "CHECKS", "bold", [_checks(report)]
    else:
        yield "METRICS", "bold", [_metrics(report)]
    yield "CONTEXT", "bold", [Text(line) for line in context_lines(report)]
    yield "RUN", "bold", [Text("; ".join(run_lines(report)), style="dim")]
    if report.next:
        yield "NEXT", "bold", [Text(command, style="cyan") for command in report.next]


def _lost(report: Report) -> Iterator[RenderableType]:
    ids = ids_of(report)
    total = sum(row.outcome == "Lost" for row in report.incidents)
    detailed = DETAILED if len(report.lost) <= DETAILED else FEWER
    for position, row in enumerate(report.lost[:detailed]):
        if position:
            yield Text()
        yield from lost_block(row)
    rest = report.lost[detailed : detailed + LISTED]
    if rest:
        yield Text()
    for row in rest:
        yield Text(
            f"{brief(row.id, ids)} {row.arm}: {middle(what_now(row), NAME_WIDTH)}, not {middle(row.cause, NAME_WIDTH)}; "
            f"rank {rank_moved(row)}",
            no_wrap=True,
            overflow="ellipsis",
        )
    shown = min(len(report.lost), detailed + LISTED)
    if total > shown:
        yield Text(f"and {total - shown} more; --report html=FILE or json=FILE has them", style="dim")


def lost_block(row: LostRow) -> Iterator[RenderableType]:
    """One lost incident: names, ranks, and the terms of the cause above those of the winner."""
    marks = [row.arm, row.fault_class, *(["protected"] if row.protected else [])]
    if row.against == "Without":
        marks.append(f"against {row.against}")
    yield Text.assemble((row.id, "bold red"), "  ", ", ".join(marks))
    if row.status != "Ranked" or row.winner is None:
        yield Text(f"rank {rank_moved(row)}; {what_now(row)}")
        return
    yield Text(f"{middle(row.winner, 30)} stands before {middle(row.cause, 30)}, the true cause")
    facts = [f"rank {rank_moved(row)}"]
    if row.margin_now is not None:
        facts.append(f"margin {margin_moved(row)}")
    if row.table_now:
        facts.append(f"table {middle(moved(row.table_was, row.table_now), 40)}")
    yield Text("; ".join(facts))
    if row.terms or row.total:
        yield terms_table(row.terms, row.total, row.cause, row.winner)


def terms_table(terms: tuple[TermRow, ...], total: TermRow | None, cause: str, winner: str) -> RenderableType:
    """Terms as columns; a line `was` under a side where the reference had other values."""
    shown = largest(terms)
    columns = [*shown, *([total] if total else [])]
    table = Table(box=None, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("", no_wrap=True, max_width=NAME_WIDTH, overflow="ellipsis")
    for one in columns:
        table.add_column(middle(one.term, 8), justify="right", no_wrap=True, min_width=FIGURE)
    table.add_row(middle(cause, NAME_WIDTH), *(term(one.cause) for one in columns))
    if any(one.cause_was is not None for one in columns):
        table.add_row(Text("  was", style="dim"), *(_was(one.cause_was) for one in columns))
    table.add_row(Text(middle(winner, NAME_WIDTH), style="red"), *(term(one.winner) for one in columns))
    if any(one.winner_was is not None for one in columns):
        table.add_row(Text("  was", style="dim"), *(_was(one.winner_was) for one in columns))
    hidden = len(terms) - len(shown)
    if not hidden:
        return table
    return Group(table, Text(f"and {hidden} more terms, which differ less", style="dim"))


def largest(terms: tuple[TermRow, ...], limit: int = TERMS) -> tuple[TermRow, ...]:
    """The terms in which the two differ most, now or before, in their order."""
    if len(terms) <= limit:
        return terms
    kept = sorted(terms, key=_spread, reverse=True)[:limit]
    return tuple(one for one in terms if one in kept)


def _spread(one: TermRow) -> Fraction:
    figures = [exact(f) for f in (one.cause, one.winner, one.cause_was, one.winner_was) if f and is_finite(f)]
    return max(figures) - min(figures) if figures else Fraction(0)


def _was(figure: str | None) -> Text:
    return Text("" if figure is None else term(figure), style="dim")


def _checks(report: Report) -> RenderableType:
    """What did not pass, with its sentence; what passed, by name."""
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    quiet: dict[str, dict[str, list[str]]] = {"Passed": {}, "NotApplicable": {}}
    for check in folded(report.checks):
        if check.result in quiet:
            quiet[check.result].setdefault(check.name, []).append(check.arm or "")
            continue
        text = f"{check.name}: {check.message}" if not check.message.startswith(check.name) else check.message
        table.add_row(Text(check.result, style=STYLE.get(check.result, "")), Text(text))
    for result, names in quiet.items():
        if names:
            text = " | ".join(" ".join([name, *arms]).strip() for name, arms in names.items())
            table.add_row(Text(RESULTS[result], style=STYLE.get(result, "dim")), Text(text))
    return table


def _metrics(report: Report) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
    for name in ("arm", "metric", "was", "now"):
        table.add_column(name, no_wrap=True, justify="left" if name in ("arm", "metric") else "right")
    for row in report.metrics:
        table.add_row(row.arm, row.metric, number(row.was), number(row.now))
    return table
