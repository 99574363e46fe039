"""What can go wrong between an operator and its API server, as rules for a `Wire`.

wire.rules.append(Rule(is_("update", "rcacomponents/status"), Answer(409, "Conflict"), skip=2, times=1))
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from rca_testing.wire import BrokenError, Sent

type Matches = Callable[[Sent], Any]


class Fault:
    """Nothing goes wrong; what does overrides one of these."""

    async def before(self, sent: Sent) -> web.Response | None:
        """Before the request is forwarded; an answer is given instead of the server's."""
        return None

    async def after(self, sent: Sent) -> None:
        """It has been carried out, and its answer is here."""

    def lines(self, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Of a watch that stands."""
        return lines


@dataclass
class Rule:
    """`fault` befalls the requests that `matches`: not the first `skip` of them, then `times`."""

    matches: Matches
    fault: Fault
    times: int = 1
    skip: int = 0
    hits: int = 0
    seen: int = 0

    def applies(self, sent: Sent) -> bool:
        if self.hits >= self.times or not self.matches(sent):
            return False
        self.seen += 1
        hit = self.seen > self.skip
        self.hits += hit
        return hit


def is_(verb: str, resource: str, namespace: str | None = None) -> Matches:
    return lambda sent: (sent.verb, sent.resource) == (verb, resource) and namespace in (None, sent.namespace)


@dataclass
class Answer(Fault):
    """The server says no, in the form of an API server."""

    status: int
    reason: str
    message: str = "so says a test"
    retry_after: int | None = None

    async def before(self, sent: Sent) -> web.Response:
        body = {
            "apiVersion": "v1",
            "kind": "Status",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.status,
        }
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return web.Response(
            status=self.status, text=json.dumps(body), content_type="application/json", headers=headers
        )


@dataclass
class Forbidden(Fault):
    """403 in the words of RBAC."""

    account: str = "system:serviceaccount:ops:rca-rollout"

    async def before(self, sent: Sent) -> web.Response:
        words = (
            f'{sent.resource.split("/")[0]}.{sent.group} is forbidden: User "{self.account}" cannot {sent.verb} '
            f'resource "{sent.resource}" in API group "{sent.group}" in the namespace "{sent.namespace}"'
        )
        return await Answer(403, "Forbidden", words).before(sent)


class Silence(Fault):
    """Accepted, and never answered."""

    async def before(self, sent: Sent) -> web.Response | None:
        await asyncio.Event().wait()
        return None


class SilenceAfter(Fault):
    """Carried out, and never answered."""

    async def after(self, sent: Sent) -> None:
        await asyncio.Event().wait()


class ResetBefore(Fault):
    """The connection breaks, and the server has heard nothing."""

    async def before(self, sent: Sent) -> web.Response | None:
        raise BrokenError


class ResetAfter(Fault):
    """Carried out, and the connection breaks instead of the answer."""

    async def after(self, sent: Sent) -> None:
        raise BrokenError


@dataclass
class Slow(Fault):
    """The answer takes its time."""

    seconds: float

    async def after(self, sent: Sent) -> None:
        await asyncio.sleep(self.seconds)


class HalfOpen(Fault):
    """A watch that stands and says nothing, not even that it ends."""

    async def lines(self, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:  # type: ignore[override]
        await asyncio.Event().wait()
        yield b""


@dataclass
class Lagging(Fault):
    """A watch that is late by so many seconds."""

    seconds: float

    async def lines(self, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:  # type: ignore[override]
        loop = asyncio.get_running_loop()
        waiting: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue()

        async def read() -> None:
            try:
                async for line in lines:
                    waiting.put_nowait((loop.time() + self.seconds, line))
            finally:
                waiting.put_nowait(None)

        reading = asyncio.create_task(read())
        try:
            while (found := await waiting.get()) is not None:
                due, line = found
                await asyncio.sleep(max(0.0, due - loop.time()))
                yield line
        finally:
            reading.cancel()


@dataclass
class Spoilt(Fault):
    """A watch whose line number `at` becomes `instead` (half of itself, where that is None), and that ends there."""

    at: int = 0
    instead: bytes | None = None

    async def lines(self, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:  # type: ignore[override]
        number = 0
        async for line in lines:
            if number == self.at:
                yield line[: len(line) // 2] if self.instead is None else self.instead
                return
            number += 1
            yield line


def expired() -> bytes:
    """What a watch says that is older than the server's memory."""
    gone = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410}
    told = {"type": "ERROR", "object": {**gone, "metadata": {}, "message": "too old resource version: 1 (2)"}}
    return json.dumps(told).encode() + b"\n"


@dataclass
class Kill(Fault):
    """The process dies: before its request arrives, or with `late` when it has been carried out and nobody was told."""

    kill: Callable[[], None]
    late: bool = False
    done: threading.Event = field(default_factory=threading.Event)

    async def before(self, sent: Sent) -> web.Response | None:
        if not self.late:
            self._now()
        return None

    async def after(self, sent: Sent) -> None:
        if self.late:
            self._now()

    def _now(self) -> None:
        self.kill()
        self.done.set()
        raise BrokenError
