"""Who leads: the rules of the Lease, without a clock, a chance or a request in them.

The algorithm is that of client-go's `leaderelection`: whoever's name is in the Lease leads and renews it; who finds a
record that has not changed for its whole duration, by his own monotonic clock, may put his own name in, conditionally
on the version that he read. Times that others wrote are never compared with anything. What differs from client-go:

- a leader's time is counted from the moment at which the request that renewed was *sent*, and so is short rather than
  long whatever the answer took;
- a Lease that vanishes under a candidate's eyes is no invitation: its holder may believe in it for a while yet;
- a process may follow the one that ran before it in the same Pod at once: the kubelet starts a container only when the
  one before it is dead.

`plan` says what to do next, `learn` takes what came of it in; the shell around them is `runtime.leader`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from rca_rollout.core.lease import Identity, Pace, Record, next_record


@dataclass(frozen=True)
class View:
    """The Lease as it was last seen, unchanged `since` (monotonic seconds of him who looks). No record: no Lease."""

    record: Record | None
    version: str
    since: float
    first: bool


# What to do next.


@dataclass(frozen=True)
class Wait:
    """Nothing, until this moment (monotonic seconds)."""

    until: float


@dataclass(frozen=True)
class Read:
    """Read the Lease, within so many seconds."""

    within: float


@dataclass(frozen=True)
class Write:
    """Create the Lease (no version), or replace exactly that version of it, within so many seconds."""

    record: Record
    version: str
    within: float


@dataclass(frozen=True)
class Lost:
    """The leadership is over, and the process with it."""

    why: str


type Effect = Wait | Read | Write | Lost


# What came of it.


@dataclass(frozen=True)
class Found:
    record: Record
    version: str


@dataclass(frozen=True)
class Missing:
    """There is no Lease."""


@dataclass(frozen=True)
class Written:
    version: str


@dataclass(frozen=True)
class Moved:
    """The Lease was not as the write expected it."""


@dataclass(frozen=True)
class Failed:
    """No answer, or none that tells whether it was done."""

    why: str


type Answer = Found | Missing | Written | Moved | Failed


@dataclass(frozen=True)
class Candidate:
    """What one process knows. All times are monotonic seconds of its own.

    `led` is the moment at which the request was sent that made it leader or renewed that; None: it does not lead.
    `began` is when the last request was sent, `due` when the next may be; `fresh`: the view's version can be written to.
    """

    me: Identity
    pace: Pace
    view: View | None = None
    fresh: bool = False
    led: float | None = None
    began: float = 0.0
    writing: Record | None = None
    due: float = float("-inf")
    trouble: str = ""

    def leads(self, at: float) -> bool:
        """Whether it may believe so at this moment."""
        return self.led is not None and at < self.led + self.pace.renew

    def seconds_for_a_write(self, at: float) -> float:
        """How long a write that is sent at this moment may take; nothing to send if it is not positive."""
        if self.led is None or not self.leads(at):
            return 0.0
        return self.led + self.pace.lease - self.pace.wire - at

    @property
    def holder(self) -> str:
        """Who holds the Lease as it was last seen; empty: nobody."""
        return self.view.record.holder if self.view and self.view.record else ""


def plan(state: Candidate, at: float, wall: datetime) -> tuple[Candidate, Effect]:
    """What to do at this moment. `wall` goes into the Lease for people to read, and into nothing that is decided."""
    pace = state.pace
    if state.led is not None:
        left = state.led + pace.renew - at
        if left <= 0:
            return replace(state, led=None), Lost(state.trouble or "the process stood still for too long")
        if state.view and state.view.record and state.holder != state.me.holder:
            return replace(state, led=None), Lost(f"{state.holder or 'nobody'} holds it now")
        within = min(pace.request, left)
    else:
        within = pace.request
    if at < state.due:
        until = state.due if state.led is None else min(state.due, state.led + pace.renew)
        return state, Wait(until)
    view = state.view
    if view is None or not state.fresh:
        return replace(state, began=at), Read(within)
    pause = 0.0 if state.led is not None else _pause(view, state.me, at, pace)
    if pause > 0:
        due = at + min(pause, pace.retry)
        return replace(state, fresh=False, due=due), Wait(due)
    record = next_record(view.record, state.me, pace, wall)
    return replace(state, began=at, writing=record), Write(record, view.version, within)


def learn(state: Candidate, answer: Answer, at: float) -> Candidate:
    """What is known when `answer` to the last effect has come, at this moment."""
    pace = state.pace
    match answer:
        case Found(record=record, version=version):
            view = _seen(state.view, record, version, at)
            return replace(state, view=view, fresh=True, trouble=_still(state))
        case Missing():
            view = _seen(state.view, None, "", at)
            return replace(state, view=view, fresh=True, trouble=_still(state))
        case Written(version=version):
            view = View(state.writing, version, at, first=False)
            return replace(state, view=view, led=state.began, due=state.began + pace.retry, trouble="")
        case Moved():
            # A leader asks at once what it is now (a person may have put a label on it); a candidate has been beaten.
            pause = pace.retry / 10 if state.led is not None else pace.retry
            return replace(state, fresh=False, due=at + pause)
        case Failed(why=why):
            # Whether it was done is not known: the next look tells.
            due = max(at + pace.retry / 10, state.began + pace.retry)
            return replace(state, fresh=False, due=due, trouble=why)


def release(state: Candidate, wall: datetime) -> Write | None:
    """What gives the Lease back, for another to take at once; None where it is not held for sure."""
    view = state.view
    if state.led is None or not state.fresh or view is None or view.record is None:
        return None
    return Write(view.record.given_back(wall), view.version, state.pace.request)


def _still(state: Candidate) -> str:
    """A leader's trouble ends when it has renewed, and not when it can read."""
    return state.trouble if state.led is not None else ""


def _seen(before: View | None, record: Record | None, version: str, at: float) -> View:
    """Only what the record says counts as a sign of life, not what else is written to the object."""
    if before is not None and before.record == record:
        return replace(before, version=version)
    return View(record, version, at, first=before is None)


def _pause(view: View, me: Identity, at: float, pace: Pace) -> float:
    """Seconds until the Lease may be taken; not positive: now."""
    record = view.record
    if record is None:
        # At the first look there was none: a new installation. Later: somebody deleted it, and its holder may not know.
        return 0.0 if view.first else view.since + pace.lease - at
    if not record.holder or me.follows(record.holder):
        return 0.0
    return view.since + max(pace.lease, record.duration) - at
