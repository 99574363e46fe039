"""Offline replay: the eval Job on one machine."""

from rca_eval.replay.baseline import bundled_for, from_scorecard, to_text
from rca_eval.replay.references import references_of, with_references
from rca_eval.replay.run import REFERENCE_ENGINE, Plan, replay
from rca_eval.replay.variants import BATCH, DEFAULT_COMPONENT, parse_modes, variants

__all__ = [
    "BATCH",
    "DEFAULT_COMPONENT",
    "REFERENCE_ENGINE",
    "Plan",
    "bundled_for",
    "from_scorecard",
    "parse_modes",
    "references_of",
    "replay",
    "to_text",
    "variants",
    "with_references",
]
