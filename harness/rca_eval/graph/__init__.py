"""The seeded graph of an incident, and the memory of past ones, in FalkorDB."""

from rca_eval.graph.keys import LIVE_KEY, PREFIX, graph_key, memory_key
from rca_eval.graph.memory import IncidentMemory
from rca_eval.graph.store import EMBEDDED, GraphStore, IncidentGraph, open_store

__all__ = [
    "EMBEDDED",
    "LIVE_KEY",
    "PREFIX",
    "GraphStore",
    "IncidentGraph",
    "IncidentMemory",
    "graph_key",
    "memory_key",
    "open_store",
]
