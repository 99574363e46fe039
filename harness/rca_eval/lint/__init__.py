"""What is wrong, or weak, with a dataset, before it is trusted to decide."""

from rca_eval.lint.check import Options, Report, check, lint
from rca_eval.lint.finding import Finding

__all__ = ["Finding", "Options", "Report", "check", "lint"]
