"""A report in the format that was asked for."""

import json
from enum import StrEnum
from io import StringIO
from typing import Any

from rich.console import Console, RenderableType

from rca_eval.gate import Comparison, GateResult
from rca_eval.report.document import Report
from rca_eval.report.html import report_html
from rca_eval.report.junit import report_junit
from rca_eval.report.markdown import report_markdown
from rca_eval.report.terminal import report_table

PLAIN_WIDTH = 80


class ReportFormat(StrEnum):
    TABLE = "table"
    JSON = "json"
    JUNIT = "junit"
    MARKDOWN = "markdown"
    HTML = "html"


def rendered(form: ReportFormat, report: Report, result: GateResult | Comparison) -> str:
    """The text of a report, ending with a line break. JSON holds the verdict's own fields at its top."""
    match form:
        case ReportFormat.TABLE:
            return plain_text(report_table(report))
        case ReportFormat.JSON:
            return json_text(with_report(result, report))
        case ReportFormat.JUNIT:
            return report_junit(report)
        case ReportFormat.MARKDOWN:
            return report_markdown(report)
        case ReportFormat.HTML:
            return report_html(report)


def with_report(result: GateResult | Comparison, report: Report) -> dict[str, Any]:
    """What a gate or a comparison says, and the report beside it under `report`."""
    return {**result.plain(), "report": report.plain()}


def json_text(value: Any) -> str:
    """Strict JSON: no NaN, keys sorted."""
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def plain_text(renderable: RenderableType) -> str:
    """What a pipe gets: 80 columns, no colour, no blanks at the ends of lines."""
    out = StringIO()
    console = Console(
        file=out,
        width=PLAIN_WIDTH,
        no_color=True,
        force_terminal=False,
        markup=False,
        emoji=False,
        highlight=False,
    )
    console.print(renderable)
    return "".join(line.rstrip() + "\n" for line in out.getvalue().split("\n")[:-1])
