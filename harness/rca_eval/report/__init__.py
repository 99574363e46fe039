"""Tables for people: readable in 80 columns."""

from rca_eval.report.gate_table import gate_table
from rca_eval.report.lint_table import lint_table
from rca_eval.report.scorecard_table import scorecard_table

__all__ = ["gate_table", "lint_table", "scorecard_table"]
