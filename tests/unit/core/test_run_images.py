"""The image that ran against the one that was planned: what a moved tag does to a run, and to the epoch.

Aspects: two containers of one run, a workload's digest, earlier runs of the epoch, a tag seen to have moved, what the kubelet
does not tell, runs by hand, what the Job is made from.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
from rca_testing import evidence, job_states, samples, suites
from rca_testing.lifecycle_world import World
from rca_testing.run_world import Road, component

from rca_rollout.api import RcaComponent, parse
from rca_rollout.api.reasons import Reason
from rca_rollout.core.epoch import epoch_of
from rca_rollout.core.problem import Problem
from rca_rollout.core.revision import Running

A, B = "sha256:" + "a" * 64, "sha256:" + "b" * 64

type Body = dict[str, Any]


def ran(first: str | None, second: str | None = None) -> Body:
    """A Pod that ended well, and what the kubelet says its eval containers ran."""
    body = copy.deepcopy(job_states.succeeded())
    ids = {"eval-1": first, "eval-2": second or first}
    for state in body["status"]["initContainerStatuses"]:
        if found := ids.get(state["name"]):
            state["imageID"] = f"registry.example/e@{found}"
    return body


def ended(road: Road, pod: Body) -> Road:
    road.succeeded()
    road.pods = [pod]
    return road.settle()


def with_evidence(*digests: str | None, **status: Any) -> RcaComponent:
    runs = [
        {
            "name": f"n{n}",
            "uid": f"u{n}",
            "trigger": "Gate",
            "verdict": "Passed",
            **({"imageDigest": d} if d else {}),
        }
        for n, d in enumerate(digests)
    ]
    return component(evidence={"passing": len(runs), "failing": 0, "runs": runs}, **status)


def test_the_digest_that_ran_is_on_record() -> None:
    road = ended(Road(), ran(A))
    assert (road.status.phase, road.status.image_digest) == ("Passed", A)


def test_two_images_in_one_run_are_no_verdict() -> None:
    road = ended(Road(), ran(A, B))
    assert (road.status.phase, road.status.reason) == ("Inconclusive", Reason.IMAGE_CHANGED)
    assert road.status.image_digest == B


@pytest.mark.parametrize(
    ("earlier", "phase"), [((A,), "Passed"), ((A, B), "Inconclusive"), ((None,), "Passed")]
)
def test_a_run_is_held_against_the_last_one_of_its_epoch(earlier: tuple[str | None, ...], phase: str) -> None:
    road = Road()
    road.component = with_evidence(*earlier)
    assert ended(road, ran(A)).status.phase == phase


def test_what_is_on_record_of_another_epoch_says_nothing() -> None:
    road = Road(epoch=None, context=None, componentRef=None, trigger="Manual")
    road.component = None
    assert ended(road, ran(B)).status.reason != Reason.IMAGE_CHANGED


def test_a_tag_that_moves_while_the_run_is_under_way_ends_it_at_once() -> None:
    road = Road()
    road.component = with_evidence(A)
    road.running()
    pod = job_states.pod("Running", {"eval-1": {"running": {}}})
    pod["status"]["initContainerStatuses"][1]["imageID"] = f"registry.example/e@{B}"
    road.pods = [pod]
    road.settle()
    assert (road.status.phase, road.status.reason) == ("Inconclusive", Reason.IMAGE_CHANGED)
    assert "DeleteJob" in road.done


def workload_road(digest: str = A) -> Road:
    """Of a component whose workload runs `digest`."""
    running = Running(
        "agent:v6@sha256:aaaaaaaaaaaa", f"registry.example/agent@{digest}", digest, pull_secrets=("pull",)
    )
    body = samples.stored(samples.minimal("RcaComponent", "live"))
    del body["spec"]["revision"]
    body["spec"]["workloadRef"] = {"kind": "Deployment", "name": "agent"}
    parsed = parse(RcaComponent, body)
    assert isinstance(parsed, RcaComponent), parsed
    epoch = epoch_of(parsed.spec, suites.facts(), running)
    parsed = parsed.evolve(status=parsed.status.evolve(epoch=epoch, context="c1"))
    road = Road(epoch=epoch, revision=running.revision)
    road.component, road.what_runs = parsed, running
    return road


def card(road: Road) -> Any:
    return evidence.scorecard(road.suite.dataset_sha256, revision=road.run.spec.revision)


def concluded(road: Road, pod: Body) -> Road:
    road.succeeded(card(road))
    road.pods = [pod]
    return road.settle()


def test_the_job_runs_the_workloads_image_by_its_digest_with_its_pull_secret() -> None:
    road = workload_road()
    made = []
    for _ in range(6):
        plan = road.step()
        made += [action.body for action in plan.actions if type(action).__name__ == "CreateJob"]
    pod = made[0]["spec"]["template"]["spec"]
    images = {one["name"]: one["image"] for one in pod["initContainers"]}
    assert images["eval-1"] == images["eval-2"] == f"registry.example/agent@{A}"
    assert images["prepare"] == "registry.example/harness:1"
    assert pod["imagePullSecrets"] == [{"name": "pull"}]
    assert "command" not in next(one for one in pod["initContainers"] if one["name"] == "eval-1")
    memory = [
        item for one in pod["initContainers"] for item in one["env"] if item["name"] == "RCA_EVAL_MEMORY"
    ]
    assert not memory, "labels of other incidents are for our own engine"
    inputs = road.status.inputs
    assert (inputs.image, inputs.image_digest) == (f"registry.example/agent@{A}", A)


@pytest.mark.parametrize(
    ("pod", "phase"),
    [(ran(A), "Passed"), (ran(B), "Inconclusive"), (ran(None), "Inconclusive"), (ran(A, B), "Inconclusive")],
)
def test_a_workloads_run_is_evidence_only_if_its_digest_ran(pod: Body, phase: str) -> None:
    road = concluded(workload_road(), pod)
    assert road.status.phase == phase, road.status.message
    if phase == "Inconclusive":
        assert road.status.reason == Reason.IMAGE_CHANGED


def test_a_run_waits_while_nobody_knows_what_runs() -> None:
    road = Road()
    road.what_runs = Problem(Reason.ROLLOUT_IN_PROGRESS, "being rolled")
    road.settle()
    assert (road.status.phase, road.status.reason) == ("Pending", Reason.ROLLOUT_IN_PROGRESS)
    assert not road.jobs


def test_a_run_of_what_does_not_run_any_more_is_superseded() -> None:
    road = Road()
    road.settle()
    road.what_runs = Running("v1", None, None, (("input k of ConfigMap p", "new"),))
    road.settle()
    assert road.status.phase == "Superseded"


# -- what follows for the component


def test_a_moved_tag_begins_the_epoch_anew_and_says_so() -> None:
    live = World()
    live.suite = suites.facts(job={"image": "e:1"})
    live.run_and_pass()
    first = live.status.epoch
    live.pass_time(minutes=31)
    live.settle()
    inputs = {"image": "e:1", "revision": "v1"}
    moved = {"reason": "ImageChanged", "imageDigest": B, "inputs": inputs}
    live.end_run("Inconclusive", **moved)
    live.settle()
    assert live.status.epoch != first
    assert live.status.evidence is None
    assert live.status.eval_image is not None
    assert live.status.eval_image.digest == B
    said = [told.message for told in live.told if told.reason == Reason.OBSERVATION_RESET]
    assert said == ["the image behind the suite's tag changed: all evidence starts anew"]
    live.observe_to_the_end()
    assert live.value == "Active"


def test_a_tag_that_is_moved_back_brings_no_evidence_back() -> None:
    live = World()
    live.suite = suites.facts(job={"image": "e:1"})
    live.run_and_pass()
    epochs = {live.status.epoch}
    for digest in (B, A, B):
        live.pass_time(minutes=31)
        live.settle()
        inputs = {"image": "e:1", "revision": "v1"}
        live.end_run("Inconclusive", reason="ImageChanged", imageDigest=digest, inputs=inputs)
        live.settle()
        assert live.status.evidence is None
        epochs.add(live.status.epoch)
    assert len(epochs) == 3, "of the tag unseen, of B and of A"


def test_nodes_that_hold_different_images_under_one_tag_do_not_make_run_after_run() -> None:
    live = World()
    live.suite = suites.facts(job={"image": "e:1"})
    live.run_and_pass()
    live.pass_time(minutes=31)
    waits = []
    for digest in (B, A, B, A):
        live.settle()
        inputs = {"image": "e:1", "revision": "v1"}
        live.end_run("Inconclusive", reason="ImageChanged", imageDigest=digest, inputs=inputs)
        live.settle()
        assert live.status.current_run is None
        assert live.wake is not None
        waits.append((live.wake - live.now).total_seconds())
        live.now = live.wake
    assert waits == [10, 20, 40, 80]
