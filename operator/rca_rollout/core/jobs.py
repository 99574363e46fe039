"""The Job of one evaluation attempt (docs/design/20261130-first-slice.md says who sees what, and why)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rca_rollout.api.job import JobTemplate
from rca_rollout.api.schedule import Judge
from rca_rollout.api.suite import EvalSuiteSpec
from rca_rollout.core import judging, names
from rca_rollout.core.owners import owner_reference
from rca_rollout.core.pods import PREPARE, SCORECARD
from rca_rollout.core.pods.steps import JUDGE
from rca_rollout.core.shards import job_form
from rca_rollout.core.sidecars import sidecar, volumes
from rca_rollout.core.variants import Variant

REPEATS = 2
USER = 65532  # the customary "nonroot" of distroless images
_SLACK = (
    60  # seconds between the Pod's own deadline and the Job's, which deletes the Pod and with it the reason
)
_INCIDENTS, _OUTPUT, _DATASET = "/rca/incidents", "/rca/output", "/rca/dataset"


@dataclass(frozen=True)
class JobInputs:
    """All that a Job is made from. Times are in the suite's durations; `pull_policy` is for our own image."""

    namespace: str
    run: str
    run_uid: str
    attempt: int
    component: str | None
    suite: str
    revision: str
    dataset_sha256: str
    variants: Sequence[Variant]
    harness_image: str
    pull_policy: str
    shards: int = 1
    image: str | None = None
    """The workload's image, in place of the suite's."""
    pull_secrets: Sequence[str] = ()
    """What the workload pulls it with, where the suite names no secret."""
    judge: Judge | None = None
    """Whom to ask behind the scoring."""


def build_job(spec: EvalSuiteSpec, inputs: JobInputs) -> dict[str, Any]:
    """The manifest. Pure, so that "restricted Pod security, no token, labels to ours only" is a unit test."""
    template = spec.job
    labels = {
        **names.MANAGED_BY,
        names.RUN_LABEL: names.label_value(inputs.run),
        names.SUITE_LABEL: names.label_value(inputs.suite),
    }
    if inputs.component:
        labels[names.COMPONENT_LABEL] = names.label_value(inputs.component)
    # Made suspended, so that it waits for its queue also where Kueue comes late, or not at all.
    queue = {names.QUEUE_LABEL: template.queue_name} if template.queue_name else {}
    run_seconds = template.timeout.seconds
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": names.job_name(inputs.run, inputs.run_uid, inputs.attempt),
            "namespace": inputs.namespace,
            "labels": {**labels, **queue},
            "ownerReferences": [owner_reference("EvalRun", inputs.run, inputs.run_uid)],
        },
        "spec": {
            **({"suspend": True} if queue else {}),
            **job_form(template, inputs.shards, _SLACK),
            "template": {
                "metadata": {
                    "labels": {**dict(template.pod_labels or {}), **labels},
                    "annotations": {
                        **dict(template.pod_annotations or {}),
                        "kubectl.kubernetes.io/default-container": "eval-1",
                    },
                },
                "spec": _pod_spec(spec, inputs, run_seconds),
            },
        },
    }


def _pod_spec(spec: EvalSuiteSpec, inputs: JobInputs, run_seconds: int) -> dict[str, Any]:
    template = spec.job
    repeats = range(1, REPEATS + 1)
    pod: dict[str, Any] = {
        "restartPolicy": "Never",
        "activeDeadlineSeconds": run_seconds,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 5,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "initContainers": [
            _own(PREPARE, inputs, spec),
            *(sidecar(each, _CONFINED) for each in template.sidecars),
            *(_eval(template, inputs, n) for n in repeats),
            *([] if inputs.judge is None else [_scored(inputs, spec)]),
        ],
        "containers": [
            _own(SCORECARD, inputs, spec)
            if inputs.judge is None
            else judging.container(inputs.judge, inputs.harness_image, inputs.pull_policy, _CONFINED)
        ],
        "volumes": [
            # All keys: a dataset may name series files, which lie beside it.
            {"name": "dataset", "configMap": {"name": spec.dataset.config_map_ref.name}},
            *({"name": f"incidents-{n}", "emptyDir": {"sizeLimit": "256Mi"}} for n in repeats),
            *({"name": f"output-{n}", "emptyDir": {"sizeLimit": "256Mi"}} for n in repeats),
            {"name": "tmp", "emptyDir": {"sizeLimit": "512Mi"}},
            *({"name": f"tmp-{n}", "emptyDir": {"sizeLimit": "1Gi"}} for n in repeats),
            *volumes(template.sidecars),
            *([] if inputs.judge is None else [{"name": JUDGE, "emptyDir": {"sizeLimit": "32Mi"}}]),
        ],
    }
    secrets = [ref.name for ref in template.image_pull_secrets] or list(inputs.pull_secrets)
    if secrets:
        pod["imagePullSecrets"] = [{"name": name} for name in secrets]
    if template.priority_class_name:
        pod["priorityClassName"] = template.priority_class_name
    if template.node_selector:
        pod["nodeSelector"] = dict(template.node_selector)
    if template.tolerations:
        pod["tolerations"] = [toleration.to_dict() for toleration in template.tolerations]
    return pod


def _own(step: str, inputs: JobInputs, spec: EvalSuiteSpec) -> dict[str, Any]:
    """`prepare` and `scorecard`: our image, the labels, and a read-only root."""
    template = spec.job
    repeats = range(1, REPEATS + 1)
    if step == PREPARE:
        folders: list[dict[str, Any]] = [
            {"name": f"incidents-{n}", "mountPath": f"{_INCIDENTS}/{n}"} for n in repeats
        ]
    else:
        folders = [{"name": f"output-{n}", "mountPath": f"{_OUTPUT}/{n}", "readOnly": True} for n in repeats]
    variants = [{"name": variant.name, "modes": dict(variant.modes)} for variant in inputs.variants]
    # The memory's rows are labels of other incidents: for our own engine only, never for an image of somebody else.
    memory = (
        {"RCA_EVAL_MEMORY": "Prequential"} if step == PREPARE and _runs_our_engine(template, inputs) else {}
    )
    return {
        "name": step,
        "image": inputs.harness_image,
        "imagePullPolicy": inputs.pull_policy,
        "command": ["rca-eval", "job", step],
        "env": _env(
            RCA_EVAL_DATASET=f"{_DATASET}/{spec.dataset.key}",
            RCA_EVAL_DATASET_SHA256=inputs.dataset_sha256,
            RCA_EVAL_INCIDENTS=_INCIDENTS,
            RCA_EVAL_OUTPUT=_OUTPUT,
            RCA_EVAL_REPEATS=str(REPEATS),
            RCA_EVAL_REVISION=inputs.revision,
            RCA_EVAL_VARIANTS=json.dumps(variants, separators=(",", ":")),
            **memory,
            **_share(inputs),
            HOME="/tmp",  # noqa: S108 - a path in the container, an emptyDir of this Pod
        ),
        "volumeMounts": [
            {"name": "dataset", "mountPath": _DATASET, "readOnly": True},
            *folders,
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108
        ],
        "resources": {"requests": {"cpu": "50m", "memory": "96Mi"}, "limits": {"memory": "512Mi"}},
        "terminationMessagePolicy": "File",
        "securityContext": {**_CONFINED, "readOnlyRootFilesystem": True},
    }


def _scored(inputs: JobInputs, spec: EvalSuiteSpec) -> dict[str, Any]:
    """`scorecard`, which leaves what it wrote for the judge behind it."""
    step = _own(SCORECARD, inputs, spec)
    step["env"].append({"name": "RCA_EVAL_SCORECARD_FILE", "value": judging.SCORECARD_FILE})
    step["volumeMounts"].append({"name": JUDGE, "mountPath": judging.FOLDER})
    return step


def _eval(template: JobTemplate, inputs: JobInputs, repeat: int) -> dict[str, Any]:
    """One repeat of the user's engine: another process, another hash seed, another order of the incidents."""
    image = inputs.image or template.image
    container: dict[str, Any] = {
        "name": f"eval-{repeat}",
        "image": image or inputs.harness_image,
        "imagePullPolicy": (template.image_pull_policy or "IfNotPresent") if image else inputs.pull_policy,
        "env": [
            *({"name": item.name, "value": item.value} for item in template.env or ()),
            *_env(
                RCA_EVAL_INCIDENTS=_INCIDENTS,
                RCA_EVAL_OUTPUT=_OUTPUT,
                RCA_EVAL_REPEAT=str(repeat),
                RCA_EVAL_REVISION=inputs.revision,
                PYTHONHASHSEED=str(repeat),
            ),
        ],
        "volumeMounts": [
            {"name": f"incidents-{repeat}", "mountPath": _INCIDENTS, "readOnly": True},
            {"name": f"output-{repeat}", "mountPath": _OUTPUT},
            {"name": f"tmp-{repeat}", "mountPath": "/tmp"},  # noqa: S108
        ],
        # Its last 2 KiB of log come with the Pod's status, so a crash can be told without reading logs.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": dict(_CONFINED),
    }
    if template.command:
        container["command"] = list(template.command)
    elif not image:
        container["command"] = list(_ENGINE)
    if template.args:
        container["args"] = list(template.args)
    resources = template.resources.to_dict() if template.resources else {}
    container["resources"] = resources or {
        "requests": {"cpu": "100m", "memory": "128Mi"},
        "limits": {"memory": "1Gi"},
    }
    return container


def _runs_our_engine(template: JobTemplate, inputs: JobInputs) -> bool:
    """Our image, and nothing that runs in it before the reference engine does."""
    command = tuple(template.command or _ENGINE)
    return not (template.image or inputs.image) and command[: len(_ENGINE)] == _ENGINE


def _share(inputs: JobInputs) -> dict[str, str]:
    """Which of them a Pod is, the Job controller tells it (`JOB_COMPLETION_INDEX`)."""
    if inputs.shards == 1:
        return {}
    job = names.job_name(inputs.run, inputs.run_uid, inputs.attempt)
    return {"RCA_EVAL_SHARDS": str(inputs.shards), "RCA_EVAL_RUN": job}


_ENGINE = ("rca-eval", "job", "engine")
_CONFINED: Mapping[str, Any] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def _env(**values: str) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in values.items()]
