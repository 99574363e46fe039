"""A thin port to the API server over `kubernetes.aio`: plain dicts in and out, our own errors, explicit content types.

The generated classes of the client are not used: they would parse every Pod into a model tree, and they drop fields
that a newer server knows. Its transport (TLS, kubeconfig, token refresh, connection pool) is.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

import aiohttp
from kubernetes.aio import config
from kubernetes.aio.client import ApiClient, Configuration

from rca_rollout.kube.errors import TransientError, error_from
from rca_rollout.kube.resources import PODS, Resource

FIELD_MANAGER = "rca-rollout"
# Seconds. Well below the life of an intent, so that no write can arrive after its intent is void.
REQUEST_TIMEOUT = 10.0
# Seconds that a write may take, if it is sent now. Raises `NotLeaderError` where none may be sent.
type Guard = Callable[[], float]

_METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

type Body = dict[str, Any]


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

    def __init__(self, loaded: Configuration, guard: Guard | None = None) -> None:
        self._guard = guard
        if guard:
            loaded = copy.copy(loaded)
            loaded.trace_configs = [*(loaded.trace_configs or ()), _asking(guard)]
        self._api = ApiClient(loaded)
        self.requests = 0

    async def close(self) -> None:
        await self._api.close()  # type: ignore[no-untyped-call]  # the client has no annotations here

    async def get(self, resource: Resource, namespace: str, name: str) -> Body:
        return await self._json("GET", resource.path(namespace, name))

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
        answer = await self._json("GET", resource.path(namespace), query=query, accept=_METADATA_ONLY)
        return {str(item["metadata"]["uid"]) for item in answer.get("items") or []}

    async def create(self, resource: Resource, namespace: str, body: Body, *, dry_run: bool = False) -> Body:
        return await self._json(
            "POST",
            resource.path(namespace),
            query={"fieldManager": FIELD_MANAGER, **({"dryRun": "All"} if dry_run else {})},
            body=body,
            content="application/json",
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
        """Applies all operations or none; a failed `test` raises `ConflictError`."""
        return await self._json(
            "PATCH",
            resource.path(namespace, name),
            query={"fieldManager": FIELD_MANAGER},
            body=list(operations),
            content="application/json-patch+json",
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
            answer = json.loads(raw)
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
        accept: str = "application/json",
    ) -> bytes:
        serialized = await self._api.param_serialize(
            method,
            quote(path, safe="/-._~:"),
            header_params={"Accept": accept, **({"Content-Type": content} if content else {})},
            body=body,
            auth_settings=["BearerToken"],
        )
        _, url, headers, payload, post = serialized
        limit = REQUEST_TIMEOUT
        if method != "GET":
            if self._guard:
                limit = min(limit, self._guard())
            # The server ends it then, too: a request that we have given up must not be carried out later.
            query = {**(query or {}), "timeout": f"{limit:.3f}s"}
        if query:
            url += "?" + urlencode(query)
        self.requests += 1
        try:
            answer = await self._api.call_api(method, url, headers, payload, post, _request_timeout=limit)
            raw: bytes = await answer.read()  # type: ignore[no-untyped-call]  # the client has no annotations here
        except (TimeoutError, aiohttp.ClientError, OSError) as problem:
            raise TransientError(
                0, f"no answer: {problem or type(problem).__name__}", verb=method, path=path
            ) from problem
        if answer.status >= 300:
            raise error_from(
                answer.status,
                raw,
                verb=method,
                path=path,
                is_patch=method == "PATCH",
                retry_after=_seconds(answer.headers.get("Retry-After")),
            )
        return raw


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
