"""Confirmation from the custom resource to the replicas of a consumer and back, through the whole operator.

The replicas are servers on the loopback network; the Pods name their addresses.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio
from rca_testing.consumers import Behaviour, Consumer, body, consumers, loaded, raw, silent
from rca_testing.emulator import clock
from rca_testing.emulator.lab import KEY, NAMESPACE, Lab
from rca_testing.emulator.query_api import QueryApi
from rca_testing.emulator.server import Call, Fault
from rca_testing.emulator.store import Body, Refusal

pytestmark = pytest.mark.emulated

SELECTOR = {"matchLabels": {"app": "agent"}}


class Agents:
    """Two replicas that load what the key holds, unless a test says otherwise; as many more as it wants."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.port = 0
        self.replicas: dict[str, Consumer] = {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Agents:
        for name in ("agent-a", "agent-b"):
            await self.add(name)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()

    async def add(self, name: str, behaviour: Behaviour | None = None, **status: Any) -> Consumer:
        replica = Consumer(f"127.0.1.{len(self.replicas) + 1}", behaviour or self.follows)
        self.port = await self._stack.enter_async_context(consumers(replica, port=self.port))
        self.replicas[name] = replica
        self.pod(name, **status)
        return replica

    def pod(self, name: str, **status: Any) -> None:
        ready = [{"type": "Ready", "status": "True"}]
        held = {"phase": "Running", "podIP": self.replicas[name].address, "conditions": ready, **status}
        self.lab.create("pods", name, metadata={"labels": {"app": "agent"}}, status=held)

    async def follows(self, writer: asyncio.StreamWriter) -> None:
        """The kubelet has brought what the key holds."""
        await loaded(KEY, self.lab.mode())(writer)

    def say(self, behaviour: Behaviour | None, *names: str) -> None:
        for name in names or self.replicas:
            self.replicas[name].behaviour = behaviour or self.follows

    @property
    def confirmation(self) -> dict[str, Any]:
        return {"http": {"selector": SELECTOR, "port": self.port}}


@pytest_asyncio.fixture
async def agents(lab: Lab) -> AsyncIterator[Agents]:
    async with Agents(lab) as made:
        yield made


def confirmation(lab: Lab) -> Body:
    return dict(lab.status().get("confirmation") or {})


def spec(lab: Lab, **changes: Any) -> None:
    lab.store.edit("rcacomponents", NAMESPACE, "live", lambda body: body["spec"].update(changes))


def told(lab: Lab) -> list[str]:
    return [event["reason"] for event in lab.events("RcaComponent")]


async def written(lab: Lab, value: str = "Active", within: float = 600) -> None:
    await lab.until(lambda: lab.mode() == value, within)


async def test_a_component_is_promoted_when_both_replicas_have_loaded_the_mode(
    lab: Lab, agents: Agents
) -> None:
    agents.say(loaded(KEY, "Shadow"))
    lab.everything(confirmation=agents.confirmation)
    lab.start()
    await written(lab)
    await lab.until(lambda: confirmation(lab).get("total") == 2)
    assert lab.status()["phase"] == "Promoting"
    assert lab.condition("Promoted")["status"] == "False"
    assert lab.condition("Promoted")["reason"] == "Confirming"
    assert lab.condition("Reconciling")["status"] == "True"
    await asyncio.sleep(40)
    agents.say(None, "agent-a")
    await lab.until(lambda: confirmation(lab)["confirmed"] == 1)
    assert "agent-b has loaded Shadow" in lab.condition("Promoted")["message"]
    assert lab.status()["phase"] == "Promoting"
    agents.say(None)
    await lab.phase("Active", within=60)
    assert "2 of 2 replicas have loaded Active" in lab.condition("Promoted")["message"]
    await lab.until(lambda: told(lab)[-2:] == ["Confirming", "Promoted"])
    await lab.quiet()
    asked = len(agents.replicas["agent-a"].asked)
    await asyncio.sleep(600)
    assert len(agents.replicas["agent-a"].asked) == asked  # nobody is asked any more


async def test_one_replica_that_never_loads_it_has_the_key_put_back_once_and_is_named(
    lab: Lab, agents: Agents
) -> None:
    agents.say(loaded(KEY, "Shadow"), "agent-b")
    lab.everything(confirmation=agents.confirmation)
    lab.start()
    await written(lab)
    begun = clock.now()
    await written(lab, "Shadow", within=900)
    assert timedelta(minutes=4, seconds=58) <= clock.now() - begun <= timedelta(minutes=5, seconds=10)
    await lab.phase("Blocked")
    text = "not confirmed within 5m: 1 of 2 replicas have loaded Active: agent-b has loaded Shadow"
    assert lab.condition("Promoted")["reason"] == "ConfirmationFailed"
    assert lab.condition("Promoted")["message"] == text
    assert lab.status()["demotion"]["promotion"]["cause"] == "Promoted"
    await lab.until(lambda: confirmation(lab)["state"] == "Confirmed")
    assert confirmation(lab)["mode"] == "Shadow"
    await asyncio.sleep(7200)
    assert [call.body[-1]["value"] for call in lab.key_writes()] == ["Active", "Shadow"]
    assert told(lab).count("Demoted") == 1
    assert "Promoted" not in told(lab)


STRANGERS: dict[str, tuple[Behaviour, str]] = {
    "silent": (silent, "did not answer within 5 s"),
    "of another kind": (
        body(b"<html>hello</html>"),
        "does not answer with JSON as the agent protocol has it",
    ),
    "hung up": (raw(b""), "does not speak HTTP as it should"),
    "old": (body(b"[]"), f"does not name {KEY}"),
    "of another revision": (
        body(
            b'[{"component": "%b", "value": "Active", "mode": "Shadow", "reason": "OtherRevision"}]'
            % KEY.encode()
        ),
        "has loaded Active and reads it as Shadow (OtherRevision)",
    ),
}


@pytest.mark.parametrize("kind", STRANGERS)
async def test_a_replica_that_does_not_say_yes_is_no_confirmation(
    lab: Lab, agents: Agents, kind: str
) -> None:
    behaviour, words = STRANGERS[kind]
    agents.say(behaviour, "agent-b")
    lab.everything(confirmation={**agents.confirmation, "timeout": "1m"})
    lab.start()
    await written(lab)
    await lab.until(lambda: words in lab.condition("Promoted").get("message", ""))
    await written(lab, "Shadow")
    assert "Promoted" not in told(lab)


async def test_no_ready_replica_is_no_confirmation(lab: Lab, agents: Agents) -> None:
    for name in agents.replicas:
        lab.store.edit("pods", NAMESPACE, name, lambda body: body["status"].update(conditions=[]))
    lab.everything(confirmation={**agents.confirmation, "timeout": "1m"})
    lab.start()
    await written(lab)
    await written(lab, "Shadow")
    await lab.phase("Blocked")
    assert "no ready Pod has the labels app=agent" in lab.condition("Promoted")["message"]


async def test_a_rollout_in_the_middle_is_waited_for(lab: Lab, agents: Agents) -> None:
    async def replaced(writer: asyncio.StreamWriter) -> None:
        """While the old Pod is asked, its successor gets ready and it goes itself."""
        agents.replicas["agent-b"].behaviour = agents.follows
        await agents.add("agent-c", loaded(KEY, "Shadow"))
        lab.store.delete("pods", NAMESPACE, "agent-b")
        await agents.follows(writer)

    agents.say(replaced, "agent-b")
    lab.everything(confirmation=agents.confirmation)
    lab.start()
    await written(lab)
    await lab.until(
        lambda: "agent-c came while the others were asked" in confirmation(lab).get("message", "")
    )
    await lab.until(lambda: "agent-c has loaded Shadow" in confirmation(lab)["message"])
    assert confirmation(lab)["total"] == 2
    assert lab.status()["phase"] == "Promoting"
    agents.say(None)
    await lab.phase("Active", within=60)


async def test_a_demotion_is_written_at_once_and_is_an_alarm_until_it_is_confirmed(
    lab: Lab, agents: Agents
) -> None:
    seldom = {"period": "1s", "interval": "30m", "minPassingRuns": 1}
    lab.everything(confirmation=agents.confirmation, observation=seldom)
    lab.start()
    await lab.phase("Active", within=600)
    agents.say(loaded(KEY, "Active"), "agent-a")
    agents.say(silent, "agent-b")
    spec(lab, mode="Shadow")
    await written(lab, "Shadow", within=5)
    await lab.reason("Degraded", "DemotionUnconfirmed", within=400)
    text = lab.condition("Degraded")["message"]
    assert "agent-a has loaded Active; agent-b did not answer within 5 s" in text
    spec(lab, mode="Active")
    await asyncio.sleep(3600)
    assert lab.mode() == "Shadow"
    assert lab.status()["evidence"]["passing"] >= 2
    assert lab.condition("Promoted")["reason"] == "DemotionUnconfirmed"
    assert told(lab).count("DemotionUnconfirmed") == 1
    asked = len(agents.replicas["agent-a"].asked)
    await asyncio.sleep(3600)
    assert 8 <= len(agents.replicas["agent-a"].asked) - asked <= 14  # every five minutes by then
    agents.say(None)
    await lab.phase("Active", within=900)
    assert lab.condition("Degraded") == {}
    assert [reason for reason in told(lab) if reason.startswith("Confirm")] == [
        "Confirming",
        "Confirmed",
        "Confirming",
    ]


async def test_replicas_that_hang_hold_back_neither_shadow_nor_the_demote_of_others(
    lab: Lab, agents: Agents
) -> None:
    agents.say(silent)
    lab.everything(confirmation=agents.confirmation)
    lab.start()
    await written(lab)
    await asyncio.sleep(2)
    spec(lab, mode="Shadow")
    await written(lab, "Shadow", within=3)


async def test_a_restart_at_any_point_of_it_loses_nothing(lab: Lab, agents: Agents) -> None:
    agents.say(loaded(KEY, "Shadow"), "agent-b")
    lab.everything(confirmation=agents.confirmation)
    operator = lab.start()
    await written(lab)
    begun = clock.now()
    for _ in range(4):
        await asyncio.sleep(50)
        await lab.stop(operator)
        operator = lab.start()
    assert lab.status()["phase"] == "Promoting"
    await written(lab, "Shadow", within=900)
    assert clock.now() - begun <= timedelta(minutes=7)
    await lab.kill(operator)  # between the write and what is said of it
    agents.say(None)
    lab.start()
    await lab.phase("Blocked")
    await lab.until(lambda: confirmation(lab)["state"] == "Confirmed")
    await asyncio.sleep(500)
    assert lab.mode() == "Shadow"


async def test_an_operator_that_comes_back_after_the_deadline_asks_first(lab: Lab, agents: Agents) -> None:
    agents.say(loaded(KEY, "Shadow"))
    lab.everything(confirmation=agents.confirmation)
    operator = lab.start()
    await written(lab)
    await lab.until(lambda: confirmation(lab).get("total"))
    await lab.stop(operator)
    await asyncio.sleep(3600)
    agents.say(None)
    lab.start()
    await lab.phase("Active")
    assert len(lab.key_writes()) == 1


async def test_pods_that_may_not_be_listed_are_no_confirmation_and_that_is_said(
    lab: Lab, agents: Agents
) -> None:
    def refuse(_: Call) -> None:
        raise Refusal(403, "Forbidden", 'pods is forbidden: User "operator" cannot list resource "pods"')

    def of_the_consumer(call: Call) -> bool:
        return (
            call.plural == "pods" and call.verb == "list" and call.query.get("labelSelector") == "app=agent"
        )

    lab.everything(confirmation={**agents.confirmation, "timeout": "1m"})
    lab.server.faults.append(Fault(of_the_consumer, refuse, times=10_000))
    lab.start()
    await written(lab)
    await lab.until(lambda: "the Pods cannot be listed" in lab.condition("Promoted").get("message", ""))
    await written(lab, "Shadow")


async def test_a_component_that_confirms_writes_its_status_only_when_an_answer_changes(
    lab: Lab, agents: Agents
) -> None:
    agents.say(loaded(KEY, "Shadow"))
    lab.everything(confirmation={**agents.confirmation, "timeout": "1h"})
    lab.start()
    await written(lab)
    await lab.until(lambda: confirmation(lab).get("total") == 2)
    await asyncio.sleep(60)
    before, asked = len(lab.writes("update")), len(agents.replicas["agent-a"].asked)
    await asyncio.sleep(400)
    assert len(lab.writes("update")) == before
    assert len(agents.replicas["agent-a"].asked) - asked >= 35


async def test_a_prometheus_confirms_as_well(lab: Lab) -> None:
    async with QueryApi() as prometheus:
        prometheus.answers = {"rca_mode_active": "0"}
        query = 'rca_mode_active{component="$(key)",namespace="$(namespace)"} == bool $(wanted)'
        lab.everything(confirmation={"query": {"query": query, "replicas": 1}})
        lab.start(PROMETHEUS_URL=prometheus.url)
        await written(lab)
        await lab.until(lambda: "a series says 0, not 1" in lab.condition("Promoted").get("message", ""))
        assert f'rca_mode_active{{component="{KEY}",namespace="shop"}} == bool 1' in prometheus.asked
        prometheus.answers["rca_mode_active"] = None
        await lab.until(lambda: "the query found no series" in lab.condition("Promoted")["message"])
        prometheus.answers["rca_mode_active"] = "1"
        await lab.phase("Active", within=60)
        assert "1 of 1 replicas have loaded Active" in lab.condition("Promoted")["message"]


async def test_a_query_without_a_prometheus_is_no_confirmation(lab: Lab) -> None:
    lab.everything(confirmation={"query": {"query": "x"}, "timeout": "1m"})
    lab.start()
    await written(lab)
    await written(lab, "Shadow")
    await lab.phase("Blocked")
    assert "no Prometheus is configured" in lab.condition("Promoted")["message"]


async def test_a_deletion_does_not_wait_for_the_replicas(lab: Lab, agents: Agents) -> None:
    lab.everything(confirmation=agents.confirmation, deletionPolicy="RevertToShadow")
    lab.start()
    await lab.phase("Active", within=600)
    agents.say(silent)
    begun = clock.now()
    lab.store.delete("rcacomponents", NAMESPACE, "live")
    await lab.until(lambda: ("rcacomponents", NAMESPACE, "live") not in lab.store.objects, within=60)
    assert lab.mode() == "Shadow"
    assert clock.now() - begun <= timedelta(seconds=30)


async def test_the_deadline_is_a_time_and_stands_in_the_status(lab: Lab, agents: Agents) -> None:
    agents.say(loaded(KEY, "Shadow"))
    lab.everything(confirmation={**agents.confirmation, "timeout": "10m"})
    lab.start()
    await written(lab)
    await lab.until(lambda: confirmation(lab))
    since, deadline = (datetime.fromisoformat(confirmation(lab)[name]) for name in ("since", "deadline"))
    assert deadline - since == timedelta(minutes=10)
