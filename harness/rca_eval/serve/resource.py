"""A store or database that is opened beside the server: it answers when it can, and is asked whether it still does."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack

from rca_eval.contract import ContractError
from rca_eval.serve.lines import Lines

FIRST_DELAY, LONGEST_DELAY = 1.0, 15.0
PING_SECONDS = 3.0
OPENING_SECONDS = 15.0
FRESH_SECONDS = 1.0  # many probes, one question


class Resource[T]:
    """`open` is entered in a thread, again and again until it succeeds; `ping` raises `ContractError` if it is gone."""

    def __init__(
        self,
        name: str,
        open: Callable[[], AbstractContextManager[T]],
        ping: Callable[[T], object],
        lines: Lines,
    ) -> None:
        self.name = name
        self._open = open
        self._ping = ping
        self._lines = lines
        self._stack = ExitStack()
        self._value: T | None = None
        self._problem: str | None = "it is being opened"
        self._asked = 0.0
        self._asking: asyncio.Task[None] | None = None
        self._opening: asyncio.Task[T] | None = None

    async def open(self) -> None:
        """Returns once it is open."""
        delay = FIRST_DELAY
        while True:
            try:
                await self.open_once()
            except ContractError as error:
                self._problem = error.message
                self._lines.event("waiting", resource=self.name, reason=error.message)
            else:
                return
            await asyncio.sleep(delay)
            delay = min(2 * delay, LONGEST_DELAY)

    async def open_once(self) -> None:
        """Raises `ContractError`."""
        self._opening = asyncio.create_task(asyncio.to_thread(self._stack.enter_context, self._open()))
        self._value = await asyncio.shield(self._opening)
        self._problem = None
        self._lines.event("opened", resource=self.name)

    async def close(self) -> None:
        self._value, self._problem = None, "it is closed"
        if self._opening is not None and not self._opening.done():
            # Stopped while it was being opened: what a thread opens after this, nobody would close.
            await asyncio.wait({self._opening}, timeout=OPENING_SECONDS)
        with contextlib.suppress(ContractError):
            await asyncio.to_thread(self._stack.close)

    def value(self) -> T | None:
        """None until it is open."""
        return self._value

    def problem(self) -> str | None:
        """Why it could not be used when last asked."""
        return self._problem

    async def is_ready(self) -> bool:
        """Asks it, at most once a second and never twice at a time: one that hangs costs one thread."""
        value = self._value
        if value is None:
            return False
        if self._asking is None or self._asking.done():
            if time.monotonic() - self._asked < FRESH_SECONDS:
                return self._problem is None
            self._asking = asyncio.create_task(self._ask(value))
        _, waiting = await asyncio.wait({self._asking}, timeout=PING_SECONDS)
        if waiting:
            self._problem = f"it did not answer within {PING_SECONDS:g} s"
        return self._problem is None

    async def _ask(self, value: T) -> None:
        try:
            await asyncio.to_thread(self._ping, value)
        except ContractError as error:
            self._problem = error.message
        except Exception as error:
            self._problem = f"{type(error).__name__}"
        else:
            self._problem = None
        self._asked = time.monotonic()
