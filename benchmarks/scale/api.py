"""The benchmark's own requests and watches, apart from the operator's client: what is measured must not measure itself."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from kubernetes import client, config

OURS = "apis/rca.bluerobin.io/v1alpha1"
_WATCH_SECONDS = 300

type Body = dict[str, Any]


@dataclass(frozen=True)
class Seen:
    """One change as a watch told it: when its line was read (monotonic seconds), and what it was."""

    at: float
    kind: str
    body: Body


class Api:
    """For one loop; closed by `close`."""

    def __init__(self, kubeconfig: Path) -> None:
        loaded = client.Configuration()
        config.load_kube_config(str(kubeconfig), client_configuration=loaded)  # type: ignore[no-untyped-call]  # the client has no annotations here
        context = ssl.create_default_context(cafile=loaded.ssl_ca_cert)
        context.load_cert_chain(str(loaded.cert_file), loaded.key_file)
        self._session = aiohttp.ClientSession(
            base_url=f"{loaded.host}/",
            connector=aiohttp.TCPConnector(ssl=context, limit=64),
            headers={"User-Agent": "rca-bench"},
            read_bufsize=2**21,
        )

    async def close(self) -> None:
        await self._session.close()

    async def request(
        self, method: str, path: str, body: Any = None, *, content: str = "application/json"
    ) -> Body:
        """Raises `RuntimeError` with the server's words when it is refused."""
        text = None if body is None else json.dumps(body)
        headers = {"Content-Type": content}
        async with self._session.request(method, path.lstrip("/"), data=text, headers=headers) as answer:
            raw = await answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {raw[:500].decode(errors='replace')}")
        found: Body = json.loads(raw)
        return found

    async def text(self, path: str) -> str:
        async with self._session.get(path.lstrip("/")) as answer:
            answer.raise_for_status()
            return await answer.text()

    async def watch(self, path: str, selector: str = "") -> AsyncIterator[Seen]:
        """Every change of a collection from now on, for ever: resumed where it was when the server closes it. Raises
        `RuntimeError` when the server has forgotten that place: a change would be missing, and with it a figure."""
        query = {"labelSelector": selector} if selector else {}
        version = await self._version(path, query)
        while True:
            more = {**query, "watch": "1", "resourceVersion": version, "timeoutSeconds": str(_WATCH_SECONDS)}
            more["allowWatchBookmarks"] = "true"
            try:
                async with self._session.get(
                    path.lstrip("/"), params=more, timeout=aiohttp.ClientTimeout(total=None, sock_read=None)
                ) as answer:
                    if answer.status != 200:
                        await asyncio.sleep(0.2)
                        continue
                    async for line in answer.content:
                        at = time.monotonic()
                        event = json.loads(line)
                        if event["type"] == "ERROR":
                            raise RuntimeError(f"the watch of {path} lost its place: {event['object']}")
                        version = event["object"]["metadata"]["resourceVersion"]
                        if event["type"] != "BOOKMARK":
                            yield Seen(at, event["type"], event["object"])
            except aiohttp.ClientError:
                continue

    async def _version(self, path: str, query: Mapping[str, str]) -> str:
        async with self._session.get(path.lstrip("/"), params={**query, "limit": "1"}) as answer:
            answer.raise_for_status()
            found = await answer.json()
        return str(found["metadata"]["resourceVersion"])
