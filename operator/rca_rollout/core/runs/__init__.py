"""`decide_run(snapshot, now)`: one evaluation from its inputs to its verdict, pure and repeatable.

Pending (inputs written once, then a turn) → Running (one Job per attempt) → a verdict of the gate, or a named reason
why there is none. Nothing here can turn a missing, broken or foreign result into a pass.
"""

from rca_rollout.core.runs.after import KEEP_JOB
from rca_rollout.core.runs.decide import decide_run, refused
from rca_rollout.core.runs.snapshot import (
    CreateJob,
    DeleteJob,
    ReleaseJob,
    RunAction,
    RunPlan,
    RunSettings,
    RunSnapshot,
    StoreIndex,
    StorePart,
    StoreScorecard,
)
from rca_rollout.core.runs.watch import MAX_ATTEMPTS, outcome_of

__all__ = [
    "KEEP_JOB",
    "MAX_ATTEMPTS",
    "CreateJob",
    "DeleteJob",
    "ReleaseJob",
    "RunAction",
    "RunPlan",
    "RunSettings",
    "RunSnapshot",
    "StoreIndex",
    "StorePart",
    "StoreScorecard",
    "decide_run",
    "outcome_of",
    "refused",
]
