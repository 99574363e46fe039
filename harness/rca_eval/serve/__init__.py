"""The reference agent: an RCA service whose components are switched by mode keys. Needs rca-rollout[harness,agent]."""

from rca_eval.serve.app import serve
from rca_eval.serve.context import GroundTruthSource, NoSource, Source, ground_truth_source
from rca_eval.serve.settings import Limits, Settings, check_store, parse_listen

__all__ = [
    "GroundTruthSource",
    "Limits",
    "NoSource",
    "Settings",
    "Source",
    "check_store",
    "ground_truth_source",
    "parse_listen",
    "serve",
]
