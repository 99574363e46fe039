"""Where the pictures of the HTML report go: positions in per cent of their width, from figures. Pure.

Per cent, so that a narrow window narrows a picture and leaves its words as large as they are. Floats are fine here:
nothing decides by a pixel.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rca_eval.contract import exact, is_finite
from rca_eval.report.document import Context, IncidentRow, LostRow, TermRow, Timeline
from rca_eval.report.incident_data import ONSET, WINDOW
from rca_eval.report.text import margin, middle, number, term

WIDTH = 100.0
EDGE = 3.0  # room for half a mark at both ends of a timeline
COLOURS = 6
LABELLED_FROM = 7.0
CLOSE = 6.5  # two marks nearer than this go to different levels
MARGIN_ROWS = 30
SPAN = 1000.0  # of a margin's row, which is stretched to its place


@dataclass(frozen=True)
class Segment:
    x: float
    width: float
    colour: int
    term: str
    value: str
    labelled: bool


@dataclass(frozen=True)
class Bar:
    name: str
    segments: tuple[Segment, ...]
    total: str


@dataclass(frozen=True)
class Spot:
    """A mark of a timeline with its number, or the onset or the alert."""

    x: float
    level: int
    number: int
    what: str
    at: str
    kind: str


@dataclass(frozen=True)
class Line:
    """The geometry of a timeline."""

    window_x: float
    window_width: float
    spots: tuple[Spot, ...]
    levels: int


@dataclass(frozen=True)
class MarginBar:
    name: str
    x: float
    width: float
    was_x: float | None
    text: str
    lost: bool


@dataclass(frozen=True)
class Margins:
    zero: float
    rows: tuple[MarginBar, ...]
    hidden: int


def colours(terms: Sequence[TermRow]) -> dict[str, int]:
    """A colour's number for each term; from the sixth on they share the last, and differ by name."""
    return {one.term: min(at, COLOURS - 1) for at, one in enumerate(terms)}


def bars(row: LostRow) -> tuple[Bar, ...]:
    """The cause's terms stacked above the winner's, on one scale; what is negative stands in the table only."""
    if not row.terms or row.winner is None:
        return ()
    sides = [(row.cause, [one.cause for one in row.terms]), (row.winner, [one.winner for one in row.terms])]
    values = [[max(_float(figure), 0.0) for figure in figures] for _, figures in sides]
    longest = max((sum(one) for one in values), default=0.0)
    if longest <= 0:
        return ()
    scale = WIDTH / longest
    colour = colours(row.terms)
    totals = (row.total.cause, row.total.winner) if row.total else (None, None)
    found = []
    for at, ((name, figures), numbers) in enumerate(zip(sides, values, strict=True)):
        x, segments = 0.0, []
        for one, figure, value in zip(row.terms, figures, numbers, strict=True):
            width = value * scale
            if width > 0:
                segments.append(
                    Segment(
                        x,
                        max(width - 0.3, 0.2),
                        colour[one.term],
                        one.term,
                        term(figure),
                        width > LABELLED_FROM,
                    )
                )
            x += width
        found.append(Bar(middle(name, 24), tuple(segments), term(totals[at])))
    return tuple(found)


def line(timeline: Timeline) -> Line:
    """The window, and every mark at its time; marks that would touch go to different levels."""
    length = max(timeline.last - timeline.first, 1)
    left, right = EDGE, WIDTH - EDGE

    def place(at: int) -> float:
        return left + (right - left) * (at - timeline.first) / length

    ends: list[float] = []
    spots = []
    for at, mark in enumerate(timeline.marks, 1):
        x = place(mark.at)
        level = next((n for n, end in enumerate(ends) if x - end >= CLOSE), len(ends))
        ends[level : level + 1] = [x]
        kind = {WINDOW: "window", ONSET: "onset"}.get(
            mark.what, "alert" if mark.what.startswith("alert ") else "change"
        )
        if mark.outside:
            kind = "outside"
        spots.append(Spot(x, level, at, mark.what, f"{mark.at:+d} s" if mark.at else "0 s", kind))
    begin = next((mark.at for mark in timeline.marks if mark.what == WINDOW), None)
    start = place(begin if begin is not None else timeline.first)
    return Line(start, place(0) - start, tuple(spots), len(ends))


def margins(rows: Sequence[IncidentRow]) -> Margins | None:
    """Margins of the honest arm around zero, the smallest first; None without a score."""
    known = [row for row in rows if row.margin_now is not None and is_finite(row.margin_now)]
    if not known:
        return None
    known.sort(key=lambda row: (_float(row.margin_now), row.id))
    shown = known[:MARGIN_ROWS]
    figures = [_float(row.margin_now) for row in shown] + [
        _float(row.margin_was) for row in shown if row.margin_was
    ]
    low, high = min(*figures, 0.0), max(*figures, 0.0)
    left, right = 4.0, SPAN - 4.0
    scale = (right - left) / ((high - low) or 1.0)
    zero = left - low * scale
    found = []
    for row in shown:
        value = _float(row.margin_now)
        end = zero + value * scale
        was = zero + _float(row.margin_was) * scale if row.margin_was and is_finite(row.margin_was) else None
        lost = row.rank_now != 1
        found.append(
            MarginBar(
                middle(row.id, 30),
                min(zero, end),
                max(abs(end - zero), 2.0),
                was,
                margin(row.margin_now),
                lost,
            )
        )
    return Margins(zero, tuple(found), len(known) - len(shown))


def yardsticks(context: Context) -> Iterator[tuple[str, float, str, str]]:
    """(name, share, figure, kind) of AC@1 now and before, chance, and the rules of one line."""
    rows = [("this run", context.accuracy, "now"), ("the reference", context.accuracy_was, "was")]
    rows += [("chance", context.chance, "rule")]
    rows += [(one.name, one.accuracy, "rule") for one in context.rankers or ()]
    for name, figure, kind in rows:
        if figure is not None and is_finite(figure):
            yield name, min(max(_float(figure), 0.0), 1.0), number(figure), kind


def _float(figure: str | None) -> float:
    return float(exact(figure)) if figure is not None and is_finite(figure) else 0.0
