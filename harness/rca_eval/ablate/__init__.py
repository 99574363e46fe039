"""The ablation: the reference engine under every combination of its components, and what must hold in each."""

from rca_eval.ablate.judge import Finding, judge
from rca_eval.ablate.run import COMBINATIONS, SHORT, Matrix, Subject, label, run

__all__ = ["COMBINATIONS", "SHORT", "Finding", "Matrix", "Subject", "judge", "label", "run"]
