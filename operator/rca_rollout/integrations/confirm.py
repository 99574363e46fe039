"""One replica of a consumer, asked on its own address. What it says is bounded, and nothing that it says is followed."""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx

TIMEOUT = 5.0  # seconds, for everything: connection, head, body
LARGEST_ANSWER = 256 << 10
AT_ONCE = 16


class ReplicaError(Exception):
    """It gave no answer that can be read. The message goes on from the Pod's name: `did not answer within 5 s`."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Replicas:
    """No redirect, no proxy of the environment, no cookie, no kept connection: each Pod is a stranger."""

    def __init__(self, *, timeout: float = TIMEOUT) -> None:
        self._timeout = timeout
        self._client = httpx.AsyncClient(
            verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),  # never used: Pods are asked by plain HTTP
            timeout=httpx.Timeout(timeout),
            follow_redirects=False,
            trust_env=False,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            limits=httpx.Limits(max_connections=AT_ONCE, max_keepalive_connections=0),
            headers={
                "User-Agent": "rca-rollout",
                "Accept": "application/json",
                "Accept-Encoding": "identity",
            },
        )

    async def ask(self, address: str, port: int, path: str) -> bytes:
        """The body of `GET path` with status 200. Raises `ReplicaError`."""
        try:
            host = str(ipaddress.ip_address(address))
        except ValueError:
            raise ReplicaError("has no address yet") from None
        url = httpx.URL(scheme="http", host=host, port=port, path=path)
        try:
            async with asyncio.timeout(self._timeout), self._client.stream("GET", url) as response:
                if response.status_code != httpx.codes.OK:
                    raise ReplicaError(f"answers {path} with HTTP {response.status_code}")
                return await self._body(response)
        except (TimeoutError, httpx.TimeoutException):
            raise ReplicaError(f"did not answer within {self._timeout:g} s") from None
        except httpx.ConnectError:
            raise ReplicaError(f"cannot be reached at port {port}") from None
        except httpx.HTTPError as problem:
            raise ReplicaError(f"does not speak HTTP as it should ({type(problem).__name__})") from None

    async def close(self) -> None:
        await self._client.aclose()

    async def _body(self, response: httpx.Response) -> bytes:
        """As it came: what is compressed was not asked for, and would have any size."""
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise ReplicaError("answers compressed, unasked")
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > LARGEST_ANSWER:
                raise ReplicaError(f"answers with more than {LARGEST_ANSWER >> 10} KiB")
        return bytes(body)
