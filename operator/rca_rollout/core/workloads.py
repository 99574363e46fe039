"""What a workload's Pods run, purely: from the workload and its Pods to one revision, or to the reason why there is none.

The Pods say it, not the template: a tag may have been moved. All of them have to agree, and be of the newest template.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rca_rollout.api.reasons import Reason
from rca_rollout.api.revision import WorkloadKind, WorkloadRef
from rca_rollout.core.images import by_digest, digest_of, short_name
from rca_rollout.core.names import PREFIX
from rca_rollout.core.problem import Problem
from rca_rollout.core.revision import NAME, Running, Unsettled
from rca_rollout.core.suites import SuiteFacts

REVISION_ANNOTATION = f"{PREFIX}/revision"

type Body = Mapping[str, Any]

_HASH = {
    WorkloadKind.DEPLOYMENT: "pod-template-hash",
    WorkloadKind.STATEFUL_SET: "controller-revision-hash",
    WorkloadKind.DAEMON_SET: "controller-revision-hash",
}


@dataclass(frozen=True)
class _Pod:
    """One Pod that runs, or will; `image_id` is empty before its container was made."""

    hash: str
    image_id: str
    revision: str | None


def selector_of(workload: Body) -> str:
    """The label selector of its Pods, as the API takes it."""
    selector = (workload.get("spec") or {}).get("selector") or {}
    parts = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for each in selector.get("matchExpressions") or []:
        key, values = each.get("key"), ",".join(each.get("values") or [])
        match each.get("operator"):
            case "In":
                parts.append(f"{key} in ({values})")
            case "NotIn":
                parts.append(f"{key} notin ({values})")
            case "Exists":
                parts.append(f"{key}")
            case "DoesNotExist":
                parts.append(f"!{key}")
    return ",".join(parts)


def engine_conflict(suite: SuiteFacts, running: Running) -> Problem | None:
    """Two images for one evaluation. Neither is chosen silently: the one would not be what runs, the other not what was asked."""
    if running.image is None or suite.spec.job.image is None:
        return None
    return Problem(
        Reason.IMAGE_NAMED_TWICE,
        f"EvalSuite {suite.name} names job.image, and this component is evaluated with the image of its workload: leave "
        "job.image out (command, args and env stay), or name a revision in place of workloadRef",
        stalled=True,
    )


def view_workload(
    ref: WorkloadRef, workload: Body | None, pods: Sequence[Body], now: datetime, *, named: bool
) -> Running | Problem:
    """What `ref` runs. `named` demands that the Pod template names the revision, for words that hold it."""
    what = f"{ref.kind} {ref.name}"
    if workload is None:
        return Problem(
            Reason.WORKLOAD_NOT_FOUND, f"{what} does not exist: create it, or name another in workloadRef"
        )
    template = (workload.get("spec") or {}).get("template") or {}
    container = _container(ref, template, what)
    revision = _annotation(template)
    if isinstance(container, Problem):
        return _unlike(container, ref, template, revision)
    if problem := _unnamed(what, revision, named=named):
        # Whatever it is, it does not have the name of what was promoted.
        return Unsettled(
            problem.reason, problem.message, stalled=problem.stalled, coming="a template without a name"
        )
    name, image = str(container["name"]), str(container.get("image", ""))
    live = [_pod(pod, ref, name) for pod in pods if _owned(pod, ref, workload) and _lives(pod, now)]
    known = [pod for pod in live if digest_of(pod.image_id)]
    seen = tuple(sorted({_running(pod, image, template) for pod in known}, key=lambda one: one.identity))
    coming = revision or f"{short_name(image)}@"
    if found := _rolling(ref, workload, live, revision, what):
        reason, text, stalled = found
        return Unsettled(reason, text, stalled=stalled, seen=seen, coming=coming)
    if not seen:
        return _not_running(what, workload, live)
    if len(seen) > 1:
        digests = ", ".join(sorted({str(one.digest)[:19] for one in seen}))
        text = (
            f"the Pods of {what} run different images of {image} ({digests}…): a tag was moved; restart the rollout "
            f"(kubectl rollout restart {ref.kind.lower()}/{ref.name}), or name the image by its digest"
        )
        return Unsettled(Reason.IMAGES_DIFFER, text, stalled=True, seen=seen, coming=coming)
    return seen[0]


def _container(ref: WorkloadRef, template: Body, what: str) -> Body | Problem:
    containers: Sequence[Body] = (template.get("spec") or {}).get("containers") or []
    if ref.container is None and len(containers) == 1:
        return containers[0]
    found = next((one for one in containers if one.get("name") == ref.container), None)
    if found is not None:
        return found
    names = ", ".join(str(one.get("name")) for one in containers)[:300]
    text = (
        f"{what} has several containers ({names}): name one in workloadRef.container"
        if ref.container is None
        else f"{what} has no container {ref.container}; it has {names}: name one of them in workloadRef.container"
    )
    return Problem(Reason.CONTAINER_NOT_FOUND, text, stalled=True)


def _unlike(problem: Problem, ref: WorkloadRef, template: Body, revision: str | None) -> Unsettled:
    """A template in which it is not known which container counts. It may still be one that cannot be what was promoted."""
    coming, others = f"a template without the container {ref.container}", tuple[str, ...]()
    if ref.container is None:
        images = [str(one.get("image", "")) for one in (template.get("spec") or {}).get("containers") or []]
        coming = revision or "a template with other containers"
        others = () if revision else tuple(f"{short_name(image)}@" for image in images)
    return Unsettled(problem.reason, problem.message, stalled=problem.stalled, coming=coming, others=others)


def _annotation(holder: Body) -> str | None:
    found = ((holder.get("metadata") or {}).get("annotations") or {}).get(REVISION_ANNOTATION)
    return None if found is None else str(found)


def _unnamed(what: str, revision: str | None, *, named: bool) -> Problem | None:
    if revision is None and not named:
        return None
    if revision is not None and NAME.fullmatch(revision):
        return None
    text = (
        f"target.values.active holds {{revision}}, and the Pod template of {what} has no annotation {REVISION_ANNOTATION}: set "
        "it to the word that the consumer knows as its own (the downward API gives it to the container)"
        if revision is None
        else f"the annotation {REVISION_ANNOTATION} of {what} is no name of a revision ({revision[:40]!r}): use letters, "
        "digits and . _ : @ / + -, at most 128"
    )
    return Problem(Reason.REVISION_UNNAMED, text, stalled=True)


def _owned(pod: Body, ref: WorkloadRef, workload: Body) -> bool:
    """Labels alone may be those of other Pods, too. A Deployment's ReplicaSets are named after it and their hash."""
    owners = [o for o in pod["metadata"].get("ownerReferences") or [] if o.get("controller")]
    if ref.kind is not WorkloadKind.DEPLOYMENT:
        return any(owner.get("uid") == workload["metadata"].get("uid") for owner in owners)
    hash_ = (pod["metadata"].get("labels") or {}).get(_HASH[ref.kind])
    return any(
        owner.get("kind") == "ReplicaSet" and owner.get("name") == f"{ref.name}-{hash_}" for owner in owners
    )


def _lives(pod: Body, now: datetime) -> bool:
    """Runs, or will. One that is being deleted runs until the moment that its deletion names."""
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return False
    end = pod["metadata"].get("deletionTimestamp")
    return not end or datetime.fromisoformat(str(end)) > now


def _pod(pod: Body, ref: WorkloadRef, container: str) -> _Pod:
    states = (pod.get("status") or {}).get("containerStatuses") or []
    image_id = next((str(s.get("imageID", "")) for s in states if s.get("name") == container), "")
    labels = pod["metadata"].get("labels") or {}
    return _Pod(str(labels.get(_HASH[ref.kind], "")), image_id, _annotation(pod))


def _running(pod: _Pod, image: str, template: Body) -> Running:
    digest = digest_of(pod.image_id)
    secrets = (template.get("spec") or {}).get("imagePullSecrets") or []
    return Running(
        revision=pod.revision or f"{short_name(image)}@{str(digest)[:19]}",
        image=by_digest(image, pod.image_id),
        digest=digest,
        pull_secrets=tuple(str(one["name"]) for one in secrets if one.get("name")),
    )


def _rolling(
    ref: WorkloadRef, workload: Body, live: Sequence[_Pod], revision: str | None, what: str
) -> tuple[Reason, str, bool] | None:
    """Why not all Pods are of the newest template, if so."""
    spec, status = workload.get("spec") or {}, workload.get("status") or {}
    metadata, of_old = workload["metadata"], ""
    hashes = {pod.hash for pod in live}
    if int(status.get("observedGeneration") or 0) < int(metadata.get("generation") or 0):
        of_old = "its controller has not seen the newest template yet"
    elif len(hashes) > 1:
        of_old = "Pods of several templates run"
    elif any(pod.revision != revision for pod in live):
        of_old = f"its Pods do not have the template's annotation {REVISION_ANNOTATION}"
    elif _older(ref.kind, status, hashes):
        of_old = "its Pods are of an older template"
    if not of_old:
        return None
    if stuck := _stuck(ref, spec, status):
        return Reason.ROLLOUT_STUCK, f"{what} is half rolled, {of_old}: {stuck}", True
    return (
        Reason.ROLLOUT_IN_PROGRESS,
        f"{what} is being rolled: {of_old}; what runs is known when it is over",
        False,
    )


def _older(kind: WorkloadKind, status: Body, hashes: set[str]) -> bool:
    """Whether Pods of an older template are left, by what the workload's controller counts."""
    match kind:
        case WorkloadKind.DEPLOYMENT:
            return _less(status, "updatedReplicas", "replicas")
        case WorkloadKind.DAEMON_SET:
            return _less(status, "updatedNumberScheduled", "currentNumberScheduled")
        case WorkloadKind.STATEFUL_SET:
            return bool(hashes - {str(status.get("updateRevision"))})


def _less(status: Body, these: str, all_: str) -> bool:
    return int(status.get(these) or 0) < int(status.get(all_) or 0)


def _stuck(ref: WorkloadRef, spec: Body, status: Body) -> str | None:
    """What keeps a rollout from going on by itself."""
    if ref.kind is WorkloadKind.DEPLOYMENT:
        if spec.get("paused"):
            return f"it is paused (kubectl rollout resume deployment/{ref.name})"
        for condition in status.get("conditions") or []:
            if condition.get("type") == "Progressing" and condition.get("status") == "False":
                return f"{condition.get('reason', 'it makes no progress')}: {str(condition.get('message', ''))[:300]}"
        return None
    strategy = spec.get("updateStrategy") or {}
    if strategy.get("type") == "OnDelete":
        return "its updateStrategy is OnDelete: delete its old Pods"
    if (strategy.get("rollingUpdate") or {}).get("partition"):
        return "its updateStrategy has a partition: set it to 0"
    return None


def _not_running(what: str, workload: Body, live: Sequence[_Pod]) -> Problem:
    if live:
        return Unsettled(
            Reason.WORKLOAD_NOT_RUNNING,
            f"no Pod of {what} has started its container yet: what runs is not known",
        )
    scaled = (workload.get("spec") or {}).get("replicas") == 0
    text = "it is scaled to 0" if scaled else "it has no Pod"
    return Unsettled(
        Reason.WORKLOAD_NOT_RUNNING,
        f"nothing of {what} runs, {text}: scale it up, so that it can be told what runs",
        stalled=scaled,
    )
