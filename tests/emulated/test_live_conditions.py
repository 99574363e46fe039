"""Live conditions from the custom resource to the key, through the whole operator."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio
from rca_testing.emulator import clock
from rca_testing.emulator.lab import Lab
from rca_testing.emulator.query_api import QueryApi

pytestmark = pytest.mark.emulated

SIGNAL = {
    "name": "latency",
    "query": 'p95{component="$(key)",namespace="$(namespace)"}',
    "operator": "LessThanOrEqual",
    "threshold": "0.25",
    "role": "Signal",
}
GUARDRAIL = {
    "name": "errors",
    "query": 'errors{revision="$(revision)"}',
    "operator": "LessThan",
    "threshold": "0.02",
    "role": "Guardrail",
}
OBSERVATION = {
    "period": "20m",
    "interval": "10m",
    "minPassingRuns": 2,
    "minShadowDecisions": 5,
    "conditions": [SIGNAL, GUARDRAIL],
}
DECISIONS = "rca_shadow_decisions_total"


@pytest_asyncio.fixture
async def prometheus() -> AsyncIterator[QueryApi]:
    async with QueryApi() as api:
        api.answers = {"p95": "0.1", "errors": "0", DECISIONS: "12"}
        yield api


def everything(lab: Lab, **observation: Any) -> None:
    lab.everything(
        observation={**OBSERVATION, **observation}, guard={"interval": "4h", "conditions": [GUARDRAIL]}
    )


def observed(lab: Lab) -> str:
    return str(lab.condition("Observed").get("message", ""))


async def test_a_component_becomes_active_on_live_evidence_and_a_guardrail_puts_it_back(
    lab: Lab, prometheus: QueryApi
) -> None:
    everything(lab)
    lab.start(PROMETHEUS_URL=prometheus.url)
    status = await lab.phase("Active", within=3600)
    assert status["observation"]["decisions"]["count"] == 12
    asked = set(prometheus.asked)
    assert 'p95{component="RcaLiveActivation.Mode",namespace="shop"}' in asked
    assert 'errors{revision="r1"}' in asked
    assert any(
        query.startswith('sum(increase(rca_shadow_decisions_total{component="RcaLiveActivation.Mode"')
        for query in asked
    )
    began, at = (
        datetime.fromisoformat(text) for text in (status["observation"]["beganAt"], status["promotion"]["at"])
    )
    assert timedelta(minutes=20) <= at - began <= timedelta(minutes=22)
    before = clock.now()
    prometheus.answers["errors"] = "0.5"
    await lab.until(lambda: lab.mode() == "Shadow", within=600)
    assert clock.now() - before <= timedelta(minutes=4)
    await lab.phase("Blocked")
    assert lab.status()["demotion"]["cause"] == "ConditionViolated"
    assert lab.condition("Promoted")["message"] == "errors 0.5 >= 0.02 (Guardrail)"
    assert [call.body[-1]["value"] for call in lab.key_writes()] == ["Active", "Shadow"]


async def test_what_is_violated_or_silent_is_said_and_its_time_does_not_count(
    lab: Lab, prometheus: QueryApi
) -> None:
    everything(lab)
    prometheus.answers["p95"] = "0.31"
    lab.start(PROMETHEUS_URL=prometheus.url)
    await lab.until(lambda: "latency 0.31 > 0.25 (Signal)" in observed(lab))
    await asyncio.sleep(7200)
    assert lab.mode() == "Shadow"
    prometheus.answers["p95"] = None
    await lab.until(lambda: "latency no data since" in observed(lab), within=900)
    prometheus.answers["p95"] = "0.2"
    begun = clock.now()
    await lab.phase("Active", within=3600)
    assert timedelta(minutes=19) <= clock.now() - begun <= timedelta(minutes=25)
    told = [event["reason"] for event in lab.events("RcaComponent")]
    assert told.count("ConditionViolated") == 1


async def test_a_violated_guardrail_blocks_and_a_restart_forgets_nothing(
    lab: Lab, prometheus: QueryApi
) -> None:
    everything(lab)
    first = lab.start(PROMETHEUS_URL=prometheus.url)
    await lab.until(lambda: lab.status().get("conditionReadings"))
    prometheus.answers["errors"] = "0.5"
    await lab.phase("Blocked", within=600)
    await lab.stop(first)
    prometheus.answers["errors"] = "0"
    lab.start(PROMETHEUS_URL=prometheus.url)
    await asyncio.sleep(3600)
    assert lab.mode() == "Shadow"
    assert lab.condition("Promoted")["reason"] == "ConditionViolated"


async def test_restarts_cost_no_time_of_the_observation(lab: Lab, prometheus: QueryApi) -> None:
    everything(lab)
    token = lab.start(PROMETHEUS_URL=prometheus.url)
    await lab.until(lambda: lab.status().get("conditionReadings"))
    for _ in range(3):
        await asyncio.sleep(240)
        await lab.stop(token)
        token = lab.start(PROMETHEUS_URL=prometheus.url)
    status = await lab.phase("Active", within=3600)
    began, at = (
        datetime.fromisoformat(text) for text in (status["observation"]["beganAt"], status["promotion"]["at"])
    )
    assert timedelta(minutes=20) <= at - began <= timedelta(minutes=22)


async def test_a_prometheus_that_hangs_holds_back_neither_shadow_nor_anybody_else(
    lab: Lab, prometheus: QueryApi
) -> None:
    everything(lab, period="1s", interval="1s")
    lab.component("memory", key="RcaMemory.Mode", suiteRef={"name": "other"})
    lab.suite("other")
    lab.store.edit(
        "configmaps", "shop", "modes", lambda body: body["data"].update({"RcaMemory.Mode": "Shadow"})
    )
    lab.start(PROMETHEUS_URL=prometheus.url)
    await lab.phase("Active", within=900)
    prometheus.silent = True
    await asyncio.sleep(120)
    lab.store.edit("rcacomponents", "shop", "live", lambda body: body["spec"].update(mode="Shadow"))
    await lab.until(lambda: lab.mode() == "Shadow", within=5)
    lab.store.edit("rcacomponents", "shop", "memory", lambda body: body["spec"].update(revision="r2"))
    await lab.until(lambda: (lab.status("memory").get("promotion") or {}).get("revision") == "r2", within=300)


async def test_steady_readings_of_an_active_component_write_nothing(lab: Lab, prometheus: QueryApi) -> None:
    everything(lab, period="1s", interval="1s")
    lab.start(PROMETHEUS_URL=prometheus.url)
    await lab.phase("Active", within=900)
    await lab.quiet()
    before, asked = len(lab.server.writes()), len(prometheus.asked)
    with pytest.raises(AssertionError, match="not reached"):
        await lab.until(lambda: len(lab.server.writes()) > before, within=1800)
    # Thirty, less what the skipping clock passes over while a real answer is on its way.
    assert 20 <= len(prometheus.asked) - asked <= 35


async def test_nothing_is_promoted_where_conditions_are_asked_for_and_nobody_can_be_asked(lab: Lab) -> None:
    everything(lab, minShadowDecisions=0)
    lab.start()
    await lab.until(lambda: "no Prometheus is configured: set the chart's prometheus.url" in observed(lab))
    await asyncio.sleep(7200)
    assert lab.mode() == "Shadow"
