"""What became of an evaluation's Job: running, succeeded, disturbed from outside, or failed with a named reason.

Each class of failure has its own reason, and none of them is ever a verdict about the component.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from rca_rollout.api.reasons import Reason

PREPARE, SCORECARD = "prepare", "scorecard"
_WORD = re.compile(r"[A-Z][A-Za-z0-9]{0,63}")  # what may stand as the reason of a condition

type Body = Mapping[str, Any]

# Waiting reasons of a container that the kubelet retries for ever.
_IMAGE_REASONS = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "RegistryUnavailable",
        "ImageInspectError",
    }
)
_CONFIG_REASONS = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})
# Why a container ended that never ran: its command is not there, or cannot be executed.
_NEVER_RAN = frozenset({"StartError", "ContainerCannotRun"})
_IMAGE_GRACE = timedelta(
    seconds=20
)  # the kubelet's second try comes after 10 s: a blip of a registry mends itself
_LAG = timedelta(seconds=30)  # Jobs and Pods are watched apart: the Pod's last state may come after the Job's


@dataclass(frozen=True)
class Running:
    """Nothing to act on yet; look again at `wake_at` even if no event comes."""

    wake_at: datetime
    note: str = ""


@dataclass(frozen=True)
class Succeeded:
    """All containers ended with status 0: the scorecard can be read from `pod`."""

    pod: Body
    wall_seconds: tuple[float, ...]


@dataclass(frozen=True)
class Disrupted:
    """The cluster took the Pod away (eviction, drain, preemption): no fault of the evaluation, try again for free."""

    message: str


@dataclass(frozen=True)
class Broken:
    """The attempt failed; `container` is where a log tail would help, when there is one."""

    reason: str
    message: str
    pod: str | None = None
    container: str | None = None


type Outcome = Running | Succeeded | Disrupted | Broken


def diagnose(job: Body, pods: Sequence[Body], *, start_timeout: timedelta, now: datetime) -> Outcome:
    """Reads the Job's own conditions first: they are written after the Pod's and survive it."""
    created = _time(job["metadata"].get("creationTimestamp")) or now
    name = job["metadata"]["name"]
    pod = _newest(pods)
    conditions = {
        c["type"]: c for c in (job.get("status") or {}).get("conditions") or [] if c.get("status") == "True"
    }
    if "Complete" in conditions or "SuccessCriteriaMet" in conditions:
        if pod is None:
            return Broken(
                Reason.JOB_LOST,
                f"the Pod of Job {name} was gone before its scorecard was read: it will be evaluated again",
            )
        if pod.get("status", {}).get("phase") == "Succeeded":
            return Succeeded(pod, _wall_seconds(pod))
        return Running(wake_at=now + timedelta(seconds=5), note="waiting for the end of the Pod to be seen")
    if pod is not None:
        found = _diagnose_pod(pod, start_timeout=start_timeout, now=now)
        if not isinstance(found, Running) or not conditions:
            return found
    if "Failed" in conditions or "FailureTarget" in conditions:
        condition = conditions.get("Failed") or conditions["FailureTarget"]
        if condition.get("reason") == "DeadlineExceeded":
            return Broken(
                Reason.DEADLINE_EXCEEDED,
                f"Job {name} passed its deadline: raise job.timeout in the EvalSuite, or make the evaluation faster",
            )
        if condition.get("reason") == "PodFailurePolicy":
            return Disrupted(f"the Pod of Job {name} was disrupted: {condition.get('message', '')[:200]}")
        if pod is not None and now < (_time(condition.get("lastTransitionTime")) or created) + _LAG:
            return Running(
                wake_at=now + timedelta(seconds=5), note="waiting for the end of the Pod to be seen"
            )
        return Broken(
            Reason.JOB_LOST, f"Job {name} failed and its Pod is gone: {condition.get('message', '')[:200]}"
        )
    if now >= created + start_timeout:
        return Broken(
            Reason.START_TIMEOUT,
            f"Job {name} has no Pod after {_seconds(start_timeout)} s (quota, admission or Pod security may refuse it): "
            f"kubectl describe job {name} says why",
        )
    return Running(wake_at=created + start_timeout, note="waiting for the Pod")


def _diagnose_pod(pod: Body, *, start_timeout: timedelta, now: datetime) -> Outcome:
    status = pod.get("status") or {}
    name = pod["metadata"]["name"]
    created = _time(pod["metadata"].get("creationTimestamp")) or now
    disruption = _condition(status, "DisruptionTarget")
    if status.get("phase") == "Failed" or pod["metadata"].get("deletionTimestamp"):
        if disruption:
            return Disrupted(
                f"Pod {name} was disrupted ({disruption.get('reason', 'unknown')}): {disruption.get('message', '')[:200]}"
            )
        if status.get("phase") == "Failed":
            return _failed(pod)
        return Running(wake_at=now + timedelta(seconds=5), note="the Pod is being deleted")
    if status.get("phase") == "Succeeded":
        return Running(
            wake_at=now + timedelta(seconds=5), note="waiting for the Job to notice that its Pod succeeded"
        )
    for state in _states(status):
        waiting = (state.get("state") or {}).get("waiting") or {}
        reason = waiting.get("reason", "")
        if reason in _IMAGE_REASONS:
            if reason == "InvalidImageName" or now >= created + _IMAGE_GRACE:
                return Broken(
                    Reason.IMAGE_PULL_FAILED,
                    f"container {state['name']}: the image {state.get('image') or '?'} cannot be pulled ({reason}): "
                    "check its name, tag and pull secret; the evaluation is tried again",
                )
            return Running(wake_at=created + _IMAGE_GRACE, note=f"{reason} of {state['name']}")
        if reason in _CONFIG_REASONS:
            if now >= created + start_timeout:
                return _cannot_start(state["name"], f"{reason}: {waiting.get('message', '')}", name)
            return Running(wake_at=created + start_timeout, note=f"{reason} of {state['name']}")
    scheduled = _condition(status, "PodScheduled", wanted="False")
    if scheduled:
        if now >= created + start_timeout:
            return Broken(
                Reason.UNSCHEDULABLE,
                f"Pod {name} was not scheduled in {_seconds(start_timeout)} s ({str(scheduled.get('message', ''))[:200]}): "
                "free a node, or change job.resources, job.nodeSelector or job.tolerations in the EvalSuite",
            )
        return Running(wake_at=created + start_timeout, note="waiting for a node")
    if not any(_started(state) for state in _states(status)) and now >= created + start_timeout:
        return Broken(
            Reason.START_TIMEOUT,
            f"Pod {name} has started no container in {_seconds(start_timeout)} s (a volume that cannot be mounted, or a "
            f"large image): kubectl describe pod {name} says why; job.startTimeout in the EvalSuite is the limit",
        )
    # A node that went away leaves its Pod in phase Running for ever; the Job's deadline is the backstop for that.
    return Running(wake_at=now + timedelta(seconds=30), note="")


def _failed(pod: Body) -> Broken:
    status = pod["status"]
    name = pod["metadata"]["name"]
    if status.get("reason") == "DeadlineExceeded":
        container = next(
            (s["name"] for s in _states(status) if "running" in (s.get("state") or {}) or _exit(s)), None
        )
        where = f" in container {container}" if container else ""
        return Broken(
            Reason.DEADLINE_EXCEEDED,
            f"the evaluation did not end before its deadline{where}: raise job.timeout in the EvalSuite, or make it faster",
            name,
            container,
        )
    if status.get("reason"):
        # The kubelet's own reason (Evicted for a full disk, NodeAffinity, …): its containers only died of it.
        return _pod_failed(status, name)
    for state in _states(status):
        ended = (state.get("state") or {}).get("terminated") or {}
        if not ended or ended.get("exitCode") == 0:
            continue
        container = state["name"]
        if ended.get("reason") == "OOMKilled":
            more = (
                "the dataset or the predictions are too large for it"
                if container in (PREPARE, SCORECARD)
                else "raise job.resources.limits.memory in the EvalSuite"
            )
            return Broken(
                Reason.OUT_OF_MEMORY, f"container {container} ran out of memory: {more}", name, container
            )
        if ended.get("reason") in _NEVER_RAN:
            return _cannot_start(container, str(ended.get("message", "")), name)
        if container in (PREPARE, SCORECARD):
            return _own_container(container, ended, name)
        signal = f"signal {ended['signal']}" if ended.get("signal") else f"status {ended.get('exitCode')}"
        return Broken(
            Reason.EVAL_FAILED,
            f"container {container} ended with {signal}: mend the engine; kubectl logs {name} -c {container} shows what it said",
            name,
            container,
        )
    return _pod_failed(status, name)


def _pod_failed(status: Body, name: str) -> Broken:
    reason = status.get("reason") or "unknown"
    return Broken(
        Reason.POD_FAILED, f"Pod {name} failed ({reason}): {str(status.get('message', ''))[:300]}", name
    )


def _cannot_start(container: str, said: str, pod: str) -> Broken:
    way_out = (
        "is the harness image of this version?"
        if container in (PREPARE, SCORECARD)
        else "check job.image, job.command and job.args in the EvalSuite"
    )
    text = " ".join(said.split())[:300]
    return Broken(
        Reason.CONTAINER_CONFIG_ERROR,
        f"container {container} cannot start: {text}; {way_out}",
        pod,
        container,
    )


def _own_container(container: str, ended: Body, pod: str) -> Broken:
    """Our own containers say in their termination message, as JSON, what was wrong with what they were given."""
    try:
        error = json.loads(ended.get("message") or "")["error"]
        if _WORD.fullmatch(error["reason"]):
            return Broken(error["reason"], str(error["message"])[:1000])
    except (ValueError, KeyError, TypeError):
        pass
    return Broken(
        Reason.PREPARE_FAILED if container == PREPARE else Reason.SCORECARD_FAILED,
        f"container {container} ended with status {ended.get('exitCode')} and did not say why: "
        f"kubectl logs {pod} -c {container}; is the harness image of this version?",
        pod,
        container,
    )


def termination_message(pod: Body, container: str) -> str:
    """What `container` left as its last words, or an empty string."""
    for state in _states(pod.get("status") or {}):
        if state["name"] == container:
            return str(((state.get("state") or {}).get("terminated") or {}).get("message") or "")
    return ""


def finished_at(pod: Body) -> datetime | None:
    """When the last of its containers ended; None while none has."""
    ended = ((state.get("state") or {}).get("terminated") or {} for state in _states(pod.get("status") or {}))
    return max((end for state in ended if (end := _time(state.get("finishedAt")))), default=None)


def image_ids(pod: Body) -> dict[str, str]:
    """Container name to the digest of the image that really ran."""
    return {state["name"]: str(state.get("imageID", "")) for state in _states(pod.get("status") or {})}


# A frame of a traceback, whoever prints it: Python, Java and JavaScript, Go. A log may begin in the middle of one.
_FRAME = re.compile(
    r'[\s|+]*(File "[^"]*", line \d+|at \S.*(:\d+|\))$|\.\.\. \d+ more$|\S+\.go:\d+)',
)
_TRACEBACK = "Traceback (most recent call last)"


def readable_tail(log: bytes, limit: int = 2048) -> str:
    """The end of a log as text for status: printable, bounded, and without the frames of a traceback.

    The frames say nothing to the reader of a status and push the one line that does out of the window.
    """
    lines: list[str] = []
    inside = False
    for line in log.decode(errors="replace").splitlines():
        indented = line.startswith((" ", "\t"))
        if _TRACEBACK in line or (indented and _FRAME.match(line)):
            inside = True
            continue
        if inside and (indented or not line.strip()):
            continue
        inside = False
        shown = line.expandtabs(4)
        lines.append("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown))
    text = "\n".join(lines)
    raw = text.encode()
    return text if len(raw) <= limit else raw[-limit:].decode(errors="ignore")


def _wall_seconds(pod: Body) -> tuple[float, ...]:
    """How long each eval container ran by the kubelet's clock, in order of the repeats. Whole seconds, so rounded up."""
    walls: list[float] = []
    for state in _states(pod["status"]):
        ended = (state.get("state") or {}).get("terminated") or {}
        start, finish = _time(ended.get("startedAt")), _time(ended.get("finishedAt"))
        if state["name"].startswith("eval-") and start and finish:
            walls.append((finish - start).total_seconds() + 1.0)
    return tuple(walls)


def _newest(pods: Iterable[Body]) -> Body | None:
    return max(pods, key=lambda pod: str(pod["metadata"].get("creationTimestamp", "")), default=None)


def _states(status: Body) -> list[Body]:
    return [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]


def _started(state: Body) -> bool:
    return any(form in (state.get("state") or {}) for form in ("running", "terminated"))


def _exit(state: Body) -> int:
    return int(((state.get("state") or {}).get("terminated") or {}).get("exitCode") or 0)


def _condition(status: Body, kind: str, wanted: str = "True") -> Body | None:
    return next(
        (c for c in status.get("conditions") or [] if c.get("type") == kind and c.get("status") == wanted),
        None,
    )


def _time(text: Any) -> datetime | None:
    return datetime.fromisoformat(str(text)) if text else None


def _seconds(span: timedelta) -> int:
    return int(span.total_seconds())
