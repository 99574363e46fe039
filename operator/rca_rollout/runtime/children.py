"""Jobs and Pods of runs, watched by a list and a stream, and no more kept of each than is looked at.

They are most of what changes: some ten events for every run, each of which costs kopf thirty times as much as it does
here (a queue, a task and copies for each object). Our own kinds are kopf's.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from rca_rollout.kube.client import Kube
from rca_rollout.kube.errors import GoneError, KubeError, RefusedError
from rca_rollout.kube.resources import Resource
from rca_rollout.runtime.cache import Body, ObjectKey, run_of
from rca_rollout.runtime.watch_error import WatchError

log = logging.getLogger("rca_rollout.children")

_BACKOFF = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0)  # seconds between tries that fail


class Children(Mapping[ObjectKey, Iterable[Body]]):
    """The objects of one resource by the run that they are labelled with, as kopf's indices are: read-only outside.

    `keep` says what is kept of an object; `changed` is told of every change, with the namespace, the run and the object.
    """

    def __init__(
        self,
        resource: Resource,
        selector: str,
        keep: Callable[[Body], dict[str, Any]],
        changed: Callable[[str, str, Body], None],
    ) -> None:
        self._resource, self._selector, self._keep, self._changed = resource, selector, keep, changed
        self._by_run: dict[ObjectKey, dict[str, Body]] = {}
        self._missing: set[str | None] = set()
        self._complete = asyncio.Event()

    def __getitem__(self, key: ObjectKey) -> Iterable[Body]:
        return self._by_run[key].values()

    def __iter__(self) -> Iterator[ObjectKey]:
        return iter(self._by_run)

    def __len__(self) -> int:
        return len(self._by_run)

    async def complete(self) -> None:
        """Returns when everything has been listed once: before that, what is not here may well be there."""
        await self._complete.wait()

    async def follow(self, kube: Kube, namespaces: Iterable[str], stop: asyncio.Event) -> None:
        """Until `stop` is set. No namespaces: all of them. Raises `WatchError` where it may not be watched."""
        places: tuple[str | None, ...] = tuple(namespaces) or (None,)
        self._missing = set(places)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._follow(kube, place)) for place in places]
            await stop.wait()
            for task in tasks:
                task.cancel()

    async def _follow(self, kube: Kube, namespace: str | None) -> None:
        version, failures = "", 0
        while True:
            try:
                if not version:
                    version = await self._list(kube, namespace)
                    self._missing.discard(namespace)
                    if not self._missing:
                        self._complete.set()
                stream = kube.watch(self._resource, namespace, version=version, label_selector=self._selector)
                async for event in stream:
                    version = str(event["object"]["metadata"]["resourceVersion"])
                    failures = 0
                    self._take(event["type"], event["object"])
                # Ended by the server: after its time-out, or because it is busy. It goes on where it was.
            except GoneError:
                version = ""
            except KubeError as problem:
                delay = _BACKOFF[min(failures, len(_BACKOFF) - 1)]
                failures += 1
                if isinstance(problem, RefusedError) and failures == len(_BACKOFF):
                    # For good: a process that runs on without its eyes would look healthy and do nothing.
                    raise WatchError(
                        f"the watch of {self._resource.plural} failed: {problem.message}"
                    ) from None
                if failures > 1:
                    log.warning("%s: watched again in %.1f s: %s", self._resource.plural, delay, problem)
                await asyncio.sleep(delay)

    async def _list(self, kube: Kube, namespace: str | None) -> str:
        """Takes what is there, and drops what is not there any more. The version that was listed."""
        found: set[str] = set()
        version = ""
        async for page in kube.pages(self._resource, namespace, label_selector=self._selector):
            version = page.version
            for body in page.items:
                found.add(str(body["metadata"]["uid"]))
                self._take("ADDED", body)
        lost = [
            body
            for (where, _), bodies in self._by_run.items()
            if namespace in (None, where)
            for uid, body in bodies.items()
            if uid not in found
        ]
        for gone in lost:
            self._take("DELETED", gone)
        return version

    def _take(self, kind: str, body: Body) -> None:
        run = run_of(body)
        if kind == "BOOKMARK" or not run:
            return
        metadata = body["metadata"]
        key = (str(metadata["namespace"]), run)
        bodies = self._by_run.setdefault(key, {})
        if kind == "DELETED":
            bodies.pop(str(metadata["uid"]), None)
        else:
            kept, uid = self._keep(body), str(metadata["uid"])
            if bodies.get(uid) == kept:
                return  # what changed is nothing that anybody looks at
            bodies[uid] = kept
        if not bodies:
            del self._by_run[key]
        self._changed(key[0], run, body)
