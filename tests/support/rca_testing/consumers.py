"""Replicas of a consumer, good and bad, each a real server on an address of its own of the loopback network."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from rca_testing.lifecycle_world import modes_of

type Behaviour = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Consumer:
    """What it does with a request is `behaviour`, and may be changed at any time. `asked` are the heads of the requests."""

    def __init__(self, address: str, behaviour: Behaviour) -> None:
        self.address, self.behaviour = address, behaviour
        self.asked: list[bytes] = []
        self.most_at_once = 0
        self._open: set[asyncio.StreamWriter] = set()

    async def serve(self, port: int) -> asyncio.Server:
        return await asyncio.start_server(self._serve, self.address, port)

    def close(self) -> None:
        for writer in self._open:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        self.most_at_once = max(self.most_at_once, len(self._open))
        try:
            self.asked.append(await reader.readuntil(b"\r\n\r\n"))
            await self.behaviour(writer)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._open.discard(writer)
            writer.close()


@asynccontextmanager
async def consumers(*replicas: Consumer, port: int = 0) -> AsyncIterator[int]:
    """All of them listen, each on its own address; the port is the same."""
    servers: list[asyncio.Server] = []
    try:
        for replica in replicas:
            servers.append(await replica.serve(port))
            port = servers[-1].sockets[0].getsockname()[1]
        yield port
    finally:
        for replica in replicas:
            replica.close()
        for server in servers:
            server.close()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(server.wait_closed(), 30)


def raw(text: bytes) -> Behaviour:
    """These bytes, and the end of the connection."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(text)

    return answer


def body(content: bytes, status: str = "200 OK", *headers: str) -> Behaviour:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(content)}", *headers]
    return raw("\r\n".join([*lines, "", ""]).encode() + content)


def loaded(key: str, value: str | None, revision: str = "v1") -> Behaviour:
    """The reference agent that has loaded this value."""
    return body(modes_of(key, value, revision))


def compressed(key: str, value: str) -> Behaviour:
    return body(gzip.compress(modes_of(key, value)), "200 OK", "Content-Encoding: gzip")


async def silent(_: asyncio.StreamWriter) -> None:
    """Takes the request, and that is all."""
    await asyncio.sleep(3600)


async def dripping(writer: asyncio.StreamWriter) -> None:
    """Always about to say something more."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n[")
    while True:
        await asyncio.sleep(0.05)
        writer.write(b" ")
        await writer.drain()


async def endless(writer: asyncio.StreamWriter) -> None:
    """As much as is taken."""
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"4000\r\n" + b" " * 0x4000 + b"\r\n")
        await writer.drain()


async def endless_head(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-More: " + b"x" * 8000 + b"\r\n")
        await writer.drain()
