"""kopf's part: watching. Every event only says which keys to look at again; nothing is decided here.

`on.event` and `index` write nothing to the objects: no annotation, no finalizer (measured; `on.create` and timers do).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any

import kopf

from rca_rollout.api.meta import GROUP, VERSION
from rca_rollout.core.admission import is_open
from rca_rollout.core.history import owned_by_component
from rca_rollout.core.names import MANAGED_SELECTOR, WATCH_SELECTOR
from rca_rollout.kube.resources import JOBS, PODS
from rca_rollout.runtime.cache import KOPF_VIEWS, Body, Cache, slim, slim_job, slim_pod, slim_run, suite_of
from rca_rollout.runtime.children import Children
from rca_rollout.runtime.lines import Lines
from rca_rollout.runtime.queue import Key, WorkQueue

_TOGETHER = 1.0  # seconds
_TIDY = 2.0  # seconds
_MOMENT = 0.1  # seconds
STUCK_AFTER = 180.0  # seconds in one reconciliation before the process counts as ill; requests end after 10


def configure(settings: kopf.OperatorSettings) -> None:
    """Every setting that matters is named, so that a new default of the framework cannot change us."""
    settings.persistence.finalizer = f"{GROUP}/finalizer"
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=GROUP, v1=False)
    settings.persistence.diffbase_storage = _NoEssence()
    settings.posting.enabled = False  # our Events are our own: one per transition
    settings.posting.loggers = False
    settings.peering.standalone = True
    settings.scanning.disabled = True
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 310  # slightly more, so that the server ends the stream
    settings.watching.connect_timeout = 30
    settings.watching.inactivity_timeout = 70
    settings.networking.request_timeout = 30
    settings.networking.error_backoffs = [1, 2, 3, 5, 8, 13]
    settings.execution.max_workers = 1
    settings.process.ultimate_exiting_timeout = None  # whoever runs the process ends it when it does not end
    # A task and a queue for each object that changed lately: with a thousand of them that is memory.
    settings.queueing.idle_timeout = 1.0
    settings.watching.label_selectors["", "v1", "configmaps"] = WATCH_SELECTOR


class _NoEssence(kopf.DiffBaseStorage):
    """kopf copies every object of every event to tell what changed since its last handler. Nothing here asks for that,
    and the copies cost more than all else that it does."""

    def build(self, *, body: kopf.Body, extra_fields: Iterable[Any] | None = None) -> kopf.BodyEssence:  # noqa: ARG002 - kopf's interface
        return kopf.BodyEssence({})

    def fetch(self, *, body: kopf.Body) -> kopf.BodyEssence | None:  # noqa: ARG002 - kopf's interface
        return None

    def store(self, *, body: kopf.Body, patch: kopf.Patch, essence: kopf.BodyEssence) -> None:
        """Nothing is remembered in the objects."""


def children_of(queue: WorkQueue, cache: Cache) -> Mapping[str, Children]:
    """The watches of what runs have made, by the cache's view of them."""

    def changed(namespace: str, run: str, body: Body) -> None:
        # Before kopf has listed all, a run's suite and siblings may not be there; every run is looked at then anyway.
        if not cache.complete:
            return
        if _let_go(cache, namespace, run):
            return
        key = Key("EvalRun", namespace, run)
        status = body.get("status") or {}
        if (
            status.get("completionTime")
            or status.get("phase") == "Failed"
            or body["metadata"].get("deletionTimestamp")
        ):
            # A verdict is waited for by somebody, and who has a Job that ended makes room for those that wait for a turn.
            queue.add(key, urgent=True)
        elif any(job["status"].get("completionTime") for job in cache.jobs_of_run(namespace, run)):
            queue.add(key, urgent=True)
        else:
            # A Job and its Pod change some six times until they run, and nothing follows from most of it.
            queue.add_after(key, _TOGETHER)

    return {
        "jobs": Children(JOBS, MANAGED_SELECTOR, slim_job, changed),
        "pods": Children(PODS, MANAGED_SELECTOR, slim_pod, changed),
    }


def register(
    registry: kopf.OperatorRegistry,
    cache: Cache,
    queue: WorkQueue,
    *,
    connect: Callable[[], Awaitable[kopf.ConnectionInfo]],
    stuck: Callable[[], tuple[Key | None, float]],
) -> None:
    """Registers indices, event handlers, login and the probe. `stuck()` gives (key, seconds) of the oldest work."""

    @kopf.on.login(registry=registry)
    async def login(**_: Any) -> kopf.ConnectionInfo:
        return await connect()

    @kopf.on.startup(registry=registry)
    async def startup(**kwargs: Any) -> None:
        configure(kwargs["settings"])
        cache.bind(**{name: kwargs[name] for name in KOPF_VIEWS})

    @kopf.on.probe(id="queue", registry=registry)
    async def probe(**_: Any) -> dict[str, Any]:
        key, seconds = stuck()
        if seconds > STUCK_AFTER:
            raise kopf.PermanentError(f"{key} has been in work for {seconds:.0f} s")
        return {"depth": queue.depth, "working": queue.working}

    _indices(registry, cache)
    _own_kinds(registry, cache, queue)
    _config_maps(registry, cache, queue)
    # kopf logs a line per event and handler at INFO; a state change is worth a line, an event is not.
    logging.getLogger("kopf.objects").setLevel(logging.WARNING)


def _indices(registry: kopf.OperatorRegistry, cache: Cache) -> None:
    # Coroutines, though nothing is waited for: kopf hands plain functions to a thread, for every event.
    async def whole(**kwargs: Any) -> Any:
        return {(kwargs["namespace"], kwargs["name"]): slim(dict(kwargs["body"]))}

    async def run(**kwargs: Any) -> Any:
        body = slim_run(dict(kwargs["body"]))
        cache.opened.note(body)
        return {(kwargs["namespace"], kwargs["name"]): body}

    kopf.index(GROUP, VERSION, "rcacomponents", id="components", registry=registry)(whole)
    kopf.index(GROUP, VERSION, "evalruns", id="runs", registry=registry)(run)
    kopf.index(GROUP, VERSION, "evalsuites", id="suites", registry=registry)(whole)


class _NextInLine:
    """Wakes whose turn has come when runs have ended. Asked once for all that end in a moment: with a thousand that wait, each
    answer takes a thousand looks, and each end would have one."""

    def __init__(self, cache: Cache, queue: WorkQueue, lines: Lines) -> None:
        self._cache, self._queue, self._lines = cache, queue, lines
        self._freed: set[tuple[str, str]] = set()

    def has_room(self, namespace: str, suite: str) -> None:
        if (namespace, suite) not in self._freed and self._lines.anybody_waits(namespace, suite):
            self._freed.add((namespace, suite))
            asyncio.get_running_loop().call_later(_MOMENT, self._wake, namespace, suite)

    def _wake(self, namespace: str, name: str) -> None:
        self._freed.discard((namespace, name))
        suite = self._cache.suite(namespace, name) or {}
        coming = set(self._lines.of(namespace, name, _reserved(suite)).next(_limit(suite)))
        _add_runs(self._cache, self._queue, namespace, name, coming)


def _own_kinds(registry: kopf.OperatorRegistry, cache: Cache, queue: WorkQueue) -> None:
    lines = Lines(cache)
    seen: dict[tuple[str, str], Any] = {}
    line = _NextInLine(cache, queue, lines)

    @kopf.on.event(GROUP, VERSION, "rcacomponents", registry=registry)
    async def component_changed(**kwargs: Any) -> None:
        namespace, name, spec = kwargs["namespace"], kwargs["name"], kwargs["spec"]
        queue.add(Key("RcaComponent", namespace, name))
        suite = (spec.get("suiteRef") or {}).get("name", "")
        for sibling in cache.components_of_suite(namespace, suite):
            queue.add(Key("RcaComponent", namespace, sibling["metadata"]["name"]))
        for run in cache.runs_of_suite(namespace, suite):
            if not _final(run):
                queue.add(Key("EvalRun", namespace, run["metadata"]["name"]))
        # Another component may have been waiting for the key that this one held.
        target = (spec.get("target") or {}).get("configMapRef", {}).get("name")
        _add_by_target(cache, queue, namespace, target)

    @kopf.on.event(GROUP, VERSION, "evalsuites", registry=registry)
    async def suite_changed(**kwargs: Any) -> None:
        namespace, name, body = kwargs["namespace"], kwargs["name"], kwargs["body"]
        queue.add(Key("EvalSuite", namespace, name))
        before, now = seen.pop((namespace, name), None), _decisive(body)
        if kwargs["type"] != "DELETED":
            seen[namespace, name] = now
        if before == now:
            # The ledger or the schedule moved: of interest to whom it has made room for, and to nobody else.
            held = _reserved(body)
            if lines.anybody_waits(namespace, name):
                coming = held | set(lines.of(namespace, name, held).next(_limit(body)))
                _add_runs(cache, queue, namespace, name, coming)
            return
        for component in cache.components_of_suite(namespace, name):
            queue.add(Key("RcaComponent", namespace, component["metadata"]["name"]))
        for run in cache.runs_of_suite(namespace, name):
            if not _final(run):
                queue.add(Key("EvalRun", namespace, run["metadata"]["name"]))

    @kopf.on.event(GROUP, VERSION, "evalruns", registry=registry)
    async def run_changed(**kwargs: Any) -> None:
        namespace, name, body = kwargs["namespace"], kwargs["name"], kwargs["body"]
        cache.complete = True
        if kwargs["type"] == "DELETED":
            cache.opened.drop(body)
        if not cache.is_echo(body):
            queue.add(Key("EvalRun", namespace, name))
        # Runs that people make are nothing to their component.
        for owner in body["metadata"].get("ownerReferences") or ():
            if owner.get("kind") == "RcaComponent":
                queue.add(Key("RcaComponent", namespace, str(owner["name"])))
        name, ended = suite_of(body), not is_open(body) or kwargs["type"] == "DELETED"
        suite = cache.suite(namespace, name) or {}
        if ended:
            line.has_room(namespace, name)
        # A budget makes room for what begins, and settles what has ended; a schedule waits for the last run's end.
        waits = (body.get("status") or {}).get("phase") in (None, "Pending")
        counted = any((suite.get("spec") or {}).get(part) for part in ("budget", "schedule"))
        if (ended or waits) and counted:
            queue.add(Key("EvalSuite", namespace, name))
        elif ended and not owned_by_component(body):
            # Runs that no component answers for are the suite's to tidy away, and nobody waits for that: once for many.
            queue.add_after(Key("EvalSuite", namespace, name), _TIDY)


def _config_maps(registry: kopf.OperatorRegistry, cache: Cache, queue: WorkQueue) -> None:
    @kopf.on.event("", "v1", "configmaps", registry=registry)
    async def config_map_changed(**kwargs: Any) -> None:
        namespace, name = kwargs["namespace"], kwargs["name"]
        _add_by_target(cache, queue, namespace, name)
        for suite in cache.suites(namespace):
            spec = suite.get("spec") or {}
            used = [
                (spec.get(part) or {}).get("configMapRef", {}).get("name") for part in ("dataset", "baseline")
            ]
            if name in used:
                suite_name = suite["metadata"]["name"]
                queue.add(Key("EvalSuite", namespace, suite_name))
                for component in cache.components_of_suite(namespace, suite_name):
                    queue.add(Key("RcaComponent", namespace, component["metadata"]["name"]))


def _add_by_target(cache: Cache, queue: WorkQueue, namespace: str, config_map: str | None) -> None:
    for component in cache.components(namespace):
        spec = component.get("spec") or {}
        target = (spec.get("target") or {}).get("configMapRef") or {}
        inputs = [(each.get("configMapRef") or {}).get("name") for each in spec.get("inputs") or []]
        if config_map and config_map in (target.get("name"), *inputs):
            queue.add(Key("RcaComponent", namespace, component["metadata"]["name"]))


def _add_runs(cache: Cache, queue: WorkQueue, namespace: str, suite: str, uids: Collection[str]) -> None:
    for run in cache.open_runs(namespace, suite) if uids else ():
        if run["metadata"]["uid"] in uids:
            queue.add(Key("EvalRun", namespace, run["metadata"]["name"]))


def _let_go(cache: Cache, namespace: str, run: str) -> bool:
    """Whether nothing is left to do about what this run has made: it has ended, and its Job's time to live runs."""
    known = cache.run(namespace, run)
    if known is None or not _final(known):
        return False
    return all(
        (job.get("spec") or {}).get("ttlSecondsAfterFinished") is not None
        for job in cache.jobs_of_run(namespace, run)
    )


def _decisive(suite: Any) -> Any:
    """What components and runs of a suite depend on: its spec, and whether it can be used."""
    ready = [c for c in (suite.get("status") or {}).get("conditions") or [] if c.get("type") == "Ready"]
    return suite["metadata"]["uid"], suite["metadata"].get("generation"), [c.get("reason") for c in ready]


def _reserved(suite: Any) -> set[str]:
    if not (suite.get("spec") or {}).get("budget"):
        return set()
    ledger = (suite.get("status") or {}).get("ledger") or {}
    return {str(r.get("uid")) for r in ledger.get("reservations") or []}


def _limit(suite: Any) -> int:
    limit = ((suite or {}).get("spec") or {}).get("maxConcurrentRuns")
    return limit if isinstance(limit, int) else 1


def _final(run: Any) -> bool:
    return (run.get("status") or {}).get("phase") not in (None, "Pending", "Running")
