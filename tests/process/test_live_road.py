"""A component's road with a real Prometheus: what the exporter says decides, from the scrape to the key.

The component's clock is the test's, Prometheus' own is real; the two meet in the readings only.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio
from rca_testing.exporter import Exporter, scraped
from rca_testing.lifecycle_world import World

from hack import prometheus
from rca_rollout.api.common import ComponentPhase, ConditionType
from rca_rollout.core.lifecycle.live import questions
from rca_rollout.integrations.prometheus import Address, Prometheus
from rca_rollout.runtime.queue import Key, WorkQueue
from rca_rollout.runtime.readings import Gatherer

KEY = Key("RcaComponent", "default", "live")
LATENCY = {
    "name": "latency",
    "query": 'latency{component="$(key)"}',
    "operator": "LessThanOrEqual",
    "threshold": "0.25",
    "role": "Signal",
}
ERRORS = {
    "name": "errors",
    "query": 'errors{revision="$(revision)"}',
    "operator": "LessThan",
    "threshold": "0.02",
    "role": "Guardrail",
}


class Road:
    """A world whose readings come from the server, whatever the world's clock says."""

    def __init__(self, exporter: Exporter, source: Prometheus, **observation: Any) -> None:
        self.world = World(
            observation={
                "period": "30m",
                "interval": "20m",
                "minPassingRuns": 1,
                "conditions": [LATENCY, ERRORS],
                **observation,
            },
            guard={"interval": "4h", "conditions": [ERRORS]},
        )
        self.exporter = exporter
        self.source = source
        self.queue = WorkQueue(time.monotonic)
        self.gatherer = Gatherer(source, self.queue, lambda: self.world.now)

    async def say(self, latency: str | None, errors: str, decisions: int | None = None) -> None:
        """The exporter says so, and Prometheus has scraped it."""
        shown = 'latency{component="RcaLiveActivation.Mode",pod="a"} 0.01\n' if latency else ""
        shown += f'latency{{component="RcaLiveActivation.Mode",pod="b"}} {latency}\n' if latency else ""
        shown += f'errors{{revision="v1"}} {errors}\n'
        if decisions is not None:
            shown += f'rca_shadow_decisions_total{{component="RcaLiveActivation.Mode",outcome="agree"}} {decisions}\n'
        marker = time.monotonic_ns()
        self.exporter.text = shown + f"marker {marker}\n"
        async with asyncio.timeout(60):
            while (await self.source.query(f"marker == {marker}")).values == ():  # noqa: ASYNC110 - a scrape tells nobody
                await asyncio.sleep(0.05)

    async def minutes(self, count: int) -> None:
        """Minute by minute, as `runtime` does it: ask what is due, decide on what is known."""
        for _ in range(count):
            self.world.pass_time(minutes=1)
            if (current := self.world.status.current_run) and current.name in self.world.runs:
                self.world.end_run("Passed")
            for _ in range(3):
                await self.ask()
                self.world.settle()

    async def ask(self) -> None:
        component = self.world.snapshot().component
        asked = questions(component)
        self.gatherer.look(KEY, component.metadata.uid, asked)
        while self.gatherer.asking(KEY):  # noqa: ASYNC110 - it wakes a queue, and this world has none
            await asyncio.sleep(0.005)
        self.world.readings = dict(self.gatherer.look(KEY, component.metadata.uid, asked))

    @property
    def observed(self) -> str:
        found = self.world.status.condition(ConditionType.OBSERVED)
        return found.message if found else ""


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Exporter, prometheus.Server]]:
    with scraped() as both:
        yield both


@pytest_asyncio.fixture
async def source(pair: tuple[Exporter, prometheus.Server]) -> AsyncIterator[Prometheus]:
    client = Prometheus(Address(pair[1].url))
    yield client
    await client.close()


async def test_good_readings_promote_and_a_violated_guardrail_puts_it_back(
    pair: tuple[Exporter, prometheus.Server], source: Prometheus
) -> None:
    road = Road(pair[0], source)
    await road.say("0.1", "0")
    await road.minutes(35)
    assert road.world.value == "Active"
    await road.say("0.1", "0.07")
    await road.minutes(1)
    assert road.world.value == "Active"
    await road.minutes(1)
    assert road.world.value == "Shadow"
    assert road.world.why(ConditionType.PROMOTED) == ("False", "ConditionViolated")


async def test_a_signal_and_a_silent_exporter_hold(
    pair: tuple[Exporter, prometheus.Server], source: Prometheus
) -> None:
    road = Road(pair[0], source)
    await road.say("0.31", "0")
    await road.minutes(60)
    assert road.world.value == "Shadow"
    assert "latency 0.31 > 0.25 (Signal, 1 of 2 series)" in road.observed
    await road.say(None, "0")
    await road.minutes(60)
    assert "latency no data since" in road.observed
    await road.say("NaN", "0")
    await road.minutes(60)
    assert road.world.value == "Shadow"
    await road.say("0.25", "0")
    await road.minutes(29)
    assert road.world.value == "Shadow"
    await road.minutes(4)
    assert road.world.value == "Active"


async def test_a_guardrail_that_is_violated_while_observing_blocks(
    pair: tuple[Exporter, prometheus.Server], source: Prometheus
) -> None:
    road = Road(pair[0], source)
    await road.say("0.1", "0")
    await road.minutes(10)
    await road.say("0.1", "0.5")
    await road.minutes(2)
    assert road.world.phase is ComponentPhase.BLOCKED
    await road.say("0.1", "0")
    await road.minutes(60)
    assert road.world.phase is ComponentPhase.BLOCKED


async def test_decisions_are_waited_for(pair: tuple[Exporter, prometheus.Server], source: Prometheus) -> None:
    road = Road(pair[0], source, minShadowDecisions=40, conditions=[])
    await road.say(None, "0", decisions=0)
    await road.minutes(35)
    assert road.world.value == "Shadow"
    assert "decisions 0 of 40" in road.observed
    # One sample of 0 and one of 50 at least, whatever was scraped in between.
    await road.say(None, "0", decisions=50)
    await road.minutes(3)
    assert road.world.value == "Active"
