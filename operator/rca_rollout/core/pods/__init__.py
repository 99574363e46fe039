"""What became of an evaluation's Job: running, succeeded, disturbed from outside, or failed with a named reason.

Each class of failure has its own reason (docs/eval-jobs.md), and none of them is ever a verdict about the component.
"""

from rca_rollout.core.pods.job import diagnose
from rca_rollout.core.pods.outcome import Broken, Disrupted, Outcome, Running, Succeeded
from rca_rollout.core.pods.steps import PREPARE, SCORECARD
from rca_rollout.core.pods.words import finished_at, image_ids, readable_tail, termination_message

__all__ = [
    "PREPARE",
    "SCORECARD",
    "Broken",
    "Disrupted",
    "Outcome",
    "Running",
    "Succeeded",
    "diagnose",
    "finished_at",
    "image_ids",
    "readable_tail",
    "termination_message",
]
