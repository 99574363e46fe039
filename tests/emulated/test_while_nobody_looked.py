"""What changed or ended while no operator was there is found by the next one, and a deadline that passed is told everywhere."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families
from rca_testing.emulator.lab import KEY, NAMESPACE, Lab
from rca_testing.emulator.workload import Agent, digest

pytestmark = pytest.mark.emulated

A, B = digest("a"), digest("b")


@pytest.mark.parametrize("word", ["Active", "Active@{revision}"])
async def test_an_image_that_was_rolled_while_no_operator_was_there_is_put_back_first(
    lab: Lab, word: str
) -> None:
    """What was promoted stands in status, not in a memory that begins at the start."""
    agent = Agent(lab, "r6", A)
    lab.modes()
    lab.data()
    lab.suite()
    values = {"shadow": "Shadow", "active": word}
    lab.component(
        workloadRef={"kind": "Deployment", "name": "agent"},
        target={"configMapRef": {"name": "modes"}, "key": KEY, "values": values},
    )
    lab.store.edit("rcacomponents", NAMESPACE, "live", lambda body: body["spec"].pop("revision"))
    first = lab.start()
    await lab.phase("Active")
    await lab.quiet(5)
    await lab.stop(first)
    agent.roll("r7", B)
    await asyncio.sleep(3600)
    before = len(lab.writes("create", "evalruns"))
    lab.start()
    await lab.until(lambda: lab.mode() == "Shadow", within=30)
    assert len(lab.writes("create", "evalruns")) == before, "put back before anything is measured"
    await lab.until(lambda: (lab.status().get("promotion") or {}).get("imageDigest") == B, within=600)
    words = [call.body[-1]["value"] for call in lab.key_writes()]
    assert words == [word.format(revision="r6"), "Shadow", word.format(revision="r7")]


async def test_a_deadline_that_passed_is_an_event_a_count_and_a_sentence_and_the_component_stays_in_shadow(
    lab: Lab,
) -> None:
    """No silence, and no verdict; and not for ever: five of them block."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])

    def too_long(lab: Lab, job: Any) -> None:
        lab.kubelet.fail(job, "eval-1", 137)
        name = f"{job['metadata']['name']}-pod"
        lab.store.edit("pods", NAMESPACE, name, lambda body: body["status"].update(reason="DeadlineExceeded"))

    lab.on_job = too_long
    lab.everything()
    lab.start(METRICS_PORT=port)
    condition = await lab.reason("Evaluated", "DeadlineExceeded")
    assert condition["status"] == "Unknown"
    assert "raise job.timeout" in condition["message"]
    await lab.phase("Blocked", within=3600)
    await lab.quiet()
    runs = lab.list("evalruns")
    assert {(run["status"]["phase"], run["status"]["reason"]) for run in runs} == {
        ("Error", "DeadlineExceeded")
    }
    assert lab.condition("Promoted")["reason"] == "EvalErrors"
    assert (lab.mode(), lab.key_writes()) == ("Shadow", [])
    told = [(event["type"], event["reason"]) for event in lab.events()]
    assert told.count(("Warning", "DeadlineExceeded")) == told.count(("Warning", "EvalErrors")) == 1
    of_runs = [event for event in lab.events("EvalRun") if event["reason"] == "DeadlineExceeded"]
    assert len(of_runs) == len(runs) == 5
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/metrics") as answer:
        text = await answer.text()
    ended = {
        sample.labels["phase"]: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "rca_eval_runs_total"
    }
    assert (ended["Error"], ended["Passed"]) == (5, 0)
