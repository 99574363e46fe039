"""Workers: take a key, reconcile it, plan its next look. A failure of one key never stops another."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime

from rca_rollout.kube.errors import ConflictError, KubeError, TransientError
from rca_rollout.metrics.counters import Counters
from rca_rollout.runtime.queue import Backoff, Key, WorkQueue

log = logging.getLogger("rca_rollout.worker")

# Plans are made by the clock on the wall and kept by another: one that is set right leaves no key asleep for years.
_LONGEST_SLEEP = 3600.0

type Reconcile = Callable[[Key], Awaitable[datetime | None]]


def _now() -> float:
    """Monotonic seconds of the loop: the clock that the queue's plans and the client's time-outs follow, too."""
    return asyncio.get_running_loop().time()


class Workers:
    """`count` workers on one queue; `reconcilers` by kind; `clock` as the reconcilers see it."""

    def __init__(
        self,
        queue: WorkQueue,
        reconcilers: Mapping[str, Reconcile],
        counters: Counters,
        clock: Callable[[], datetime],
        count: int,
    ) -> None:
        self._queue = queue
        self._reconcilers = reconcilers
        self._counters = counters
        self._clock = clock
        self._count = count
        self._backoff = Backoff()
        self._since: dict[Key, float] = {}

    async def run(self) -> None:
        """Until the queue is closed. A worker that dies takes the others along: the process must end and start anew."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._count):
                group.create_task(self._work())

    def oldest(self) -> tuple[Key | None, float]:
        """The key that has been in work for longest, and for how many seconds."""
        if not self._since:
            return None, 0.0
        key, since = min(self._since.items(), key=lambda item: item[1])
        return key, _now() - since

    async def _work(self) -> None:
        while (key := await self._queue.take()) is not None:
            self._since[key] = _now()
            try:
                await self._once(key)
            finally:
                del self._since[key]
                self._queue.done(key)
                self._counters.queue_depth.set(self._queue.depth)
                self._counters.working.set(self._queue.working)

    async def _once(self, key: Key) -> None:
        started = _now()
        try:
            wake = await self._reconcilers[key.kind](key)
        except ConflictError:
            # Somebody wrote in between, or the watch is behind: look again, soon but not at once.
            self._queue.add_after(key, min(2.0, self._backoff.next(key)))
            return
        except TransientError as problem:
            delay = max(problem.retry_after, self._backoff.next(key))
            if problem.retry_after:
                self._queue.hold(key, delay)
            self._retry(key, delay, problem)
            return
        except KubeError as problem:
            self._retry(key, self._backoff.next(key), problem)
            return
        except (
            Exception
        ) as problem:  # one object must not stop the others; it is told, counted, and tried again
            log.exception("%s: unexpected", key)
            self._retry(key, self._backoff.next(key), problem)
            return
        finally:
            self._counters.reconciles.labels(key.kind).observe(_now() - started)
        self._backoff.forget(key)
        if wake is not None:
            self._queue.add_after(key, min(_LONGEST_SLEEP, (wake - self._clock()).total_seconds()))

    def _retry(self, key: Key, delay: float, problem: Exception) -> None:
        self._counters.errors.labels(key.kind).inc()
        log.warning("%s: tried again in %.1f s: %s", key, delay, problem)
        self._queue.add_after(key, delay)
