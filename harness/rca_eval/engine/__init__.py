"""The reference engine: graph blame with a change term, and four components behind a mode key each."""

from rca_eval.engine.answer import answer
from rca_eval.engine.blend import KNOWN_BAD, Blend, Table, parse_blend, parse_without
from rca_eval.engine.components import (
    ACTIVE,
    EVIDENCE_CAP,
    HYPOTHESES,
    KEYS,
    LIVE_ACTIVATION,
    MEMORY,
    SHADOW,
    active_keys,
    is_active,
)
from rca_eval.engine.investigation import Findings, Graph, Ranking, gather, rank
from rca_eval.engine.pipeline import Conclusion, Pipeline
from rca_eval.engine.recall import Memory, Query, Recalled, query_of, recall

NAME = "rca-eval-reference"

__all__ = [
    "ACTIVE",
    "EVIDENCE_CAP",
    "HYPOTHESES",
    "KEYS",
    "KNOWN_BAD",
    "LIVE_ACTIVATION",
    "MEMORY",
    "NAME",
    "SHADOW",
    "Blend",
    "Conclusion",
    "Findings",
    "Graph",
    "Memory",
    "Pipeline",
    "Query",
    "Ranking",
    "Recalled",
    "Table",
    "active_keys",
    "answer",
    "gather",
    "is_active",
    "parse_blend",
    "parse_without",
    "query_of",
    "rank",
    "recall",
]
