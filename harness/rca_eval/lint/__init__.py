"""What is wrong, or weak, with a dataset, before it is trusted to decide."""

from rca_eval.lint.rules import Finding, lint

__all__ = ["Finding", "lint"]
