"""What `decide` sees and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from rca_rollout.api.component import RcaComponent
from rca_rollout.api.component_status import RcaComponentStatus
from rca_rollout.api.run import EvalRun
from rca_rollout.core.confirming import Answer
from rca_rollout.core.epoch import Sibling, epoch_of
from rca_rollout.core.lifecycle.conditions import Readings
from rca_rollout.core.problem import Problem
from rca_rollout.core.revision import Running, active_value, declared
from rca_rollout.core.suites import SuiteFacts
from rca_rollout.core.target import TargetView


@dataclass(frozen=True)
class Snapshot:
    """One component and all that its next step depends on, read at about the same time.

    `runs` are the EvalRuns that this component owns, by name. `max_retry_delay` bounds the back-off after runs that
    ended without a verdict. `written` says that this process has carried the intent out, as the server told it. `readings` are
    what Prometheus answered last, by question; None where no Prometheus is configured. `running` is what runs; None where the
    spec alone says it. `confirmation` is what the replicas of the consumer said last.
    """

    component: RcaComponent
    suite: SuiteFacts | Problem
    target: TargetView | Problem
    runs: Mapping[str, EvalRun] = field(default_factory=dict)
    siblings: tuple[Sibling, ...] = ()
    claimed_by: str | None = None
    max_retry_delay: timedelta = timedelta(minutes=15)
    written: bool = False
    readings: Readings | None = None
    running: Running | Problem | None = None
    confirmation: Answer | None = None

    @property
    def what_runs(self) -> Running | Problem:
        """What runs now, or why that cannot be told."""
        return declared(self.component.spec) if self.running is None else self.running

    @property
    def revision(self) -> str | None:
        """The revision that runs now; None while that cannot be told."""
        running = self.what_runs
        return None if isinstance(running, Problem) else running.revision

    @property
    def active_value(self) -> str | None:
        """The word that switches what runs now to Active; None while that cannot be told."""
        return (
            None if self.revision is None else active_value(self.component.spec.target.values, self.revision)
        )

    def epoch_on(self, suite: SuiteFacts) -> str | None:
        """The epoch of what runs now, measured by `suite`; None while what runs cannot be told."""
        running = self.what_runs
        if isinstance(running, Problem):
            return None
        return epoch_of(self.component.spec, suite, running, self.component.status.eval_image)


@dataclass(frozen=True)
class CreateRun:
    """Create the EvalRun that status names already; an existing one of ours is as good."""

    name: str
    body: Mapping[str, Any]


@dataclass(frozen=True)
class WriteKey:
    """One compare-and-set on the target, not to be sent after `not_after`."""

    config_map: str
    patch: tuple[Mapping[str, Any], ...]
    not_after: datetime


@dataclass(frozen=True)
class DeleteRun:
    """A finished run that nothing refers to any more."""

    name: str
    uid: str


@dataclass(frozen=True)
class SetFinalizers:
    """One conditional patch of the component's own list of finalizers."""

    patch: tuple[Mapping[str, Any], ...]


type Action = CreateRun | WriteKey | DeleteRun | SetFinalizers


@dataclass(frozen=True)
class Plan:
    """The status that should stand, what to do once it stands, and when to look again if nothing happens before."""

    status: RcaComponentStatus
    actions: tuple[Action, ...] = ()
    wake_at: datetime | None = None
