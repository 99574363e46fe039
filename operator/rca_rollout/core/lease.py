"""What stands in a Lease, who may stand in it, and the spans of time that keep two leaders apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any


@dataclass(frozen=True)
class Pace:
    """Seconds. The defaults are client-go's, and those of Kubernetes' own controllers.

    lease    how long a record must stand unchanged before another may take it
    renew    how long a leader believes in it, from the sending of the request that renewed it last
    retry    between two looks of a candidate, and between two renewals
    request  the longest one request about the Lease may take: two tries fit into `renew`
    wire     what is left for a write that ends at its last moment to be ended by the server, too

    A leader's last write begins before `renew` is over and is given until `lease - wire`; nobody else leads before
    `lease` is over, which begins later, when he first sees the record. So the writes of two leaders never meet.
    """

    lease: float = 15.0
    renew: float = 10.0
    retry: float = 2.0
    request: float = 4.0
    wire: float = 1.0

    def __post_init__(self) -> None:
        if not (0 < self.retry <= self.request <= self.renew / 2 and self.renew + self.wire < self.lease):
            raise ValueError(f"these spans do not keep two leaders apart: {self}")


@dataclass(frozen=True)
class Identity:
    """A process: its Pod's (or host's) name, for people; the Pod's UID, empty outside of one; and its own mark."""

    pod: str
    uid: str
    process: str

    @property
    def holder(self) -> str:
        return "_".join(part for part in (self.pod, self.uid, self.process) if part)

    def follows(self, holder: str) -> bool:
        """Whether `holder` is this process, or one that ran in this very Pod before it."""
        return holder == self.holder or (bool(self.uid) and holder.startswith(f"{self.pod}_{self.uid}_"))


@dataclass(frozen=True)
class Record:
    """What a Lease's spec says. No holder: it was given back. `duration` is in seconds, the times are RFC 3339."""

    holder: str
    transitions: int = 0
    duration: float = 0.0
    acquired: str = ""
    renewed: str = ""

    @staticmethod
    def of(spec: Mapping[str, Any] | None) -> Record:
        """A Lease without a spec is one that was given back."""
        told = spec or {}
        return Record(
            holder=str(told.get("holderIdentity") or ""),
            transitions=int(told.get("leaseTransitions") or 0),
            duration=float(told.get("leaseDurationSeconds") or 0),
            acquired=str(told.get("acquireTime") or ""),
            renewed=str(told.get("renewTime") or ""),
        )

    @staticmethod
    def first(me: Identity, pace: Pace, wall: datetime) -> Record:
        """That of the first leader of all."""
        return Record(me.holder, 0, pace.lease, _stamp(wall), _stamp(wall))

    def spec(self) -> dict[str, Any]:
        """As the API takes it: a duration of at least a second, and no empty holder."""
        told: dict[str, Any] = {
            "leaseDurationSeconds": max(1, round(self.duration)),
            "acquireTime": self.acquired,
            "renewTime": self.renewed,
            "leaseTransitions": self.transitions,
        }
        return {**told, "holderIdentity": self.holder} if self.holder else told

    def given_back(self, wall: datetime) -> Record:
        """Nobody's, for another to take at once."""
        return replace(self, holder="", duration=1.0, renewed=_later(self.renewed, wall))


def next_record(before: Record | None, me: Identity, pace: Pace, wall: datetime) -> Record:
    """What `me` writes over `before` to lead, or to go on leading."""
    if before is None:
        return Record.first(me, pace, wall)
    renewed = _later(before.renewed, wall)
    if before.holder == me.holder:
        return replace(before, duration=pace.lease, renewed=renewed)
    return Record(me.holder, before.transitions + 1, pace.lease, _stamp(wall), renewed)


def _later(before: str, wall: datetime) -> str:
    """Now, but after `before`: a clock that stands still, or was set back, must not look like a holder that is dead."""
    try:
        after = datetime.fromisoformat(before).astimezone(UTC) + timedelta(microseconds=1)
    except (ValueError, OverflowError):
        return _stamp(wall)
    return _stamp(max(wall, after))


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
