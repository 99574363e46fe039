"""Prometheus' HTTP API: instant queries, typed, bounded, and never a number where there is none.

https://prometheus.io/docs/prometheus/latest/querying/api/ ; Thanos, Mimir and VictoriaMetrics speak it, too.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

TIMEOUT = 10.0  # seconds, for everything: name, connection, evaluation, body
LARGEST_ANSWER = 1 << 20
MOST_SERIES = 200
_LONGEST_MESSAGE = 300
_LONGEST_NUMBER = (
    400  # a float without an exponent has up to 328 characters; half of one would be another number
)


class Fault(StrEnum):
    """Whose fault a failed query is, and so when it is worth asking again."""

    QUERY = "Query"
    ACCESS = "Access"
    SERVER = "Server"


class QueryError(Exception):
    """The query gave no answer. The message is a sentence; Prometheus' own words are in it. `retry_after` in seconds."""

    def __init__(self, fault: Fault, message: str, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.fault = fault
        self.message = message
        self.retry_after = retry_after


@dataclass(frozen=True)
class Answer:
    """The values of an instant vector or a scalar, as Prometheus writes them (`0.25`, `1e+06`, `NaN`, `+Inf`)."""

    values: tuple[str, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Address:
    """Where Prometheus is. The token's file is read for every query: it may be renewed meanwhile."""

    url: str
    token_file: str | None = None
    ca_file: str | None = None


class Prometheus:
    """One Prometheus, over a few kept connections. Follows no redirect and no proxy of the environment."""

    def __init__(self, address: Address, *, timeout: float = TIMEOUT) -> None:
        self._address = address
        self._timeout = timeout
        self._endpoint = address.url.rstrip("/") + "/api/v1/query"
        self._client = httpx.AsyncClient(
            verify=_tls(address),
            timeout=httpx.Timeout(timeout),
            follow_redirects=False,
            trust_env=False,
            limits=httpx.Limits(max_connections=8, max_keepalive_connections=4),
            headers={"User-Agent": "rca-rollout", "Accept": "application/json"},
        )

    async def query(self, text: str) -> Answer:
        """The answer now, by the server's clock. Raises `QueryError`."""
        form = {"query": text, "timeout": f"{max(1, int(self._timeout) - 1)}s"}
        try:
            async with (
                asyncio.timeout(self._timeout),
                self._client.stream(
                    "POST", self._endpoint, data=form, headers=self._authorization()
                ) as response,
            ):
                body = await self._body(response)
        except (TimeoutError, httpx.TimeoutException):
            raise QueryError(Fault.SERVER, f"Prometheus did not answer within {self._timeout:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL) as problem:
            said = str(problem) or type(problem).__name__
            raise QueryError(Fault.SERVER, f"Prometheus cannot be reached: {_short(said)}") from None
        return _read(response, body, self._address)

    async def close(self) -> None:
        await self._client.aclose()

    def _authorization(self) -> dict[str, str]:
        if self._address.token_file is None:
            return {}
        try:
            token = Path(self._address.token_file).read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            raise QueryError(
                Fault.ACCESS, f"the token file {self._address.token_file} cannot be read: mount it"
            ) from None
        return {"Authorization": f"Bearer {token}"}

    async def _body(self, response: httpx.Response) -> bytes:
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > LARGEST_ANSWER:
                text = f"the answer is larger than {LARGEST_ANSWER >> 20} MiB: aggregate in the query"
                raise QueryError(Fault.QUERY, text)
        return bytes(body)


def _tls(address: Address) -> ssl.SSLContext:
    """Authorities are read only where they are needed; for plain HTTP the context trusts none, and is never used."""
    if urlsplit(address.url).scheme == "https":
        return ssl.create_default_context(cafile=address.ca_file)
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _read(response: httpx.Response, body: bytes, address: Address) -> Answer:
    status = response.status_code
    document = _document(body)
    said = _short(str(document["error"])) if document and document.get("error") else ""
    if response.is_redirect:
        place = _short(response.headers.get("Location", "?"))
        raise QueryError(
            Fault.ACCESS, f"{address.url} redirects to {place}: set prometheus.url to where Prometheus is"
        )
    if status in (401, 403):
        text = f"Prometheus refuses the operator (HTTP {status}): check prometheus.tokenSecret"
        raise QueryError(Fault.ACCESS, text)
    if status == 429 or status >= 500:
        raise QueryError(
            Fault.SERVER,
            f"Prometheus has a problem of its own (HTTP {status}){_after(said)}",
            _seconds(response.headers.get("Retry-After")),
        )
    if status == 404 and document is None:
        text = f"there is no query API of Prometheus below {address.url} (HTTP 404): check prometheus.url"
        raise QueryError(Fault.ACCESS, text)
    if status >= 400:
        raise QueryError(Fault.QUERY, f"Prometheus refuses the query (HTTP {status}){_after(said)}")
    if document is None or document.get("status") != "success":
        text = (
            f"what {address.url} answers is not of Prometheus' query API{_after(said)}: check prometheus.url"
        )
        raise QueryError(Fault.ACCESS, text)
    warnings = document.get("warnings")
    told = tuple(_short(str(one)) for one in warnings[:8]) if isinstance(warnings, list) else ()
    return Answer(_values(document.get("data")), told)


def _values(data: Any) -> tuple[str, ...]:
    kind = data.get("resultType") if isinstance(data, dict) else None
    result = data.get("result") if isinstance(data, dict) else None
    if kind == "scalar":
        return (_value(result),)
    if kind == "matrix":
        raise QueryError(
            Fault.QUERY, "the query gives a range of samples: wrap it in a function such as avg_over_time()"
        )
    if kind == "string":
        raise QueryError(Fault.QUERY, "the query gives a text: it has to give a number or an instant vector")
    if kind != "vector" or not isinstance(result, list):
        raise QueryError(Fault.SERVER, "Prometheus answered with a type that its API does not have")
    if len(result) > MOST_SERIES:
        raise QueryError(
            Fault.QUERY, f"the query gives {len(result)} series: aggregate them to {MOST_SERIES} at most"
        )
    return tuple(_value(one.get("value") if isinstance(one, Mapping) else None) for one in result)


def _value(pair: Any) -> str:
    """The second of `[time, "value"]`. A native histogram has none."""
    if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[1], str):
        raise QueryError(
            Fault.QUERY, "the query gives a histogram: reduce it to a number, with histogram_quantile() say"
        )
    if len(pair[1]) > _LONGEST_NUMBER:
        raise QueryError(Fault.SERVER, "Prometheus answered with a value that is no number of its kind")
    return pair[1]


def _document(body: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _seconds(text: str | None) -> float:
    return min(3600.0, float(text)) if text and text.isdecimal() else 0.0


def _after(said: str) -> str:
    return f": {said}" if said else ""


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_MESSAGE else text[: _LONGEST_MESSAGE - 1] + "…"
