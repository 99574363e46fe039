"""Reports for people and machines: one document, rendered as a table, JSON, JUnit, Markdown or HTML."""

from rca_eval.report.lint_table import lint_table
from rca_eval.report.scorecard_table import scorecard_table

__all__ = ["lint_table", "scorecard_table"]
