"""A thin port to the API server over `kubernetes.aio`: plain dicts in and out, our own errors, explicit content types.

The generated classes of the client are not used: they would parse every Pod into a model tree, and they drop fields
that a newer server knows. Its transport (TLS, kubeconfig, token refresh, connection pool) is.
"""

from __future__ import annotations

import copy
import math
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode
from urllib.request import getproxies

import aiohttp
from kubernetes.aio import config
from kubernetes.aio.client import ApiClient, Configuration
from yarl import URL

from rca_rollout import __version__
from rca_rollout.kube import wire
from rca_rollout.kube.errors import KubeError, TransientError, error_from
from rca_rollout.kube.resources import PODS, Resource, resource_of

FIELD_MANAGER = "rca-rollout"
_USER_AGENT = f"{FIELD_MANAGER}/{__version__}"
# Seconds. Well below the life of an intent, so that no write can arrive after its intent is void.
REQUEST_TIMEOUT = 10.0
# Seconds that a write may take, if it is sent now. Raises `NotLeaderError` where none may be sent.
type Guard = Callable[[], float]
# Told of every request when it has been answered: method, resource and HTTP status (0: no answer).
type Witness = Callable[[str, str, int], None]

_METADATA_ONLY = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"
_JSON = "application/json"
# Requests under way at once. More would only wait in the server, and each has a connection and its buffers.
_CONNECTIONS = 32
_PAGE = 100
_WATCH_SECONDS = 300
_SILENCE = 90.0  # the server sends a bookmark every minute

type Body = dict[str, Any]


class Page(NamedTuple):
    """Some objects of a list, and the version that the whole list is of."""

    items: Sequence[Body]
    version: str


async def configuration(context: str | None = None) -> Configuration:
    """In a Pod its service account, elsewhere the kubeconfig. Raises `kubernetes.aio.config.ConfigException`."""
    loaded = Configuration()
    try:
        config.load_incluster_config(client_configuration=loaded)  # type: ignore[no-untyped-call]  # the client has no annotations here
    except config.ConfigException:
        await config.load_kube_config(context=context, client_configuration=loaded)  # type: ignore[no-untyped-call]  # the client has no annotations here
    # Every retry is decided by the work queue, which can see whether the request still makes sense.
    # None, not 0: with 0 the client asks again for as long as the server answers 5xx, and its caller never hears of it.
    loaded.retries = None
    return loaded


class Kube:
    """Requests as our field manager. Every method raises a `KubeError` when the server does not agree.

    With a `guard`, no write is sent that it does not let through, and none goes on for longer than it says. It is asked
    twice: before the request is begun, and when a connection has been found for it, right before its first byte.
    """

    def __init__(
        self, loaded: Configuration, guard: Guard | None = None, witness: Witness | None = None
    ) -> None:
        self._guard, self._witness = guard, witness
        loaded = copy.copy(loaded)
        if guard:
            loaded.trace_configs = [*(loaded.trace_configs or ()), _asking(guard)]
        loaded.connection_pool_maxsize = _CONNECTIONS
        if not getproxies() and not os.environ.get("NETRC"):
            # Else the environment and a file of passwords are searched at every request, which costs as much as it does.
            loaded.client_session_kwargs = {"trust_env": False}
        self._api = ApiClient(loaded)
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        await self._api.close()  # type: ignore[no-untyped-call]  # the client has no annotations here

    async def get(self, resource: Resource, namespace: str, name: str) -> Body:
        return await self._json("GET", resource.path(namespace, name))

    async def version(self, resource: Resource, namespace: str, name: str) -> tuple[str, str]:
        """UID and resource version of an object. Only metadata travels."""
        accept = f"{_METADATA_ONLY.format('')},{_JSON}"
        metadata = (await self._json("GET", resource.path(namespace, name), accept=accept))["metadata"]
        return str(metadata["uid"]), str(metadata["resourceVersion"])

    async def list(
        self,
        resource: Resource,
        namespace: str,
        *,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
    ) -> list[Body]:
        """What the selectors choose; with a `limit` no more than that."""
        asked = {"labelSelector": label_selector, "fieldSelector": field_selector, "limit": str(limit or "")}
        query = {key: value for key, value in asked.items() if value}
        answer = await self._json("GET", resource.path(namespace), query=query)
        items: list[Body] = answer.get("items") or []
        return items

    async def list_uids(
        self, resource: Resource, namespace: str | None, *, label_selector: str = ""
    ) -> set[str]:
        """The UIDs of all objects, of all namespaces with None. Only metadata travels."""
        query = {"labelSelector": label_selector} if label_selector else {}
        answer = await self._json(
            "GET", resource.path(namespace), query=query, accept=_METADATA_ONLY.format("List")
        )
        return {str(item["metadata"]["uid"]) for item in answer.get("items") or []}

    async def pages(
        self, resource: Resource, namespace: str | None, *, label_selector: str = ""
    ) -> AsyncIterator[Page]:
        """All objects (of all namespaces with None) in pages, each with the version that the list is of: a thousand at
        once would need a hundred times the memory of what is kept of them. `GoneError` when it takes too long."""
        query = {"limit": str(_PAGE), **({"labelSelector": label_selector} if label_selector else {})}
        while True:
            answer = await self._json("GET", resource.path(namespace), query=query)
            metadata = answer.get("metadata") or {}
            yield Page(answer.get("items") or [], str(metadata.get("resourceVersion", "")))
            if not metadata.get("continue"):
                return
            query["continue"] = str(metadata["continue"])

    async def watch(
        self, resource: Resource, namespace: str | None, *, version: str, label_selector: str = ""
    ) -> AsyncIterator[Body]:
        """The events after `version`, bookmarks included, until the server ends the stream. `GoneError` when it has
        forgotten that version, `TransientError` when the stream breaks or is silent for longer than bookmarks are."""
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(_WATCH_SECONDS),
            **({"labelSelector": label_selector} if label_selector else {}),
        }
        path, status = resource.path(namespace), 0
        # Slightly more than the server's own limit, so that the server ends the stream.
        limits = aiohttp.ClientTimeout(total=_WATCH_SECONDS + 10, sock_connect=30, sock_read=_SILENCE)
        try:
            async with self._send(
                "GET", path, query=query, body=None, content=None, accept=_JSON, limits=limits
            ) as answer:
                status = answer.status
                if status >= 300:
                    raise _refusal(answer, await answer.read(), "GET", path)
                async for line in answer.content:
                    event = wire.read(line)
                    if event["type"] == "ERROR":
                        error = event["object"]
                        code = int(error.get("code") or 500)
                        text = wire.written(error)
                        raise error_from(code, text, verb="GET", path=path, is_patch=False, retry_after=0)
                    yield event
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as problem:
            # ValueError: a line that was cut in the middle, or is longer than the buffer.
            raise TransientError(
                0, f"the watch broke: {problem or type(problem).__name__}", verb="GET", path=path
            ) from problem
        finally:
            self._tell("WATCH", path, status)

    async def create(self, resource: Resource, namespace: str, body: Body, *, dry_run: bool = False) -> Body:
        return await self._json(
            "POST",
            resource.path(namespace),
            query={"fieldManager": FIELD_MANAGER, **({"dryRun": "All"} if dry_run else {})},
            body=body,
            content="application/json",
        )

    async def make(self, resource: Resource, namespace: str, body: Body) -> Body:
        """Creates it; only its metadata comes back."""
        return await self._json(
            "POST",
            resource.path(namespace),
            query={"fieldManager": FIELD_MANAGER},
            body=body,
            content=_JSON,
            accept=f"{_METADATA_ONLY.format('')},{_JSON}",
        )

    async def replace_status(self, resource: Resource, namespace: str, name: str, body: Body) -> Body:
        """Replaces the status of exactly the version that `body.metadata.resourceVersion` names, else `ConflictError`."""
        return await self._json(
            "PUT",
            resource.path(namespace, name, "status"),
            query={"fieldManager": FIELD_MANAGER},
            body=body,
            content="application/json",
        )

    async def replace(
        self, resource: Resource, namespace: str, name: str, body: Body, *, dry_run: bool = False
    ) -> Body:
        """Replaces exactly the version that `body.metadata.resourceVersion` names, else `ConflictError`."""
        return await self._json(
            "PUT",
            resource.path(namespace, name),
            query={"fieldManager": FIELD_MANAGER, **({"dryRun": "All"} if dry_run else {})},
            body=body,
            content="application/json",
        )

    async def json_patch(
        self, resource: Resource, namespace: str, name: str, operations: Sequence[Mapping[str, Any]]
    ) -> Body:
        """Applies all operations or none; a failed `test` raises `ConflictError`. Only metadata comes back."""
        return await self._json(
            "PATCH",
            resource.path(namespace, name),
            query={"fieldManager": FIELD_MANAGER},
            body=list(operations),
            content="application/json-patch+json",
            accept=f"{_METADATA_ONLY.format('')},{_JSON}",
        )

    async def delete(self, resource: Resource, namespace: str, name: str, *, uid: str) -> None:
        """Deletes the object with this UID and, behind it, what it owns."""
        body = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": "Background",
            "preconditions": {"uid": uid},
        }
        await self._json("DELETE", resource.path(namespace, name), body=body, content="application/json")

    async def pod_log(
        self, namespace: str, pod: str, container: str, *, limit_bytes: int, tail_lines: int = 0
    ) -> bytes:
        """At most `limit_bytes` of one container's log, from its start or, with `tail_lines`, from its end."""
        query = {"container": container, "limitBytes": str(limit_bytes)}
        if tail_lines:
            query["tailLines"] = str(tail_lines)
        raw = await self._request("GET", PODS.path(namespace, pod, "log"), query=query)
        return raw[:limit_bytes]

    async def _json(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content: str | None = None,
        accept: str = "application/json",
    ) -> Body:
        raw = await self._request(method, path, query=query, body=body, content=content, accept=accept)
        try:
            answer = wire.read(raw)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            # From something in between: whether it was carried out is as open as without an answer.
            raise TransientError(
                0, f"the answer is no object: {raw[:100].decode(errors='replace')!r}", verb=method, path=path
            )
        return answer

    async def _request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content: str | None = None,
        accept: str = _JSON,
    ) -> bytes:
        limit = REQUEST_TIMEOUT
        if method != "GET":
            if self._guard:
                limit = _rounded(min(limit, self._guard()))
            # The server ends it then, too: a request that we have given up must not be carried out later.
            query = {**(query or {}), "timeout": f"{limit:.3f}s"}
        status = 0
        try:
            async with self._send(
                method,
                path,
                query=query,
                body=body,
                content=content,
                accept=accept,
                limits=_timeout(limit),
            ) as answer:
                raw = await answer.read()
                status = answer.status
        except (TimeoutError, aiohttp.ClientError, OSError) as problem:
            raise TransientError(
                0, f"no answer: {problem or type(problem).__name__}", verb=method, path=path
            ) from problem
        finally:
            self._tell(method, path, status)
        if status >= 300:
            raise _refusal(answer, raw, method, path)
        return raw

    @asynccontextmanager
    async def _send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None,
        body: Any,
        content: str | None,
        accept: str,
        limits: aiohttp.ClientTimeout,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """By the client's own session (its TLS, its proxy, its token), past its copies of every body."""
        rest, loaded = self._api.rest_client, self._api.configuration
        if self._session is None:
            self._session = rest.pool_manager = rest._create_pool_manager()
        headers = {"Accept": accept, "User-Agent": _USER_AGENT}
        if content:
            headers["Content-Type"] = content
        path = _quoted(path)
        await self._api.update_params_for_auth(headers, {}, ["BearerToken"], path, method, body)
        more: dict[str, Any] = {}
        if loaded.tls_server_name:
            more["server_hostname"] = loaded.tls_server_name
        if rest.proxy:
            more["proxy"] = rest.proxy
        if rest.proxy_headers:
            more["proxy_headers"] = rest.proxy_headers
        text = f"{loaded.host}{path}" + (f"?{_encoded(tuple(query.items()))}" if query else "")
        async with self._session.request(
            method,
            URL(text, encoded=True),
            data=None if body is None else wire.written(body),
            headers=headers,
            timeout=limits,
            **more,
        ) as answer:
            yield answer

    def _tell(self, method: str, path: str, status: int) -> None:
        if self._witness:
            self._witness(method, resource_of(path), status)


# The same few of these at every request; to make them anew costs a tenth of it.
@lru_cache(maxsize=256)
def _quoted(path: str) -> str:
    return quote(path, safe="/-._~:")


@lru_cache(maxsize=256)
def _encoded(query: tuple[tuple[str, str], ...]) -> str:
    return urlencode(query)


@lru_cache(maxsize=256)
def _timeout(seconds: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(seconds)


def _rounded(seconds: float) -> float:
    """Never longer: to a tenth of a second, where that is little."""
    return math.floor(seconds * 10) / 10 if seconds >= 1 else seconds


def _refusal(answer: aiohttp.ClientResponse, raw: bytes, method: str, path: str) -> KubeError:
    return error_from(
        answer.status,
        raw,
        verb=method,
        path=path,
        is_patch=method == "PATCH",
        retry_after=_seconds(answer.headers.get("Retry-After")),
    )


def _asking(guard: Guard) -> aiohttp.TraceConfig:
    """Between the beginning of a request and its first byte lie the wait for a connection and the handshakes: enough
    for a process to be stopped, and to go on a minute later."""

    async def before_the_first_byte(_: Any, __: Any, sending: aiohttp.TraceRequestHeadersSentParams) -> None:
        if sending.method != "GET":
            guard()

    config = aiohttp.TraceConfig()
    config.on_request_headers_sent.append(before_the_first_byte)
    return config


def _seconds(header: str | None) -> float:
    try:
        return max(0.0, float(header or 0))
    except ValueError:
        return 0.0
