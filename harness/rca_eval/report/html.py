"""A report as one self-contained page: no script, nothing loaded, readable in light, dark, narrow and print.

Everything passes through Jinja's autoescape. The page forbids itself all content but its own style sheet, by the
digest of that sheet; positions are SVG attributes, because a policy refuses style attributes.
"""

import base64
import hashlib
from functools import cache
from importlib.resources import files

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from rca_eval.report.document import Report
from rca_eval.report.geometry import bars, colours, line, margins, yardsticks
from rca_eval.report.lines import (
    context_lines,
    margin_moved,
    moved_line,
    near_line,
    rank_moved,
    short_digests,
    what_now,
    why_lines,
)
from rca_eval.report.text import cut, margin, middle, moved, number, seconds, term

OPEN = 30
LISTED = 200
ROWS = 1000
GOOD, BAD, WARN = "good", "bad", "warn"
TONES = {
    "Passed": GOOD, "Better": GOOD, "Equal": GOOD, "Kept": GOOD, "Fixed": GOOD,
    "Failed": BAD, "Worse": BAD, "Lost": BAD,
    "Inconclusive": WARN, "Error": WARN, "Warning": WARN, "StillMissed": WARN,
}  # fmt: skip
SIGNS = {GOOD: "✓", BAD: "✗", WARN: "!"}


def report_html(report: Report) -> str:
    """The page. Long lists are cut, and the page says by how much."""
    style = _file("report.css")
    live = [row for row in report.incidents if row.arm == "LivePath"]
    total = sum(row.outcome == "Lost" for row in report.incidents)
    tone = TONES.get(report.verdict.verdict, WARN)
    page = _environment().from_string(_file("report.html.j2"))
    return page.render(
        report=report,
        style=Markup(style),  # noqa: S704  (our own file; nothing of others is in it)
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        tone=tone,
        sign=SIGNS[tone],
        tones=TONES,
        signs={name: SIGNS[tone] for name, tone in TONES.items()},
        why=list(why_lines(report)),
        lost_open=report.lost[:OPEN],
        lost_listed=report.lost[OPEN : OPEN + LISTED],
        lost_hidden=max(total - OPEN - LISTED, 0),
        live_lost=[row for row in live if row.outcome == "Lost"],
        spread=margins(live),
        near=near_line(report),
        classes=[row for row in report.context.classes if row.arm == report.context.arm][:50],
        context=list(context_lines(report)),
        moved_text=moved_line(report),
        rows=report.incidents[:ROWS],
        rows_hidden=max(len(report.incidents) - ROWS, 0),
    )


@cache
def _environment() -> Environment:
    environment = Environment(autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    environment.globals.update(
        bars=bars, colours=colours, cut=cut, digests=short_digests, line=line, margin=margin,
        margin_moved=margin_moved, middle=middle, moved=moved, number=number, rank_moved=rank_moved,
        seconds=seconds, term=term, what_now=what_now, yardsticks=yardsticks,
    )  # fmt: skip
    return environment


@cache
def _file(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")
