"""The command `rca-eval`."""

from rca_eval.cli.main import main

__all__ = ["main"]
