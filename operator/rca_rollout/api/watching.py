"""What the operator remembers of an Active component, of writes by others, and of a deletion under way."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from rca_rollout.api.base import Model
from rca_rollout.api.values import Clip, Count, Message, ReasonName, Timestamp

Name = Annotated[str, Field(max_length=253)]
Manager = Annotated[str, Clip(128)]

PUT_BACK_REMEMBERED = 8


class Harm(StrEnum):
    """What a run shows to be worse with the component than without it."""

    ACCURACY = "Accuracy"
    TIME = "Time"


class Suspicion(Model):
    """Harm that one run showed and another has to show again: the time alone, or in a run that was not valid."""

    harm: Harm
    at: Timestamp
    run: Name | None = None
    message: Message
    times: Count = 1
    """In how many runs it was seen. From the second on it counts as a regression."""


class GuardStatus(Model):
    """How well an Active component is watched."""

    since: Timestamp
    """Since when it is guarded without a break: the promotion, the adoption, or the end of a suspension."""
    last_verdict_at: Timestamp | None = None
    """The start of the last guard run that gave a verdict."""
    without_verdict: Count = 0
    """Guard runs in a row that gave none."""
    suspicion: Suspicion | None = None


class PutBack(Model):
    """One time that the key was put back to Shadow against another manager."""

    at: Timestamp
    manager: Manager
    """The field manager that had set the key to Active."""


class Drift(Model):
    """Who set the key to Active without evidence, and how often that was put back: there is no patch war."""

    manager: Manager | None = None
    """Who did it last, while the key is so."""
    put_back: Annotated[tuple[PutBack, ...], Field(max_length=PUT_BACK_REMEMBERED)] = ()
    """The newest last."""


class DeletionStatus(Model):
    """The key is put back before the object goes (deletionPolicy RevertToShadow)."""

    since: Timestamp
    """When the deletion was first seen. The object is let go 5 minutes later, whatever stands in the way."""
    released: ReasonName | None = None
    """Why it may go: RevertedToShadow, or what made that impossible."""
    message: Message | None = None
