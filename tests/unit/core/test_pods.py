"""What became of a Job: each class of failure has its own reason and a way out, and none is a verdict."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rca_testing.job_states import condition, ended, job, pod, succeeded, waiting
from rca_testing.lifecycle_world import START

from rca_rollout.core.pods import (
    Broken,
    Disrupted,
    Outcome,
    Running,
    Succeeded,
    diagnose,
    image_ids,
    readable_tail,
    termination_message,
)

TIMEOUT = timedelta(minutes=2)
FAILED = condition("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
COMPLETE = condition("Complete")
TAINTED = condition("DisruptionTarget", "DeletionByTaintManager", "Taint manager: deleting due to NoExecute")


def look(job_: Any, *pods: Any, after: float = 0, now: datetime | None = None) -> Outcome:
    return diagnose(job_, pods, start_timeout=TIMEOUT, now=now or START + timedelta(seconds=after))


def unscheduled(message: str = "0/3 nodes are available: 3 Insufficient memory.") -> Any:
    whole = pod("Pending", None, condition("PodScheduled", "Unschedulable", message, status="False"))
    whole["status"] |= {"initContainerStatuses": [], "containerStatuses": []}
    return whole


BROKEN: dict[str, tuple[Any, Any, float, str, str]] = {
    "image pull": (
        job(), pod("Pending", {"eval-1": waiting("ImagePullBackOff")}), 30, "ImagePullFailed", "registry.example/eval-1:1",
    ),
    "image name": (job(), pod("Pending", {"eval-1": waiting("InvalidImageName")}), 0, "InvalidImage", "correct it"),
    "image never pulled": (
        job(), pod("Pending", {"prepare": waiting("ErrImageNeverPull")}), 30, "ImagePullFailed", "container prepare",
    ),
    "unschedulable": (job(), unscheduled(), 121, "Unschedulable", "Insufficient memory"),
    "config": (
        job(), pod("Pending", {"eval-1": waiting("CreateContainerConfigError", "image will run as root")}), 121,
        "ContainerConfigError", "image will run as root",
    ),
    "no such command": (
        job(FAILED), pod("Failed", {"eval-1": ended(128, "StartError", 'exec: "/engine": no such file')}), 9,
        "ContainerConfigError", 'exec: "/engine": no such file',
    ),
    "never started": (job(), pod("Pending", None), 121, "StartTimeout", "kubectl describe pod job-1-abcde"),
    "no Pod": (job(), None, 121, "StartTimeout", "kubectl describe job job-1"),
    "out of memory": (
        job(FAILED), pod("Failed", {"eval-2": ended(137, "OOMKilled")}), 9, "OutOfMemory", "raise job.resources.limits.memory",
    ),
    "our container out of memory": (
        job(FAILED), pod("Failed", {"prepare": ended(137, "OOMKilled")}), 9, "OutOfMemory", "too large",
    ),
    "Pod deadline": (
        job(FAILED), pod("Failed", {"eval-1": ended(137)}, reason="DeadlineExceeded"), 700,
        "DeadlineExceeded", "in container eval-1",
    ),
    "Job deadline": (job(condition("Failed", "DeadlineExceeded")), None, 900, "DeadlineExceeded", "raise job.timeout"),
    "crash": (
        job(FAILED), pod("Failed", {"eval-1": ended(3, message="Traceback …")}), 9, "EvalFailed", "eval-1 ended with status 3",
    ),
    "signal": (job(FAILED), pod("Failed", {"eval-1": ended(139, signal=11)}), 9, "EvalFailed", "signal 11"),
    "prepare says why": (
        job(FAILED),
        pod("Failed", {"prepare": ended(2, message='{"error":{"reason":"DatasetChanged","message":"the digest differs"}}')}),
        9, "DatasetChanged", "the digest differs",
    ),
    "scorecard says why": (
        job(FAILED),
        pod("Failed", {"scorecard": ended(2, message='{"error":{"reason":"PredictionsMissing","message":"eval-2 wrote none"}}')}),
        9, "PredictionsMissing", "eval-2 wrote none",
    ),
    "prepare does not say": (job(FAILED), pod("Failed", {"prepare": ended(1, message="boom")}), 9, "PrepareFailed", "status 1"),
    "scorecard says no word": (
        job(FAILED), pod("Failed", {"scorecard": ended(2, message='{"error":{"reason":"it broke!","message":""}}')}), 9,
        "ScorecardFailed", "did not say why",
    ),
    "scorecard does not say": (
        job(FAILED), pod("Failed", {"scorecard": ended(1, message='{"error": 7}')}), 9, "ScorecardFailed", "did not say why",
    ),
    "disk full": (
        job(FAILED),
        pod("Failed", {"eval-1": ended(137)}, reason="Evicted", message='Usage of EmptyDir volume "output-1" exceeds the limit "256Mi".'),
        9, "StorageExceeded", "output-1",
    ),
    "Pod gone after success": (job(COMPLETE), None, 9, "JobLost", "evaluated again"),
    "Pod gone after failure": (job(FAILED), None, 9, "JobLost", "backoff limit"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_every_failure_has_its_reason_and_says_what_to_do(case: str) -> None:
    job_, pod_, after, reason, words = BROKEN[case]
    found = look(job_, *([pod_] if pod_ else []), after=after)
    assert isinstance(found, Broken), found
    assert found.reason == reason
    assert words in found.message


@pytest.mark.parametrize(
    ("pod_", "after"),
    [
        (pod("Pending", {"eval-1": waiting("ErrImagePull")}), 5),
        (pod("Pending", {"eval-1": waiting("CreateContainerConfigError")}), 60),
        (unscheduled(), 60),
        (pod("Pending", None), 60),
        (pod("Pending", {"prepare": {"running": {}}}), 500),
        (pod("Pending", {"eval-2": waiting("PodInitializing")}), 500),
        (pod("Running", {"scorecard": {"running": {}}}), 500),
    ],
)
def test_what_may_come_right_by_itself_is_waited_for_within_its_time(pod_: Any, after: float) -> None:
    found = look(job(), pod_, after=after)
    assert isinstance(found, Running)
    assert found.wake_at > START + timedelta(seconds=after)


@pytest.mark.parametrize("reason", ["TerminationByKubelet", "EvictionByEvictionAPI", "PreemptionByScheduler"])
def test_what_the_cluster_took_away_is_disrupted(reason: str) -> None:
    evicted = pod(
        "Failed", {"eval-1": ended(137)}, condition("DisruptionTarget", reason, "drained"), reason="Evicted"
    )
    found = look(job(), evicted)
    assert isinstance(found, Disrupted)
    assert reason in found.message


def test_a_pod_of_a_lost_node_is_disrupted_although_it_still_reads_as_running() -> None:
    lost = pod(
        "Running",
        {"eval-1": {"running": {}}},
        TAINTED,
        metadata={"deletionTimestamp": "2026-11-30T10:05:00Z"},
    )
    assert isinstance(look(job(), lost), Disrupted)


def test_a_disruption_is_known_from_the_job_when_the_pod_is_gone() -> None:
    assert isinstance(
        look(job(condition("Failed", "PodFailurePolicy", "Pod ns/x has condition DisruptionTarget"))),
        Disrupted,
    )


def test_a_pod_deleted_by_hand_is_waited_for_and_its_job_is_lost_then() -> None:
    deleted = pod(
        "Running", {"eval-1": {"running": {}}}, metadata={"deletionTimestamp": "2026-11-30T10:05:00Z"}
    )
    assert isinstance(look(job(), deleted), Running)
    assert look(job(FAILED)).reason == "JobLost"  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["Complete", "SuccessCriteriaMet"])
def test_a_complete_job_with_its_pod_can_be_read(kind: str) -> None:
    found = look(job(condition(kind)), succeeded(3))
    assert isinstance(found, Succeeded)
    assert found.wall_seconds == (4.0, 4.0)


def test_a_succeeded_pod_waits_for_its_job_to_notice() -> None:
    assert isinstance(look(job(), succeeded()), Running)


@pytest.mark.parametrize("after", [1, 500])
def test_a_complete_job_whose_pod_is_seen_late_is_waited_for_and_not_called_unstarted(after: float) -> None:
    late = pod("Running", {"scorecard": {"running": {}}})
    assert isinstance(look(job(COMPLETE), late, after=after), Running)


def test_a_failed_job_whose_pod_is_seen_late_is_waited_for_so_that_the_true_reason_is_told() -> None:
    late = pod("Pending", {"eval-1": {"running": {}}})
    failed = condition("Failed", "BackoffLimitExceeded", at=START + timedelta(seconds=300))
    assert isinstance(look(job(failed), late, after=301), Running)
    assert (
        look(job(failed), pod("Failed", {"eval-1": ended(137, "OOMKilled")}), after=302).reason
        == "OutOfMemory"
    )  # type: ignore[union-attr]
    assert look(job(failed), late, after=340).reason == "JobLost"  # type: ignore[union-attr]


def test_of_several_pods_the_newest_counts() -> None:
    old = pod("Failed", {"eval-1": ended(1)})
    new = pod(
        "Running",
        {"eval-1": {"running": {}}},
        metadata={"creationTimestamp": "2026-11-30T10:00:30Z", "name": "b"},
    )
    assert isinstance(look(job(), old, new, after=31), Running)
    assert isinstance(look(job(), new, old, after=31), Running)


_STATES = st.sampled_from(
    [
        {}, {"running": {}}, waiting("PodInitializing"), waiting("ImagePullBackOff"), waiting("CreateContainerError"),
        ended(0), ended(1), ended(137, "OOMKilled"), ended(2, message="{"), {"terminated": {}},
    ]
)  # fmt: skip


@given(
    conditions=st.lists(st.sampled_from([FAILED, COMPLETE, condition("FailureTarget"), condition("Suspended")]), max_size=2),
    phase=st.sampled_from(["Pending", "Running", "Succeeded", "Failed", "Unknown", None]),
    states=st.dictionaries(st.sampled_from(["prepare", "eval-1", "eval-2", "scorecard"]), _STATES),
    extra=st.lists(st.sampled_from([TAINTED, condition("PodScheduled", status="False")]), max_size=1),
    reason=st.sampled_from([None, "Evicted", "DeadlineExceeded", "NodeLost"]),
    there=st.booleans(),
    after=st.integers(-60, 2000),
)  # fmt: skip
def test_every_state_has_an_answer_and_success_only_where_every_step_ended_well(
    conditions: Any, phase: Any, states: Any, extra: Any, reason: Any, there: bool, after: int
) -> None:
    pods = [pod(phase, states, *extra, reason=reason)] if there else []
    found = look(job(*conditions), *pods, after=after)
    if isinstance(found, Running):
        assert found.wake_at > START + timedelta(seconds=after)
    if isinstance(found, Succeeded):
        assert there
        told = {
            state["name"]: state["state"]["terminated"]["exitCode"]
            for kind in ("initContainerStatuses", "containerStatuses")
            for state in pods[0]["status"][kind]
        }
        assert told == dict.fromkeys(("prepare", "eval-1", "eval-2", "scorecard"), 0)
    if isinstance(found, Broken):
        assert found.message


PYTHON = b"""starting
Traceback (most recent call last):
  File "/app/main.py", line 3, in <module>
    main()
    ~~~~^^
  File "/app/main.py", line 1, in main
    raise ValueError("no incidents")
ValueError: no incidents

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/app/x.py", line 9, in f
    g()
OSError: [Errno 28] No space left on device
"""
GROUP = b"""  + Exception Group Traceback (most recent call last):
  |   File "/app/main.py", line 3, in <module>
  |     main()
  | ExceptionGroup: two (2 sub-exceptions)
"""
JAVA = b"""Exception in thread "main" java.lang.IllegalStateException: no incidents
\tat com.example.Main.run(Main.java:12)
\tat java.base/java.lang.Thread.run(Thread.java:1583)
Caused by: java.io.IOException: disk
\t... 3 more
"""
NODE = b"""Error: no incidents
    at run (/app/main.js:3:9)
    at Object.<anonymous> (/app/main.js:7:1)
"""
GO = b"""panic: no incidents

goroutine 1 [running]:
main.main()
\t/app/main.go:10 +0x1d
exit status 2
"""


@pytest.mark.parametrize("log", [PYTHON, GROUP, JAVA, NODE, GO, PYTHON[43:], PYTHON[91:], JAVA[73:]])
def test_no_frame_of_a_traceback_is_shown_even_when_the_log_begins_inside_one(log: bytes) -> None:
    tail = readable_tail(log)
    for frame in ('File "', ".java:", "... 3 more", ".js:", ".go:", "Traceback (most"):
        assert frame not in tail


@pytest.mark.parametrize(
    ("log", "kept"),
    [
        (PYTHON, "ValueError: no incidents"),
        (PYTHON, "OSError: [Errno 28]"),
        (JAVA, "Caused by: java.io.IOException: disk"),
        (NODE, "Error: no incidents"),
        (GO, "panic: no incidents"),
        (b"  no frame\n  at 10:30 it failed\n\tx\n", "  no frame\n  at 10:30 it failed\n    x"),
    ],
)
def test_the_line_that_says_what_happened_is_kept(log: bytes, kept: str) -> None:
    assert kept in readable_tail(log)


@given(st.binary(max_size=5000), st.integers(1, 300))
def test_a_tail_is_printable_bounded_and_stored_as_it_is(log: bytes, limit: int) -> None:
    tail = readable_tail(log, limit)
    assert len(tail.encode()) <= limit
    assert all(c.isprintable() or c == "\n" for c in tail)


def test_of_a_long_log_the_end_is_kept() -> None:
    assert readable_tail(b"x\n" * 5000 + b"the last word").endswith("the last word")


def test_last_words_and_images_are_read_by_container() -> None:
    whole = succeeded(words='{"sha256": "ab"}')
    assert termination_message(whole, "scorecard") == '{"sha256": "ab"}'
    assert termination_message(whole, "eval-1") == termination_message({}, "eval-1") == ""
    whole["status"]["initContainerStatuses"][1]["imageID"] = "registry.example/e@sha256:12"
    assert image_ids(whole)["eval-1"] == "registry.example/e@sha256:12"
