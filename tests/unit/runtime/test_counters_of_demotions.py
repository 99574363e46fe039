"""A counter that appears with its first event has no increase: each cause that can demote is there at 0 from the start."""

from __future__ import annotations

import ast
from pathlib import Path

from prometheus_client import CollectorRegistry

from rca_rollout.api.reasons import Reason
from rca_rollout.metrics.counters import Counters

LIFECYCLE = Path(__file__).resolve().parents[3] / "operator/rca_rollout/core/lifecycle"


def _reasons(node: ast.AST) -> set[str]:
    """Every `Reason.X` below a node."""
    return {
        str(Reason[one.attr])
        for one in ast.walk(node)
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id == "Reason"
    }


def causes() -> set[str]:
    """What the source hands to `demote`: by name, through `revision.py`'s answers, or as a block's reason."""
    found: set[str] = set()
    for path in sorted(LIFECYCLE.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("promotion.demote", "block.put"):
                found |= _reasons(node)
            if (
                path.name == "revision.py"
                and isinstance(node, ast.Return)
                and isinstance(node.value, ast.Tuple)
            ):
                found |= _reasons(node.value)
    # These two end an evaluation in Shadow: what governs is not blocked by them.
    return found - {Reason.EVAL_ERRORS, Reason.EXTERNAL}


def test_the_scan_sees_what_demotes() -> None:
    assert {"GuardFailed", "DemoteRequested", "ConditionViolated", "InputChanged", "Deleted"} <= causes()


def test_every_cause_of_a_demotion_begins_at_nothing() -> None:
    registry = CollectorRegistry()
    Counters(registry).meet("shop", "live")
    begun = {
        sample.labels["trigger"]
        for family in registry.collect()
        for sample in family.samples
        if sample.name == "rca_demotions_total" and sample.value == 0
    }
    assert causes() <= begun
