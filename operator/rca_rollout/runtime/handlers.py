"""kopf's part: watching. Every event only says which keys to look at again; nothing is decided here.

`on.event` and `index` write nothing to the objects: no annotation, no finalizer (measured; `on.create` and timers do).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection
from typing import Any

import kopf

from rca_rollout.api.meta import GROUP, VERSION
from rca_rollout.core.admission import is_open
from rca_rollout.core.names import COMPONENT_LABEL, MANAGED_SELECTOR, WATCH_SELECTOR
from rca_rollout.runtime.cache import VIEWS, Cache, run_of, slim, slim_pod, suite_of
from rca_rollout.runtime.lines import Lines
from rca_rollout.runtime.queue import Key, WorkQueue

STUCK_AFTER = 180.0  # seconds in one reconciliation before the process counts as ill; requests end after 10


def configure(settings: kopf.OperatorSettings) -> None:
    """Every setting that matters is named, so that a new default of the framework cannot change us."""
    settings.persistence.finalizer = f"{GROUP}/finalizer"
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=GROUP, v1=False)
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(
        prefix=GROUP, key="last", v1=False
    )
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
    settings.watching.label_selectors["batch", "v1", "jobs"] = MANAGED_SELECTOR
    settings.watching.label_selectors["", "v1", "pods"] = MANAGED_SELECTOR
    settings.watching.label_selectors["", "v1", "configmaps"] = WATCH_SELECTOR


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
        cache.bind(**{name: kwargs[name] for name in VIEWS})

    @kopf.on.probe(id="queue", registry=registry)
    async def probe(**_: Any) -> dict[str, Any]:
        key, seconds = stuck()
        if seconds > STUCK_AFTER:
            raise kopf.PermanentError(f"{key} has been in work for {seconds:.0f} s")
        return {"depth": queue.depth, "working": queue.working}

    _indices(registry)
    _own_kinds(registry, cache, queue)
    _children(registry, cache, queue)
    # kopf logs a line per event and handler at INFO; a state change is worth a line, an event is not.
    logging.getLogger("kopf.objects").setLevel(logging.WARNING)


def _indices(registry: kopf.OperatorRegistry) -> None:
    def whole(**kwargs: Any) -> Any:
        return {(kwargs["namespace"], kwargs["name"]): slim(dict(kwargs["body"]))}

    def open_by_suite(**kwargs: Any) -> Any:
        body = kwargs["body"]
        # Nothing, and not None: kopf keeps what it had where an index says None.
        return {(kwargs["namespace"], suite_of(body)): slim(dict(body))} if is_open(body) else {}

    def by_run(**kwargs: Any) -> Any:
        run = run_of(kwargs["body"])
        return {(kwargs["namespace"], run): slim(dict(kwargs["body"]))} if run else None

    def pod_by_run(**kwargs: Any) -> Any:
        run = run_of(kwargs["body"])
        return {(kwargs["namespace"], run): slim_pod(dict(kwargs["body"]))} if run else None

    kopf.index(GROUP, VERSION, "rcacomponents", id="components", registry=registry)(whole)
    kopf.index(GROUP, VERSION, "evalruns", id="runs", registry=registry)(whole)
    kopf.index(GROUP, VERSION, "evalruns", id="open_runs", registry=registry)(open_by_suite)
    kopf.index(GROUP, VERSION, "evalsuites", id="suites", registry=registry)(whole)
    kopf.index("batch", "v1", "jobs", id="jobs", registry=registry)(by_run)
    kopf.index("", "v1", "pods", id="pods", registry=registry)(pod_by_run)


def _own_kinds(registry: kopf.OperatorRegistry, cache: Cache, queue: WorkQueue) -> None:
    lines = Lines(cache)
    seen: dict[tuple[str, str], Any] = {}

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
        namespace, name, spec, body = kwargs["namespace"], kwargs["name"], kwargs["spec"], kwargs["body"]
        queue.add(Key("EvalRun", namespace, name))
        owner = (spec.get("componentRef") or {}).get("name") or kwargs["labels"].get(COMPONENT_LABEL)
        if owner:
            queue.add(Key("RcaComponent", namespace, owner))
        name, ended = suite_of(body), not is_open(body) or kwargs["type"] == "DELETED"
        suite = cache.suite(namespace, name) or {}
        if ended:
            # Only whose turn has come: with a thousand that wait, each end would wake them all.
            coming = set(lines.of(namespace, name, _reserved(suite)).next(_limit(suite)))
            _add_runs(cache, queue, namespace, name, coming)
        # A budget makes room for what begins, and settles what has ended; a schedule waits for the last run's end.
        waits = (body.get("status") or {}).get("phase") in (None, "Pending")
        if (ended or waits) and any((suite.get("spec") or {}).get(part) for part in ("budget", "schedule")):
            queue.add(Key("EvalSuite", namespace, name))


def _children(registry: kopf.OperatorRegistry, cache: Cache, queue: WorkQueue) -> None:
    async def child_changed(**kwargs: Any) -> None:
        run = run_of(kwargs["body"])
        if run:
            queue.add(Key("EvalRun", kwargs["namespace"], run))

    kopf.on.event("batch", "v1", "jobs", id="job_changed", registry=registry)(child_changed)
    kopf.on.event("", "v1", "pods", id="pod_changed", registry=registry)(child_changed)

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
