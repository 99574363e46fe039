"""What stands between a decision and its request: asked before, and once more before the first byte.

Against a real HTTP server: what it has not seen was not sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
import pytest_asyncio
from aiohttp import web
from kubernetes.aio.client import Configuration

from rca_rollout.kube.client import REQUEST_TIMEOUT, Kube
from rca_rollout.kube.errors import NotLeaderError, TransientError
from rca_rollout.kube.resources import COMPONENTS, CONFIGMAPS, JOBS, LEASES

NAME = {"metadata": {"name": "x", "namespace": "shop", "resourceVersion": "1"}}


@dataclass
class Server:
    """Answers everything with an object, and notes what it was asked; `held` keeps answers back."""

    seen: list[tuple[str, str]] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    held: asyncio.Event = field(default_factory=asyncio.Event)
    url: str = ""

    async def answer(self, request: web.Request) -> web.Response:
        self.seen.append((request.method, request.query.get("timeout", "")))
        self.asked.set()
        await self.held.wait()
        return web.json_response(NAME)


@dataclass
class Leadership:
    """What the guard says: seconds for a write, none left when it is 0."""

    seconds: float = 12.0
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    def __call__(self) -> float:
        self.asked.set()
        if self.seconds <= 0:
            raise NotLeaderError(0, "not sent")
        return self.seconds


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    server.held.set()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    server.url = f"http://{host}:{port}"
    yield server
    server.held.set()
    await runner.cleanup()


def configured(server: Server, connections: int = 100) -> Configuration:
    loaded = Configuration(host=server.url)
    loaded.retries = None
    loaded.connection_pool_maxsize = connections
    return loaded


async def _writes(kube: Kube) -> list[BaseException | None]:
    """Every kind of write that there is, one after the other."""
    writes = (
        lambda: kube.create(JOBS, "shop", NAME),
        lambda: kube.replace(LEASES, "shop", "x", NAME),
        lambda: kube.replace_status(COMPONENTS, "shop", "x", NAME),
        lambda: kube.json_patch(CONFIGMAPS, "shop", "x", []),
        lambda: kube.delete(JOBS, "shop", "x", uid="u"),
    )
    found: list[BaseException | None] = []
    for write in writes:
        try:
            await write()
            found.append(None)
        except NotLeaderError as error:
            found.append(error)
    return found


async def test_without_the_lease_everything_is_read_and_nothing_is_written(server: Server) -> None:
    kube = Kube(configured(server), Leadership(0))
    try:
        await kube.get(JOBS, "shop", "x")
        await kube.list_uids(JOBS, "shop")
        assert all(isinstance(error, NotLeaderError) for error in await _writes(kube))
    finally:
        await kube.close()
    assert [method for method, _ in server.seen] == ["GET", "GET"]


async def test_a_write_is_given_what_the_lease_still_gives_and_the_server_is_told(server: Server) -> None:
    leadership = Leadership(12.0)
    kube = Kube(configured(server), leadership)
    try:
        assert await _writes(kube) == [None] * 5
        leadership.seconds = 4.25
        await kube.json_patch(CONFIGMAPS, "shop", "x", [])
        await kube.get(CONFIGMAPS, "shop", "x")
    finally:
        await kube.close()
    assert [timeout for _, timeout in server.seen] == [f"{REQUEST_TIMEOUT:.3f}s"] * 5 + ["4.200s", ""], (
        "to a tenth of a second, and never longer"
    )


async def test_a_write_that_gets_no_answer_ends_with_the_lease(server: Server) -> None:
    server.held.clear()
    kube = Kube(configured(server), Leadership(0.05))
    try:
        with pytest.raises(TransientError):
            await kube.json_patch(CONFIGMAPS, "shop", "x", [])
    finally:
        await kube.close()


@pytest.mark.parametrize("leads", [True, False])
async def test_a_write_that_waited_for_a_connection_is_not_sent_when_the_lease_is_gone_meanwhile(
    server: Server, leads: bool
) -> None:
    """As when the process is stopped between its decision and the first byte, and goes on a minute later."""
    server.held.clear()
    leadership = Leadership()
    kube = Kube(configured(server, connections=1), leadership)
    try:
        reading = asyncio.create_task(kube.get(JOBS, "shop", "x"))
        await server.asked.wait()
        writing = asyncio.create_task(kube.json_patch(CONFIGMAPS, "shop", "x", []))
        await leadership.asked.wait()
        leadership.seconds = 12.0 if leads else 0.0
        server.held.set()
        await reading
        outcome = (await asyncio.gather(writing, return_exceptions=True))[0]
        # The connection that was found for it is as good as before.
        await kube.get(JOBS, "shop", "x")
    finally:
        await kube.close()
    methods = [method for method, _ in server.seen]
    if leads:
        assert methods == ["GET", "PATCH", "GET"]
    else:
        assert isinstance(outcome, NotLeaderError)
        assert methods == ["GET", "GET"]


async def test_one_configuration_can_serve_a_guarded_and_a_free_port(server: Server) -> None:
    """The Lease's own requests cannot ask whether the Lease is held."""
    loaded = configured(server)
    guarded, free = Kube(loaded, Leadership(0)), Kube(loaded)
    try:
        with pytest.raises(NotLeaderError):
            await guarded.replace(LEASES, "shop", "x", NAME)
        await free.replace(LEASES, "shop", "x", NAME)
    finally:
        await guarded.close()
        await free.close()
    assert [method for method, _ in server.seen] == ["PUT"]
