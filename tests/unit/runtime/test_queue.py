"""The work queue: one key in one hand at a time, and never lost."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rca_rollout.runtime.queue import Backoff, Key, WorkQueue

pytestmark = pytest.mark.timeout(10)  # what is lost is waited for

A, B = Key("RcaComponent", "shop", "a"), Key("RcaComponent", "shop", "b")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(clock: Clock) -> WorkQueue:
    return WorkQueue(clock)


async def nothing_is_due(queue: WorkQueue) -> bool:
    try:
        await asyncio.wait_for(queue.take(), 0.001)
    except TimeoutError:
        return True
    return False


async def test_a_key_that_waits_is_not_added_twice(queue: WorkQueue) -> None:
    queue.add(A)
    queue.add(A)
    queue.add(B)
    assert queue.depth == 2
    assert [await queue.take(), await queue.take()] == [A, B]


async def test_a_key_in_work_is_not_given_to_another_and_comes_again_when_it_is_done(
    queue: WorkQueue,
) -> None:
    queue.add(A)
    assert await queue.take() == A
    queue.add(A)
    queue.add(A)
    assert await nothing_is_due(queue)
    queue.done(A)
    assert await queue.take() == A
    queue.done(A)
    assert await nothing_is_due(queue)
    assert queue.working == 0


async def test_the_earliest_wake_up_wins(queue: WorkQueue, clock: Clock) -> None:
    queue.add_after(A, 60)
    queue.add_after(A, 5)
    queue.add_after(A, 30)
    assert queue.planned(A) == clock.now + 5
    clock.now += 4.9
    assert await nothing_is_due(queue)
    clock.now += 0.1
    assert await queue.take() == A
    queue.done(A)
    clock.now += 100
    assert await nothing_is_due(queue)


async def test_a_plan_in_the_past_is_due_now(queue: WorkQueue) -> None:
    queue.add_after(A, -5)
    assert await queue.take() == A


async def test_what_is_due_needs_no_plan(queue: WorkQueue) -> None:
    queue.add_after(A, 60)
    queue.add(A)
    assert queue.planned(A) is None
    queue.add_after(A, 1)
    assert queue.planned(A) is None


async def test_a_sleeping_worker_is_woken_by_an_add_and_by_a_nearer_plan() -> None:
    queue = WorkQueue(asyncio.get_running_loop().time)
    queue.add_after(B, 60)
    sleeper = asyncio.create_task(queue.take())
    await asyncio.sleep(0.001)
    queue.add_after(A, 0.01)
    assert await asyncio.wait_for(sleeper, 1) == A
    sleeper = asyncio.create_task(queue.take())
    await asyncio.sleep(0.001)
    queue.add(B)
    assert await asyncio.wait_for(sleeper, 1) == B


async def test_several_sleepers_share_what_becomes_due_together() -> None:
    queue = WorkQueue(asyncio.get_running_loop().time)
    sleepers = [asyncio.create_task(queue.take()) for _ in range(3)]
    await asyncio.sleep(0.001)
    queue.add_after(A, 0.005)
    queue.add_after(B, 0.005)
    done, waiting = await asyncio.wait(sleepers, timeout=0.2)
    assert {task.result() for task in done} == {A, B}
    queue.close()
    assert [await task for task in waiting] == [None]


async def test_after_the_end_nothing_is_given_out(queue: WorkQueue) -> None:
    queue.add(A)
    queue.close()
    assert await queue.take() is None


async def test_plans_that_were_replaced_do_not_pile_up(queue: WorkQueue, clock: Clock) -> None:
    """A component is looked at with each event, and each look plans the next one hours ahead."""
    for _ in range(2000):
        queue.add_after(A, 8 * 3600)
        queue.add(A)
        assert await queue.take() == A
        queue.done(A)
        clock.now += 1
    assert len(queue._heap) < 200  # what is held in memory has no other sign


_KEYS = st.sampled_from([Key("EvalRun", "n", name) for name in "abc"])
_OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), _KEYS, st.just(0.0)),
        st.tuples(st.just("after"), _KEYS, st.sampled_from([0.0, 1.0, 5.0, 9.0])),
        st.tuples(st.just("take"), _KEYS, st.just(0.0)),
        st.tuples(st.just("done"), _KEYS, st.just(0.0)),
        st.tuples(st.just("time"), _KEYS, st.sampled_from([0.5, 1.0, 5.0])),
    ),
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(_OPERATIONS)
def test_nothing_is_lost_and_nothing_is_done_twice_at_once(operations: list[tuple[str, Key, float]]) -> None:
    asyncio.run(_against_a_model(operations))


async def _against_a_model(operations: list[tuple[str, Key, float]]) -> None:
    """The model is two sets and a table: what is owed now, what is in work, and what is planned."""
    clock = Clock()
    queue = WorkQueue(clock)
    owed: set[Key] = set()
    working: set[Key] = set()
    plans: dict[Key, float] = {}

    def add(key: Key) -> None:
        owed.add(key)
        plans.pop(key, None)

    def due() -> None:
        for key in [key for key, at in plans.items() if at <= clock.now]:
            add(key)

    for what, key, seconds in operations:
        if what == "add":
            queue.add(key)
            add(key)
        elif what == "after":
            queue.add_after(key, seconds)
            if key not in owed or key in working:
                plans[key] = min(plans.get(key, float("inf")), clock.now + seconds)
        elif what == "take":
            due()
            expected = owed - working
            if expected:
                taken = await asyncio.wait_for(queue.take(), 1)
                assert taken in expected
                owed.discard(taken)
                working.add(taken)
        elif what == "done" and key in working:
            due()
            queue.done(key)
            working.discard(key)
            if key in owed:
                plans.pop(key, None)
        elif what == "time":
            clock.now += seconds
        assert queue.working == len(working)
    # In the end everything that is owed or planned is given out, each key once.
    for key in list(working):
        due()
        queue.done(key)
    clock.now += 100
    due()
    for _ in range(len(owed)):
        taken = await asyncio.wait_for(queue.take(), 1)
        assert taken in owed
        owed.discard(taken)
        queue.done(taken)
    assert not owed
    assert await nothing_is_due(queue)


def test_the_delay_doubles_up_to_its_limit_and_is_forgotten_after_a_success() -> None:
    backoff = Backoff(base=0.5, limit=60)
    assert [backoff.next(A) for _ in range(9)] == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]
    assert backoff.next(B) == 0.5
    backoff.forget(A)
    assert backoff.next(A) == 0.5
    for _ in range(2000):
        assert backoff.next(B) <= 60


async def test_a_held_key_is_not_due_before_its_time_whatever_is_heard_of_it(
    queue: WorkQueue, clock: Clock
) -> None:
    queue.add(A)
    assert await queue.take() == A
    queue.add(A)
    queue.hold(A, 7)
    queue.add_after(A, 6.5)
    queue.done(A)
    for _ in range(6):
        clock.now += 1
        queue.add(A)
        assert await nothing_is_due(queue)
    clock.now += 0.6
    assert await nothing_is_due(queue)
    clock.now += 0.4
    assert await queue.take() == A
    queue.done(A)
    queue.add(A)
    assert await queue.take() == A


async def test_what_is_urgent_goes_first_and_is_done_once() -> None:
    queue = WorkQueue(lambda: 0.0)
    keys = [Key("EvalRun", "shop", name) for name in "abc"]
    for key in keys:
        queue.add(key)
    queue.add(keys[2], urgent=True)
    queue.add(keys[2], urgent=True)
    assert queue.depth == 3
    taken = [await queue.take() for _ in range(3)]
    assert taken == [keys[2], keys[0], keys[1]]
    assert queue.depth == 0


async def test_what_becomes_urgent_in_work_is_due_again() -> None:
    queue = WorkQueue(lambda: 0.0)
    key = Key("EvalRun", "shop", "a")
    queue.add(key)
    assert await queue.take() == key
    queue.add(key, urgent=True)
    queue.done(key)
    assert await queue.take() == key
