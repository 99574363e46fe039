"""What suites refer to: datasets and baselines, read when their version is a new one, parsed once for each version."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rca_rollout.api.suite import EvalSuite
from rca_rollout.core.problem import Problem
from rca_rollout.core.suites import SuiteFacts, resolve_suite
from rca_rollout.kube.client import Kube
from rca_rollout.kube.errors import NotFoundError
from rca_rollout.kube.resources import CONFIGMAPS
from rca_rollout.runtime.cache import ObjectKey

# UID and resource version; None: there is no such ConfigMap.
type Version = tuple[str, str] | None

_REMEMBERED = 1024


@dataclass
class _Look:
    """One read of a version: when it was sent (seconds of the loop), and its answer."""

    at: float
    task: asyncio.Task[Version]


class Facts:
    """Remembers what can be found again: the version of each ConfigMap as last read, and what a suite comes to with these
    versions. A version is asked for anew as often as callers want; only its metadata travels.
    """

    def __init__(self, kube: Kube, default_image: str, steady: Callable[[], float] | None = None) -> None:
        self._kube, self._default_image = kube, default_image
        self._steady = steady or (lambda: asyncio.get_running_loop().time())
        self._looks: dict[ObjectKey, _Look] = {}
        self._resolved: dict[str, tuple[Any, SuiteFacts | Problem]] = {}

    async def of(self, suite: EvalSuite, *, max_age: float = 0.0) -> SuiteFacts | Problem:
        """The suite with what it refers to, as it stood at most `max_age` seconds ago."""
        metadata, spec = suite.metadata, suite.spec
        namespace = metadata.namespace
        names = (spec.dataset.config_map_ref.name, spec.baseline.config_map_ref.name)
        versions = [await self._version((namespace, name), max_age) for name in dict.fromkeys(names)]
        # The spec itself, beside its generation: a generation is counted by the server, and not by all of them.
        now = (metadata.generation, spec, versions)
        held = self._resolved.get(metadata.uid)
        if held and held[0] == now:
            return held[1]
        bodies = {name: await self._read(namespace, name) for name in dict.fromkeys(names)}
        dataset, baseline = (bodies[name] for name in names)
        facts = resolve_suite(metadata.name, spec, dataset, baseline, self._default_image)
        if len(self._resolved) >= _REMEMBERED:
            self._resolved.clear()
        self._resolved[metadata.uid] = ((metadata.generation, spec, [_of(b) for b in bodies.values()]), facts)
        return facts

    async def _version(self, key: ObjectKey, max_age: float) -> Version:
        look = self._looks.get(key)
        if look is None or self._steady() - look.at > max_age or (look.task.done() and _failed(look.task)):
            if len(self._looks) >= _REMEMBERED:
                self._looks.clear()
            look = _Look(self._steady(), asyncio.create_task(self._ask(key)))
            self._looks[key] = look
        # Shielded: others may wait for the same answer.
        return await asyncio.shield(look.task)

    async def _ask(self, key: ObjectKey) -> Version:
        try:
            return await self._kube.version(CONFIGMAPS, *key)
        except NotFoundError:
            return None

    async def _read(self, namespace: str, name: str) -> dict[str, Any] | None:
        try:
            return await self._kube.get(CONFIGMAPS, namespace, name)
        except NotFoundError:
            return None


def _of(body: dict[str, Any] | None) -> Version:
    return (str(body["metadata"]["uid"]), str(body["metadata"]["resourceVersion"])) if body else None


def _failed(task: asyncio.Task[Version]) -> bool:
    return task.cancelled() or task.exception() is not None
