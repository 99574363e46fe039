"""The application, and the server that runs it until it is told to stop."""

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from rca_eval.contract import ContractError, Reason
from rca_eval.graph import EMBEDDED, open_store
from rca_eval.kpis import open_lifecycles
from rca_eval.kpis.database import database_url
from rca_eval.modes import ModeFile
from rca_eval.serve.agent import Agent
from rca_eval.serve.context import Source
from rca_eval.serve.guard import Guard
from rca_eval.serve.lines import Lines, capturing
from rca_eval.serve.problems import ProblemError
from rca_eval.serve.resource import Resource
from rca_eval.serve.routes import Routes
from rca_eval.serve.settings import Limits, Settings


def serve(settings: Settings, source: Source) -> None:
    """Serve until SIGTERM or SIGINT. Raises `ContractError` for what can be known to be wrong at the start."""
    lines, local = Lines(), settings.store == EMBEDDED
    is_file = database_url(settings.database).get_backend_name() == "sqlite"
    graphs = Resource("graph store", lambda: open_store(settings.store), lambda store: store.keys(), lines)
    database = Resource(
        "database", lambda: open_lifecycles(settings.database), lambda store: store.ping(), lines
    )
    modes = ModeFile(settings.modes, revision=settings.revision)
    agent = Agent(
        modes=modes, source=source, graphs=graphs, database=database, lines=lines, limits=settings.limits
    )
    if not Path(settings.modes).exists():
        lines.event(
            "noModes", source=settings.modes, reason="it does not exist; every component is in Shadow"
        )
    with capturing(lines), _listening(settings.host, settings.port) as listener:
        host, port = listener.getsockname()[:2]
        lines.event("started", listen=f"{host}:{port}", pid=os.getpid(), source=source.name)
        # What is on this machine is there or never will be; a server elsewhere may be late.
        first: list[Resource[Any]] = [part for part, mine in ((database, is_file), (graphs, local)) if mine]
        asyncio.run(_run(agent, listener, first))
    lines.event("stopped")


async def _run(agent: Agent, listener: socket.socket, first: list[Resource[Any]]) -> None:
    server = _Server(_config(application(agent, first), agent.limits))
    with server.listening_to_signals():
        try:
            for part in first:
                await part.open_once()
            if not server.should_exit:
                await server.serve(sockets=[listener])
        finally:
            agent.desk.close()
            for part in (agent.graphs, agent.database):
                await part.close()


def application(agent: Agent, opened: list[Resource[Any]]) -> ASGIApp:
    """The ASGI application; what is not in `opened` is opened while it runs."""

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        parts: tuple[Resource[Any], ...] = (agent.graphs, agent.database)
        late = [part for part in parts if part not in opened]
        tasks = [asyncio.create_task(part.open()) for part in late]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    guard = Guard(agent.limits, agent.lines)

    async def answer(request: Request, error: Exception) -> Response:
        problem = _no_route(request, error) if isinstance(error, HTTPException) else None
        id = request.scope["state"]["request_id"]
        return (problem or guard.problem(error, id)).response(id)

    kinds = (HTTPException, ProblemError, ContractError, Exception)
    app = Starlette(
        routes=Routes(agent).all(), lifespan=lifespan, exception_handlers=dict.fromkeys(kinds, answer)
    )
    return guard.around(app)


def _no_route(request: Request, error: HTTPException) -> ProblemError:
    if error.status_code == 404:
        detail = "there is nothing at this path; docs/agent-protocol.md lists what there is."
        return ProblemError(404, "NotFound", detail)
    allowed = (error.headers or {}).get("Allow", "another method")
    return ProblemError(
        error.status_code, "NotAllowed", f"{request.method} is not for this path; use {allowed}."
    )


class _Server(uvicorn.Server):
    """Ends with status 0 when it is told to: uvicorn would raise the signal once more afterwards.

    A signal is only noted, from before the stores are opened until they are closed: an exception in the middle of that
    would leave the embedded server behind.
    """

    @contextlib.contextmanager
    def listening_to_signals(self) -> Iterator[None]:
        """The same two signals as uvicorn's own, for longer."""
        numbers = (signal.SIGTERM, signal.SIGINT)
        before = {number: signal.signal(number, self.handle_exit) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Protocol(H11Protocol):
    """Closes a connection whose request has not arrived in time: uvicorn waits for one for ever."""

    header_seconds = Limits.header_seconds
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._heard()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._heard()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._heard()
        self._waiting = self.loop.call_later(self.header_seconds, self.transport.close)

    def _heard(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


def _config(app: ASGIApp, limits: Limits) -> uvicorn.Config:
    protocol = type("_Patient", (_Protocol,), {"header_seconds": limits.header_seconds})
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=limits.connections,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=int(limits.stopping_seconds),
    )


@contextlib.contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise ContractError(
            Reason.USAGE,
            f"--listen: {host}:{port} cannot be listened on ({error.strerror or error}); choose another.",
        ) from None
    with listener:
        yield listener
