"""`kill -9` of the operator in every phase: the same end, one Job per attempt, one run per number, one write.

Each story has a namespace and an operator of its own, so that they can be killed side by side. Nothing is cleaned up
after a kill: kubelet starts the container again, with its back-off.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest
from rca_testing.node import (
    WRITABLE,
    Api,
    Body,
    Operator,
    Place,
    Recorder,
    baseline,
    component,
    condition,
    dataset,
    eventually,
    modes,
    restricted_namespace,
    suite,
)

pytestmark = [pytest.mark.node, pytest.mark.timeout(420)]

STORY_SECONDS = 300
SLOW = {"command": ["sh", "-c", "sleep 2; exec python3 /engine.py"]}
QUICK = {"period": "0s", "interval": "1s", "minPassingRuns": 1}


@dataclass
class Story:
    """One component on its way, and the process that is killed on the way."""

    place: Place
    operator: Operator
    recorder: Recorder
    killed: list[str] = field(default_factory=list)

    def begin(self, *, with_suite: bool = True, **observation: Any) -> None:
        self.place.create(dataset(), baseline(), modes("modes", Mode="Shadow", Other="Shadow"))
        if with_suite:
            self.place.create(suite("suite", **SLOW))
        wanted = {**QUICK, **observation}
        self.place.create(component("it", suite="suite", target="modes", observation=wanted))

    def status(self) -> Body:
        status: Body = self.place.get("RcaComponent", "it").get("status") or {}
        return status

    def until(self, what: Callable[[Body], object], seconds: float = 120) -> Body:
        """The status, once `what` holds for it; looked at often, to be there in time."""

        def look() -> Body:
            status = self.status()
            assert what(status), status
            return status

        return eventually(look, seconds=seconds, every=0.02)

    def kill(self, moment: str) -> None:
        self.operator.kill()
        self.killed.append(f"{moment} (phase {self.status().get('phase')})")

    def value(self) -> str:
        return str(self.place.get("ConfigMap", "modes")["data"]["Mode"])

    def running_job(self, trigger: str) -> Body:
        """The Job of a run with this trigger, its engine at work."""

        def look() -> Body:
            runs = [run for run in self.place.list("EvalRun") if run["spec"]["trigger"] == trigger]
            assert runs, "no such run yet"
            jobs = self.place.list("Job", f"rca.bluerobin.io/run={runs[-1]['metadata']['name']}")
            assert jobs
            pods = self.place.list("Pod", f"batch.kubernetes.io/job-name={jobs[0]['metadata']['name']}")
            states = pods[0]["status"].get("initContainerStatuses") or [] if pods else []
            assert any(s["name"] == "eval-1" and s["state"].get("running") for s in states)
            return jobs[0]

        return eventually(look, seconds=120, every=0.1)


def killed_while_pending_and_while_observing(story: Story) -> None:
    story.begin(with_suite=False, period="6s", interval="3s")
    story.until(lambda status: status.get("phase") == "Pending")
    story.kill("Pending")
    story.place.create(suite("suite", **SLOW))
    story.until(lambda status: status.get("phase") == "Observing")
    story.kill("Observing")


def killed_while_a_job_runs_and_before_its_scorecard_is_stored(story: Story) -> None:
    story.begin()
    story.running_job("Gate")
    story.kill("Evaluating, Job running")
    job = story.running_job("Closing")
    pid = story.operator.freeze()
    run = job["metadata"]["labels"]["rca.bluerobin.io/run"]

    def done() -> None:
        found = story.place.get("Job", job["metadata"]["name"])["status"].get("conditions") or []
        assert any(c["type"] == "Complete" and c["status"] == "True" for c in found)

    eventually(done, seconds=60)
    assert story.place.find("ConfigMap", f"{run}-scorecard") is None
    os.kill(pid, signal.SIGKILL)
    story.killed.append("Job done, scorecard not stored")


def _deny(story: Story, name: str, resource: Mapping[str, Any], expression: str, message: str) -> None:
    """An admission policy that refuses something to the operator of this story."""
    full = f"{name}-{story.place.name}"
    account = f"system:serviceaccount:{story.place.name}:"
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": full},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{**resource, "operations": ["UPDATE"]}]},
            "matchConditions": [
                {"name": "ours", "expression": f"request.userInfo.username.startsWith('{account}')"}
            ],
            "validations": [{"expression": expression, "message": message}],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": full},
        "spec": {"policyName": full, "validationActions": ["Deny"]},
    }
    base = "/apis/admissionregistration.k8s.io/v1"
    for plural, body in (
        ("validatingadmissionpolicies", policy),
        ("validatingadmissionpolicybindings", binding),
    ):
        answer = story.place.api.request("POST", f"{base}/{plural}", body)
        assert answer.status_code == 201, answer.text


def _allow(api: Api, name: str, namespace: str) -> None:
    base = "/apis/admissionregistration.k8s.io/v1"
    for plural in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
        api.request("DELETE", f"{base}/{plural}/{name}-{namespace}")


def killed_while_promoting_before_the_key_is_written(story: Story) -> None:
    maps = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    _deny(story, "key", maps, "false", "nobody touches these switches today")
    story.begin()
    refused = story.until(
        lambda status: condition({"status": status}, "Promoted").get("reason") == "WriteFailed"
    )
    said = condition({"status": refused}, "Promoted")
    assert "nobody touches these switches today" in said["message"]
    assert "Mode of ConfigMap modes" in said["message"]
    assert refused["intent"]["value"] == "Active"
    assert story.value() == "Shadow"
    story.kill("Promoting, key not written")
    _allow(story.place.api, "key", story.place.name)


def killed_while_promoting_after_the_key_was_written_and_while_active(story: Story) -> None:
    status = {
        "apiGroups": ["rca.bluerobin.io"],
        "apiVersions": ["v1alpha1"],
        "resources": ["rcacomponents/status"],
    }
    _deny(
        story,
        "status",
        status,
        "!has(object.status.mode) || object.status.mode != 'Active'",
        "the promotion is not recorded yet",
    )
    story.begin()

    def written() -> None:
        assert story.value() == "Active"

    eventually(written, seconds=120, every=0.05)
    assert story.status()["phase"] == "Promoting"
    story.kill("Promoting, key written, not recorded")
    _allow(story.place.api, "status", story.place.name)
    story.until(lambda status: status.get("phase") == "Active")
    story.kill("Active")


def killed_right_after_each_of_its_first_writes(story: Story) -> None:
    """As soon as the watch shows what was written: between an action and whatever follows it."""
    moments = (
        ("the run was made", lambda: story.recorder.made("EvalRun")),
        ("the Job was made", lambda: story.recorder.made("Job")),
        (
            "the scorecard was stored",
            lambda: [
                c for c in story.recorder.made("ConfigMap") if c["metadata"]["name"].endswith("-scorecard")
            ],
        ),
    )
    story.operator.ready()
    eventually(story.operator.pid, seconds=60)
    story.begin()
    for moment, seen in moments:

        def happened(seen: Callable[[], list[Body]] = seen) -> None:
            assert seen()

        eventually(happened, seconds=120, every=0.005)
        story.kill(moment)


STORIES = (
    killed_while_pending_and_while_observing,
    killed_while_a_job_runs_and_before_its_scorecard_is_stored,
    killed_while_promoting_before_the_key_is_written,
    killed_while_promoting_after_the_key_was_written_and_while_active,
    killed_right_after_each_of_its_first_writes,
)


def _same_end(story: Story) -> None:
    """Active, and the operator alive; then everything is held against what the watches saw."""
    story.until(lambda status: status.get("phase") == "Active")
    eventually(story.operator.ready, seconds=90)
    # The last Job is let go after the promotion; nothing else may come.
    last = len(story.recorder.seen)
    quiet = time.monotonic() + 5
    while time.monotonic() < quiet:
        if len(story.recorder.seen) != last:
            last, quiet = len(story.recorder.seen), max(quiet, time.monotonic() + 3)
        time.sleep(0.2)
    status = story.status()
    assert status["promotion"]["cause"] == "Promoted"
    assert "intent" not in status
    assert status["evidence"]["failing"] == 0

    values = [version["data"]["Mode"] for version in story.recorder.versions("ConfigMap", "modes")]
    assert values == ["Shadow", "Active"]

    runs = story.recorder.last("EvalRun")
    numbers = [run["metadata"]["name"].rpartition("-")[2] for run in runs]
    assert sorted(numbers, key=int) == [str(n + 1) for n in range(status["runsStarted"])]
    assert {run["status"]["phase"] for run in runs} == {"Passed"}
    assert {run["status"]["attempts"] for run in runs} == {1}
    jobs = story.recorder.made("Job")
    assert len(jobs) == len({job["metadata"]["name"] for job in jobs}) == len(runs)
    pods = [p for p in story.recorder.made("Pod") if "rca.bluerobin.io/run" in p["metadata"]["labels"]]
    assert len(pods) == len(jobs)
    cards = [c for c in story.recorder.made("ConfigMap") if c["metadata"]["name"].endswith("-scorecard")]
    assert len(cards) == len(runs)

    told = [
        (event["involvedObject"]["name"], event["reason"], event["message"])
        for event in story.place.list("Event")
        if event["involvedObject"]["kind"] in ("RcaComponent", "EvalRun")
    ]
    assert len(told) == len(set(told))
    assert ("it", "Promoted", status["lastTransition"]["message"]) in told


@dataclass
class Telling:
    futures: dict[str, Future[Story]]


@pytest.fixture(scope="module")
def telling(api: Api, kinds: None) -> Iterator[Telling]:
    """All stories side by side: most of their time is kubelet's back-off."""
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(len(STORIES)))
        futures: dict[str, Future[Story]] = {}
        for tell in STORIES:
            place = stack.enter_context(restricted_namespace(api))
            recorder = Recorder(place, WRITABLE).start()
            stack.callback(recorder.stop)
            for name in ("key", "status"):
                stack.callback(_allow, api, name, place.name)
            futures[tell.__name__] = pool.submit(_tell, tell, place, recorder)
        yield Telling(futures)


def _tell(tell: Callable[[Story], None], place: Place, recorder: Recorder) -> Story:
    story = Story(place, Operator(place), recorder)
    tell(story)
    _same_end(story)
    return story


@pytest.mark.parametrize("name", [tell.__name__ for tell in STORIES])
def test_the_end_is_the_same_when_the_operator_is(
    telling: Telling, name: str, figure: Callable[[str], None]
) -> None:
    story = telling.futures[name].result(timeout=STORY_SECONDS)
    figure(f"{name}: " + "; ".join(story.killed))
    assert story.killed
    assert story.operator.restarts() == len(story.killed)
