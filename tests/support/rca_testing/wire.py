"""The wire between one process and the API server: everything that goes over it is noted; it can be cut, and made bad.

Plain HTTP on the side of the process, the kubeconfig's credentials on the side of the server: who sent what is certain,
whatever the objects say, and a request that is not noted here was not sent. What goes wrong on it is a list of rules
(`rca_testing.wire_faults`).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
from aiohttp import web

from rca_testing.upstream import Upstream

if TYPE_CHECKING:
    from rca_testing.wire_faults import Rule

_NOT_FORWARDED = {"host", "connection", "transfer-encoding", "content-length", "accept-encoding"}
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class BrokenError(Exception):
    """The connection is cut instead of an answer."""


@dataclass
class Sent:
    """One request, when it came (monotonic seconds) and what was answered (0: nothing).

    `verb` is that of RBAC, `resource` has its subresource (`pods/log`) and is empty for what is no object.
    """

    at: float
    method: str
    path: str
    status: int = 0
    verb: str = ""
    group: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    body: bytes = b""
    replaced: web.Response | None = None
    """What is answered instead of the server's answer."""

    @staticmethod
    def of(request: web.Request) -> Sent:
        sent = Sent(time.monotonic(), request.method, request.path_qs, verb=_VERBS.get(request.method, "get"))
        parts = request.path.strip("/").split("/")
        parts = ["", *parts[2:]] if parts[0] == "api" else [*parts[1:2], *parts[3:]]
        if len(parts) > 2 and parts[1] == "namespaces" and len(parts) > 3:
            sent.namespace = parts[2]
            parts = [parts[0], *parts[3:]]
        if len(parts) > 1:
            sent.group = parts[0]
            sent.name = parts[2] if len(parts) > 2 else ""
            sent.resource = "/".join([parts[1], *parts[3:4]])
            if sent.verb == "get" and not sent.name:
                sent.verb = "watch" if request.query.get("watch") in ("true", "1") else "list"
        return sent

    @property
    def writes(self) -> bool:
        return self.method != "GET"

    @property
    def about_the_lease(self) -> bool:
        return "/leases" in self.path

    @property
    def written(self) -> Any:
        """The body of a write, or {}."""
        return json.loads(self.body) if self.body else {}

    @property
    def what(self) -> str:
        """`update rcacomponents/status`, for people."""
        return f"{self.verb} {self.resource}"


@dataclass
class Wire:
    """In a thread of its own, with a loop of its own, so that a test may block.

    `token`: the server is spoken to with it, and not with the kubeconfig's own credentials.
    """

    kubeconfig: Path
    token: str | None = None
    sent: list[Sent] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    """Looked at in order, the first that applies acts. A rule may be added and removed at any time."""
    port: int = 0
    _cut: bool = False
    _open: set[asyncio.Transport] = field(default_factory=set)

    def cut(self) -> None:
        """From now on connections break at once, those that stand included."""
        self._cut = True
        self.break_all()

    def mend(self) -> None:
        self._cut = False

    def break_all(self) -> None:
        """Every connection breaks, the watches' included; new ones stand."""
        self._loop.call_soon_threadsafe(self._break)

    def writes(self, since: float = 0.0) -> list[Sent]:
        """What could change something, but for the Lease, from a moment on."""
        return [
            each for each in list(self.sent) if each.writes and not each.about_the_lease and each.at >= since
        ]

    def write_kubeconfig(self, folder: Path) -> Path:
        """For the process: this wire, and no credentials."""
        path = folder / f"wire-{self.port}.yaml"
        path.write_text(
            "apiVersion: v1\nkind: Config\ncurrent-context: wire\n"
            "contexts: [{name: wire, context: {cluster: wire, user: wire}}]\n"
            "users: [{name: wire, user: {}}]\n"
            f"clusters: [{{name: wire, cluster: {{server: 'http://127.0.0.1:{self.port}'}}}}]\n"
        )
        return path

    @contextmanager
    def running(self) -> Iterator[Wire]:
        self._loop = asyncio.new_event_loop()
        ready, self._stop = threading.Event(), asyncio.Event()
        thread = threading.Thread(target=run_to_the_end, args=(self._loop, self._serve(ready)))
        thread.start()
        try:
            assert ready.wait(30), "the wire does not come up"
            yield self
        finally:
            self._loop.call_soon_threadsafe(self._stop.set)
            thread.join(30)

    def _break(self) -> None:
        for transport in list(self._open):
            transport.abort()

    async def _serve(self, ready: threading.Event) -> None:
        self._upstream = Upstream(self.kubeconfig, self.token)
        async with self._upstream.session() as self._session:
            app = web.Application(client_max_size=64 * 1024 * 1024)
            app.router.add_route("*", "/{path:.*}", self._handle)
            runner = web.AppRunner(app, handle_signals=False, shutdown_timeout=0.5, access_log=None)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            self.port = int(runner.addresses[0][1])
            ready.set()
            await self._stop.wait()
            self._break()
            await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        sent = Sent.of(request)
        self.sent.append(sent)
        transport = request.transport
        if transport is None or self._cut:
            if transport is not None:
                transport.abort()
            return web.Response(status=502)
        self._open.add(transport)
        try:
            sent.body = await request.read()
            rule = next((rule for rule in list(self.rules) if rule.applies(sent)), None)
            if rule:
                answer = await rule.fault.before(sent)
                if answer is not None:
                    sent.status = answer.status
                    return answer
            return await self._forward(request, sent, rule)
        except (aiohttp.ClientError, ConnectionError, BrokenError):
            transport.abort()
            return web.Response(status=502)
        finally:
            self._open.discard(transport)

    async def _forward(self, request: web.Request, sent: Sent, rule: Rule | None) -> web.StreamResponse:
        kept = {key: value for key, value in request.headers.items() if key.lower() not in _NOT_FORWARDED}
        answer = web.StreamResponse()
        async with self._session.request(
            request.method, self._upstream.url(request.path_qs), data=sent.body or None, headers=kept
        ) as upstream:
            sent.status = upstream.status
            answer.set_status(upstream.status)
            for header in ("Content-Type", "Retry-After"):
                if header in upstream.headers:
                    answer.headers[header] = upstream.headers[header]
            if sent.verb == "watch":
                await answer.prepare(request)
                chunks: AsyncIterator[bytes] = upstream.content.iter_any()
                if rule:
                    chunks = rule.fault.lines(_lines(chunks))
                with contextlib.suppress(aiohttp.ClientConnectionResetError):
                    async for chunk in chunks:
                        await answer.write(chunk)
                return answer
            # Whole, so that it is known to have been carried out before a fault keeps the answer.
            content = await upstream.read()
            if rule:
                await rule.fault.after(sent)
            if sent.replaced is not None:
                return sent.replaced
            await answer.prepare(request)
            await answer.write(content)
        return answer


def run_to_the_end(loop: asyncio.AbstractEventLoop, main: Coroutine[Any, Any, None]) -> None:
    """Leaves neither tasks nor the loop behind."""
    try:
        loop.run_until_complete(main)
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left))
        loop.run_until_complete(asyncio.sleep(0.05))  # what was aborted is closed
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line + b"\n"
