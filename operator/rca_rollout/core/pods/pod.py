"""One Pod: its end first, then who took it away, then what it waits for."""

from __future__ import annotations

from datetime import datetime, timedelta

from rca_rollout.api.reasons import Reason
from rca_rollout.core.pods import failure
from rca_rollout.core.pods.disruption import SILENCE, taken_away
from rca_rollout.core.pods.outcome import Body, Broken, Disrupted, Outcome, Running, Succeeded
from rca_rollout.core.pods.starting import hold_up
from rca_rollout.core.pods.steps import done, failed, judging, last_end, time, wall_seconds

LINGER = timedelta(seconds=15)
"""How long a Pod may go on after its last step: one without sidecars ends at once, one with an old mesh's never does."""
_LOOK_AGAIN = timedelta(seconds=5)


def diagnose_pod(
    pod: Body, *, start_timeout: timedelta, run_timeout: timedelta | None, now: datetime
) -> Outcome:
    """What the Pod alone tells. `run_timeout` is the deadline that its kubelet enforces."""
    phase = (pod.get("status") or {}).get("phase")
    ending = phase in ("Succeeded", "Failed") or bool(pod["metadata"].get("deletionTimestamp"))
    if done(pod):
        # Its result is there, whatever becomes of the rest: a sidecar that stays, a drain that takes it away.
        if phase == "Failed" or (ending and phase != "Succeeded"):
            return Succeeded(pod, wall_seconds(pod))
        if judging(pod) and not _past_deadline(pod, run_timeout, now):
            return Running(wake_at=now + _LOOK_AGAIN, note="the judge is asked")
        return _linger(pod, now, "waiting for the end of the Pod") or Succeeded(pod, wall_seconds(pod))
    if phase == "Succeeded":
        return altered(pod)
    if found := taken_away(pod, now):
        return found
    if phase == "Failed":
        return failure.why(pod)
    if failed(pod) is not None:
        return _linger(pod, now, "waiting for the end of the Pod") or failure.why(pod)
    if pod["metadata"].get("deletionTimestamp"):
        return failure.why(pod)
    if late := _past_deadline(pod, run_timeout, now):
        return late
    # A node that went away leaves its Pod in phase Running: found at the deadline, or when a taint takes the Pod away.
    quiet = Running(wake_at=now + timedelta(seconds=30))
    return hold_up(pod, start_timeout=start_timeout, now=now) or quiet


def altered(pod: Body) -> Broken:
    """It ended well, and not with the steps that it was made of."""
    name = pod["metadata"]["name"]
    return Broken(
        Reason.POD_ALTERED,
        f"Pod {name} ended without the steps of an evaluation (prepare, eval-1 …, scorecard): keep the admission "
        "webhook that changes its containers from this namespace, or from this Pod by job.podLabels",
        name,
    )


def _linger(pod: Body, now: datetime, note: str) -> Running | None:
    """None once its last step has ended long enough ago, or in a future that only its node's clock knows."""
    end = last_end(pod)
    if end is None or end > now + LINGER:
        return None
    until = end + LINGER
    return Running(wake_at=min(until, now + _LOOK_AGAIN), note=note) if now < until else None


def _past_deadline(pod: Body, run_timeout: timedelta | None, now: datetime) -> Disrupted | None:
    """Its kubelet ends a Pod at its deadline. Where that is over and the Pod is as it was, there is no kubelet."""
    begun = time((pod.get("status") or {}).get("startTime"))
    if begun is None or run_timeout is None or now < begun + run_timeout + SILENCE:
        return None
    text = f"Pod {pod['metadata']['name']} was not ended at its deadline: its node does not answer"
    return Disrupted(text, Reason.NODE_LOST)
