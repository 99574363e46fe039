"""What runs, over the API: a workload that is rolled, a tag that is moved, a prompt that is edited, a word that is held."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest
from rca_testing.emulator.lab import KEY, NAMESPACE, Lab
from rca_testing.emulator.server import Call, Fault
from rca_testing.emulator.store import Refusal
from rca_testing.emulator.workload import Agent, digest

pytestmark = pytest.mark.emulated

A, B = digest("a"), digest("b")
WORKLOAD = {"kind": "Deployment", "name": "agent"}
SHADOWING = {"period": "6h", "interval": "10m", "minPassingRuns": 3}
PROMPT = {"configMapRef": {"name": "prompts", "key": "system.txt"}}
MODEL = {"secretRef": {"name": "model", "key": "name"}}


def everything(lab: Lab, active: str = "Active@{revision}", **spec: Any) -> None:
    target = {"configMapRef": {"name": "modes"}, "key": KEY, "values": {"shadow": "Shadow", "active": active}}
    lab.modes()
    lab.data()
    lab.suite()
    lab.component(target=target, **spec)
    if "workloadRef" in spec:
        lab.store.edit("rcacomponents", NAMESPACE, "live", lambda body: body["spec"].pop("revision"))


def packed(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def prompts(lab: Lab, text: str = "be brief") -> None:
    lab.create("configmaps", "prompts", data={"system.txt": text})


def told(lab: Lab, reason: str) -> list[str]:
    return [event["message"] for event in lab.events() if event["reason"] == reason]


def key_values(lab: Lab) -> list[str]:
    return [call.body[-1]["value"] for call in lab.key_writes()]


async def test_a_workload_is_promoted_with_the_image_that_its_pods_run(lab: Lab) -> None:
    Agent(lab, "r6", A)
    everything(lab, workloadRef=WORKLOAD)
    lab.start()
    await lab.phase("Active")
    assert lab.mode() == "Active@r6"
    promotion = lab.status()["promotion"]
    assert (promotion["revision"], promotion["imageDigest"]) == ("r6", A)
    for run in lab.list("evalruns"):
        assert run["status"]["inputs"]["image"] == f"registry.example/agent@{A}"
        assert run["status"]["imageDigest"] == A
    evaluated = [
        c["image"]
        for job in lab.list("jobs")
        for c in job["spec"]["template"]["spec"]["initContainers"]
        if c["name"].startswith("eval-")
    ]
    assert evaluated
    assert set(evaluated) == {f"registry.example/agent@{A}"}
    assert [run["imageDigest"] for run in lab.status()["evidence"]["runs"]] == [A] * len(
        lab.status()["evidence"]["runs"]
    )


async def test_rolled_while_active_the_new_image_governs_nothing_before_its_own_promotion(lab: Lab) -> None:
    agent = Agent(lab, "r6", A)
    everything(lab, workloadRef=WORKLOAD)
    lab.start()
    await lab.phase("Active")
    agent.begin("r7", B)
    await lab.until(lambda: lab.mode() == "Shadow")
    await lab.until(lambda: lab.status().get("demotion"))
    assert lab.status()["demotion"]["cause"] == "RevisionChanged"
    agent.end("r7", B)
    await lab.phase("Active", within=600)
    assert key_values(lab) == ["Active@r6", "Shadow", "Active@r7"]
    assert lab.status()["promotion"]["imageDigest"] == B


async def test_a_word_without_a_revision_is_put_back_as_soon_as_a_rollout_begins(lab: Lab) -> None:
    agent = Agent(lab, "r6", A)
    everything(lab, "Active", workloadRef=WORKLOAD)
    lab.start()
    await lab.phase("Active")
    agent.begin("r7", B)
    await lab.until(lambda: lab.mode() == "Shadow", within=15)


async def test_held_and_rolled_back_the_promoted_revision_governs_again_without_a_write(lab: Lab) -> None:
    agent = Agent(lab, "r6", A)
    everything(lab, workloadRef=WORKLOAD, promotion={"onNewRevision": "Hold"}, guard={"interval": "24h"})
    first = lab.start()
    await lab.phase("Active")
    await lab.quiet(3)
    lab.store.edit(
        "rcacomponents", NAMESPACE, "live", lambda body: body["spec"].update(observation=SHADOWING)
    )
    agent.roll("r7", B)
    await lab.until(lambda: lab.status().get("revision") == "r7")
    assert lab.status()["held"]["revision"] == "r6"
    assert (lab.mode(), lab.status()["mode"]) == ("Active@r6", "Shadow")
    assert "which r7 reads as Shadow" in lab.condition("Promoted")["message"]
    await lab.kill(first)
    await asyncio.sleep(60)
    agent.roll("r6", A)
    lab.start()
    await lab.phase("Active", within=600)
    assert key_values(lab) == ["Active@r6"]
    await lab.until(lambda: told(lab, "GovernsAgain"))
    await lab.until(lambda: lab.status().get("evidence"), within=600)
    assert lab.status()["evidence"]["runs"][0]["trigger"] == "Guard"


async def test_a_tag_moved_in_place_is_noticed_and_begins_anew(lab: Lab) -> None:
    agent = Agent(lab, "r6", A)
    everything(lab, workloadRef=WORKLOAD, observation=SHADOWING)
    lab.start()
    await lab.phase("Observing")
    agent.restart("r6", B)
    await lab.until(lambda: lab.status().get("imageDigest") == B)
    await lab.until(lambda: told(lab, "ObservationReset"))
    assert told(lab, "ObservationReset") == ["the workload's image changed: all evidence starts anew"]
    await lab.phase("Observing", within=600)
    assert {run["imageDigest"] for run in lab.status()["evidence"]["runs"]} == {B}


async def test_a_tag_of_the_suite_that_moves_is_no_verdict_and_a_new_epoch(lab: Lab) -> None:
    everything(lab, "Active", observation=SHADOWING)
    lab.start()
    await lab.phase("Observing")
    first = lab.status()["epoch"]
    lab.kubelet.tag = B
    await lab.until(lambda: lab.status()["epoch"] != first, within=3600)
    await lab.until(lambda: told(lab, "ObservationReset"))
    assert told(lab, "ObservationReset") == [
        "the image behind the suite's tag changed: all evidence starts anew"
    ]
    assert [run for run in lab.list("evalruns") if run["status"].get("reason") == "ImageChanged"]
    await lab.phase("Observing", within=600)
    assert {run["imageDigest"] for run in lab.status()["evidence"]["runs"]} == {B}


@pytest.mark.parametrize("kind", ["prompt", "model"])
async def test_an_edited_input_begins_anew_and_only_its_name_is_told(lab: Lab, kind: str) -> None:
    prompts(lab)
    lab.create("secrets", "model", data={"name": packed("small-1")})
    everything(lab, "Active", observation=SHADOWING, inputs=[PROMPT, MODEL, PROMPT])
    lab.start()
    await lab.phase("Observing")
    first = lab.status()["epoch"]
    if kind == "prompt":
        lab.store.edit(
            "configmaps", NAMESPACE, "prompts", lambda body: body["data"].update({"system.txt": "be long"})
        )
    else:
        lab.store.edit(
            "secrets", NAMESPACE, "model", lambda body: body["data"].update(name=packed("large-2"))
        )
    await lab.until(lambda: lab.status()["epoch"] != first)
    name = "input system.txt of ConfigMap prompts" if kind == "prompt" else "input name of Secret model"
    await lab.until(lambda: told(lab, "ObservationReset"))
    assert told(lab, "ObservationReset") == [f"{name} changed: all evidence starts anew"]
    everything_told = str([lab.get("rcacomponents", "live"), lab.list("events"), lab.list("evalruns")])
    assert not [word for word in ("be brief", "be long", "small-1", "large-2") if word in everything_told]


async def test_an_input_that_is_edited_under_what_governs_puts_it_back(lab: Lab) -> None:
    prompts(lab)
    everything(lab, promotion={"onNewRevision": "Hold"}, inputs=[PROMPT])
    lab.start()
    await lab.phase("Active")
    lab.store.edit("configmaps", NAMESPACE, "prompts", lambda body: body["data"].update({"system.txt": "x"}))
    await lab.until(lambda: lab.mode() == "Shadow", within=30)
    await lab.until(lambda: lab.status().get("demotion"))
    assert lab.status()["demotion"]["cause"] == "InputChanged"
    await lab.phase("Active", within=600)


async def test_a_missing_input_is_named_and_nothing_is_evaluated_before_it_is_there(lab: Lab) -> None:
    everything(lab, "Active", inputs=[PROMPT])
    lab.start()
    await lab.reason("Ready", "InputNotFound")
    await lab.quiet(60)
    assert not lab.list("evalruns")
    prompts(lab)
    await lab.phase("Active", within=600)


async def test_without_the_right_to_read_secrets_the_way_out_is_told(lab: Lab) -> None:
    def forbidden(call: Call) -> None:
        raise Refusal(403, "Forbidden", f"{call.plural} is forbidden")

    lab.server.faults.append(Fault(lambda call: call.plural == "secrets", forbidden, times=10_000))
    everything(lab, "Active", inputs=[MODEL])
    lab.start()
    await lab.reason("Stalled", "InputUnreadable")
    assert "rbac.secretInputs" in lab.condition("Stalled")["message"]
    assert not lab.list("evalruns")


async def test_what_is_polled_writes_nothing_while_nothing_changes(lab: Lab) -> None:
    Agent(lab, "r6", A)
    prompts(lab)
    everything(lab, workloadRef=WORKLOAD, inputs=[PROMPT], guard={"interval": "24h"})
    lab.start()
    await lab.phase("Active")
    await lab.quiet(5)
    before = len(lab.server.writes())
    await asyncio.sleep(600)
    assert len(lab.server.writes()) == before


@pytest.mark.parametrize("number", range(0, 10, 2))
@pytest.mark.parametrize("policy", ["Demote", "Hold"])
async def test_killed_at_any_write_of_a_rollout_nothing_governs_unshown_and_the_next_one_goes_on(
    lab: Lab, policy: str, number: int
) -> None:
    agent = Agent(lab, "r6", A)
    everything(lab, workloadRef=WORKLOAD, promotion={"onNewRevision": policy})
    first = lab.start()
    await lab.phase("Active")
    await lab.quiet(3)
    start = len(lab.server.writes())
    fault = Fault(
        lambda call: call.writes and len(lab.server.writes()) == start + number + 1,
        lab.server.kill,
        late=bool(number % 4),
    )
    lab.server.faults.append(fault)
    agent.roll("r7", B)
    await lab.until(lambda: fault.hits or lab.mode() == "Active@r7", within=600)
    await lab.kill(first)
    lab.server.faults.clear()
    await asyncio.sleep(30)
    lab.start()
    await lab.until(lambda: lab.mode() == "Active@r7", within=900)
    await lab.phase("Active", within=600)
    passed = [run for run in lab.list("evalruns") if (run.get("status") or {}).get("phase") == "Passed"]
    assert len([run for run in passed if run["status"]["imageDigest"] == B]) >= 2
    expected = ["Active@r6", "Active@r7"] if policy == "Hold" else ["Active@r6", "Shadow", "Active@r7"]
    assert key_values(lab) == expected
