"""A reason and a sentence: what stands in the way, and what a person can do about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """`reason` is one of `rca_rollout.api.reasons`, or the contract's own; `stalled` marks what only a person mends."""

    reason: str
    message: str
    stalled: bool = False
