"""How many finished runs are kept."""

from typing import Annotated

from pydantic import Field

from rca_rollout.api.base import Model

Kept = Annotated[int, Field(strict=True, ge=1, le=100)]


class HistoryLimits(Model):
    """How many finished runs stay, the newest of each kind: of each component, and of those without one.

    What a component's status refers to stays whatever the limit is, and what runs showed is counted in status.
    """

    passed: Kept = 5
    other: Kept = 5
    """Runs that failed, or ended without a verdict."""
