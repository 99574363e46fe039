"""The wire between one process and the API server: everything that goes over it is noted, and it can be cut.

Plain HTTP on the side of the process, the kubeconfig's credentials on the side of the server: who sent what is certain,
whatever the objects say, and a request that is not noted here was not sent.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
from aiohttp import web
from kubernetes import client, config

_NOT_FORWARDED = {"host", "connection", "transfer-encoding", "content-length", "accept-encoding"}


@dataclass
class Sent:
    """One request, when it came (monotonic seconds) and what was answered (0: nothing)."""

    at: float
    method: str
    path: str
    status: int = 0

    @property
    def writes(self) -> bool:
        return self.method != "GET"

    @property
    def about_the_lease(self) -> bool:
        return "/leases" in self.path


@dataclass
class Wire:
    """In a thread of its own, with a loop of its own, so that a test may block."""

    kubeconfig: Path
    sent: list[Sent] = field(default_factory=list)
    port: int = 0
    _cut: bool = False
    _open: set[asyncio.Transport] = field(default_factory=set)

    def cut(self) -> None:
        """From now on connections break at once, those that stand included."""
        self._cut = True
        self._loop.call_soon_threadsafe(self._break)

    def mend(self) -> None:
        self._cut = False

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
        thread = threading.Thread(target=lambda: self._loop.run_until_complete(self._serve(ready)))
        thread.start()
        try:
            assert ready.wait(30), "the wire does not come up"
            yield self
        finally:
            self._loop.call_soon_threadsafe(self._stop.set)
            thread.join(30)
            self._loop.close()

    def _break(self) -> None:
        for transport in list(self._open):
            transport.abort()

    async def _serve(self, ready: threading.Event) -> None:
        loaded = client.Configuration()
        config.load_kube_config(str(self.kubeconfig), client_configuration=loaded)  # type: ignore[no-untyped-call]
        context = ssl.create_default_context(cafile=loaded.ssl_ca_cert)
        if loaded.cert_file:
            context.load_cert_chain(loaded.cert_file, loaded.key_file)
        headers = {"Authorization": loaded.api_key["authorization"]} if loaded.api_key else {}
        self._target = str(loaded.host).rstrip("/")
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=context, limit=0),
            headers=headers,
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=None),
        ) as self._session:
            app = web.Application(client_max_size=64 * 1024 * 1024)
            app.router.add_route("*", "/{path:.*}", self._forward)
            runner = web.AppRunner(app, handle_signals=False, shutdown_timeout=0.5, access_log=None)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            self.port = int(runner.addresses[0][1])
            ready.set()
            await self._stop.wait()
            self._break()
            await runner.cleanup()

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        noted = Sent(time.monotonic(), request.method, request.path_qs)
        self.sent.append(noted)
        transport = request.transport
        if transport is None or self._cut:
            if transport is not None:
                transport.abort()
            return web.Response(status=502)
        body = await request.read()
        kept = {key: value for key, value in request.headers.items() if key.lower() not in _NOT_FORWARDED}
        self._open.add(transport)
        answer = web.StreamResponse()
        try:
            async with self._session.request(
                request.method, self._target + request.path_qs, data=body or None, headers=kept
            ) as upstream:
                noted.status = upstream.status
                answer.set_status(upstream.status)
                answer.headers["Content-Type"] = upstream.headers.get("Content-Type", "application/json")
                await answer.prepare(request)
                async for chunk in upstream.content.iter_any():
                    await answer.write(chunk)
        except (aiohttp.ClientError, ConnectionError):
            transport.abort()
        finally:
            self._open.discard(transport)
        return answer
