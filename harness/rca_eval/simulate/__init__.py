"""A labelled incident, played to a running agent as the alert that it was."""

from rca_eval.simulate.client import AgentClient
from rca_eval.simulate.notification import Status, chosen, notification, original_start
from rca_eval.simulate.outcome import Answer, Candidate, Simulated, judge

__all__ = [
    "AgentClient",
    "Answer",
    "Candidate",
    "Simulated",
    "Status",
    "chosen",
    "judge",
    "notification",
    "original_start",
]
