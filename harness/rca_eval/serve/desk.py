"""The desk: so many investigations at a time, so many waiting, so many remembered, and no more."""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from rca_eval.serve.investigation import Investigation
from rca_eval.serve.settings import Limits


class BusyError(Exception):
    """As many as may are being worked on or waiting."""


class LateError(Exception):
    """No answer within the time; the thread may still be at it, and keeps its place until it is done."""


class Desk:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._pool = ThreadPoolExecutor(limits.workers, thread_name_prefix="rca-investigation")
        self._lock = threading.Lock()
        self._taken = 0
        self._under_way: dict[str, asyncio.Future[Investigation]] = {}
        self._kept: OrderedDict[str, Investigation] = OrderedDict()
        self._latest: dict[str, str] = {}

    async def run[T](self, call: Callable[[], T]) -> T:
        """The result of a blocking call. Raises `BusyError`, `LateError` and what the call raises."""
        with self._lock:
            if self._taken >= self._limits.workers + self._limits.queue:
                raise BusyError
            self._taken += 1
        future = self._pool.submit(call)
        future.add_done_callback(self._release)
        try:
            # A call that waits is taken off the list when its time is over; one that runs goes on and is not listened to.
            return await asyncio.wait_for(asyncio.wrap_future(future), self._limits.seconds)
        except TimeoutError:
            if future.done() and not future.cancelled():
                raise  # the call's own
            raise LateError from None

    def _release(self, _future: Future[Any]) -> None:
        with self._lock:
            self._taken -= 1

    async def once(
        self, incident_id: str, investigate: Callable[[], Awaitable[Investigation]]
    ) -> tuple[Investigation, bool]:
        """The investigation of an incident, and whether it is a new one: told twice, it is looked into once."""
        known = self.of_incident(incident_id)
        if known is not None:
            return known, False
        running = self._under_way.get(incident_id)
        if running is not None:
            return await asyncio.shield(running), False
        task = asyncio.ensure_future(investigate())
        self._under_way[incident_id] = task
        task.add_done_callback(lambda done: self._finished(incident_id, done))
        # Shielded: a client that goes away does not take the answer from the others.
        return await asyncio.shield(task), True

    def _finished(self, incident_id: str, task: asyncio.Future[Investigation]) -> None:
        self._under_way.pop(incident_id, None)
        if not task.cancelled() and task.exception() is None:
            self.keep(task.result())

    def keep(self, investigation: Investigation) -> None:
        self._kept[investigation.id] = investigation
        self._latest[investigation.incident_id] = investigation.id
        while len(self._kept) > self._limits.kept:
            _, oldest = self._kept.popitem(last=False)
            if self._latest.get(oldest.incident_id) == oldest.id:
                del self._latest[oldest.incident_id]

    def get(self, id: str) -> Investigation | None:
        return self._kept.get(id)

    def of_incident(self, incident_id: str) -> Investigation | None:
        return self._kept.get(self._latest.get(incident_id, ""))

    def newest(self) -> list[Investigation]:
        """Newest first."""
        return list(reversed(self._kept.values()))

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
