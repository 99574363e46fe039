"""The steps of an evaluation among a Pod's containers: known by name, whatever a mesh or a webhook has put between them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from rca_rollout.core.pods.outcome import Body

PREPARE, SCORECARD = "prepare", "scorecard"
JUDGE = "judge"  # runs behind the steps and is none of them: its end decides nothing
_END_OF_TIME = 9000
# The exit statuses of a container that was told to go: what else it ends with is its own doing.
TOLD_TO_GO = (128 + 9, 128 + 15)
_EVAL = re.compile(r"eval-(\d+)")


def is_step(name: str) -> bool:
    """Whether a container of this name is one of ours, or the evaluated one."""
    return name in (PREPARE, SCORECARD) or _EVAL.fullmatch(name) is not None


def is_eval(name: str) -> bool:
    return _EVAL.fullmatch(name) is not None


def states(pod: Body) -> list[Body]:
    """The state of every container, in the order of the spec: init containers, then the others."""
    status = pod.get("status") or {}
    return [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]


def steps(pod: Body) -> list[Body]:
    """The states of the steps, in the order in which they run."""
    return sorted((state for state in states(pod) if is_step(state["name"])), key=_order)


def others(pod: Body) -> list[Body]:
    """Sidecars of the suite, and what others have injected."""
    return [state for state in states(pod) if not is_step(state["name"])]


def ended(state: Body) -> Body:
    """How it ended, or an empty mapping. What has no exit status has not ended."""
    found = (state.get("state") or {}).get("terminated") or {}
    return found if "exitCode" in found else {}


def waiting(state: Body) -> Body:
    return (state.get("state") or {}).get("waiting") or {}


def started(state: Body) -> bool:
    return any(form in (state.get("state") or {}) for form in ("running", "terminated"))


def failed(pod: Body) -> Body | None:
    """The first step that ended with another status than 0."""
    return next((s for s in steps(pod) if ended(s) and ended(s)["exitCode"] != 0), None)


def killed(state: Body) -> bool:
    """Whether it ended as a container does that was told to go: not for its memory, and with no status of its own."""
    end = ended(state)
    return end.get("exitCode") in TOLD_TO_GO and end.get("reason") != "OOMKilled"


def done(pod: Body) -> bool:
    """Every step is there and ended with status 0; what else runs in the Pod does not matter."""
    mine = steps(pod)
    names = {state["name"] for state in mine}
    whole = {PREPARE, SCORECARD} <= names and any(is_eval(name) for name in names)
    return whole and all(ended(s) and ended(s)["exitCode"] == 0 for s in mine)


def judging(pod: Body) -> bool:
    """The judge is at work, or about to be."""
    return any(state["name"] == JUDGE and not ended(state) for state in states(pod))


def current(pod: Body) -> Body | None:
    """The first step that has not ended well, or None."""
    return next((s for s in steps(pod) if ended(s).get("exitCode") != 0), None)


def last_end(pod: Body) -> datetime | None:
    """When the last step that has ended did so."""
    return max((end for s in steps(pod) if (end := time(ended(s).get("finishedAt")))), default=None)


def blocker(pod: Body) -> str | None:
    """A container between the steps that has to end, or to become ready, before the next step can start.

    Only init containers block, and of those only what stands before the step that is due.
    """
    init = (pod.get("status") or {}).get("initContainerStatuses") or []
    due = current(pod)
    for state in init:
        if due is not None and state["name"] == due["name"]:
            return None
        if is_step(state["name"]):
            continue
        if ended(state).get("exitCode") != 0 and state.get("started") is not True:
            return str(state["name"])
    return None


def wall_seconds(pod: Body) -> tuple[float, ...]:
    """How long each eval container ran by the kubelet's clock, in order of the repeats. Whole seconds, so rounded up."""
    walls: list[float] = []
    for state in steps(pod):
        start, finish = time(ended(state).get("startedAt")), time(ended(state).get("finishedAt"))
        if is_eval(state["name"]) and start and finish:
            walls.append((finish - start).total_seconds() + 1.0)
    return tuple(walls)


def condition(status: Body, kind: str, wanted: str = "True") -> Body | None:
    return next(
        (c for c in status.get("conditions") or [] if c.get("type") == kind and c.get("status") == wanted),
        None,
    )


def time(text: Any) -> datetime | None:
    """A moment as the API writes it; None also where no clock can have shown it, so that spans can be added to all others."""
    moment = datetime.fromisoformat(str(text)) if text else None
    return moment if moment and moment.year < _END_OF_TIME else None


def _order(state: Body) -> tuple[int, int]:
    name = state["name"]
    if found := _EVAL.fullmatch(name):
        return 1, int(found[1])
    return (0 if name == PREPARE else 2), 0
