"""A language model's opinion on a scorecard: advisory, within a hard limit of tokens, never read by the gate."""

from rca_eval.judge.client import Endpoint
from rca_eval.judge.run import Limits, judge

__all__ = ["Endpoint", "Limits", "judge"]
