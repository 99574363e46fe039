"""What a workload's Pods run: one answer, or the reason why there is none.

Aspects: each kind, which Pods count, rollouts under way and stuck, moved tags, names of revisions, images by digest.
"""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rca_rollout.api.reasons import Reason
from rca_rollout.api.revision import WorkloadKind, WorkloadRef
from rca_rollout.core.images import by_digest, digest_of, repository, short_name
from rca_rollout.core.problem import Problem
from rca_rollout.core.revision import Running, Unsettled
from rca_rollout.core.workloads import REVISION_ANNOTATION, selector_of, view_workload

NOW = datetime(2026, 11, 30, 10, tzinfo=UTC)
IMAGE = "registry:5000/rca/agent:v6"
A, B = "sha256:" + "a" * 64, "sha256:" + "b" * 64
KINDS = list(WorkloadKind)

type Body = dict[str, Any]


def workload(
    kind: WorkloadKind = WorkloadKind.DEPLOYMENT, *, revision: str | None = None, **status: Any
) -> Body:
    annotations = {REVISION_ANNOTATION: revision} if revision else {}
    whole = {
        WorkloadKind.DEPLOYMENT: {"replicas": 2, "updatedReplicas": 2},
        WorkloadKind.STATEFUL_SET: {"updateRevision": "h1"},
        WorkloadKind.DAEMON_SET: {"currentNumberScheduled": 2, "updatedNumberScheduled": 2},
    }[kind]
    return {
        "metadata": {"name": "agent", "uid": "w1", "generation": 3},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "agent"}},
            "template": {
                "metadata": {"annotations": annotations},
                "spec": {
                    "containers": [{"name": "engine", "image": IMAGE}],
                    "imagePullSecrets": [{"name": "pull"}],
                },
            },
        },
        "status": {"observedGeneration": 3, **whole, **status},
    }


def pod(
    digest: str | None = A, *, kind: WorkloadKind = WorkloadKind.DEPLOYMENT, hash_: str = "h1", **more: Any
) -> Body:
    deployment = kind is WorkloadKind.DEPLOYMENT
    label = "pod-template-hash" if deployment else "controller-revision-hash"
    owner = (
        {"kind": "ReplicaSet", "name": f"agent-{hash_}", "uid": "rs"}
        if deployment
        else {"kind": kind, "uid": "w1"}
    )
    metadata = {"name": "p", "labels": {label: hash_}, "ownerReferences": [{**owner, "controller": True}]}
    revision = more.pop("revision", None)
    if revision:
        metadata["annotations"] = {REVISION_ANNOTATION: revision}
    image_id = f"registry:5000/rca/agent@{digest}" if digest else ""
    status = {"phase": "Running", "containerStatuses": [{"name": "engine", "imageID": image_id}]}
    return {"metadata": {**metadata, **more.pop("metadata", {})}, "status": {**status, **more}}


def view(
    body: Body | None, *pods: Body, named: bool = False, container: str | None = None
) -> Running | Problem:
    kind = WorkloadKind.DEPLOYMENT
    if body and "updateRevision" in body["status"]:
        kind = WorkloadKind.STATEFUL_SET
    elif body and "currentNumberScheduled" in body["status"]:
        kind = WorkloadKind.DAEMON_SET
    ref = WorkloadRef(kind=kind, name="agent", container=container)
    return view_workload(ref, body, pods, NOW, named=named)


def refused(found: Running | Problem) -> Problem:
    assert isinstance(found, Problem), found
    return found


def known(found: Running | Problem) -> Running:
    assert isinstance(found, Running), found
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_pods_that_agree_say_what_runs_and_the_job_runs_it_by_its_digest(kind: WorkloadKind) -> None:
    found = known(view(workload(kind), pod(kind=kind), pod(kind=kind)))
    assert (found.digest, found.image) == (A, f"registry:5000/rca/agent@{A}")
    assert found.revision == "agent:v6@sha256:aaaaaaaaaaaa"
    assert found.pull_secrets == ("pull",)


@pytest.mark.parametrize("kind", KINDS)
def test_a_template_that_names_its_revision_is_called_by_it(kind: WorkloadKind) -> None:
    found = known(view(workload(kind, revision="r6"), pod(kind=kind, revision="r6"), named=True))
    assert (found.revision, found.digest) == ("r6", A)


@pytest.mark.parametrize("kind", KINDS)
def test_words_that_hold_the_revision_need_a_template_that_names_it(kind: WorkloadKind) -> None:
    problem = refused(view(workload(kind), pod(kind=kind), named=True))
    assert (problem.reason, problem.stalled) == (Reason.REVISION_UNNAMED, True)
    assert REVISION_ANNOTATION in problem.message


@pytest.mark.parametrize("named", [True, False])
def test_a_name_that_is_none_is_refused_whether_or_not_it_is_needed(named: bool) -> None:
    assert refused(view(workload(revision="r 6"), named=named)).reason == Reason.REVISION_UNNAMED


@pytest.mark.parametrize("kind", KINDS)
def test_a_tag_that_was_moved_is_seen_in_the_pods(kind: WorkloadKind) -> None:
    body = workload(kind)
    assert known(view(body, pod(A, kind=kind))).digest != known(view(body, pod(B, kind=kind))).digest
    problem = refused(view(body, pod(A, kind=kind), pod(B, kind=kind)))
    assert (problem.reason, problem.stalled) == (Reason.IMAGES_DIFFER, True)
    assert isinstance(problem, Unsettled)
    assert {one.digest for one in problem.seen} == {A, B}


ROLLING: list[tuple[Body, list[Body]]] = [
    (workload(observedGeneration=2), [pod()]),
    (workload(updatedReplicas=1), [pod()]),
    (workload(), [pod(), pod(hash_="h2")]),
    (workload(revision="r7"), [pod(revision="r6")]),
    (workload(WorkloadKind.STATEFUL_SET, updateRevision="h2"), [pod(kind=WorkloadKind.STATEFUL_SET)]),
    (
        workload(WorkloadKind.DAEMON_SET, updatedNumberScheduled=1),
        [pod(kind=WorkloadKind.DAEMON_SET), pod(kind=WorkloadKind.DAEMON_SET)],
    ),
    (workload(), [pod(), pod(hash_="h0", metadata={"deletionTimestamp": "2026-11-30T10:00:30Z"})]),
]


@pytest.mark.parametrize(("body", "pods"), ROLLING)
def test_a_rollout_under_way_is_waited_for_and_says_what_is_seen_so_far(body: Body, pods: list[Body]) -> None:
    problem = refused(view(body, *pods))
    assert (problem.reason, problem.stalled) == (Reason.ROLLOUT_IN_PROGRESS, False)
    assert isinstance(problem, Unsettled)
    assert {one.digest for one in problem.seen} == {A}


def test_what_a_rollout_will_bring_is_told_by_the_template() -> None:
    problem = refused(view(workload(observedGeneration=2, revision="r7"), pod(revision="r6")))
    assert isinstance(problem, Unsettled)
    assert problem.brings("r7")
    assert not problem.brings("r6")
    unnamed = refused(view(workload(observedGeneration=2), pod()))
    assert isinstance(unnamed, Unsettled)
    assert unnamed.brings("agent:v6@sha256:aaaaaaaaaaaa")
    assert not unnamed.brings("agent:v5@sha256:aaaaaaaaaaaa")


STUCK: list[tuple[Body, str]] = [
    ({"paused": True}, "kubectl rollout resume deployment/agent"),
    ({}, "ProgressDeadlineExceeded"),
]


@pytest.mark.parametrize(("spec", "way_out"), STUCK)
def test_a_rollout_that_does_not_go_on_by_itself_needs_a_person(spec: Body, way_out: str) -> None:
    failed = {
        "type": "Progressing",
        "status": "False",
        "reason": "ProgressDeadlineExceeded",
        "message": "late",
    }
    body = workload(updatedReplicas=1, conditions=[failed])
    body["spec"] |= spec
    problem = refused(view(body, pod()))
    assert (problem.reason, problem.stalled) == (Reason.ROLLOUT_STUCK, True)
    assert way_out in problem.message


@pytest.mark.parametrize("strategy", [{"type": "OnDelete"}, {"rollingUpdate": {"partition": 1}}])
def test_a_stateful_set_that_is_rolled_in_part_is_stuck(strategy: Body) -> None:
    body = workload(WorkloadKind.STATEFUL_SET, updateRevision="h2")
    body["spec"]["updateStrategy"] = strategy
    assert refused(view(body, pod(kind=WorkloadKind.STATEFUL_SET))).reason == Reason.ROLLOUT_STUCK


def test_nothing_runs_is_its_own_problem_and_a_persons_if_it_is_scaled_to_nothing() -> None:
    assert refused(view(None)).reason == Reason.WORKLOAD_NOT_FOUND
    body = workload()
    assert (problem := refused(view(body))).reason == Reason.WORKLOAD_NOT_RUNNING
    assert not problem.stalled
    assert refused(view(body, pod(None))).reason == Reason.WORKLOAD_NOT_RUNNING
    body["spec"]["replicas"] = 0
    assert refused(view(body)).stalled


@pytest.mark.parametrize("container", [None, "server"])
def test_of_several_containers_one_has_to_be_named(container: str | None) -> None:
    body = workload()
    body["spec"]["template"]["spec"]["containers"].append({"name": "proxy", "image": "proxy:1"})
    problem = refused(view(body, pod(), container=container))
    assert (problem.reason, problem.stalled) == (Reason.CONTAINER_NOT_FOUND, True)
    assert "engine, proxy" in problem.message
    assert known(view(body, pod(), container="engine")).digest == A


@pytest.mark.parametrize(
    "stranger",
    [
        pod(B, metadata={"ownerReferences": []}),
        pod(
            B, metadata={"ownerReferences": [{"kind": "ReplicaSet", "name": "other-h1", "controller": True}]}
        ),
        pod(B, phase="Succeeded"),
        pod(B, phase="Failed"),
        pod(B, metadata={"deletionTimestamp": "2026-11-30T09:59:59Z"}),
    ],
)
def test_pods_of_others_and_pods_that_are_over_do_not_count(stranger: Body) -> None:
    assert known(view(workload(), pod(A), stranger)).digest == A


def test_a_pod_that_has_not_started_waits_for_nobody_where_others_run() -> None:
    assert known(view(workload(), pod(A), pod(None))).digest == A


@given(
    digests=st.lists(st.sampled_from([A, B, None]), max_size=5),
    hashes=st.lists(st.sampled_from(["h1", "h2"]), min_size=5, max_size=5),
    status=st.fixed_dictionaries(
        {
            "replicas": st.integers(0, 3),
            "updatedReplicas": st.integers(0, 3),
            "observedGeneration": st.integers(2, 3),
        }
    ),
)
def test_what_runs_is_never_told_while_two_pods_that_run_could_differ(
    digests: list[str | None], hashes: list[str], status: dict[str, int]
) -> None:
    pods = [pod(digest, hash_=hash_) for digest, hash_ in zip(digests, hashes, strict=False)]
    found = view(workload(**status), *pods)
    if isinstance(found, Running):
        assert {digest for digest in digests if digest} == {found.digest}
        assert len(set(hashes[: len(digests)])) == 1
        assert status["updatedReplicas"] >= status["replicas"]
        assert status["observedGeneration"] == 3
    assert found == view(workload(**status), *reversed(pods))


def test_the_selector_is_written_as_the_api_takes_it() -> None:
    body = copy.deepcopy(workload())
    body["spec"]["selector"]["matchExpressions"] = [
        {"key": "tier", "operator": "In", "values": ["a", "b"]},
        {"key": "old", "operator": "DoesNotExist"},
        {"key": "new", "operator": "Exists"},
        {"key": "zone", "operator": "NotIn", "values": ["c"]},
    ]
    assert selector_of(body) == "app=agent,tier in (a,b),!old,new,zone notin (c)"


@pytest.mark.parametrize(
    ("image", "name", "short"),
    [
        ("agent", "agent", "agent"),
        ("agent:v6", "agent", "agent:v6"),
        ("registry:5000/rca/agent:v6", "registry:5000/rca/agent", "agent:v6"),
        ("registry:5000/agent", "registry:5000/agent", "agent"),
        (f"registry/agent:v6@{B}", "registry/agent", "agent:v6"),
    ],
)
def test_an_image_is_run_from_its_own_repository_at_the_digest_that_ran(
    image: str, name: str, short: str
) -> None:
    assert (repository(image), short_name(image)) == (name, short)
    assert by_digest(image, f"docker-pullable://mirror/agent@{A}") == f"{name}@{A}"


def test_an_image_that_no_registry_knows_is_run_as_the_template_names_it() -> None:
    assert by_digest("agent:v6", A) == "agent:v6"
    assert (digest_of(A), digest_of(""), digest_of("sha256:12")) == (A, None, None)
