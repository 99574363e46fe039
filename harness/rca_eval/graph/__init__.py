"""The seeded graph of an incident, in FalkorDB."""

from rca_eval.graph.keys import LIVE_KEY, PREFIX, graph_key
from rca_eval.graph.store import EMBEDDED, GraphStore, IncidentGraph, open_store

__all__ = ["EMBEDDED", "LIVE_KEY", "PREFIX", "GraphStore", "IncidentGraph", "graph_key", "open_store"]
