"""Findings of lint for people: `FILE:LINE: error E-CODE INCIDENT: message; fix`, as compilers write it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from textwrap import wrap

from rich.console import Group, RenderableType
from rich.text import Text

from rca_eval.lint import Finding

WIDTH = 80
SAME_SHOWN = 5


def lint_table(findings: Sequence[Finding], *, incidents: int) -> RenderableType:
    """Errors before warnings, what is of one incident together, at most 80 columns where words allow it."""
    errors = sum(finding.level == "error" for finding in findings)
    warnings = len(findings) - errors
    head = Text(
        f"{incidents} incidents; errors: {errors}, warnings: {warnings}", style="red" if errors else ""
    )
    return Group(head, *(Text(line, overflow="ignore", no_wrap=True) for line in _lines(findings)))


def lint_line(finding: Finding) -> str:
    """One finding in one line."""
    where = f"{finding.file}:{finding.line or 1}: " if finding.file else ""
    # The column only where the text itself is broken: elsewhere the field's name says more.
    if finding.file and finding.column and finding.code in ("E-SYNTAX", "E-NUMBER", "E-NOT-FINITE"):
        where = f"{finding.file}:{finding.line}:{finding.column}: "
    name = f" {finding.incident}" if finding.incident else ""
    return f"{where}{finding.level} {finding.code}{name}: {finding.message}; {finding.fix}"


def _lines(findings: Sequence[Finding]) -> Iterator[str]:
    for _, group in groupby(findings, key=lambda one: (one.level, one.incident)):
        yield ""
        rows = list(group)
        for nth, finding in enumerate(rows):
            same = [one for one in rows[:nth] if one.code == finding.code]
            if len(same) >= SAME_SHOWN:
                continue
            yield from wrap(
                lint_line(finding),
                WIDTH,
                subsequent_indent="  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
        for code, count in Counter(one.code for one in rows).items():
            if count > SAME_SHOWN:
                yield f"  … and {count - SAME_SHOWN} more {code} here; --format json has them all"
