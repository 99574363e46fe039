"""What the cluster does to evaluations, on a real node: each cause has its own reason, and none is a verdict.

The runs go side by side. They are made by hand and have no component: what a component makes of a reason is `test_bad_input.py`'s business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
from rca_testing.node import (
    Api,
    Body,
    Operator,
    Place,
    baseline,
    condition,
    dataset,
    eventually,
    plain_engine,
    restricted_namespace,
    suite,
)

pytestmark = [pytest.mark.node, pytest.mark.timeout(420)]

PATIENCE = 180
SIDE_BY_SIDE = 7
CASE_SECONDS = 400
PROXY = {"command": ["sh", "-c", "while true; do sleep 1; done"]}


@dataclass
class Run:
    """One run by hand, with a suite of its own under the same name, so that none waits for another."""

    place: Place
    name: str

    def start(self, program: str = "exec python3 /engine.py", **job: Any) -> Run:
        wanted = {"command": ["sh", "-c"], "args": [program], **job}
        self.place.create(
            suite(self.name, **wanted),
            {
                "apiVersion": "rca.bluerobin.io/v1alpha1",
                "kind": "EvalRun",
                "metadata": {"name": self.name},
                "spec": {"suiteRef": {"name": self.name}},
            },
        )
        return self

    def status(self) -> Body:
        return self.place.get("EvalRun", self.name).get("status") or {}

    def says(self, reason: str, *words: str) -> Body:
        """Waits for the reason, whether the run has ended with it or still waits."""

        def look() -> Body:
            status = self.status()
            assert status.get("reason") == reason, status
            return status

        status = eventually(look, seconds=PATIENCE)
        for word in words:
            assert word in status["message"], status["message"]
        assert "Traceback" not in str(status)
        return status

    def ends(self, reason: str, *words: str) -> Body:
        def look() -> Body:
            status = self.status()
            assert status.get("phase") not in (None, "Pending", "Running"), status
            return status

        status = eventually(look, seconds=PATIENCE)
        assert status["phase"] == "Error", status
        assert condition({"status": status}, "Ready")["reason"] == reason
        return self.says(reason, *words)

    def job(self) -> Body:
        def look() -> Body:
            (found,) = self.place.list("Job", f"rca.bluerobin.io/run={self.name}")
            return found

        return eventually(lambda: _one(look), seconds=PATIENCE)

    def pod_at_work(self) -> Body:
        """The Pod of the present attempt, once its engine runs."""

        def look() -> Body:
            found = self.place.list("Pod", f"rca.bluerobin.io/run={self.name}")
            at_work = [pod for pod in found if _runs(pod, "eval-1")]
            assert at_work
            return at_work[0]

        return eventually(look, seconds=PATIENCE)


def _one(look: Callable[[], Body]) -> Body:
    try:
        return look()
    except ValueError as error:
        raise AssertionError(str(error)) from error


def _runs(pod: Body, container: str) -> bool:
    states = pod["status"].get("initContainerStatuses") or []
    return any(s["name"] == container and "running" in s["state"] for s in states)


def an_image_that_does_not_exist(run: Run) -> None:
    run.start(image="rca-rollout/there-is-no-such-image:1")
    run.ends("ImagePullFailed", "container eval-1", "rca-rollout/there-is-no-such-image:1")


def an_image_that_is_no_name(run: Run) -> None:
    run.start(image="Not/A:Name:At:All")
    run.ends("InvalidImage", "container eval-1", "correct it in the EvalSuite")


def no_node_is_shown_at_once_and_ends_the_run_in_time(run: Run) -> None:
    run.start(nodeSelector={"example.com/pool": "nowhere"}, startTimeout="30s")
    assert run.says("Unschedulable")["phase"] == "Running"
    run.ends("Unschedulable", "job.nodeSelector")


def the_memory_of_the_engine(run: Run) -> None:
    limits = {"limits": {"memory": "64Mi"}, "requests": {"memory": "32Mi"}}
    run.start("python3 -c \"b'x' * 300000000\"", resources=limits)
    run.ends("OutOfMemory", "container eval-1", "raise job.resources.limits.memory")


def an_engine_that_ends_with_status_3(run: Run) -> None:
    run.start("echo no model at hand >&2; exit 3")
    status = run.ends("EvalFailed", "container eval-1 ended with status 3")
    assert status["logTail"] == "no model at hand"


def the_deadline_of_the_pod_names_the_step(run: Run) -> None:
    run.start("sleep 1000", timeout="15s")
    run.ends("DeadlineExceeded", "in container eval-1", "raise job.timeout")


def more_on_disk_than_a_volume_holds(run: Run) -> None:
    run.start("dd if=/dev/zero of=$RCA_EVAL_OUTPUT/x bs=1M count=400; sleep 500")
    run.ends("StorageExceeded", "wrote more than it may")


def a_quota_that_lets_no_pod_in(run: Run) -> None:
    run.start()
    assert run.says("PodRefused", "quota")["phase"] == "Running"
    run.ends("PodRefused", "exceeded quota: no-pods", "kubectl describe job")
    assert run.place.list("Pod", f"rca.bluerobin.io/run={run.name}") == []


def a_job_deleted_by_hand(run: Run) -> None:
    run.start("sleep 60")
    run.pod_at_work()
    run.place.delete("Job", run.job()["metadata"]["name"])
    run.ends("JobLost", "was deleted before it ended")


def _taken_away(run: Run, take: Callable[[str], None], reason: str) -> None:
    """The first attempt's Pod goes in the middle; the second is let through."""
    run.start("sleep 8; exec python3 /engine.py")
    first = run.pod_at_work()["metadata"]
    take(first["name"])

    def again() -> None:
        status = run.status()
        assert status.get("attempts") == 2, status
        assert status.get("phase") not in (None, "Pending", "Running"), status

    eventually(again, seconds=PATIENCE)
    assert run.status()["phase"] != "Error", run.status()
    told = [e["reason"] for e in run.place.list("Event") if e["involvedObject"]["name"] == run.name]
    assert reason in told
    left = {job["metadata"]["name"] for job in run.place.list("Job", f"rca.bluerobin.io/run={run.name}")}
    assert left <= {run.status()["jobRef"]["name"]}


def a_pod_evicted_by_the_api_is_tried_again_for_free(run: Run) -> None:
    def evict(pod: str) -> None:
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod, "namespace": run.place.name},
        }
        answer = run.place.api.request("POST", run.place.path("Pod", pod, "eviction"), body)
        assert answer.status_code == 201, answer.text

    _taken_away(run, evict, "Evicted")


def a_pod_deleted_by_hand_is_tried_again_for_free(run: Run) -> None:
    _taken_away(run, lambda pod: run.place.delete("Pod", pod), "PodDeleted")


def a_job_suspended_by_somebody_waits_and_goes_on_when_it_is_resumed(run: Run) -> None:
    run.start("sleep 5; exec python3 /engine.py")
    run.pod_at_work()
    name = run.job()["metadata"]["name"]
    run.place.spec("Job", name, suspend=True)
    run.says("JobSuspended", "kubectl patch job")
    run.place.spec("Job", name, suspend=False)

    def ended() -> None:
        status = run.status()
        assert status.get("phase") not in (None, "Pending", "Running"), status
        assert status["phase"] != "Error", status

    eventually(ended, seconds=PATIENCE)
    assert run.status()["attempts"] == 1


def a_queue_that_nobody_serves_is_waited_for_and_named(run: Run) -> None:
    run.start(queueName="evals")
    status = run.says("Queued", "waits in queue evals")
    assert status["phase"] == "Running"
    assert run.place.list("Pod", f"rca.bluerobin.io/run={run.name}") == []


def a_sidecar_serves_both_repeats_and_ends_with_them(run: Run) -> None:
    serve = "cd /tmp && exec python3 -m http.server 8099 --bind 0.0.0.0"
    server = {
        "name": "server",
        "image": plain_engine(),
        "command": ["sh", "-c"],
        "args": [serve],
        "ports": [8099],
    }
    ask = "python3 -c \"import urllib.request as u; u.urlopen('http://localhost:8099')\" && exec python3 /engine.py"
    run.start(ask, sidecars=[server])

    def ended() -> None:
        status = run.status()
        assert status.get("phase") not in (None, "Pending", "Running"), status
        assert status["phase"] != "Error", status

    eventually(ended, seconds=PATIENCE)


def a_sidecar_that_never_listens_is_named(run: Run) -> None:
    server = {"name": "server", "image": plain_engine(), **PROXY, "ports": [8099]}
    run.start(sidecars=[server])
    run.ends("SidecarNotReady", "container server")


# Those that wait longest come first.
CASES = (
    an_image_that_does_not_exist,
    a_sidecar_that_never_listens_is_named,
    more_on_disk_than_a_volume_holds,
    no_node_is_shown_at_once_and_ends_the_run_in_time,
    a_pod_evicted_by_the_api_is_tried_again_for_free,
    a_pod_deleted_by_hand_is_tried_again_for_free,
    a_job_suspended_by_somebody_waits_and_goes_on_when_it_is_resumed,
    a_sidecar_serves_both_repeats_and_ends_with_them,
    an_image_that_is_no_name,
    the_deadline_of_the_pod_names_the_step,
    the_memory_of_the_engine,
    an_engine_that_ends_with_status_3,
    a_job_deleted_by_hand,
    a_queue_that_nobody_serves_is_waited_for_and_named,
)


@pytest.fixture(scope="module")
def cases(api: Api, kinds: None) -> Iterator[dict[str, Future[None]]]:
    """All of them, side by side: of one operator with two namespaces, one of which has a quota that lets no Pod in."""
    with ExitStack() as stack:
        common, closed = (stack.enter_context(restricted_namespace(api)) for _ in range(2))
        for place in (common, closed):
            place.create(dataset(), baseline())
        quota: Body = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "no-pods"}}
        closed.create({**quota, "spec": {"hard": {"pods": "0"}}})

        def counted() -> None:
            assert "used" in (closed.get("ResourceQuota", "no-pods").get("status") or {})

        eventually(counted, seconds=120)
        operator = Operator(common, f"watch.namespaces={{{common.name},{closed.name}}}")
        operator.ready()
        pool = stack.enter_context(ThreadPoolExecutor(SIDE_BY_SIDE))
        yield {
            case.__name__: pool.submit(case, Run(place, case.__name__.replace("_", "-")[:40].strip("-")))
            for place, told in ((closed, (a_quota_that_lets_no_pod_in,)), (common, CASES))
            for case in told
        }
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("name", [case.__name__ for case in (a_quota_that_lets_no_pod_in, *CASES)])
def test_what_the_cluster_does_to_a_run_has_its_own_reason(cases: dict[str, Future[None]], name: str) -> None:
    cases[name].result(timeout=CASE_SECONDS)
