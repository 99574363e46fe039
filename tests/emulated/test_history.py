"""Finished runs do not pile up, whoever made them, and what somebody refers to stays with its scorecard."""

from __future__ import annotations

import pytest
from rca_testing.emulator.lab import NAMESPACE, Lab
from rca_testing.emulator.store import Body

pytestmark = pytest.mark.emulated

LIMITS = {"passed": 2, "other": 3}


def number(job: Body) -> int:
    name: str = job["metadata"]["ownerReferences"][0]["name"]
    return int(name.rpartition("-")[2])


async def test_runs_that_people_make_go_when_newer_ones_have_ended(lab: Lab) -> None:
    def outcome(lab: Lab, job: Body) -> None:
        if number(job) % 2:
            lab.kubelet.succeed(job)
        else:
            lab.kubelet.fail(job, "eval-1", 3)

    lab.on_job = outcome
    lab.data()
    lab.suite(historyLimits=LIMITS)
    lab.start()
    for made in range(1, 13):
        name = f"by-hand-{made}"
        lab.create("evalruns", name, spec={"suiteRef": {"name": "suite"}})
        await lab.until(
            lambda name=name: (
                (lab.store.objects["evalruns", NAMESPACE, name].get("status") or {}).get("phase")
                in ("Passed", "Error", "Failed", "Inconclusive")
            )
        )
    await lab.quiet(60)
    left = {run["metadata"]["name"]: run["status"]["phase"] for run in lab.list("evalruns")}
    assert left == {
        **{f"by-hand-{n}": "Passed" for n in (9, 11)},
        **{f"by-hand-{n}": "Error" for n in (8, 10, 12)},
    }
    cards = {body["metadata"]["name"] for body in lab.list("configmaps")} - {"incidents"}
    assert cards == {"by-hand-9-scorecard", "by-hand-11-scorecard"}


async def test_the_runs_of_an_active_component_stay_as_far_as_its_status_names_them(lab: Lab) -> None:
    lab.modes()
    lab.data()
    lab.suite(historyLimits=LIMITS)
    lab.component(guard={"interval": "10m"})
    lab.start()
    await lab.phase("Active")
    await lab.until(lambda: lab.status()["runsStarted"] > 30, within=36_000)
    await lab.until(lambda: "currentRun" not in lab.status(), within=600)
    status = lab.status()
    named = {run["name"] for run in status["evidence"]["runs"]} | {status["promotion"]["run"]}
    left = {run["metadata"]["name"] for run in lab.list("evalruns")}
    assert named <= left
    assert len(left) <= len(named) + LIMITS["passed"] + 1
    assert status["evidence"]["passing"] >= 29, "counted, though the runs are gone"
