"""The reference engine: graph blame with a change term, and the BARO term behind a mode."""

from rca_eval.engine.answer import LIVE_ACTIVATION, answer, is_active
from rca_eval.engine.blend import KNOWN_BAD, Blend, Table, parse_blend, parse_without
from rca_eval.engine.investigation import Findings, Graph, Ranking, gather, rank

NAME = "rca-eval-reference"

__all__ = [
    "KNOWN_BAD",
    "LIVE_ACTIVATION",
    "NAME",
    "Blend",
    "Findings",
    "Graph",
    "Ranking",
    "Table",
    "answer",
    "gather",
    "is_active",
    "parse_blend",
    "parse_without",
    "rank",
]
