"""Confirmation: how the replicas of the consumer say that they have loaded a mode, and what is known of that."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from rca_rollout.api.base import Cel, Model, Rule
from rca_rollout.api.common import Mode
from rca_rollout.api.job import QualifiedKeys
from rca_rollout.api.live import PLACEHOLDERS, QUERY_LIMIT, placeholders_rule
from rca_rollout.api.values import Clip, Count, Duration, LabelValue, Timestamp, duration_between

REPLICAS_LIMIT = 200
"""As many series as a query may give; and no more Pods than that are asked."""

# Beside those of a live condition: the mode as the consumer's gauge tells it (1 or 0), the value, when it was written.
CONFIRMATION_PLACEHOLDERS = (*PLACEHOLDERS, "wanted", "value", "since")

Value = Annotated[str, Field(max_length=300)]


class PodSelector(Model):
    """Pods of the component's namespace, by their labels."""

    match_labels: Annotated[Mapping[str, LabelValue], Field(min_length=1, max_length=8), QualifiedKeys]


class HttpConfirmation(Model):
    """Every ready Pod is asked on its own address: a Service would answer for one of many."""

    selector: PodSelector
    port: Annotated[int, Field(strict=True, ge=1, le=65535)]
    path: Annotated[
        str, Field(min_length=1, max_length=256, pattern=r"^/[A-Za-z0-9._~-]*(/[A-Za-z0-9._~-]+)*$")
    ] = "/modes"
    """What answers as GET /modes of the agent protocol does."""


class QueryConfirmation(Model):
    """Prometheus is asked: one series for each replica, 1 where it has loaded the mode."""

    query: Annotated[
        str, Field(min_length=1, max_length=QUERY_LIMIT), Cel(placeholders_rule(CONFIRMATION_PLACEHOLDERS))
    ]
    """PromQL that gives an instant vector; every value has to be 1. `$(wanted)` is 1 for Active and 0 for Shadow, `$(value)`
    what was written, `$(since)` when, in Unix seconds; the others are those of a live condition."""
    replicas: Annotated[int, Field(strict=True, ge=1, le=REPLICAS_LIMIT)] | None = None
    """How many series there have to be at least. Without it a replica that is not scraped confirms by its silence."""


class Confirmation(Model):
    """A promotion is done when every replica has loaded the value, and so is a demotion."""

    cel = (
        Rule(
            "has(self.http) != has(self.query)",
            "confirmation has exactly one of http and query",
            lambda it: (it.http is None) != (it.query is None),
        ),
    )

    timeout: Annotated[Duration, duration_between("10s", "1h")] = Duration("5m")
    """How long the replicas have. The kubelet alone takes up to two minutes to bring a changed ConfigMap into a Pod."""
    http: HttpConfirmation | None = None
    query: QueryConfirmation | None = None


class ConfirmationState(StrEnum):
    """Where a confirmation stands. Overdue: of a demotion that goes on to be asked for."""

    WAITING = "Waiting"
    CONFIRMED = "Confirmed"
    OVERDUE = "Overdue"


class ConfirmationStatus(Model):
    """What the replicas said about the value that was written last."""

    mode: Mode
    """Active: a promotion is confirmed. Shadow: a demotion."""
    value: Value
    """What every replica has to have loaded."""
    since: Timestamp
    """When the key was read back with it."""
    deadline: Timestamp
    """Until when the replicas have time."""
    state: ConfirmationState = ConfirmationState.WAITING
    confirmed: Count = 0
    """Replicas that have loaded it, at the last asking."""
    total: Count = 0
    """Replicas that were asked."""
    message: Annotated[str, Clip(1024)] = ""
    """Which replica has not, and why."""
    asked_at: Timestamp | None = None
    """When this answer was asked for; written when the answer is another one."""
    extended: Annotated[bool, Field(strict=True)] = False
    """The deadline passed while no operator was there to ask, and was put off by a minute, once."""
