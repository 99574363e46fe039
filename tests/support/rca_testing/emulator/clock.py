"""An event loop that skips idle time: what waits for a timer gets it at once, what waits for a socket waits really.

Both ends of every connection live in this loop, so "no socket is ready" means that nobody has anything to say: then
the clock jumps to the next timer. Hours of observation, back-offs and time-outs pass in milliseconds, in order.
"""

from __future__ import annotations

import asyncio
import selectors
import socket
from datetime import UTC, datetime, timedelta
from typing import Any

_EPOCH = datetime(2026, 11, 30, 9, 0, 0, 250000, tzinfo=UTC)
_ROUNDS, _GRACE = 3, 0.0005  # real seconds; the kernel may need a moment to hand a packet over


class _SkippingSelector(selectors.DefaultSelector):
    """Skips a wait only after a byte of its own has gone through the loopback device and back: what was sent before
    it has then arrived, however busy the machine is."""

    def __init__(self) -> None:
        super().__init__()
        self.skipped = 0.0
        self.threads = 0
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self._near = socket.create_connection(listener.getsockname())
            self._far, _ = listener.accept()
        for end in (self._near, self._far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def select(self, timeout: float | None = None) -> Any:
        events = super().select(0)
        if events or (timeout is not None and timeout <= 0):
            return events
        if timeout is None or self.threads:
            return super().select(timeout)
        for _ in range(_ROUNDS):
            self._there_and_back()
            events = super().select(min(timeout, _GRACE))
            if events:
                return events
        self.skipped += max(0.0, timeout - _ROUNDS * _GRACE)
        return events

    def close(self) -> None:
        self._near.close()
        self._far.close()
        super().close()

    def _there_and_back(self) -> None:
        self._near.send(b".")
        self._far.recv(1)
        self._far.send(b".")
        self._near.recv(1)


class SkippingLoop(asyncio.SelectorEventLoop):
    """`time()` is monotonic and jumps; `now()` is the same clock as a date."""

    def __init__(self) -> None:
        self._skipping = _SkippingSelector()
        super().__init__(self._skipping)
        self._begin = super().time()

    def time(self) -> float:
        return super().time() + self._skipping.skipped

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:
        """What a thread works on (a name to resolve, say) is waited for really."""
        future = super().run_in_executor(executor, func, *args)
        self._skipping.threads += 1
        future.add_done_callback(self._thread_done)
        return future

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 - as in the base class
        self._skipping.threads += 1
        await super().shutdown_default_executor(timeout)
        self._skipping.threads -= 1

    def _thread_done(self, _: object) -> None:
        self._skipping.threads -= 1

    def now(self) -> datetime:
        return _EPOCH + timedelta(seconds=self.time() - self._begin)


def now() -> datetime:
    """The date by the running loop's clock."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SkippingLoop)
    return loop.now()
