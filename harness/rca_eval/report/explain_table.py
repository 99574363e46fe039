"""An explanation on a terminal: one incident, one screen, 80 columns."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rca_eval.contract import display, exact, is_finite
from rca_eval.report.document import TermRow
from rca_eval.report.explanation import Explanation, RangeRow
from rca_eval.report.terminal import FIGURE, LABEL, largest
from rca_eval.report.text import count, margin, middle, moved, rank, seconds, term

CANDIDATES = 8
NAMES = 20
EVIDENCE = 6
STYLE = {"Lost": "bold red", "StillMissed": "bold yellow", "Kept": "bold green", "Fixed": "bold green"}
WORDS = {"Lost": "LOST", "StillMissed": "MISSED", "Kept": "FOUND", "Fixed": "FIXED"}


def explain_table(story: Explanation) -> RenderableType:
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=LABEL, no_wrap=True)
    grid.add_column()
    for position, (name, style, parts) in enumerate(_blocks(story)):
        if position:
            grid.add_row("", "")
        grid.add_row(Text(name, style=style), Group(*parts))
    return grid


def _blocks(story: Explanation) -> Iterator[tuple[str, str, Sequence[RenderableType]]]:
    yield WORDS[story.outcome], STYLE[story.outcome], list(_head(story))
    if story.seen is None:
        yield "SAW", "bold", [Text("not known without the dataset (--dataset FILE)", style="dim")]
    elif story.arm == "ScorerOnly":
        yield (
            "SAW",
            "bold",
            [Text("the planted answer of ScorerOnly, and nothing of the incident", style="dim")],
        )
    else:
        yield "SAW", "bold", [Text(line) for line in story.seen]
    if story.candidates:
        yield "RANKED", "bold", list(_candidates(story))
    if story.difference and story.winner:
        yield "LEAD", "bold", [Text(_lead(story))]
    found = [f"decision {story.decision}"] if story.decision else []
    if story.evidence:
        more = f" and {len(story.evidence) - EVIDENCE} more" if len(story.evidence) > EVIDENCE else ""
        found.append(f"evidence {'; '.join(story.evidence[:EVIDENCE])}{more}")
    if found:
        yield "EVIDENCE", "bold", [Text(line) for line in found]
    if story.shadow:
        yield "SHADOW", "bold", [Text(_shadow(row.component, row.first, hit=row.hit)) for row in story.shadow]
    if story.changes or story.note:
        yield "WHAT IF", "bold", list(_changes(story))
    if story.ranges:
        title = (
            "first while, all else as it is:" if story.rank_now == 1 else "would be first, all else as it is:"
        )
        yield "WEIGHTS", "bold", [Text(title), *(Text(_range(row)) for row in story.ranges)]
    elif story.rank_now not in (1, None) and story.difference:
        yield "WEIGHTS", "bold", [Text("no multiple of one term alone puts the cause first")]


def _head(story: Explanation) -> Iterator[Text]:
    marks = [f"{story.arm}, {story.variant}", story.fault_class]
    marks += [
        name
        for name, there in (("change-induced", story.change_induced), ("protected", story.protected))
        if there
    ]
    yield Text.assemble((story.id, "bold"), "  ", ", ".join(marks))
    wanted = ", ".join(story.expected)
    if story.status != "Ranked":
        yield Text(f"expected {wanted}; {story.status}{f': {story.error}' if story.error else ''}")
        return
    if story.rank_now == 1:
        second = f", before {middle(story.winner, 30)}" if story.winner else ""
        yield Text(f"{middle(story.cause, 30)}, the true cause, stands first{second}")
    elif story.rank_now is None:
        yield Text(
            f"{middle(wanted, 40)}, the true cause, is no candidate; {middle(story.winner or 'nothing', 30)} stands first"
        )
    else:
        yield Text(
            f"{middle(story.winner or '-', 30)} stands before {middle(story.cause, 30)}, the true cause"
        )
    was_rank = rank(story.rank_was) if story.rank_was is not None else None
    was_margin = margin(story.margin_was) if story.margin_was is not None else None
    facts = [
        f"rank {moved(was_rank, rank(story.rank_now))}",
        f"margin {moved(was_margin, margin(story.margin_now))}",
    ]
    if story.table_now:
        facts.append(f"table {middle(moved(story.table_was, story.table_now), 40)}")
    if story.seconds:
        facts.append(seconds(story.seconds))
    yield Text("; ".join(facts) + (f" (was: {story.against})" if was_rank else ""))


def _candidates(story: Explanation) -> Iterator[RenderableType]:
    shown = list(story.candidates[:CANDIDATES])
    shown += [row for row in story.candidates[CANDIDATES:] if row.expected][:1]
    names = [one.term for one in largest(story.difference)]
    table = Table(box=None, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("#", no_wrap=True, justify="right")
    table.add_column("candidate", no_wrap=True, max_width=NAMES + 2, overflow="ellipsis")
    for name in [*names, "score"]:
        table.add_column(middle(name, 8), justify="right", no_wrap=True, min_width=FIGURE)
    table.add_column("was", justify="right", no_wrap=True)
    for row in shown:
        table.add_row(
            str(row.place),
            Text(
                middle(row.key, NAMES) + (" *" if row.expected else ""), style="bold" if row.expected else ""
            ),
            *(term(row.terms.get(name)) for name in names),
            term(row.score),
            "" if row.place_was is None else str(row.place_was),
        )
    yield table
    hidden = len(story.candidates) - len(shown)
    more = f"; {count(hidden, 'more candidate')} not shown" if hidden else ""
    yield Text(f"* the true cause; was: its place in the reference{more}", style="dim")


def _lead(story: Explanation) -> str:
    """How the lead over the best other came about, term by term; the parts add up."""
    parts = [(one.term, value) for one in story.difference if (value := _difference(one))]
    parts.sort(key=lambda part: -abs(part[1]))
    said = ", ".join(f"{name} {_signed(value)}" for name, value in parts[:5]) or "no term differs"
    rest = sum((value for _, value in parts[5:]), Fraction(0))
    more = f", other terms {_signed(rest)}" if len(parts) > 5 else ""
    return f"{middle(story.cause, 24)} over {middle(story.winner or '-', 24)}: {said}{more}; in all {margin(story.margin_now)}"


def _difference(one: TermRow) -> Fraction:
    if one.cause is None or one.winner is None or not (is_finite(one.cause) and is_finite(one.winner)):
        return Fraction(0)
    return exact(one.cause) - exact(one.winner)


def _signed(value: Fraction) -> str:
    return ("+" if value >= 0 else "") + display(value, 4)


def _changes(story: Explanation) -> Iterator[Text]:
    if story.note:
        yield Text(story.note)
    for change in story.changes:
        word, style = ("found again", "green") if change.restores else ("still lost ", "dim")
        yield Text.assemble((word, style), f"  {change.text}")


def _shadow(component: str, first: str | None, *, hit: bool) -> str:
    said = f"{middle(first, 24)} first" if first else "nothing"
    return f"{middle(component, 32)} would rank {said}{' (true)' if hit else ''}"


def _range(row: RangeRow) -> str:
    bounds = []
    if row.low is not None:
        bounds.append(f"above x{display(exact(row.low))}")
    if row.high is not None:
        bounds.append(f"below x{display(exact(row.high))}")
    return f"{middle(row.term, 20)} {' and '.join(bounds) or 'at any multiple'}"
