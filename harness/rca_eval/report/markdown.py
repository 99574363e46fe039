"""A report as a comment on a change: GitHub's Markdown, at most 60 lines, with a hidden mark to be found again by.

Words of others stand in code spans: nothing in them is markup, a link or a mention there. Our own sentences,
which may quote them, have every character escaped that could be one.
"""

import re
from collections.abc import Iterable, Iterator
from html import escape

from rca_eval.report.document import Report
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
from rca_eval.report.text import brief, cut, middle, moved, number, term

MARKER = "<!-- rca-eval-report -->"
LINES = 60
LOST_ROWS = 10
KEPT_ROWS = 7
CHECK_ROWS = 12
CHANGED_TERMS = 3
CELL = 90
SIGN = {"Passed": "✅", "Better": "✅", "Equal": "✅", "Failed": "❌", "Worse": "❌"}
_SPECIAL = re.compile(r"([\\`*_\[\]<#|~$&])")  # what could begin something in the middle of a line
JOINER = "\N{WORD JOINER}"


def report_markdown(report: Report) -> str:
    """The comment's text; at most `LINES` lines whatever the report holds."""
    lines = list(_lines(report))
    return "\n".join(lines) + "\n"


def _lines(report: Report) -> Iterator[str]:
    verdict = report.verdict
    yield MARKER
    yield f"### {SIGN.get(verdict.verdict, '⚠️')} {verdict.verdict.upper()}: {plain(verdict.message)}"
    why = [cut(line, 400) for line in why_lines(report)][:3]
    if why:
        yield ""
        yield "**Why:** " + "<br>".join(map(plain, why))
    if report.lost:
        yield ""
        yield from _lost(report)
    if report.near:
        yield ""
        yield f"**Near:** {plain(near_line(report))} (the smallest margins that are left)"
    yield ""
    yield from _checks(report) if report.checks else _metrics(report)
    yield from _unchanged(report)
    yield ""
    yield "<br>".join(plain(cut(line, 400)) for line in context_lines(report))
    yield ""
    yield f"<sub>{plain(cut('; '.join(run_lines(report)), 900))}</sub>"
    if report.next:
        yield ""
        yield "Next: " + " · ".join(code(command, 300) for command in report.next)


def _lost(report: Report) -> Iterator[str]:
    ids = ids_of(report)
    yield "| lost | class | expected | now first | rank | margin | what changed (cause \\| winner) |"
    yield "|---|---|---|---|---|---|---|"
    for row in report.lost[:LOST_ROWS]:
        name = (
            code(row.id)
            + (" (protected)" if row.protected else "")
            + (" ScorerOnly" if row.arm == "ScorerOnly" else "")
        )
        changes = [
            f"{code(one.term, 20)} {moved(term(one.cause_was) if one.cause_was else None, term(one.cause))} \\| "
            f"{moved(term(one.winner_was) if one.winner_was else None, term(one.winner))}"
            for one in row.terms
            if one.cause_was is not None or one.winner_was is not None
        ]
        more = f", {len(changes) - CHANGED_TERMS} more" if len(changes) > CHANGED_TERMS else ""
        cells = (
            name,
            code(row.fault_class),
            code(row.cause),
            code(what_now(row)),
            rank_moved(row),
            margin_moved(row),
            (", ".join(changes[:CHANGED_TERMS]) + more) or "-",
        )
        yield _row(cells)
    total = sum(row.outcome == "Lost" for row in report.incidents)
    if total > LOST_ROWS:
        rest = [brief(row.id, ids) for row in report.lost[LOST_ROWS : LOST_ROWS + 10]]
        yield ""
        yield f"and {total - min(LOST_ROWS, len(report.lost))} more lost: {', '.join(map(code, rest))}, …"


def _checks(report: Report) -> Iterator[str]:
    checks = list(folded(report.checks))
    bad = [one for one in checks if one.result not in ("Passed", "NotApplicable")]
    passed = sum(one.result == "Passed" for one in checks)
    more = f" (the first {CHECK_ROWS} of {len(checks)})" if len(checks) > CHECK_ROWS else ""
    yield f"<details><summary>Checks: {passed} passed, {len(bad)} did not{more}</summary>"
    yield ""
    yield "| check | arm | result | why |"
    yield "|---|---|---|---|"
    ordered = [*bad, *(one for one in checks if one not in bad)]
    for check in ordered[:CHECK_ROWS]:
        yield _row((check.name, check.arm or "", check.result, plain(cut(check.message, 240))))
    yield ""
    yield "</details>"


def _metrics(report: Report) -> Iterator[str]:
    yield "| arm | metric | was | now |"
    yield "|---|---|---|---|"
    for row in report.metrics[:CHECK_ROWS]:
        yield _row((row.arm, row.metric, number(row.was), number(row.now)))


def _unchanged(report: Report) -> Iterator[str]:
    rows = [row for row in report.incidents if row.arm == "LivePath" and row.outcome != "Lost"]
    more = f" (the first {KEPT_ROWS} of {len(rows)})" if len(rows) > KEPT_ROWS else ""
    yield f"<details><summary>{escape(moved_line(report))}{more}</summary>"
    yield ""
    if rows:
        yield "| incident | outcome | rank | margin |"
        yield "|---|---|---|---|"
        yield from (
            _row((code(row.id), row.outcome, rank_moved(row), margin_moved(row))) for row in rows[:KEPT_ROWS]
        )
        yield ""
    yield "</details>"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def plain(text: str) -> str:
    """A sentence of ours as text: no markup, no HTML, no mention, no link comes to life in it."""
    text = _SPECIAL.sub(r"\\\1", text)
    text = re.sub(r"(^|[^\w])@(?=\w)", rf"\1@{JOINER}", text)
    return text.replace("://", f":{JOINER}//").replace("www.", f"www{JOINER}.")


def code(text: str, limit: int = CELL) -> str:
    """Words of others as a code span that nothing in them can end; fit for a table's cell."""
    text = middle(text, limit).replace("|", "\N{BROKEN BAR}") or " "
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"
