"""The evaluation's Job: restricted, deterministic, and nobody sees what they must not see."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from rca_testing import evidence, suites
from rca_testing.suites import suite

from rca_rollout.core.jobs import JobInputs, build_job
from rca_rollout.core.names import job_name, run_name
from rca_rollout.core.variants import variants

INPUTS = JobInputs(
    namespace="shop",
    run="live-abcdef-1",
    run_uid="run-uid",
    attempt=1,
    component="live",
    suite="suite",
    revision="v1",
    dataset_sha256="a" * 64,
    variants=variants({evidence.KEY: "Shadow"}, evidence.KEY),
    harness_image="registry.example/harness:1",
    pull_policy="IfNotPresent",
)
OWN_IMAGE = {
    "image": "registry.example/engine:1",
    "command": ["/engine"],
    "args": ["--fast"],
    "env": [{"name": "LEVEL", "value": "debug"}],
    "podLabels": {"sidecar.istio.io/inject": "false"},
    "podAnnotations": {"example.com/note": "x"},
    "imagePullSecrets": [{"name": "pull"}],
    "nodeSelector": {"example.com/pool": "batch"},
    "tolerations": [{"key": "batch", "operator": "Exists"}],
}
GRAPH = {
    "name": "graph",
    "image": "registry.example/graph:1",
    "command": ["/server"],
    "args": ["--dir=/tmp"],
    "env": [{"name": "THREADS", "value": "1"}],
    "ports": [6379, 3000],
}
WITH_SIDECARS = {**OWN_IMAGE, "sidecars": [GRAPH, {"name": "1", "image": "registry.example/other:1"}]}
TEMPLATES: list[dict[str, Any]] = [{}, OWN_IMAGE, WITH_SIDECARS]


def build(template: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    return build_job(suite(job=template or {}).spec, dataclasses.replace(INPUTS, **changes))


def pod_of(job: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = job["spec"]["template"]["spec"]
    return spec


def containers(job: dict[str, Any]) -> dict[str, dict[str, Any]]:
    pod = pod_of(job)
    return {c["name"]: c for c in [*pod["initContainers"], *pod["containers"]]}


def mounts(container: dict[str, Any]) -> dict[str, bool]:
    """Volume name to whether it is read only."""
    return {mount["name"]: bool(mount.get("readOnly")) for mount in container["volumeMounts"]}


def environment(container: dict[str, Any]) -> dict[str, str]:
    return {item["name"]: item["value"] for item in container["env"]}


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_pod_keeps_the_restricted_pod_security_standard(template: dict[str, Any]) -> None:
    """kubernetes.io/docs/concepts/security/pod-security-standards, profiles Baseline and Restricted, rule by rule."""
    job = build(template)
    pod = pod_of(job)
    assert not {"hostNetwork", "hostPID", "hostIPC", "hostUsers", "ephemeralContainers"} & set(pod)
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] != 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not {"sysctls", "seLinuxOptions", "appArmorProfile", "windowsOptions"} & set(
        pod["securityContext"]
    )
    allowed = {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
    for volume in pod["volumes"]:
        assert set(volume) - {"name"} <= allowed
    for container in containers(job).values():
        context = container["securityContext"]
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert not {"privileged", "procMount", "runAsUser", "runAsNonRoot", "seccompProfile"} & set(context)
        assert not any("hostPort" in port for port in container.get("ports", []))
        assert "lifecycle" not in container


@pytest.mark.parametrize("template", TEMPLATES)
def test_nothing_in_the_pod_gets_credentials_of_the_cluster(template: dict[str, Any]) -> None:
    pod = pod_of(build(template))
    assert pod["automountServiceAccountToken"] is False
    assert pod["enableServiceLinks"] is False
    assert not {"serviceAccountName", "serviceAccount"} & set(pod)
    assert not any("projected" in volume or "secret" in volume for volume in pod["volumes"])


@pytest.mark.parametrize("template", TEMPLATES)
def test_only_prepare_and_scorecard_see_the_labelled_incidents(template: dict[str, Any]) -> None:
    seen = {name: mounts(container) for name, container in containers(build(template)).items()}
    assert [name for name in seen if "dataset" in seen[name]] == ["prepare", "scorecard"]
    assert all(seen[name]["dataset"] for name in ("prepare", "scorecard"))
    for name in ("eval-1", "eval-2"):
        words = json.dumps(containers(build(template))[name])
        for secret in ("RCA_EVAL_DATASET", "RCA_EVAL_VARIANTS", "a" * 64):
            assert secret not in words


def test_a_repeat_sees_its_own_incidents_and_output_and_nothing_of_the_other() -> None:
    seen = containers(build())
    for n, other in ((1, 2), (2, 1)):
        held = mounts(seen[f"eval-{n}"])
        assert held[f"incidents-{n}"] is True
        assert held[f"output-{n}"] is False
        assert not any(name.endswith(f"-{other}") for name in held)
        assert "tmp" not in held


def test_the_scorer_cannot_change_what_it_scores() -> None:
    held = mounts(containers(build())["scorecard"])
    assert held["output-1"] is held["output-2"] is True
    assert not {"incidents-1", "incidents-2"} & set(held)
    assert not any(name.startswith("output") for name in mounts(containers(build())["prepare"]))


def test_the_order_is_prepare_the_repeats_and_then_the_scorer() -> None:
    pod = pod_of(build())
    assert [c["name"] for c in pod["initContainers"]] == ["prepare", "eval-1", "eval-2"]
    assert [c["name"] for c in pod["containers"]] == ["scorecard"]
    assert pod["restartPolicy"] == "Never"


def test_every_container_gets_the_variables_of_the_protocol() -> None:
    seen = containers(build(OWN_IMAGE))
    for n in (1, 2):
        held = environment(seen[f"eval-{n}"])
        assert held == {
            "LEVEL": "debug",
            "RCA_EVAL_INCIDENTS": "/rca/incidents",
            "RCA_EVAL_OUTPUT": "/rca/output",
            "RCA_EVAL_REVISION": "v1",
            "RCA_EVAL_REPEAT": str(n),
            "PYTHONHASHSEED": str(n),
        }
    for step in ("prepare", "scorecard"):
        held = environment(seen[step])
        assert held["RCA_EVAL_DATASET_SHA256"] == "a" * 64
        assert held["RCA_EVAL_REPEATS"] == "2"
        assert json.loads(held["RCA_EVAL_VARIANTS"])[2] == {"name": "With", "modes": {evidence.KEY: "Active"}}
        assert held["RCA_EVAL_REVISION"] == "v1"
        assert "LEVEL" not in held


def test_the_user_s_image_runs_only_between_our_own() -> None:
    images = {name: c["image"] for name, c in containers(build(OWN_IMAGE)).items()}
    assert images["eval-1"] == images["eval-2"] == "registry.example/engine:1"
    assert images["prepare"] == images["scorecard"] == "registry.example/harness:1"
    assert containers(build(OWN_IMAGE))["eval-1"]["command"] == ["/engine"]


def test_without_an_image_the_reference_engine_is_evaluated() -> None:
    held = containers(build())["eval-1"]
    assert (held["image"], held["command"]) == ("registry.example/harness:1", ["rca-eval", "job", "engine"])


def test_an_image_without_a_command_keeps_its_own_entry_point() -> None:
    held = containers(build({"image": "registry.example/engine:1"}))["eval-1"]
    assert "command" not in held
    assert "args" not in held


def test_labels_are_ours_and_cannot_be_taken_over() -> None:
    job = build(OWN_IMAGE)
    ours = {
        "app.kubernetes.io/managed-by": "rca-rollout",
        "rca.bluerobin.io/run": "live-abcdef-1",
        "rca.bluerobin.io/suite": "suite",
        "rca.bluerobin.io/component": "live",
    }
    assert job["metadata"]["labels"] == ours
    assert job["spec"]["template"]["metadata"]["labels"] == {**ours, "sidecar.istio.io/inject": "false"}
    assert not any("argocd" in text for text in json.dumps(job).split('"'))


def test_a_run_without_a_component_has_no_component_label() -> None:
    assert "rca.bluerobin.io/component" not in build(component=None)["metadata"]["labels"]


def test_a_failed_pod_is_not_run_again_by_the_job_and_disruptions_are_told_apart() -> None:
    spec = build()["spec"]
    assert (spec["backoffLimit"], spec["completions"], spec["parallelism"]) == (0, 1, 1)
    (rule,) = spec["podFailurePolicy"]["rules"]
    assert rule["action"] == "FailJob"
    assert rule["onPodConditions"][0]["type"] == "DisruptionTarget"
    assert "ttlSecondsAfterFinished" not in spec  # not before its result is stored


def test_the_pod_ends_before_the_job_that_would_delete_it_and_its_reason() -> None:
    job = build({"timeout": "5m", "startTimeout": "1m"})
    assert pod_of(job)["activeDeadlineSeconds"] == 300
    assert job["spec"]["activeDeadlineSeconds"] > 360


def test_scheduling_is_as_the_suite_says() -> None:
    pod = pod_of(build(OWN_IMAGE))
    assert pod["nodeSelector"] == {"example.com/pool": "batch"}
    assert pod["tolerations"] == [{"key": "batch", "operator": "Exists"}]
    assert pod["imagePullSecrets"] == [{"name": "pull"}]


def test_the_same_inputs_make_the_same_bytes() -> None:
    once, again = (json.dumps(build(OWN_IMAGE)) for _ in range(2))
    assert once == again


def test_every_container_has_a_memory_limit() -> None:
    assert all("memory" in c["resources"]["limits"] for c in containers(build()).values())


def test_names_fit_and_belong_to_one_attempt() -> None:
    longest = run_name("a" * 40, "abcdef0123456789", 1_000_000_000)
    assert len(longest) <= 63
    names = {job_name(longest, uid, attempt) for uid in ("u1", "u2") for attempt in range(1, 5)}
    assert len(names) == 8
    assert all(len(name) <= 63 for name in names)
    assert build(run=longest)["metadata"]["name"] == job_name(longest, "run-uid", 1)


def test_the_dataset_is_the_key_that_the_suite_names_and_its_series_files_lie_beside_it() -> None:
    spec = suites.suite(dataset={"configMapRef": {"name": "incidents"}, "key": "mine.json"}).spec
    job = build_job(spec, INPUTS)
    (volume,) = [v for v in pod_of(job)["volumes"] if v["name"] == "dataset"]
    assert volume["configMap"] == {"name": "incidents"}
    for name in ("prepare", "scorecard"):
        (mount,) = [m for m in containers(job)[name]["volumeMounts"] if m["name"] == "dataset"]
        held = {one["name"]: one.get("value") for one in containers(job)[name]["env"]}
        assert held["RCA_EVAL_DATASET"] == f"{mount['mountPath']}/mine.json"


@pytest.mark.parametrize(
    ("template", "remembers"),
    [
        ({}, True),
        ({"args": ["--without-term", "chg"]}, True),
        ({"command": ["rca-eval", "job", "engine", "--without-term", "chg"]}, True),
        ({"command": ["sh", "-c", "cp -r $RCA_EVAL_INCIDENTS /tmp; rca-eval job engine"]}, False),
        ({"image": "registry.example/engine:1"}, False),
        ({"image": "registry.example/engine:1", "command": ["rca-eval", "job", "engine"]}, False),
    ],
)
def test_only_our_own_engine_gets_the_labels_of_past_incidents(
    template: dict[str, Any], remembers: bool
) -> None:
    found = {name: environment(c).get("RCA_EVAL_MEMORY") for name, c in containers(build(template)).items()}
    assert found.pop("prepare") == ("Prequential" if remembers else None)
    assert set(found.values()) == {None}


# -- sidecars, queues, priority


def test_a_sidecar_runs_beside_the_repeats_and_not_while_the_labels_are_read() -> None:
    pod = pod_of(build(WITH_SIDECARS))
    assert [c["name"] for c in pod["initContainers"]] == ["prepare", "graph", "1", "eval-1", "eval-2"]
    graph = containers(build(WITH_SIDECARS))["graph"]
    assert graph["restartPolicy"] == "Always"
    assert (graph["command"], graph["args"]) == (["/server"], ["--dir=/tmp"])
    assert environment(graph) == {"THREADS": "1"}
    assert graph["ports"] == [{"containerPort": 6379}, {"containerPort": 3000}]
    assert graph["startupProbe"]["tcpSocket"] == {"port": 6379}
    assert "memory" in graph["resources"]["limits"]


def test_a_sidecar_sees_neither_labels_nor_answers_nor_anybody_s_files() -> None:
    job = build(WITH_SIDECARS)
    seen = {name: mounts(container) for name, container in containers(job).items()}
    for name in ("graph", "1"):
        assert seen[name] == {f"sidecar-{name}": False}
        assert not any(key.startswith("RCA_EVAL_") for key in environment(containers(job)[name]))
    declared = [volume["name"] for volume in pod_of(job)["volumes"]]
    assert len(declared) == len(set(declared))
    others = [held for name, held in seen.items() if name not in ("graph", "1")]
    assert not any(name.startswith("sidecar-") for held in others for name in held)


def test_a_job_for_a_queue_is_made_suspended_and_carries_the_queue_s_name() -> None:
    job = build({"queueName": "evals"})
    assert job["spec"]["suspend"] is True
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "evals"
    assert "kueue.x-k8s.io/queue-name" not in job["spec"]["template"]["metadata"]["labels"]
    assert "suspend" not in build()["spec"]


def test_a_priority_class_is_the_pod_s() -> None:
    assert pod_of(build({"priorityClassName": "batch-low"}))["priorityClassName"] == "batch-low"
    assert "priorityClassName" not in pod_of(build())
