"""The four things that can be said of an attempt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rca_rollout.api.reasons import Reason

type Body = Mapping[str, Any]


@dataclass(frozen=True)
class Running:
    """Nothing to act on yet; look again at `wake_at` even if no event comes. `reason` says what it waits for."""

    wake_at: datetime
    note: str = ""
    reason: str = Reason.RUN_IN_PROGRESS


@dataclass(frozen=True)
class Succeeded:
    """All steps ended with status 0: the scorecard can be read from `pod`."""

    pod: Body
    wall_seconds: tuple[float, ...]


@dataclass(frozen=True)
class Disrupted:
    """The cluster, or a person, took the Pod away: no fault of the evaluation, try again for free."""

    message: str
    reason: str = Reason.EVICTED


@dataclass(frozen=True)
class Broken:
    """The attempt failed; `container` is where a log tail would help, when there is one.

    `about` is the UID of the Job or Pod whose Events say more than its status does.
    """

    reason: str
    message: str
    pod: str | None = None
    container: str | None = None
    about: str | None = None


type Outcome = Running | Succeeded | Disrupted | Broken
