"""Findings of lint, as a table."""

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rca_eval.lint import Finding


def lint_table(findings: Sequence[Finding], *, incidents: int) -> RenderableType:
    errors = sum(finding.level == "error" for finding in findings)
    warnings = len(findings) - errors
    head = Text(
        f"{incidents} incidents; errors: {errors}, warnings: {warnings}", style="red" if errors else ""
    )
    if not findings:
        return head
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("code", no_wrap=True)
    table.add_column("incident")
    table.add_column("finding, and what to do")
    for finding in findings:
        table.add_row(finding.code, finding.incident or "(all)", f"{finding.message}; {finding.fix}")
    return Group(head, Text(), table)
