"""One process of the operator: the real reconcilers, driven by hand from one API request to the next.

At each request it stands still, and whoever drives it says what becomes of it: carried out, refused, carried out with the
answer lost. A process that is killed never goes on; a new one has read nothing yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from prometheus_client import CollectorRegistry

from rca_rollout.api.suite import EvalSuite
from rca_rollout.core.lifecycle.conditions import Reading
from rca_rollout.core.lifecycle.live import Question
from rca_rollout.core.problem import Problem
from rca_rollout.core.suites import SuiteFacts, resolve_suite
from rca_rollout.kube.errors import KubeError, TransientError
from rca_rollout.kube.resources import COMPONENTS, JOBS, PODS, RUNS, SUITES, Resource
from rca_rollout.metrics.counters import Counters
from rca_rollout.runtime.cache import Cache, is_open, run_of, suite_of
from rca_rollout.runtime.components import ComponentReconciler
from rca_rollout.runtime.queue import Key
from rca_rollout.runtime.runs import RunReconciler
from rca_rollout.runtime.settings import Settings
from rca_rollout.runtime.suites import SuiteReconciler
from rca_rollout.runtime.world import World
from rca_testing.model.consumers import Asking, Consumers
from rca_testing.model.store import NAMESPACE, Body, Store

MANAGER = "rca-rollout"
KINDS: Mapping[str, Resource] = {
    "components": COMPONENTS,
    "runs": RUNS,
    "suites": SUITES,
    "jobs": JOBS,
    "pods": PODS,
}
SETTINGS = Settings(
    (NAMESPACE,), "registry.example/harness:1", "IfNotPresent", 0, 0, "INFO", "plain", timedelta(minutes=15)
)


class Fate(Enum):
    """What becomes of one request."""

    DONE = "carried out"
    LOST = "not carried out, and no answer"
    UNHEARD = "carried out, and no answer"


@dataclass
class Call:
    """A request on its way. `writes` says whether it would change anything that matters."""

    verb: str
    place: tuple[str, str]
    act: Callable[[], Any]
    writes: bool

    def __await__(self) -> Generator[Call, Fate, Any]:
        fate = yield self
        if fate is Fate.LOST:
            raise TransientError(0, "no answer", verb=self.verb, path=str(self.place))
        answer = self.act()
        if fate is Fate.UNHEARD:
            raise TransientError(0, "no answer", verb=self.verb, path=str(self.place))
        return answer


class FakeKube:
    """The port that the reconcilers speak to, over the store. Events are counted and not kept."""

    def __init__(self, store: Store, logs: Mapping[str, bytes]) -> None:
        self._store = store
        self._logs = logs
        self.requests = 0

    def _call(self, verb: str, resource: Resource, name: str, act: Callable[[], Any]) -> Call:
        self.requests += 1
        return Call(verb, (resource.plural, name), act, verb not in ("get", "list", "log"))

    async def get(self, resource: Resource, namespace: str, name: str) -> Body:
        found: Body = await self._call("get", resource, name, lambda: self._store.get(resource, name))
        return found

    async def version(self, resource: Resource, namespace: str, name: str) -> tuple[str, str]:
        metadata = (await self.get(resource, namespace, name))["metadata"]
        return str(metadata["uid"]), str(metadata["resourceVersion"])

    async def list(
        self, resource: Resource, namespace: str, *, label_selector: str = "", **_: Any
    ) -> list[Body]:
        wanted = dict(part.split("=", 1) for part in label_selector.split(",") if part)

        def chosen() -> list[Body]:
            return [
                body
                for body in self._store.all(resource)
                if wanted.items() <= (body["metadata"].get("labels") or {}).items()
            ]

        found: list[Body] = await self._call("list", resource, "", chosen)
        return found

    async def create(self, resource: Resource, namespace: str, body: Body, *, dry_run: bool = False) -> Body:
        if resource.plural == "events":
            return body
        name = body["metadata"]["name"]
        made: Body = await self._call(
            "create", resource, name, lambda: self._store.create(resource, body, MANAGER)
        )
        return made

    async def make(self, resource: Resource, namespace: str, body: Body) -> Body:
        """As `create`; only the metadata comes back."""
        return {"metadata": (await self.create(resource, namespace, body))["metadata"]}

    async def replace_status(self, resource: Resource, namespace: str, name: str, body: Body) -> Body:
        made: Body = await self._call(
            "status", resource, name, lambda: self._store.replace_status(resource, name, body, MANAGER)
        )
        return made

    async def json_patch(
        self, resource: Resource, namespace: str, name: str, operations: Sequence[Mapping[str, Any]]
    ) -> Body:
        made: Body = await self._call(
            "patch", resource, name, lambda: self._store.json_patch(resource, name, operations, MANAGER)
        )
        return made

    async def delete(self, resource: Resource, namespace: str, name: str, *, uid: str) -> None:
        await self._call("delete", resource, name, lambda: self._store.delete(resource, name, uid))

    async def pod_log(
        self, namespace: str, pod: str, container: str, *, limit_bytes: int, tail_lines: int = 0
    ) -> bytes:
        def read() -> bytes:
            self._store.get(PODS, pod)
            return self._logs.get(pod, b"")[:limit_bytes]

        found: bytes = await self._call("log", PODS, pod, read)
        return found


class Facts:
    """What suites refer to, read each time: the real one asks in tasks of its own, and shares what is a second old."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def of(self, suite: EvalSuite, *, max_age: float = 0.0) -> SuiteFacts | Problem:
        metadata, spec = suite.metadata, suite.spec
        names = (spec.dataset.config_map_ref.name, spec.baseline.config_map_ref.name)
        held = {name: await self._world.config_map(NAMESPACE, name) for name in dict.fromkeys(names)}
        return resolve(metadata.name, spec, held[names[0]], held[names[1]])


def resolve(name: str, spec: Any, dataset: Any, baseline: Any) -> SuiteFacts | Problem:
    """What a suite comes to, in this installation."""
    return resolve_suite(name, spec, dataset, baseline, SETTINGS.harness_image)


@dataclass
class Step:
    """One reconciliation under way: since when, and the request that it waits for."""

    key: Key
    coroutine: Coroutine[Any, Any, datetime | None]
    began: int
    process: Process
    call: Call | None = None
    called_at: float = 0.0
    done: bool = False
    writes: int = 0


class Process:
    """Reconciles keys. `lag` holds, per kind, an older state of the watch; a kind that is not in it is up to date."""

    def __init__(
        self,
        store: Store,
        logs: Mapping[str, bytes],
        clock: Callable[[], datetime],
        prometheus: Mapping[str, tuple[str, ...] | None],
        consumers: Consumers,
    ) -> None:
        self.store = store
        self.lag: dict[str, list[Body]] = {}
        self.wakes: dict[Key, datetime] = {}
        self.dirty: set[Key] = set()
        self.failed: set[Key] = set()
        """Keys whose last reconciliation had no answer, and is tried again."""
        self.steps: dict[Key, Step] = {}
        self.readings: dict[tuple[str, str], Reading] = {}
        self.told: dict[tuple[str, str], Reading] = {}
        self._clock = clock
        self._prometheus = prometheus
        cache = Cache()
        self.world = World(
            kube=FakeKube(store, logs),  # type: ignore[arg-type]  # the same port, over the store
            cache=cache,
            settings=SETTINGS,
            counters=Counters(CollectorRegistry()),
            clock=clock,
        )
        self.world.__dict__["facts"] = Facts(self.world)
        cache.bind(**{kind: _Live(self, kind) for kind in (*KINDS, "open_runs")})
        gatherer: Any = self
        self.asking = Asking(consumers, clock, self.dirty.add)
        confirmer: Any = self.asking
        components = ComponentReconciler(self.world, gatherer, confirmer)
        self._reconcilers: dict[str, Any] = {
            "RcaComponent": components,
            "EvalRun": RunReconciler(self.world),
            "EvalSuite": SuiteReconciler(self.world),
        }

    # -- what the reconcilers see of it

    def watched(self, kind: str) -> list[Body]:
        held = self.lag.get(kind)
        return self.store.all(KINDS[kind]) if held is None else held

    def look(self, key: Key, uid: str, questions: Sequence[Question]) -> Mapping[str, Reading]:
        """The port of the gatherer. What is due is asked at once, and heard at the next look."""
        now, known = self._clock(), {}
        for question in questions:
            place = (uid, question.name)
            reading = self.readings.get(place)
            if reading is not None and reading.query == question.query:
                known[question.name] = self.told[place] = reading
            if (
                reading is None
                or reading.query != question.query
                or not (reading.at <= now < reading.at + question.interval)
            ):
                values = self._prometheus.get(question.name, ())
                problem = "connection refused" if values is None else None
                self.readings[place] = Reading(question.query, now, values or (), problem)
                self.dirty.add(key)
        return known

    def forget(self, key: Key) -> None:
        return

    # -- driving

    def begin(self, key: Key) -> Step:
        """Starts the reconciliation of a key, up to its first request."""
        step = Step(key, self._reconcilers[key.kind].reconcile(key), self.store.sequence, self)
        self.dirty.discard(key)
        self.failed.discard(key)
        self.wakes.pop(key, None)
        self.steps[key] = step
        self._go(step, None)
        return step

    def go_on(self, step: Step, fate: Fate = Fate.DONE) -> None:
        """Answers the request that the step waits for."""
        if step.call and step.call.writes:
            step.writes += 1
        self._go(step, fate)

    def finish(self, step: Step) -> None:
        while not step.done:
            self.go_on(step)

    def kill(self) -> None:
        """It never goes on."""
        for step in list(self.steps.values()):
            step.coroutine.close()
            step.done = True
        self.steps.clear()

    def _go(self, step: Step, fate: Fate | None) -> None:
        try:
            step.call = step.coroutine.send(fate)
        except StopIteration as end:
            self._end(step, end.value)
        except KubeError:
            # As the queue does: again, a little later.
            self._end(step, self._clock() + timedelta(seconds=1))
            self.failed.add(step.key)
        except BaseException:
            self._end(step, None)
            raise

    def _end(self, step: Step, wake: datetime | None) -> None:
        step.call, step.done = None, True
        self.steps.pop(step.key, None)
        if wake is not None:
            self.wakes[step.key] = wake


class _Live(Mapping[tuple[str, str], Any]):
    """One index of the cache, over what the process has watched."""

    def __init__(self, process: Process, kind: str) -> None:
        self._process = process
        self._kind = kind

    def _indexed(self) -> dict[tuple[str, str], list[Body]]:
        index: dict[tuple[str, str], list[Body]] = {}
        kind = "runs" if self._kind == "open_runs" else self._kind
        for body in self._process.watched(kind):
            if self._kind == "open_runs":
                name = suite_of(body) if is_open(body) else None
            else:
                name = run_of(body) if kind in ("jobs", "pods") else body["metadata"]["name"]
            if name:
                index.setdefault((NAMESPACE, name), []).append(body)
        return index

    def __getitem__(self, key: tuple[str, str]) -> list[Body]:
        return self._indexed()[key]

    def __iter__(self) -> Any:
        return iter(self._indexed())

    def __len__(self) -> int:
        return len(self._indexed())


async def inline(function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Any:
    """In the place of `asyncio.to_thread`: a search has one thread."""
    return function(*arguments, **named)


__all__ = ["MANAGER", "Call", "Fate", "Process", "Step", "asyncio", "inline"]
