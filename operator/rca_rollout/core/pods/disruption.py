"""What took a Pod away that had done nothing wrong: told from the Pod's status, and named by who did it."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from rca_rollout.api.reasons import Reason
from rca_rollout.core.pods.outcome import Body, Disrupted, Running
from rca_rollout.core.pods.steps import condition, ended, failed, killed, time

SILENCE = timedelta(seconds=60)
"""How long a kubelet may leave undone what is due at a known moment, before its node counts as lost."""

# https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions
_DISRUPTIONS = {
    "PreemptionByScheduler": Reason.PREEMPTED,
    "DeletionByTaintManager": Reason.TAINT_EVICTED,
    "DeletionByPodGC": Reason.NODE_LOST,
    "EvictionByEvictionAPI": Reason.EVICTED,
}
# The kubelet's own words in the Pod's `reason`, for a Pod that it ended, or never took.
_KUBELET = {
    "Evicted": Reason.NODE_PRESSURE,
    "Preempting": Reason.PREEMPTED,
    "NodeLost": Reason.NODE_LOST,
    "NodeShutdown": Reason.EVICTED,
    "Shutdown": Reason.EVICTED,
    "Terminated": Reason.EVICTED,
    "NodeAffinity": Reason.POD_REJECTED,
    "TopologyAffinityError": Reason.POD_REJECTED,
    "UnexpectedAdmissionError": Reason.POD_REJECTED,
}
# The Pod's own limits, of a container's disk or of an emptyDir: what it wrote was too much, on any node.
_OWN_LIMIT = re.compile(r"exceed(s|ed) (the |its local ephemeral storage |the total )+limit")


def taken_away(pod: Body, now: datetime) -> Disrupted | Running | None:
    """Who took the Pod away, or that somebody is about to. None when nobody does."""
    status, metadata = pod.get("status") or {}, pod["metadata"]
    name, phase = metadata["name"], status.get("phase")
    if too_much_disk(pod):
        return None
    target, deletion = condition(status, "DisruptionTarget"), time(metadata.get("deletionTimestamp"))
    if target and (phase == "Failed" or deletion):
        why = str(target.get("reason") or "unknown")
        reason = _DISRUPTIONS.get(why) or _KUBELET.get(str(status.get("reason"))) or Reason.EVICTED
        said = str(target.get("message") or status.get("message") or "")[:200]
        return Disrupted(f"Pod {name} was disrupted ({why}): {said}", reason)
    if phase == "Unknown" or status.get("reason") == "NodeLost":
        return Disrupted(f"Pod {name} is in phase {phase}: its node does not answer", Reason.NODE_LOST)
    if phase == "Failed" and (ended_as := _by_kubelet(str(status.get("reason") or ""))):
        said = str(status.get("message") or "")[:300]
        return Disrupted(f"Pod {name} was ended by its node ({status['reason']}): {said}", ended_as)
    return _deleted(pod, deletion, now) if deletion else None


def too_much_disk(pod: Body) -> bool:
    """Evicted for what it wrote itself: no disruption, for it would write as much again."""
    status = pod.get("status") or {}
    return status.get("reason") == "Evicted" and bool(_OWN_LIMIT.search(str(status.get("message") or "")))


def _by_kubelet(word: str) -> Reason | None:
    return Reason.POD_REJECTED if word.startswith("OutOf") else _KUBELET.get(word)


def _deleted(pod: Body, due: datetime, now: datetime) -> Disrupted | Running | None:
    """Deleted by nobody who says so: `kubectl delete pod`. `due` is when its grace ends.

    When the Pod is done the kubelet deletes it once more without grace, which moves `due` to that moment: whoever looks late
    cannot tell when it was asked. So a container that was killed is not held against the evaluation by the clock.
    """
    metadata, status = pod["metadata"], pod.get("status") or {}
    asked = due - timedelta(seconds=int(metadata.get("deletionGracePeriodSeconds") or 0))
    first = failed(pod)
    if (
        first is not None
        and (end := time(ended(first).get("finishedAt")))
        and end < asked
        and not killed(first)
    ):
        return None  # it had failed by itself before
    if status.get("phase") in ("Failed", "Succeeded"):
        text = f"Pod {metadata['name']} was deleted before its evaluation had ended"
        return Disrupted(text, Reason.POD_DELETED)
    if now >= due + SILENCE:
        text = f"Pod {metadata['name']} was to be gone at {metadata['deletionTimestamp']} and is still there: its node does not answer"
        return Disrupted(text, Reason.NODE_LOST)
    return Running(
        wake_at=min(now + timedelta(seconds=5), due + SILENCE),
        note="the Pod is being deleted",
        reason=Reason.POD_DELETED,
    )
