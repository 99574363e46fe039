"""Why a Pod failed: which of its containers, and what a person can do about it."""

from __future__ import annotations

import json
import re
from typing import Any

from rca_rollout.api.reasons import Reason
from rca_rollout.core.pods.disruption import too_much_disk
from rca_rollout.core.pods.outcome import Body, Broken
from rca_rollout.core.pods.steps import PREPARE, SCORECARD, current, ended, failed, is_step, others, started

_WORD = re.compile(r"[A-Z][A-Za-z0-9]{0,63}")  # what may stand as the reason of a condition
# Why a container ended that never ran: its command is not there, or cannot be executed.
_NEVER_RAN = frozenset({"StartError", "ContainerCannotRun"})
_KILLED = 128 + 9
_OWN = (PREPARE, SCORECARD)


def why(pod: Body) -> Broken:
    """The reason of a Pod that failed, or of a step that did while a sidecar keeps the Pod alive."""
    status = pod.get("status") or {}
    name = pod["metadata"]["name"]
    if status.get("reason") == "DeadlineExceeded":
        return _too_long(pod)
    if too_much_disk(pod):
        at = failed(pod) or current(pod)
        return Broken(
            Reason.STORAGE_EXCEEDED,
            f"Pod {name} wrote more than it may: {str(status.get('message') or '')[:200]}: write less, "
            "or raise job.resources.limits[ephemeral-storage] in the EvalSuite if that is the limit",
            name,
            at["name"] if at else None,
        )
    if not status.get("reason"):
        # With a reason of the kubelet's the containers only died of it.
        state = failed(pod) or next((s for s in others(pod) if ended(s).get("exitCode")), None)
        if state is not None:
            return _container(state["name"], ended(state), name)
    reason = status.get("reason") or "unknown"
    return Broken(
        Reason.POD_FAILED, f"Pod {name} failed ({reason}): {str(status.get('message') or '')[:300]}", name
    )


def cannot_start(container: str, said: str, pod: str) -> Broken:
    way_out = (
        "is the harness image of this version?"
        if container in _OWN
        else "check job.image, job.command and job.args in the EvalSuite"
        if is_step(container)
        else "check job.sidecars in the EvalSuite, or what injects this container"
    )
    text = " ".join(said.split())[:300]
    return Broken(
        Reason.CONTAINER_CONFIG_ERROR,
        f"container {container} cannot start: {text}; {way_out}",
        pod,
        container,
    )


def _too_long(pod: Body) -> Broken:
    name, at = pod["metadata"]["name"], failed(pod) or current(pod)
    container = at["name"] if at else None
    where = f" in container {container}" if container else ""
    if at is not None and not started(at):
        where = f": container {container} had not started (its image, or a sidecar before it, took too long)"
    return Broken(
        Reason.DEADLINE_EXCEEDED,
        f"the evaluation did not end before its deadline{where}: raise job.timeout in the EvalSuite, or make it faster",
        name,
        container,
    )


def _container(container: str, end: Body, pod: str) -> Broken:
    if end.get("reason") == "OOMKilled":
        return _out_of_memory(container, pod)
    if end.get("reason") in _NEVER_RAN:
        return cannot_start(container, str(end.get("message", "")), pod)
    how = f"signal {end['signal']}" if end.get("signal") else f"status {end.get('exitCode')}"
    if end.get("exitCode") == _KILLED:
        how += " (killed from outside, often for its memory)"
    if not is_step(container):
        return Broken(
            Reason.SIDECAR_FAILED,
            f"container {container} beside the evaluation ended with {how}, and the Pod with it: mend it in "
            "job.sidecars of the EvalSuite, or keep what injects it from this Pod (job.podLabels, job.podAnnotations)",
            pod,
            container,
        )
    if container in _OWN:
        return _own_container(container, end, pod)
    return Broken(
        Reason.EVAL_FAILED,
        f"container {container} ended with {how}: mend the engine; kubectl logs {pod} -c {container} shows what it said",
        pod,
        container,
    )


def _out_of_memory(container: str, pod: str) -> Broken:
    more = (
        "the dataset or the predictions are too large for it"
        if container in _OWN
        else "raise job.resources.limits.memory in the EvalSuite"
        if is_step(container)
        else "raise its limits in job.sidecars of the EvalSuite, or where it is injected from"
    )
    return Broken(Reason.OUT_OF_MEMORY, f"container {container} ran out of memory: {more}", pod, container)


def _own_container(container: str, end: Body, pod: str) -> Broken:
    """Our own containers say in their termination message, as JSON, what was wrong with what they were given."""
    try:
        error: Any = json.loads(end.get("message") or "")["error"]
        if _WORD.fullmatch(error["reason"]):
            return Broken(error["reason"], str(error["message"])[:1000])
    except (ValueError, KeyError, TypeError):
        pass
    return Broken(
        Reason.PREPARE_FAILED if container == PREPARE else Reason.SCORECARD_FAILED,
        f"container {container} ended with status {end.get('exitCode')} and did not say why: "
        f"kubectl logs {pod} -c {container}; is the harness image of this version?",
        pod,
        container,
    )
