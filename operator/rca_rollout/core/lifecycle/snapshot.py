"""What `decide` sees and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from rca_rollout.api.component import RcaComponent
from rca_rollout.api.component_status import RcaComponentStatus
from rca_rollout.api.run import EvalRun
from rca_rollout.core.epoch import Sibling
from rca_rollout.core.lifecycle.conditions import Readings
from rca_rollout.core.problem import Problem
from rca_rollout.core.suites import SuiteFacts
from rca_rollout.core.target import TargetView


@dataclass(frozen=True)
class Snapshot:
    """One component and all that its next step depends on, read at about the same time.

    `runs` are the EvalRuns that this component owns, by name. `max_retry_delay` bounds the back-off after runs that
    ended without a verdict. `written` says that this process has carried the intent out, as the server told it. `readings` are
    what Prometheus answered last, by question; None where no Prometheus is configured.
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
