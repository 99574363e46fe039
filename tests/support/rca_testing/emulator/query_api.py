"""Prometheus' query API as a small server in the ring's own loop. (The client itself is tested on a real Prometheus.)"""

from __future__ import annotations

import asyncio
import json
from urllib.parse import parse_qs


class QueryApi:
    """`answers` by a word of the query: a value, or None for no series. `silent`: nobody gets an answer any more."""

    def __init__(self) -> None:
        self.answers: dict[str, str | None] = {}
        self.silent = False
        self.asked: list[str] = []
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> QueryApi:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._open:
            writer.close()
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(
                    int(line.partition(b":")[2])
                    for line in head.lower().split(b"\r\n")
                    if line.startswith(b"content-length:")
                )
                query = parse_qs((await reader.readexactly(length)).decode())["query"][0]
                self.asked.append(query)
                if not self.silent:
                    body = self._answer(query)
                    writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._open.discard(writer)
            writer.close()

    def _answer(self, query: str) -> bytes:
        value = next((value for word, value in self.answers.items() if word in query), None)
        result = [] if value is None else [{"metric": {}, "value": [0, value]}]
        return json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}).encode()
