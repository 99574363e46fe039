"""The API server over HTTP. kmock carries the socket, the request log and the discovery; the rest is in `store`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import kmock
from aiohttp import web

from rca_testing.emulator import clock
from rca_testing.emulator.store import (
    CUSTOM,
    KINDS,
    VERSIONS,
    Body,
    Change,
    Refusal,
    Store,
    has_fields,
    selects,
)


@dataclass
class Call:
    """One request as the server saw it, and the status that it answered (0: none)."""

    verb: str
    plural: str
    namespace: str | None
    name: str | None
    subresource: str | None
    query: dict[str, str]
    body: Any
    token: str
    raw: web.BaseRequest = field(repr=False)
    status: int = 0

    @property
    def writes(self) -> bool:
        """Something of users', that is: the operators' Lease goes on beside it."""
        return self.verb in ("create", "replace", "patch", "delete") and self.plural != "leases"

    @property
    def path(self) -> str:
        return "/".join(part for part in (self.plural, self.name, self.subresource) if part)


class Fault:
    """What befalls the requests that `matches`, `times` of them.

    `act` may refuse (raise), wait, drop the connection or kill the client. With `late` it acts when the request has
    been carried out and only its answer is still to be sent.
    """

    def __init__(
        self,
        matches: Callable[[Call], Any],
        act: Callable[[Call], Any],
        *,
        late: bool = False,
        times: int = 1,
    ) -> None:
        self.matches, self.act, self.late, self.times = matches, act, late, times
        self.hits = 0

    def applies(self, call: Call) -> bool:
        hit = self.hits < self.times and bool(self.matches(call))
        self.hits += hit
        return hit


class Dropped(Exception):  # noqa: N818 - a control signal
    """The connection is cut instead of an answer."""


class ApiServer(kmock.KubernetesScaffold):
    """Serves one `Store`. `calls` is the log for audits; `faults` are looked at in order, the first that applies acts."""

    def __init__(self) -> None:
        super().__init__()
        self.store = Store(clock.now)
        self.store.on_change = self._changed
        self.calls: list[Call] = []
        self.faults: list[Fault] = []
        self.logs: dict[tuple[str, str], bytes] = {}
        """Pod and container to its log."""
        self.dead: set[str] = set()
        """Tokens of clients that were killed: nothing they send arrives any more."""
        self.silent: set[str] = set()
        """Kinds whose watches say nothing, though their connections stand."""
        self.listeners: list[Callable[[Change], None]] = []
        self.news = asyncio.Event()
        self._watches: set[asyncio.Queue[Change | None]] = set()
        self._closing = asyncio.Event()
        for plural, kind in KINDS.items():
            self.resources[f"{VERSIONS.get(plural, 'v1')}/{plural}"] = kmock.ResourceInfo(
                kind=kind,
                singular=kind.lower(),
                namespaced=True,
                verbs={"get", "list", "watch", "create", "update", "patch", "delete"},
                subresources={"status"} if plural in CUSTOM else set(),
            )
        # kopf waits for these two before it begins, whatever it is told about scanning.
        for plural in ("v1/namespaces", "apiextensions.k8s.io/v1/customresourcedefinitions"):
            self.resources[plural] = kmock.ResourceInfo(namespaced=False, verbs={"get", "list", "watch"})

    def writes(self) -> list[Call]:
        """The requests that could change something, and whether they did."""
        return [call for call in self.calls if call.writes]

    def end_watches(self) -> None:
        """Every watch ends, as at a server's time-out or restart."""
        for queue in list(self._watches):
            queue.put_nowait(None)

    def compact(self) -> None:
        """Forgets the history: watches that go on from before are answered 410."""
        self.store.compacted = self.store.version

    def close(self) -> None:
        self._closing.set()
        self.end_watches()

    async def _handle(self, request: kmock.Request) -> web.StreamResponse:
        plural = request.resource.plural if request.resource else None
        if plural not in KINDS or request._raw_request is None:
            if request.action in ("list", "watch"):
                return web.json_response({"metadata": {"resourceVersion": "1"}, "items": []})
            return await super()._handle(request)
        call = _call(request, plural)
        raw = call.raw
        if call.token in self.dead:
            return _cut(raw)
        self.calls.append(call)
        try:
            fault = next((fault for fault in self.faults if fault.applies(call)), None)
            if fault and not fault.late:
                await self._befall(fault, call)
            answer = await self._serve(call)
            call.status = answer.status
            if fault and fault.late:
                await self._befall(fault, call)
        except Refusal as refusal:
            call.status = refusal.status
            return web.json_response(refusal.body(), status=refusal.status, headers=refusal.headers)
        except Dropped:
            return _cut(raw)
        return answer

    async def _befall(self, fault: Fault, call: Call) -> None:
        outcome = fault.act(call)
        if asyncio.iscoroutine(outcome):
            await outcome
        if call.token in self.dead:
            raise Dropped

    async def hang(self, _: Call) -> None:
        """Never answers."""
        await self._closing.wait()
        raise Dropped

    def kill(self, call: Call) -> None:
        """The client dies in this moment: it gets no answer, and nothing it still sends arrives."""
        self.dead.add(call.token)
        self.news.set()

    async def _serve(self, call: Call) -> web.StreamResponse:
        store, where, name = self.store, call.namespace, call.name
        if call.verb == "watch":
            return await self._watch(call)
        if call.verb == "list":
            items = [
                o
                for o in store.list(call.plural, where)
                if selects(call.query.get("labelSelector", ""), o)
                and has_fields(call.query.get("fieldSelector", ""), o)
            ]
            return web.json_response({"metadata": {"resourceVersion": str(store.version)}, "items": items})
        assert where is not None
        if call.query.get("dryRun"):
            return web.json_response(call.body)
        if call.verb == "create":
            return web.json_response(store.create(call.plural, where, call.body), status=201)
        assert name is not None
        if call.verb == "get" and call.subresource == "log":
            return web.Response(body=self._log(call, where, name), content_type="text/plain")
        if call.verb == "get":
            return web.json_response(store.get(call.plural, where, name))
        if call.verb == "replace" and call.subresource == "status":
            return web.json_response(store.replace_status(call.plural, where, name, call.body))
        if call.verb == "replace" and call.plural == "leases":
            return web.json_response(store.replace(call.plural, where, name, call.body))
        if call.verb == "patch" and call.raw.content_type == "application/json-patch+json":
            return web.json_response(store.json_patch(call.plural, where, name, call.body))
        if call.verb == "delete":
            uid = (call.body or {}).get("preconditions", {}).get("uid")
            return web.json_response(store.delete(call.plural, where, name, uid))
        raise Refusal(405, "MethodNotAllowed", f"{call.verb} {call.path} is not emulated")

    def _log(self, call: Call, namespace: str, pod: str) -> bytes:
        self.store.get("pods", namespace, pod)
        text = self.logs.get((pod, call.query["container"]), b"")
        if lines := int(call.query.get("tailLines", "0")):
            text = b"".join(text.splitlines(keepends=True)[-lines:])
        return text[: int(call.query.get("limitBytes", "1000000000"))]

    async def _watch(self, call: Call) -> web.StreamResponse:
        queue: asyncio.Queue[Change | None] = asyncio.Queue()
        since = int(call.query.get("resourceVersion") or 0)
        for change in self.store.history:
            if change.version > since:
                queue.put_nowait(change)
        answer = web.StreamResponse(headers={"Content-Type": "application/json"})
        await answer.prepare(call.raw)
        if since < self.store.compacted:
            gone = Refusal(
                410, "Expired", f"too old resource version: {since} ({self.store.compacted})"
            ).body()
            await _send(answer, {"type": "ERROR", "object": gone})
            return answer
        self._watches.add(queue)
        try:
            async with asyncio.timeout(int(call.query.get("timeoutSeconds", "300"))):
                while (change := await queue.get()) is not None:
                    event = _event(call, change)
                    if event and call.plural not in self.silent and call.token not in self.dead:
                        await _send(answer, event)
        except (TimeoutError, ConnectionError):
            pass
        finally:
            self._watches.discard(queue)
        return answer

    def _changed(self, change: Change) -> None:
        for queue in self._watches:
            queue.put_nowait(change)
        for listener in self.listeners:
            listener(change)
        if change.plural != "leases":  # that somebody still leads is no news
            self.news.set()


def refuse(status: int, reason: str, message: str, retry_after: int | None = None) -> Callable[[Call], None]:
    """Refuses."""

    def act(_: Call) -> None:
        headers = {"Retry-After": str(retry_after)} if retry_after is not None else None
        raise Refusal(status, reason, message, headers)

    return act


def wait(seconds: float) -> Callable[[Call], Any]:
    """Takes its time."""
    return lambda _: asyncio.sleep(seconds)


def drop(_: Call) -> None:
    """Cuts the connection."""
    raise Dropped


def _call(request: kmock.Request, plural: str) -> Call:
    raw = request._raw_request
    assert raw is not None
    named = request.name is not None
    verbs = {"POST": "create", "PUT": "replace", "PATCH": "patch", "DELETE": "delete"}
    reading = "get" if named else "watch" if request.params.get("watch") == "true" else "list"
    return Call(
        verb=verbs.get(raw.method, reading),
        plural=plural,
        namespace=request.namespace,
        name=request.name,
        subresource=request.subresource,
        query=dict(request.params),
        body=request.data,
        token=raw.headers.get("Authorization", "").removeprefix("Bearer "),
        raw=raw,
    )


def _event(call: Call, change: Change) -> Body | None:
    """As the API server tells it: leaving a selector is a deletion, entering it an addition."""
    selector = call.query.get("labelSelector", "")
    if change.plural != call.plural:
        return None
    before, after = selects(selector, change.before), selects(selector, change.after)
    known = change.after or change.before
    assert known is not None
    if not (before or after) or call.namespace not in (None, known["metadata"]["namespace"]):
        return None
    kind = "MODIFIED" if before and after else "ADDED" if after else "DELETED"
    body = {**known, "metadata": {**known["metadata"], "resourceVersion": str(change.version)}}
    return {"type": kind, "object": body}


async def _send(answer: web.StreamResponse, event: Body) -> None:
    await answer.write(json.dumps(event).encode() + b"\n")


def _cut(raw: web.BaseRequest) -> web.StreamResponse:
    if raw.transport is not None:
        raw.transport.abort()
    return web.Response(status=500)
