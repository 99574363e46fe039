"""The agent's metrics: its own, and those of the mode library."""

from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

from rca_eval.engine import KEYS
from rca_eval.modes import ModeFile
from rca_eval.modes.metrics import ModeMetrics

# An investigation here takes milliseconds; one that asks a model takes minutes.
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Ended(StrEnum):
    """How an investigation ended; a closed set."""

    CONCLUDED = "concluded"
    FAILED = "failed"
    TIMEOUT = "timeout"
    BUSY = "busy"
    UNKNOWN = "unknown"


class AgentMetrics:
    """All series begin at 0 and live as long as the process."""

    def __init__(self, modes: ModeFile) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # they would double the series, and say little
        self.registry = CollectorRegistry()
        self.modes = ModeMetrics(KEYS, modes, self.registry)
        self.ended = Counter(
            "rca_investigations",
            "Investigations, by how they ended (busy: refused, unknown: an alert without context).",
            ["outcome"],
            registry=self.registry,
        )
        for outcome in Ended:
            self.ended.labels(outcome.value)
        self.seconds = Histogram(
            "rca_investigation_seconds",
            "From the request to the conclusion, waiting included.",
            buckets=_BUCKETS,
            registry=self.registry,
        )
        info = Gauge(
            "rca_agent_build_info",
            "1, with the version of the agent and the revision it was started as.",
            ["version", "revision"],
            registry=self.registry,
        )
        info.labels(agent_version(), modes.revision or "").set(1)

    def text(self) -> bytes:
        """The exposition; reads the modes, so it is for a thread."""
        return generate_latest(self.registry)


def agent_version() -> str:
    try:
        return version("rca-rollout")
    except PackageNotFoundError:
        return "unknown"
