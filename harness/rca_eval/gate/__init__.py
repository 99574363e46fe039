"""The regression gate. Pure: exact fractions, no clock, no file system."""

from rca_eval.gate.compare import Comparison, MetricDelta, Side, compare, side
from rca_eval.gate.evaluate import evaluate
from rca_eval.gate.policy import GateContext, GatePolicy, parse_policy
from rca_eval.gate.result import ArmStatistics, CheckResult, ClassCount, GateResult, Margin, Movement
from rca_eval.gate.validity import RULES

VALIDITY_REASONS = tuple(reason for reason, _, _ in RULES)

__all__ = [
    "VALIDITY_REASONS",
    "ArmStatistics",
    "CheckResult",
    "ClassCount",
    "Comparison",
    "GateContext",
    "GatePolicy",
    "GateResult",
    "Margin",
    "MetricDelta",
    "Movement",
    "Side",
    "compare",
    "evaluate",
    "parse_policy",
    "side",
]
