"""Whose turn it is: which runs of a suite may start, read from plain objects so that a thousand of them cost little.

What runs goes on. What waits is served by deadline, the one scheduling rule that has priorities and no starvation: a
run is due `PATIENCE` after it was made, guard runs of Active components at once, and the earliest deadline goes first.
So a guard run overtakes a gate run, and a gate run a scheduled or manual one, unless that has waited for hours longer:
a run is overtaken only by those made within its own patience, a finite number, and then it is the first in line.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from rca_rollout.api.common import EffectiveMode, Trigger
from rca_rollout.api.reasons import Reason
from rca_rollout.core.problem import Problem

type Body = Mapping[str, Any]

# Longer than any queue that drains; short enough that nobody takes a run for forgotten.
PATIENCE: Mapping[str, timedelta] = {
    "guard": timedelta(0),
    "promotion": timedelta(hours=6),
    "other": timedelta(hours=24),
}
# What a run can wait for that has not begun and is not its turn: what its component runs, or a baseline that fits. Who waits
# for such a thing would keep all behind it waiting, too, for a rollout that is stuck, say.
ELSEWHERE = frozenset(
    {
        Reason.ROLLOUT_IN_PROGRESS,
        Reason.ROLLOUT_STUCK,
        Reason.IMAGES_DIFFER,
        Reason.WORKLOAD_NOT_FOUND,
        Reason.WORKLOAD_NOT_RUNNING,
        Reason.WORKLOAD_UNREADABLE,
        Reason.CONTAINER_NOT_FOUND,
        Reason.REVISION_UNNAMED,
        Reason.IMAGE_NAMED_TWICE,
        Reason.INPUT_NOT_FOUND,
        Reason.INPUT_UNREADABLE,
        Reason.BASELINE_STALE,
    }
)
_PROMOTION = frozenset({Trigger.GATE, Trigger.OBSERVATION, Trigger.CLOSING, Trigger.GUARD})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Turns:
    """The runs of one suite that have not ended, by UID: those that hold a place, and those that wait, in order. `aside` are
    those that wait for something else, with how many are before them."""

    holding: frozenset[str]
    waiting: tuple[str, ...]
    aside: Mapping[str, int] = field(default_factory=dict)

    def next(self, limit: int) -> tuple[str, ...]:
        """Those that may start now, beside what holds a place already."""
        return self.waiting[: max(0, limit - len(self.holding))]

    def problem(self, uid: str, limit: int) -> Problem | None:
        """None where the run may start, else what it waits for."""
        if uid in self.holding or uid in self.next(limit):
            return None
        # It asks, so what it waited for is there now, and it is back in its place.
        if uid in self.aside and self.aside[uid] < limit - len(self.holding):
            return None
        runs = "1 evaluation" if limit == 1 else f"{limit} evaluations"
        return Problem(
            Reason.WAITING_FOR_TURN, f"waits for its turn: the suite runs {runs} at once (maxConcurrentRuns)"
        )


def turns(
    runs: Iterable[Body],
    active: Collection[str],
    *,
    usable: Callable[[Body], bool] = lambda _: True,
    reserved: Collection[str] = (),
) -> Turns:
    """`runs` are those of one suite. `active` holds the UIDs of its Active components, `reserved` those of runs that the
    budget has made room for. A run that has ended, is being deleted or is not `usable` is in nobody's way."""
    holding: list[str] = []
    waiting: list[tuple[datetime, datetime, str, str]] = []
    elsewhere: set[str] = set()
    for body in runs:
        if not is_open(body) or not usable(body):
            continue
        metadata = body["metadata"]
        uid = str(metadata["uid"])
        # What has begun, or has its place in the ledger, holds it: another could begin in it otherwise, and then both.
        if started(body) or uid in reserved:
            holding.append(uid)
            continue
        if (body.get("status") or {}).get("reason") in ELSEWHERE:
            elsewhere.add(uid)
        made = _made(str(metadata.get("creationTimestamp")))
        waiting.append((made + _patience(body, active), made, str(metadata["name"]), uid))
    line: list[str] = []
    aside: dict[str, int] = {}
    for *_, uid in sorted(waiting):
        if uid in elsewhere:
            aside[uid] = len(line)
        else:
            line.append(uid)
    return Turns(frozenset(holding), tuple(line), aside)


def active_components(components: Iterable[Body]) -> frozenset[str]:
    """UIDs of those that govern: what their keys were last read as."""
    active = str(EffectiveMode.ACTIVE)
    return frozenset(
        str(body["metadata"]["uid"])
        for body in components
        if (body.get("status") or {}).get("mode") == active
    )


def guards(body: Body, active: Collection[str]) -> bool:
    """A guard run of a component that is Active. The owner decides: anybody can write a trigger."""
    return (body.get("spec") or {}).get("trigger") == Trigger.GUARD and _owner(body) in active


def is_open(body: Body) -> bool:
    """It has not ended, and is not on its way out."""
    phase = (body.get("status") or {}).get("phase")
    return phase in (None, "Pending", "Running") and not body["metadata"].get("deletionTimestamp")


def started(body: Body) -> bool:
    """It has a Job, or is about to have one."""
    status = body.get("status") or {}
    return bool(status.get("jobRef")) or status.get("phase") == "Running"


def _patience(body: Body, active: Collection[str]) -> timedelta:
    if guards(body, active):
        return PATIENCE["guard"]
    trigger = (body.get("spec") or {}).get("trigger")
    return PATIENCE["promotion" if trigger in _PROMOTION and _owner(body) else "other"]


def _owner(body: Body) -> str | None:
    owners = body["metadata"].get("ownerReferences") or []
    return next((str(o.get("uid")) for o in owners if o.get("kind") == "RcaComponent"), None)


@lru_cache(maxsize=4096)
def _made(text: str) -> datetime:
    try:
        made = datetime.fromisoformat(text)
    except ValueError:
        return _EPOCH
    return made if made.tzinfo else made.replace(tzinfo=UTC)
