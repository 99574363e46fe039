"""Workers: a key that fails is tried again, later each time, and never keeps another from its turn."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client import CollectorRegistry

from rca_rollout.kube.errors import ConflictError, NotFoundError, RefusedError, TransientError
from rca_rollout.metrics.counters import Counters
from rca_rollout.runtime.queue import Key, WorkQueue
from rca_rollout.runtime.worker import Workers

GOOD, BAD = Key("RcaComponent", "shop", "good"), Key("RcaComponent", "shop", "bad")
NOW = datetime(2026, 11, 30, tzinfo=UTC)

type Reconcile = Callable[[Key], Awaitable[datetime | None]]


class Bench:
    def __init__(self, reconcile: Reconcile, count: int = 2) -> None:
        self.queue = WorkQueue(asyncio.get_running_loop().time)
        self.counters = Counters(CollectorRegistry())
        self.seen: Counter[Key] = Counter()

        async def counted(key: Key) -> datetime | None:
            self.seen[key] += 1
            return await reconcile(key)

        self.workers = Workers(self.queue, {"RcaComponent": counted}, self.counters, lambda: NOW, count)

    async def run(self, seconds: float, *keys: Key) -> None:
        task = asyncio.create_task(self.workers.run())
        for key in keys:
            self.queue.add(key)
        await asyncio.sleep(seconds)
        self.queue.close()
        await asyncio.wait_for(task, 5)

    def wait_of(self, key: Key) -> float:
        planned = self.queue.planned(key)
        assert planned is not None
        return planned - asyncio.get_running_loop().time()

    def errors(self) -> float:
        registry = self.counters.registry
        found = registry.get_sample_value("rca_reconcile_errors_total", {"kind": "RcaComponent"})
        assert found is not None
        return found


def failing(problem: Exception) -> Reconcile:
    async def reconcile(key: Key) -> datetime | None:
        if key == BAD:
            raise problem
        return None

    return reconcile


@pytest.mark.parametrize(
    "problem",
    [
        RuntimeError("a bug"),
        KeyError("x"),
        RefusedError(403, "no"),
        TransientError(503, "busy"),
        NotFoundError(404, "gone"),
    ],
)
async def test_a_failing_key_is_planned_again_and_the_other_is_done(problem: Exception) -> None:
    bench = Bench(failing(problem), count=1)
    await bench.run(0.02, BAD, GOOD)
    assert (bench.seen[GOOD], bench.seen[BAD]) == (1, 1)
    assert 0 < bench.wait_of(BAD) <= 0.5
    assert bench.queue.planned(GOOD) is None
    assert bench.errors() == 1


async def test_a_conflict_is_no_error_and_is_looked_at_soon() -> None:
    bench = Bench(failing(ConflictError(409, "moved")))
    await bench.run(0.02, BAD)
    assert 0 < bench.wait_of(BAD) <= 2
    assert bench.errors() == 0


async def test_the_server_s_wish_to_wait_is_honoured() -> None:
    bench = Bench(failing(TransientError(429, "slow down", retry_after=30)))
    await bench.run(0.02, BAD)
    assert 20 < bench.wait_of(BAD) <= 30


async def test_the_moment_that_a_reconciliation_asks_for_is_kept() -> None:
    async def in_a_minute(_: Key) -> datetime:
        return NOW + timedelta(minutes=1)

    bench = Bench(in_a_minute)
    await bench.run(0.02, GOOD)
    assert 50 < bench.wait_of(GOOD) <= 60


async def test_a_moment_in_the_past_means_again_at_once() -> None:
    async def thrice(_: Key) -> datetime | None:
        return NOW - timedelta(minutes=1) if bench.seen[GOOD] < 3 else None

    bench = Bench(thrice)
    await bench.run(0.05, GOOD)
    assert bench.seen[GOOD] == 3


async def test_a_slow_key_is_in_one_hand_only_and_does_not_hold_up_another() -> None:
    let_go, other = asyncio.Event(), asyncio.Event()
    at_once = most = 0

    async def slow(key: Key) -> None:
        nonlocal at_once, most
        if key == GOOD:
            other.set()
            return
        at_once += 1
        most = max(most, at_once)
        await let_go.wait()
        at_once -= 1

    bench = Bench(slow, count=4)
    task = asyncio.create_task(bench.workers.run())
    for _ in range(5):
        bench.queue.add(BAD)
        await asyncio.sleep(0)
        await asyncio.sleep(0.001)
    bench.queue.add(GOOD)
    await asyncio.wait_for(other.wait(), 5)
    assert bench.workers.oldest()[0] == BAD
    let_go.set()
    await asyncio.sleep(0.02)
    bench.queue.close()
    await asyncio.wait_for(task, 5)
    assert (most, bench.seen[BAD]) == (1, 2)  # once, and once more for all that came meanwhile
    assert bench.workers.oldest() == (None, 0.0)


async def test_work_under_way_is_finished_when_the_queue_is_closed() -> None:
    finished = []

    async def slow(key: Key) -> None:
        await asyncio.sleep(0.03)
        finished.append(key)

    bench = Bench(slow)
    await bench.run(0.005, GOOD)
    assert finished == [GOOD]


async def test_no_key_sleeps_longer_than_an_hour_whatever_the_clock_said_when_it_went_to_sleep() -> None:
    async def far(_: Key) -> datetime | None:
        return NOW + timedelta(days=400)

    bench = Bench(far)
    await bench.run(0.01, GOOD)
    assert 0 < bench.wait_of(GOOD) <= 3600
