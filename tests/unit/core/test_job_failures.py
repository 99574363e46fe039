"""Each way in which a Pod or Job can come to grief, in the shape in which an API server shows it (recorded on 1.36)."""

from __future__ import annotations

import copy
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rca_testing.job_states import CONTAINERS, DONE, condition, ended, job, of_job, pod, succeeded, waiting
from rca_testing.lifecycle_world import START

from rca_rollout.api.values import format_time
from rca_rollout.core.lifecycle.errors import MENDS_ITSELF
from rca_rollout.core.pods import Broken, Disrupted, Outcome, Running, Succeeded, diagnose

type Body = dict[str, Any]

TIMEOUT, RUN = timedelta(minutes=2), timedelta(minutes=10)
RUNNING: Body = {"eval-1": {"running": {}}}
BACKOFF = condition("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
POLICY = condition("Failed", "PodFailurePolicy", "Pod s/evic has condition DisruptionTarget matching FailJob")
DEADLINE = condition(
    "FailureTarget", "DeadlineExceeded", "Job was active longer than specified deadline",
    at=START + timedelta(seconds=780),
)  # fmt: skip
SUSPENDED = condition("Suspended", "JobSuspended", "Job suspended")
SCHEDULED = condition("PodScheduled")
REFUSED: Body = {"ready": 0, "startTime": format_time(START), "terminating": 0, "uncountedTerminatedPods": {}}


def at(seconds: float) -> str:
    return format_time(START + timedelta(seconds=seconds))


def look(job_: Body, *pods: Body, after: float = 0) -> Outcome:
    now = START + timedelta(seconds=after)
    return diagnose(job_, pods, start_timeout=TIMEOUT, run_timeout=RUN, now=now)


def deleted(whole: Body, due: float, grace: int = 5) -> Body:
    gone = {"deletionTimestamp": at(due), "deletionGracePeriodSeconds": grace}
    return {**whole, "metadata": {**whole["metadata"], **gone}}


def target(reason: str, message: str = "") -> Body:
    return condition("DisruptionTarget", reason, message)


def beside(whole: Body, name: str, state: Body, *, first: bool = False, **more: Any) -> Body:
    """With a container that is not ours, among the init containers or else behind ours."""
    made = copy.deepcopy(whole)
    entry = {"name": name, "image": f"registry.example/{name}:1", "state": state, **more}
    listed = made["status"]["initContainerStatuses" if first else "containerStatuses"]
    listed.insert(0, entry) if first else listed.append(entry)
    return made


def with_steps_done(phase: str, after: float, *conditions: Body) -> Body:
    end = ended(0, "Completed", finishedAt=at(after), startedAt=at(0))
    return pod(phase, dict.fromkeys(CONTAINERS, end), *conditions)


def refused(**status: Any) -> Body:
    return job(status={**REFUSED, **status})


def queued(queue: str | None, *conditions: Body, suspend: bool = True) -> Body:
    made = job(*conditions, spec={"suspend": suspend})
    if queue:
        made["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": queue}
    return made


BROKEN: dict[str, tuple[Body, Body | None, float, str, str]] = {
    "a name that is no image": (
        job(), pod("Pending", {"eval-1": waiting("InvalidImageName")}), 1, "InvalidImage", "container eval-1",
    ),
    "an image of a sidecar": (
        job(), beside(pod("Pending", {}), "istio-proxy", waiting("ImagePullBackOff")), 21, "ImagePullFailed", "istio-proxy",
    ),
    "a quota, or whatever else refuses the Pod": (refused(), None, 60, "PodRefused", "kubectl describe job job-1"),
    "the Job controller does not look": (job(), None, 120, "StartTimeout", "has no Pod"),
    "a volume or the network": (
        job(), pod("Pending", {"prepare": waiting("ContainerCreating")}, SCHEDULED,
                   condition("PodReadyToStartContainers", status="False")),
        120, "PodNotSetUp", "a volume that cannot be mounted",
    ),
    "an image that takes its time is not unschedulable": (
        job(), pod("Pending", {"prepare": waiting("PodInitializing")}, SCHEDULED, condition("PodReadyToStartContainers")),
        120, "StartTimeout", "large image",
    ),
    "no node": (
        job(), pod("Pending", None, condition("PodScheduled", "Unschedulable", "0/3 nodes", status="False")), 120,
        "Unschedulable", "0/3 nodes",
    ),
    "settings that cannot be applied, also long after the start": (
        job(),
        pod("Pending", {"prepare": ended(0, finishedAt=at(300)), "eval-1": waiting("CreateContainerConfigError", "runs as root")}),
        390, "ContainerConfigError", "runs as root",
    ),
    "the memory of the repeat": (
        job(BACKOFF), pod("Failed", {"eval-2": ended(137, "OOMKilled")}), 9, "OutOfMemory", "container eval-2",
    ),
    "the memory of a sidecar": (
        job(BACKOFF), beside(pod("Failed", {"scorecard": {"running": {}}}), "graph", ended(137, "OOMKilled")), 9, "OutOfMemory",
        "container graph",
    ),
    "a kill that nobody explains": (
        job(BACKOFF), pod("Failed", {"eval-1": ended(137)}), 9, "EvalFailed", "often for its memory",
    ),
    "an emptyDir": (
        job(BACKOFF),
        pod("Failed", RUNNING, reason="Evicted", message='Usage of EmptyDir volume "output-1" exceeds the limit "256Mi".'),
        9, "StorageExceeded", "output-1",
    ),
    "a container's disk": (
        job(BACKOFF),
        pod("Failed", RUNNING, reason="Evicted", message='Container eval-1 exceeded its local ephemeral storage limit "1Gi".'),
        9, "StorageExceeded", "ephemeral-storage",
    ),
    "the Pod's disk, evicted as disrupted": (
        job(BACKOFF),
        pod("Failed", RUNNING, target("TerminationByKubelet"), reason="Evicted",
            message="Pod ephemeral local storage usage exceeds the total limit of containers 1Gi."),
        9, "StorageExceeded", "1Gi",
    ),
    "the Pod's deadline while an image is pulled": (
        job(BACKOFF), pod("Failed", {"eval-1": waiting("PodInitializing")}, reason="DeadlineExceeded"), 700,
        "DeadlineExceeded", "eval-1 had not started",
    ),
    "the Job's deadline": (job(DEADLINE), None, 790, "DeadlineExceeded", "raise job.timeout"),
    "a Job that is being deleted": (
        job(metadata={"deletionTimestamp": at(9)}), pod("Running", RUNNING), 9, "JobLost", "was deleted",
    ),
    "a Pod that had failed before it was deleted": (
        job(), deleted(pod("Failed", {"eval-1": ended(3, finishedAt=at(9))}), 65), 61, "EvalFailed", "status 3",
    ),
    "a Pod that had run out of memory before it was deleted": (
        job(), deleted(pod("Failed", {"eval-1": ended(137, reason="OOMKilled", finishedAt=at(9))}), 65), 61, "OutOfMemory", "memory",
    ),
    "a sidecar that takes the Pod with it": (
        job(BACKOFF), beside(pod("Failed", {"prepare": waiting("PodInitializing")}), "istio-init", ended(1), first=True), 9,
        "SidecarFailed", "istio-init",
    ),
    "a sidecar that keeps crashing": (
        job(), beside(pod("Pending", {"prepare": DONE, "eval-1": waiting("PodInitializing")}), "graph",
                      waiting("CrashLoopBackOff"), first=True),
        91, "SidecarFailed", "--previous",
    ),
    "a proxy that is never ready": (
        job(), beside(pod("Pending", {"prepare": waiting("PodInitializing")}, SCHEDULED, condition("PodReadyToStartContainers")),
                      "istio-proxy", {"running": {}}, first=True, started=False),
        121, "SidecarNotReady", "container istio-proxy",
    ),
    "a step that failed beside a sidecar that goes on": (
        job(), beside(pod("Running", {"scorecard": ended(2, finishedAt=at(30))}), "istio-proxy", {"running": {}}), 46,
        "ScorecardFailed", "status 2",
    ),
    "a failed repeat is not blamed on the sidecar that was stopped with it": (
        job(BACKOFF), beside(pod("Failed", {"eval-1": ended(3)}), "istio-proxy", ended(143), first=True), 9, "EvalFailed",
        "eval-1",
    ),
    "a Pod whose steps somebody has taken out": (
        job(condition("Complete")), {**pod("Succeeded", {}), "status": {"phase": "Succeeded", "containerStatuses": [
            {"name": "scorecard", "state": DONE}]}},
        9, "PodAltered", "admission webhook",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_every_failure_has_its_own_reason_and_says_what_to_do(case: str) -> None:
    job_, pod_, after, reason, words = BROKEN[case]
    found = look(job_, *([pod_] if pod_ else []), after=after)
    assert isinstance(found, Broken), found
    assert found.reason == reason
    assert words in found.message


DISRUPTED: dict[str, tuple[Body, Body | None, float, str]] = {
    "a drain": (job(), deleted(pod("Running", RUNNING, target("EvictionByEvictionAPI", "Eviction API: evicting")), 14), 9, "Evicted"),
    "a drain, from the Job alone": (job(POLICY), None, 9, "Evicted"),
    "preemption": (job(), deleted(pod("Running", RUNNING, target("PreemptionByScheduler")), 14), 9, "Preempted"),
    "a taint": (job(), deleted(pod("Running", RUNNING, target("DeletionByTaintManager")), 14), 9, "TaintEvicted"),
    "a node that was removed": (job(), pod("Failed", RUNNING, target("DeletionByPodGC")), 9, "NodeLost"),
    "pressure": (
        job(POLICY), pod("Failed", RUNNING, target("TerminationByKubelet"), reason="Evicted",
                         message="The node was low on resource: memory."), 9, "NodePressure",
    ),
    "a shutdown": (
        job(POLICY), pod("Failed", RUNNING, target("TerminationByKubelet"), reason="Terminated",
                         message="Pod was terminated in response to imminent node shutdown."), 9, "Evicted",
    ),
    "a critical Pod": (
        job(POLICY), pod("Failed", RUNNING, target("TerminationByKubelet"), reason="Preempting"), 9, "Preempted",
    ),
    "a node that had no room after all": (job(BACKOFF), pod("Failed", {}, reason="OutOfcpu"), 9, "PodRejected"),
    "a node without the device": (job(BACKOFF), pod("Failed", {}, reason="UnexpectedAdmissionError"), 9, "PodRejected"),
    "phase Unknown": (job(), pod("Unknown", RUNNING), 9, "NodeLost"),
    "NodeLost": (job(), pod("Running", RUNNING, reason="NodeLost"), 9, "NodeLost"),
    "a deletion that is never carried out": (job(), deleted(pod("Running", RUNNING), 60), 121, "NodeLost"),
    "a Pod deleted by hand": (
        job(BACKOFF), deleted(pod("Failed", {"eval-1": ended(137, finishedAt=at(62))}), 65), 63, "PodDeleted",
    ),
    "a Pod deleted by hand, seen when its kubelet has taken it off the list": (
        job(BACKOFF), deleted(pod("Failed", {"eval-1": ended(137, finishedAt=at(62))}), 64, 0), 64, "PodDeleted",
    ),
    "a Pod that ended by itself when it was told to, seen as late": (
        job(BACKOFF), deleted(pod("Failed", {"eval-1": ended(143, finishedAt=at(62))}), 64, 0), 64, "PodDeleted",
    ),
    "a deadline that no kubelet enforces": (job(), pod("Running", RUNNING, startTime=at(5)), 666, "NodeLost"),
    "a deadline that only the Job enforces": (
        job(DEADLINE), deleted(pod("Running", RUNNING, startTime=at(5)), 785), 781, "NodeLost",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DISRUPTED)
def test_what_was_taken_away_is_named_by_who_did_it_and_is_nobody_s_fault(case: str) -> None:
    job_, pod_, after, reason = DISRUPTED[case]
    found = look(job_, *([pod_] if pod_ else []), after=after)
    assert isinstance(found, Disrupted), found
    assert found.reason == reason
    assert reason in MENDS_ITSELF


WAITING: dict[str, tuple[Body, Body | None, float, str, str]] = {
    "a queue": (queued("evals", SUSPENDED), None, 100_000, "Queued", "waits in queue evals"),
    "a queue that has not been looked at": (queued("evals"), None, 100_000, "Queued", "waits in queue evals"),
    "somebody": (queued(None, SUSPENDED), None, 100_000, "JobSuspended", "kubectl patch job job-1"),
    "somebody, who stopped a Pod with it": (
        queued(None, SUSPENDED), deleted(pod("Failed", {"eval-1": ended(137)}), 9), 9, "JobSuspended", "suspended",
    ),
    "a queue that took the Pod back": (queued("evals", SUSPENDED), deleted(pod("Running", RUNNING), 9), 500, "Queued", "evals"),
    "a Pod that is refused": (refused(), None, 5, "PodRefused", "quota"),
    "a node": (
        job(), pod("Pending", None, condition("PodScheduled", "Unschedulable", status="False")), 5, "Unschedulable", "a node",
    ),
    "a registry": (job(), pod("Pending", {"prepare": waiting("ErrImagePull")}), 5, "ImagePullFailed", "container prepare"),
    "a registry, after a long wait for a node": (
        job(), pod("Pending", {"prepare": waiting("ErrImagePull")}, condition("PodScheduled", at=START + timedelta(seconds=90))),
        95, "ImagePullFailed", "container prepare",
    ),
    "a registry, for the second step": (
        job(), pod("Pending", {"prepare": ended(0, finishedAt=at(300)), "eval-1": waiting("ErrImagePull")}), 305,
        "ImagePullFailed", "container eval-1",
    ),
    "a sidecar": (
        job(), beside(pod("Pending", {"prepare": ended(0, finishedAt=at(300)), "eval-1": waiting("PodInitializing")}), "graph",
                      {"running": {}}, started=False, first=True),
        310, "SidecarNotReady", "container graph",
    ),
    "a deletion": (job(), deleted(pod("Running", RUNNING), 60), 58, "PodDeleted", "being deleted"),
}  # fmt: skip


@pytest.mark.parametrize("case", WAITING)
def test_what_is_waited_for_is_named_while_it_is_and_what_is_said_does_not_change_with_time(
    case: str,
) -> None:
    job_, pod_, after, reason, words = WAITING[case]
    pods = [pod_] if pod_ else []
    found, later = look(job_, *pods, after=after), look(job_, *pods, after=after + 1)
    assert isinstance(found, Running), found
    assert isinstance(later, Running), later
    assert (found.reason, found.note) == (later.reason, later.note)
    assert found.reason == reason
    assert words in found.note
    assert found.wake_at > START + timedelta(seconds=after)


def test_the_time_in_a_queue_is_no_time_of_the_start() -> None:
    admitted = job(
        condition("Suspended", "JobResumed", at=START + timedelta(hours=8), status="False"),
        spec={"suspend": False},
    )
    hours = 8 * 3600
    assert isinstance(look(admitted, after=hours + 119), Running)
    assert look(admitted, after=hours + 121).reason == "StartTimeout"  # type: ignore[union-attr]


def test_an_old_mesh_s_proxy_does_not_keep_a_run_from_its_end() -> None:
    """Its Pod is Running for ever, and its Job active."""
    meshed = beside(with_steps_done("Running", 30), "istio-proxy", {"running": {}})
    assert isinstance(look(job(), meshed, after=31), Running)
    assert isinstance(look(job(), meshed, after=45), Succeeded)


@pytest.mark.parametrize(
    "ending",
    [
        deleted(with_steps_done("Running", 30, target("EvictionByEvictionAPI")), 40),
        beside(with_steps_done("Failed", 30), "istio-proxy", ended(1)),
        with_steps_done("Failed", 30, target("DeletionByPodGC")),
    ],
)
def test_a_result_that_is_there_counts_whatever_becomes_of_the_rest_of_the_pod(ending: Body) -> None:
    assert isinstance(look(job(), ending, after=31), Succeeded)
    for over in (BACKOFF, POLICY, DEADLINE):
        assert isinstance(look(job(over), ending, after=800), Succeeded)


def test_what_is_injected_before_between_and_behind_the_steps_does_not_confuse_them() -> None:
    meshed = beside(with_steps_done("Succeeded", 30), "istio-init", DONE, first=True)
    meshed["status"]["initContainerStatuses"].insert(
        3, {"name": "graph", "state": ended(143), "started": False}
    )
    found = look(job(condition("Complete")), meshed, after=40)
    assert isinstance(found, Succeeded)
    assert found.wall_seconds == (31.0, 31.0)
    meshed["status"]["initContainerStatuses"].reverse()
    assert isinstance(look(job(condition("Complete")), meshed, after=40), Succeeded)


def test_a_pod_that_the_job_does_not_own_says_nothing_whatever_its_labels_say() -> None:
    forged = of_job(succeeded(), "another-job")
    assert look(job(condition("Complete")), forged).reason == "JobLost"  # type: ignore[union-attr]
    mine = pod("Running", RUNNING)
    newer = {**forged, "metadata": {**forged["metadata"], "creationTimestamp": at(60)}}
    assert isinstance(look(job(), mine, newer, after=61), Running)


_STATES = st.sampled_from(
    [{}, {"running": {}}, DONE, ended(0, finishedAt=at(5)), ended(1), ended(137, "OOMKilled"), {"terminated": {}},
     waiting("PodInitializing"), waiting("ImagePullBackOff"), waiting("CrashLoopBackOff"), ended(0, "Completed", "", signal=9)]
)  # fmt: skip
_NAMES = st.sampled_from([*CONTAINERS, "eval-3", "istio-proxy", "graph", "eval-x", "scorecard-2"])
_LISTED = st.lists(
    st.fixed_dictionaries({"name": _NAMES, "state": _STATES}, optional={"started": st.booleans()}), max_size=7
)
_CONDITIONS = st.lists(
    st.sampled_from([BACKOFF, POLICY, DEADLINE, SUSPENDED, condition("Complete"), condition("SuccessCriteriaMet")]), max_size=2
)  # fmt: skip
_POD_CONDITIONS = st.lists(
    st.sampled_from([target("EvictionByEvictionAPI"), SCHEDULED, condition("PodScheduled", status="False"),
                     condition("PodReadyToStartContainers", status="False")]), max_size=2
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(
    conditions=_CONDITIONS, init=_LISTED, main=_LISTED, pod_conditions=_POD_CONDITIONS,
    phase=st.sampled_from(["Pending", "Running", "Succeeded", "Failed", "Unknown", None]),
    reason=st.sampled_from([None, "Evicted", "DeadlineExceeded", "OutOfcpu", "Mystery"]),
    owner=st.sampled_from(["job-uid", "other"]),
    due=st.one_of(st.none(), st.integers(-100, 2000)),
    counts=st.dictionaries(st.sampled_from(["active", "terminating", "failed"]), st.integers(0, 1)),
    after=st.integers(-60, 3000),
)  # fmt: skip
def test_nothing_passes_but_a_pod_of_this_job_whose_every_step_ended_with_0(
    conditions: list[Body], init: list[Body], main: list[Body], pod_conditions: list[Body], phase: Any, reason: Any,
    owner: str, due: int | None, counts: Body, after: int,
) -> None:  # fmt: skip
    whole = of_job(pod(phase, {}, *pod_conditions, reason=reason), owner)
    whole["status"] |= {"initContainerStatuses": init, "containerStatuses": main}
    if due is not None:
        whole = deleted(whole, due)
    made = job(*conditions, spec={})
    made["status"] |= counts
    found = look(made, whole, after=after)
    if isinstance(found, Succeeded):
        assert owner == "job-uid"
        steps = [s for s in [*init, *main] if s["name"] in (*CONTAINERS, "eval-3")]
        assert {"prepare", "scorecard"} <= {s["name"] for s in steps}
        assert all(s["state"]["terminated"]["exitCode"] == 0 for s in steps)
    elif isinstance(found, Running):
        assert found.wake_at > START + timedelta(seconds=after)
    else:
        assert found.message
        assert found.reason
