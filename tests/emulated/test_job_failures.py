"""What happens to evaluations in the cluster, seen from the whole operator: a named reason, no pass, and a way on."""

from __future__ import annotations

from typing import Any

import pytest
from rca_testing.emulator import clock
from rca_testing.emulator.lab import NAMESPACE, Lab
from rca_testing.emulator.server import Fault, refuse
from rca_testing.emulator.store import Body

pytestmark = pytest.mark.emulated

QUOTA = 'Error creating: pods "live-x" is forbidden: exceeded quota: none, requested: pods=1, limited: pods=0'


def now() -> str:
    return clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")


def run(lab: Lab) -> Body:
    """The newest run."""
    return max(lab.list("evalruns"), key=lambda body: int(body["metadata"]["name"].rpartition("-")[2]))


async def run_says(lab: Lab, reason: str, within: float = 300) -> Body:
    await lab.until(
        lambda: any((r.get("status") or {}).get("reason") == reason for r in lab.list("evalruns")), within
    )
    return next(r for r in lab.list("evalruns") if (r.get("status") or {}).get("reason") == reason)


def nothing(lab: Lab, job: Body) -> None:
    """The Job controller is away."""


def refuse_pods(lab: Lab, job: Body) -> None:
    """What a Job controller does whose Pods are not let in."""

    def tried(body: Body) -> None:
        body["status"] = {"startTime": now(), "ready": 0, "terminating": 0, "uncountedTerminatedPods": {}}

    lab.store.edit("jobs", NAMESPACE, job["metadata"]["name"], tried)
    lab.create(
        "events",
        f"refused-{job['metadata']['uid'][:8]}",
        involvedObject={"kind": "Job", "name": job["metadata"]["name"], "uid": job["metadata"]["uid"]},
        type="Warning",
        reason="FailedCreate",
        message=QUOTA,
        lastTimestamp=now(),
    )


async def test_a_quota_that_refuses_the_pod_is_named_in_a_minute_and_tried_again_for_ever(lab: Lab) -> None:
    lab.on_job = refuse_pods
    lab.everything()
    lab.start()
    condition = await lab.reason("Promoted", "PodRefused", within=120)
    assert "exceeded quota: none" in condition["message"]
    assert lab.mode() == "Shadow"
    await lab.until(lambda: (lab.status().get("retry") or {}).get("consecutive", 0) >= 7, within=7200)
    assert lab.status()["phase"] == "Evaluating"
    lab.on_job = lambda lab, job: lab.kubelet.succeed(job)
    await lab.phase("Active", within=3600)


async def test_events_that_may_not_be_read_only_make_the_message_shorter(lab: Lab) -> None:
    no_rights = refuse(403, "Forbidden", "events is forbidden")
    asked = Fault(lambda call: (call.verb, call.plural) == ("list", "events"), no_rights, times=100_000)
    lab.server.faults.append(asked)
    lab.on_job = refuse_pods
    lab.everything()
    lab.start()
    condition = await lab.reason("Promoted", "PodRefused", within=120)
    assert "kubectl describe job" in condition["message"]
    assert "The cluster says" not in condition["message"]
    assert asked.hits


async def test_an_old_mesh_s_proxy_keeps_no_evaluation_from_its_end(lab: Lab) -> None:
    """The scorecard has ended well; the Pod goes on for ever, and its Job never completes."""

    def meshed(lab: Lab, job: Body) -> None:
        lab.kubelet.succeed(job)

        def going(body: Body) -> None:
            body["status"]["phase"] = "Running"
            body["status"]["containerStatuses"].append({"name": "istio-proxy", "state": {"running": {}}})

        lab.store.edit("pods", NAMESPACE, f"{job['metadata']['name']}-pod", going)
        lab.store.edit(
            "jobs", NAMESPACE, job["metadata"]["name"], lambda body: body.update(status={"active": 1})
        )

    lab.on_job = meshed
    lab.everything()
    lab.start()
    await lab.phase("Active", within=900)
    await lab.quiet(60)
    assert lab.list("jobs") == lab.list("pods") == []
    assert {r["status"]["phase"] for r in lab.list("evalruns")} == {"Passed"}


async def test_a_drain_is_tried_again_for_free_and_leaves_no_job_behind(lab: Lab) -> None:
    def drained(lab: Lab, job: Body) -> None:
        pod = lab.kubelet.start(job)

        def evicted(body: Body) -> None:
            body["metadata"] |= {"deletionTimestamp": now(), "deletionGracePeriodSeconds": 5}
            body["status"] = {
                "phase": "Running",
                "conditions": [
                    {
                        "type": "DisruptionTarget",
                        "status": "True",
                        "reason": "EvictionByEvictionAPI",
                        "message": "evicting",
                    }
                ],
            }

        lab.store.edit("pods", NAMESPACE, pod["metadata"]["name"], evicted)
        lab.on_job = lambda lab, job: lab.kubelet.succeed(job)

    lab.on_job = drained
    lab.everything()
    lab.start()
    await lab.phase("Active", within=900)
    first = next(r for r in lab.list("evalruns") if r["metadata"]["name"].endswith("-1"))
    assert (first["status"]["phase"], first["status"]["attempts"]) == ("Passed", 2)
    await lab.quiet(15)
    refs = {r["status"]["jobRef"]["name"] for r in lab.list("evalruns")}
    assert {job["metadata"]["name"] for job in lab.list("jobs")} <= refs
    assert "Evicted" in [event["reason"] for event in lab.events("EvalRun")]


async def test_the_job_of_a_drained_attempt_goes_also_where_the_operator_died_before_it_was_deleted(
    lab: Lab,
) -> None:
    def drained(lab: Lab, job: Body) -> None:
        lab.kubelet.fail(job, "eval-1", 137)
        gone = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
        lab.store.edit(
            "pods",
            NAMESPACE,
            f"{job['metadata']['name']}-pod",
            lambda body: body["status"].update(conditions=[gone]),
        )
        lab.on_job = lambda lab, job: lab.kubelet.succeed(job)

    lab.on_job = drained
    lab.everything()
    fault = Fault(lambda call: (call.verb, call.plural) == ("delete", "jobs"), lab.server.kill)
    lab.server.faults.append(fault)
    first = lab.start()
    await lab.until(lambda: fault.hits)
    await lab.kill(first)
    lab.server.faults.clear()
    lab.start()
    await lab.phase("Active", within=900)
    await lab.quiet(30)
    kept = [(job["metadata"]["name"], job["spec"].get("ttlSecondsAfterFinished")) for job in lab.list("jobs")]
    refs = {r["status"]["jobRef"]["name"] for r in lab.list("evalruns")}
    assert {name for name, _ in kept} <= refs
    assert all(ttl for _, ttl in kept)


async def test_the_job_of_a_run_that_was_deleted_without_it_is_deleted_after_it(lab: Lab) -> None:
    lab.on_job = nothing
    lab.everything()
    lab.start()
    await lab.until(lambda: lab.list("jobs"))
    orphan = lab.list("jobs")[0]["metadata"]["name"]
    # What `kubectl delete --cascade=orphan` does.
    lab.store.edit("jobs", NAMESPACE, orphan, lambda body: body["metadata"].update(ownerReferences=[]))
    lab.store.delete("evalruns", NAMESPACE, run(lab)["metadata"]["name"])
    await lab.until(lambda: orphan not in {job["metadata"]["name"] for job in lab.list("jobs")}, within=60)


async def test_a_job_in_a_queue_waits_for_hours_and_then_passes(lab: Lab) -> None:
    held: list[Body] = []
    lab.on_job = lambda lab, job: held.append(job)
    lab.modes()
    lab.data()
    lab.suite(job={"queueName": "evals"})
    lab.component()
    lab.start()
    await run_says(lab, "Queued")
    await lab.until(lambda: "waits in queue evals" in lab.condition("Evaluated")["message"])
    await lab.quiet(8 * 3600)
    assert run(lab)["status"]["reason"] == "Queued"

    def admitted(lab: Lab, job: Body) -> None:
        lab.store.edit(
            "jobs", NAMESPACE, job["metadata"]["name"], lambda body: body["spec"].update(suspend=False)
        )
        lab.kubelet.succeed(job)

    lab.on_job = admitted
    admitted(lab, held[0])
    await lab.phase("Active", within=900)


async def test_five_runs_that_fail_by_themselves_block_and_a_retry_goes_on(lab: Lab) -> None:
    lab.on_job = lambda lab, job: lab.kubelet.fail(job, "eval-1", 3)
    lab.everything()
    lab.start()
    condition = await lab.reason("Promoted", "EvalErrors", within=3600)
    assert "EvalFailed" in condition["message"]
    await lab.quiet(3600)
    assert len(lab.list("evalruns")) == 5
    lab.on_job = lambda lab, job: lab.kubelet.succeed(job)
    token = {"rca.bluerobin.io/retry": f"{lab.status()['epoch']}/1", "rca.bluerobin.io/reason": "mended"}

    def ask(body: Body) -> Any:
        body["metadata"]["annotations"] = token

    lab.store.edit("rcacomponents", NAMESPACE, "live", ask)
    await lab.phase("Active", within=900)
