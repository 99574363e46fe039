"""The mode library: read a component's mode where it is mounted, and run it beside the path that governs.

The standard library is enough; with prometheus-client there is `rca_eval.modes.metrics.ModeMetrics`. The protocol, for
agents in other languages: docs/agent-protocol.md.
"""

from importlib.resources import files

from rca_eval.modes.aio import AsyncShadowRunner
from rca_eval.modes.decisions import Decision, DecisionLog, Outcome
from rca_eval.modes.file import ModeFile, watch
from rca_eval.modes.runner import ShadowRunner, shared
from rca_eval.modes.value import Cause, Mode, Reading

__all__ = [
    "AsyncShadowRunner",
    "Cause",
    "Decision",
    "DecisionLog",
    "Mode",
    "ModeFile",
    "Outcome",
    "Reading",
    "ShadowRunner",
    "line_schema",
    "shared",
    "watch",
]


def line_schema() -> str:
    """The JSON Schema of a decision's line, as text."""
    return files(__name__).joinpath("shadow-decision.schema.json").read_text(encoding="utf-8")
