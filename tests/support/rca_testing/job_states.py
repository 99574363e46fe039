"""Jobs and Pods as the API server shows them in the states that an evaluation can get into."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from rca_rollout.api.values import format_time
from rca_testing.lifecycle_world import START

type Body = dict[str, Any]

CONTAINERS = ("prepare", "eval-1", "eval-2", "scorecard")
DONE = {"terminated": {"exitCode": 0, "reason": "Completed"}}
WAITING = {"waiting": {"reason": "PodInitializing"}}


def job(
    *conditions: Body, name: str = "job-1", uid: str = "job-uid", owner: str = "run-uid", **more: Any
) -> Body:
    return {
        "metadata": {
            "name": name,
            "uid": uid,
            "creationTimestamp": format_time(START),
            "ownerReferences": [{"uid": owner}],
            **more.pop("metadata", {}),
        },
        "spec": {},
        "status": {"conditions": list(conditions)},
        **more,
    }


def condition(
    kind: str, reason: str = "", message: str = "", at: datetime = START, status: str = "True"
) -> Body:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": format_time(at),
    }


def pod(phase: str = "Pending", states: Body | None = None, *conditions: Body, **status: Any) -> Body:
    """`states`: container name to `state`; the containers before the first one named are done, those after it wait."""
    metadata = {
        "name": "job-1-abcde",
        "uid": "pod-uid",
        "creationTimestamp": format_time(START),
        "ownerReferences": [{"uid": "job-uid"}],
    }
    metadata |= status.pop("metadata", {})
    listed, seen = [], not states
    for name in CONTAINERS:
        if states and name in states:
            state, seen = states[name], True
        else:
            state = WAITING if seen else DONE
        listed.append({"name": name, "image": f"registry.example/{name}:1", "state": state})
    return {
        "metadata": metadata,
        "status": {
            "phase": phase,
            "conditions": list(conditions),
            "initContainerStatuses": listed[:3],
            "containerStatuses": listed[3:],
            **status,
        },
    }


def of_job(whole: Body, uid: str) -> Body:
    """The same Pod, made by the Job with this UID."""
    return {**whole, "metadata": {**whole["metadata"], "ownerReferences": [{"uid": uid}]}}


def waiting(reason: str, message: str = "") -> Body:
    return {"waiting": {"reason": reason, "message": message}}


def ended(code: int, reason: str = "Error", message: str = "", **more: Any) -> Body:
    return {"terminated": {"exitCode": code, "reason": reason, "message": message, **more}}


def succeeded(seconds: int = 3, words: str = "") -> Body:
    """A Pod whose containers all ended well, each after `seconds`."""
    times = {"startedAt": format_time(START), "finishedAt": format_time(START + timedelta(seconds=seconds))}
    states = {name: ended(0, "Completed", **times) for name in CONTAINERS}
    states["scorecard"] = ended(0, "Completed", words, **times)
    return pod("Succeeded", states)
