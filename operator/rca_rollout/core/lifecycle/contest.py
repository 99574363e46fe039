"""No patch war: how often the key was put back against another manager, and when nothing is written against it any more."""

from __future__ import annotations

from datetime import timedelta

from rca_rollout.api.reasons import Reason
from rca_rollout.api.watching import PUT_BACK_REMEMBERED, Drift, PutBack
from rca_rollout.core.lifecycle.draft import Draft
from rca_rollout.core.problem import Problem
from rca_rollout.core.target import TargetView

WINDOW = timedelta(minutes=10)
MOST = 2
PAUSE = timedelta(seconds=30)
WISHES = frozenset({Reason.SHADOW_REQUESTED, Reason.DEMOTE_REQUESTED, Reason.ABORTED, Reason.DELETED})
UNKNOWN = "somebody unknown"
OURSELVES = "rca-rollout"
"""Our own field manager stays on a key that something on the way to the server changes back."""


def notice(draft: Draft, target: TargetView) -> None:
    """Somebody else set the key to Active."""
    draft.drift = (draft.drift or Drift()).evolve(manager=_manager(target))


def over(draft: Draft) -> None:
    """Active by our own hand, or Shadow by somebody else's: nothing is held against anybody any more."""
    draft.drift = draft.drift and draft.drift.evolve(manager=None)


def put_back(draft: Draft, target: TargetView | None = None) -> None:
    """Counts one of our writes against another manager: one that was read back, or (with `target`) was undone before."""
    drift = draft.drift or Drift()
    manager = _manager(target) if target else drift.manager
    if manager is None:
        return
    done = (*drift.put_back, PutBack(at=draft.now, manager=manager))[-PUT_BACK_REMEMBERED:]
    draft.drift = Drift(put_back=done)


def conflict(draft: Draft, target: TargetView, cause: str) -> Problem | None:
    """Why the key is not put back: it was, twice within ten minutes, against the same manager. Ends with that window.

    What a person asked for is not given up for so long: it is tried again after `PAUSE`.
    """
    drift = draft.drift or Drift()
    manager = drift.manager or _manager(target)
    # In the future by less than the window: by a clock that was set back since.
    recent = [p.at for p in drift.put_back if p.manager == manager and abs(draft.now - p.at) < WINDOW]
    if len(recent) < MOST:
        return None
    again = recent[-1] + PAUSE if cause in WISHES else recent[-MOST] + WINDOW
    if again <= draft.now:
        return None
    draft.wake_at(again)
    return Problem(
        Reason.CONFIG_CONFLICT,
        f"{manager} keeps setting {draft.key} of ConfigMap {draft.config_map} to Active; it was put back {len(recent)} "
        "times within ten minutes, and nothing is written for now. Take the key out of what that manager applies, or "
        "let it say Shadow",
        stalled=True,
    )


def _manager(target: TargetView) -> str:
    return target.manager if target.manager and target.manager != OURSELVES else UNKNOWN
