"""What one run and its surroundings look like, and what may be done about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rca_rollout.api.component import RcaComponent
from rca_rollout.api.component_status import Transition
from rca_rollout.api.run import EvalRun, EvalRunStatus
from rca_rollout.api.schedule import JudgeStatus
from rca_rollout.core.parts import Lost, PartReading, Unindexed
from rca_rollout.core.problem import Problem
from rca_rollout.core.readings import Reading
from rca_rollout.core.revision import Running, declared
from rca_rollout.core.suites import SuiteFacts


@dataclass(frozen=True)
class RunSettings:
    """What the installation decides."""

    harness_image: str
    pull_policy: str = "IfNotPresent"


@dataclass(frozen=True)
class RunSnapshot:
    """One run and all that its next step depends on.

    `component` is None for a run without one, and a Problem when it is gone. `admission` is None where the run may
    start, else what it waits for (its turn, a budget), shown until then. `reading` is there once the Job has
    succeeded. `context` is of what `effective` was made from; None for a run without a component. `said` is what the
    cluster's own Events tell of a failure whose cause is in no status. `leftovers` are (name, UID) of the run's Jobs
    that are not of its present attempt.
    """

    run: EvalRun
    component: RcaComponent | Problem | None
    suite: SuiteFacts | Problem
    effective: Mapping[str, str]
    job: Mapping[str, Any] | None
    pods: Sequence[Mapping[str, Any]]
    admission: Problem | None
    settings: RunSettings
    reading: Reading | Problem | None = None
    log_tail: str | None = None
    context: str | None = None
    judge: JudgeStatus | None = None
    said: str | None = None
    part: PartReading | Lost | Unindexed | Problem | None = None
    """Of an evaluation in shards: the part that was read, or what stands in the way of the whole."""
    leftovers: tuple[tuple[str, str], ...] = ()
    running: Running | Problem | None = None
    """What the component runs; None where its spec alone says it."""

    @property
    def what_runs(self) -> Running | Problem | None:
        """What is evaluated, or why that cannot be told; None for a run without a component."""
        if not isinstance(self.component, RcaComponent):
            return None
        return declared(self.component.spec) if self.running is None else self.running


@dataclass(frozen=True)
class CreateJob:
    body: Mapping[str, Any]


@dataclass(frozen=True)
class DeleteJob:
    name: str
    uid: str


@dataclass(frozen=True)
class ReleaseJob:
    """Lets the Job's time to live run, now that nothing is needed of it any more."""

    name: str
    uid: str
    ttl_seconds: int


@dataclass(frozen=True)
class StoreScorecard:
    reading: Reading


@dataclass(frozen=True)
class StorePart:
    part: PartReading


@dataclass(frozen=True)
class StoreIndex:
    """Keeps the index of the parts that the run's status records."""


type RunAction = CreateJob | DeleteJob | ReleaseJob | StoreScorecard | StorePart | StoreIndex


@dataclass(frozen=True)
class RunPlan:
    """Status first, then the actions; `wake_at` when nothing happens before."""

    status: EvalRunStatus
    actions: tuple[RunAction, ...] = ()
    wake_at: datetime | None = None
    event: Transition | None = None
