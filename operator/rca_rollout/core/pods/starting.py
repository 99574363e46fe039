"""What a Pod waits for before its next step can begin, and how long that may take."""

from __future__ import annotations

from datetime import datetime, timedelta

from rca_rollout.api.reasons import Reason
from rca_rollout.core.pods.failure import cannot_start
from rca_rollout.core.pods.outcome import Body, Broken, Running
from rca_rollout.core.pods.steps import (
    blocker,
    condition,
    current,
    is_step,
    last_end,
    started,
    states,
    steps,
    time,
    waiting,
)

# Waiting reasons of a container that the kubelet retries for ever.
_IMAGE_REASONS = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "RegistryUnavailable", "ImageInspectError"}
)
_CONFIG_REASONS = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})
_IMAGE_GRACE = timedelta(
    seconds=20
)  # the kubelet's second try comes after 10 s: a blip of a registry mends itself
_CONFIG_GRACE = timedelta(seconds=90)  # what it names may be created a moment after the Pod
_SET_UP_GRACE = timedelta(
    minutes=2
)  # volumes and network; the kubelet tries a mount again within two minutes


def hold_up(pod: Body, *, start_timeout: timedelta, now: datetime) -> Broken | Running | None:
    """What keeps the step that is due from beginning; None when one runs, or is only about to."""
    status, name = pod.get("status") or {}, pod["metadata"]["name"]
    created = time(pod["metadata"].get("creationTimestamp")) or now
    found_a_node = time((condition(status, "PodScheduled") or {}).get("lastTransitionTime"))
    # The first step is due since there is a node for it, each other one since the one before it ended.
    due = max(created, found_a_node or created, last_end(pod) or created)
    for state in states(pod):
        if found := _container(state, name, due, now):
            return found
    unscheduled = condition(status, "PodScheduled", wanted="False")
    limit = created + start_timeout
    if unscheduled:
        return _unscheduled(name, str(unscheduled.get("message") or ""), start_timeout, limit, now)
    if any(started(state) for state in steps(pod)):
        return _sidecar(pod, due, now)
    return _not_begun(pod, start_timeout, created, now)


def _container(state: Body, pod: str, due: datetime, now: datetime) -> Broken | Running | None:
    word, said = str(waiting(state).get("reason") or ""), str(waiting(state).get("message") or "")
    container, image = state["name"], state.get("image") or "?"
    if word == "InvalidImageName":
        text = f"container {container}: {image} is no name of an image: correct it in the EvalSuite"
        return Broken(Reason.INVALID_IMAGE, text)
    if word in _IMAGE_REASONS:
        text = f"container {container}: the image {image} cannot be pulled"
        if now < due + _IMAGE_GRACE:
            # Not the kubelet's word: it changes every few seconds, and each change would be written.
            return Running(due + _IMAGE_GRACE, text, Reason.IMAGE_PULL_FAILED)
        return Broken(
            Reason.IMAGE_PULL_FAILED,
            f"{text} ({word}): check its name, tag and pull secret; the evaluation is tried again",
        )
    if word in _CONFIG_REASONS:
        if now < due + _CONFIG_GRACE:
            return Running(
                due + _CONFIG_GRACE, f"container {container} cannot start yet", Reason.CONTAINER_CONFIG_ERROR
            )
        return cannot_start(container, f"{word}: {said}", pod)
    if word == "CrashLoopBackOff" and not is_step(container):
        text = f"container {container} beside the evaluation keeps crashing"
        if now < due + _CONFIG_GRACE:
            return Running(due + _CONFIG_GRACE, text, Reason.SIDECAR_FAILED)
        return Broken(
            Reason.SIDECAR_FAILED,
            f"{text}: mend it in job.sidecars of the EvalSuite, or keep what injects it from this Pod; "
            f"kubectl logs {pod} -c {container} --previous shows what it said",
        )
    return None


def _unscheduled(
    name: str, said: str, start_timeout: timedelta, limit: datetime, now: datetime
) -> Broken | Running:
    if now < limit:
        return Running(limit, "waiting for a node", Reason.UNSCHEDULABLE)
    return Broken(
        Reason.UNSCHEDULABLE,
        f"Pod {name} was not scheduled in {seconds(start_timeout)} s ({said[:200]}): "
        "free a node, or change job.resources, job.nodeSelector or job.tolerations in the EvalSuite",
    )


def _sidecar(pod: Body, due: datetime, now: datetime) -> Broken | Running | None:
    """Between two steps: only a sidecar can hold the next one up for long. A slow image is the Pod's deadline's affair."""
    step = current(pod)
    if step is None or started(step) or not (container := blocker(pod)):
        return None
    return _not_ready(container, pod["metadata"]["name"], due, now)


def _not_ready(container: str, pod: str, due: datetime, now: datetime) -> Broken | Running:
    text = f"container {container} has to be ready before the evaluation can go on"
    if now < due + _SET_UP_GRACE:
        return Running(due + _SET_UP_GRACE, text, Reason.SIDECAR_NOT_READY)
    return Broken(
        Reason.SIDECAR_NOT_READY,
        f"{text}, and was not in {seconds(_SET_UP_GRACE)} s: mend it in job.sidecars of the EvalSuite, or keep what "
        f"injects it from this Pod (job.podLabels, job.podAnnotations); kubectl logs {pod} -c {container}",
        pod,
        container,
    )


def _not_begun(
    pod: Body, start_timeout: timedelta, created: datetime, now: datetime
) -> Broken | Running | None:
    """Scheduled, and no step has begun: the node sets it up, or something before the first step runs."""
    status, name, uid = pod.get("status") or {}, pod["metadata"]["name"], pod["metadata"].get("uid")
    scheduled = condition(status, "PodScheduled")
    since = (time(scheduled.get("lastTransitionTime")) if scheduled else None) or created
    ready = condition(status, "PodReadyToStartContainers")
    if ready and (container := blocker(pod)):
        return _not_ready(container, name, time(ready.get("lastTransitionTime")) or since, now)
    if condition(status, "PodReadyToStartContainers", wanted="False"):
        if now < since + _SET_UP_GRACE:
            return Running(since + _SET_UP_GRACE, "the node sets the Pod up", Reason.RUN_IN_PROGRESS)
        return Broken(
            Reason.POD_NOT_SET_UP,
            f"the node of Pod {name} has not set it up in {seconds(_SET_UP_GRACE)} s (a volume that cannot be mounted, "
            f"or its network): kubectl describe pod {name} says why",
            about=uid,
        )
    limit = created + start_timeout
    if now < limit:
        return Running(limit, "waiting for its first container")
    return Broken(
        Reason.START_TIMEOUT,
        f"Pod {name} has started no container in {seconds(start_timeout)} s (a volume that cannot be mounted, or a "
        f"large image): kubectl describe pod {name} says why; job.startTimeout in the EvalSuite is the limit",
        about=uid,
    )


def seconds(span: timedelta) -> int:
    return int(span.total_seconds())
