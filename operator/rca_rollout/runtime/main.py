"""The process: settings, the Lease, kopf and the workers, in a task each; when one of them ends, all end.

Every process watches, and so knows all when it comes to lead; only the one that holds the Lease works and writes.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, NoReturn

import kopf
from prometheus_client import CollectorRegistry
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from rca_rollout import __version__
from rca_rollout.core.lease import Pace
from rca_rollout.integrations.confirm import Replicas
from rca_rollout.integrations.prometheus import Prometheus
from rca_rollout.kube.client import Kube, configuration
from rca_rollout.kube.errors import KubeError
from rca_rollout.metrics.collector import ComponentCollector
from rca_rollout.metrics.counters import Counters
from rca_rollout.metrics.server import serve_metrics
from rca_rollout.runtime import logs
from rca_rollout.runtime.cache import Body, Cache
from rca_rollout.runtime.children import Children
from rca_rollout.runtime.components import ComponentReconciler
from rca_rollout.runtime.confirmations import Confirmer
from rca_rollout.runtime.handlers import children_of, register
from rca_rollout.runtime.leader import Elector, LeadershipLostError, LeaseError
from rca_rollout.runtime.lease_place import LeasePlace, identity, steady
from rca_rollout.runtime.login import connection_info
from rca_rollout.runtime.preflight import MissingKindsError, check_kinds
from rca_rollout.runtime.queue import WorkQueue
from rca_rollout.runtime.readings import Gatherer
from rca_rollout.runtime.resync import resync_forever
from rca_rollout.runtime.runs import RunReconciler
from rca_rollout.runtime.settings import Settings, SettingsError, from_environment
from rca_rollout.runtime.suites import SuiteReconciler
from rca_rollout.runtime.watch_error import WatchError, watch_error
from rca_rollout.runtime.worker import Workers
from rca_rollout.runtime.world import World, utc_now

log = logging.getLogger("rca_rollout")

# Objects that may be made before the collector looks for cycles: each of our documents has some thousands, and no cycles.
_YOUNG = 8_000
# Given, because by default kopf asks for the name of the user, and the user of a container has none.
_IDENTITY: Any = "rca-rollout"


def main() -> int:
    """The console script `rca-rollout`. Exit status 0 after SIGTERM, 1 after a failure or when the leadership is lost,
    2 for bad settings."""
    try:
        settings = from_environment()
    except SettingsError as error:
        print(f"rca-rollout: {error}", file=sys.stderr)  # noqa: T201 - there is no log before there are settings
        return 2
    logs.configure(settings.log_level, settings.log_format)
    where = ", ".join(settings.namespaces) or "the whole cluster"
    log.info("rca-rollout %s watches %s", __version__, where)
    # What was imported stays for ever, and is most of what the collector would look through.
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, 10, 5)
    try:
        asyncio.run(serve(settings, lost=_end_at_once))
    except (MissingKindsError, LeaseError, WatchError, KubeError) as error:
        log.error("stopped: %s", error)  # noqa: TRY400 - the sentence says it all
        return 1
    except Exception:
        log.exception("stopped")
        return 1
    return 0


def _end_at_once(error: LeadershipLostError) -> NoReturn:
    """As client-go's programs do: no task is cancelled, no cleaning up is waited for, nothing is written any more."""
    log.error("stopped: %s", error)
    logging.shutdown()
    os._exit(1)


def _raise(error: LeadershipLostError) -> NoReturn:
    raise error


async def serve(  # noqa: PLR0915 - the parts of the process, one after the other
    settings: Settings,
    stop: asyncio.Event | None = None,
    *,
    clock: Callable[[], datetime] = utc_now,
    steady: Callable[[], float] = steady,
    pace: Pace | None = None,
    lost: Callable[[LeadershipLostError], NoReturn] = _raise,
) -> None:
    """Runs until `stop` is set (without one: until SIGTERM or SIGINT), or until a part of it fails.

    Raises `LeaseError` when the Lease cannot be used, and through `lost` when the leadership is, and `WatchError`.
    """
    loop = asyncio.get_running_loop()
    signals = () if stop else (signal.SIGTERM, signal.SIGINT)
    stop = stop or asyncio.Event()
    _listen(signals, stop)
    counters = Counters(CollectorRegistry())
    lease = Kube(await configuration(settings.context), witness=counters.asked)
    place, me = LeasePlace.of(settings), identity(settings)
    elector = Elector(lease, place, me, counters, wall=clock, steady=steady, pace=pace)
    kube = Kube(await configuration(settings.context), elector.guard, counters.asked)
    cache, queue = Cache(), WorkQueue(loop.time, started=False)
    world = World(kube=kube, cache=cache, settings=settings, counters=counters, clock=clock)
    prometheus = Prometheus(settings.prometheus) if settings.prometheus else None
    gatherer = Gatherer(prometheus, queue, clock) if prometheus else None
    replicas = Replicas()
    confirmer = Confirmer(kube, prometheus, replicas, queue, clock)
    workers = Workers(
        queue,
        {
            "RcaComponent": ComponentReconciler(world, gatherer, confirmer).reconcile,
            "EvalRun": RunReconciler(world).reconcile,
            "EvalSuite": SuiteReconciler(world).reconcile,
        },
        counters,
        clock,
        settings.workers,
    )
    # What the objects say is told by one process only: a sum over all of them must be right.
    _fill(counters.registry, lambda: list(cache.components()) if elector.leads() else [], clock)
    registry = kopf.OperatorRegistry()

    async def connect() -> kopf.ConnectionInfo:
        return connection_info(await configuration(settings.context))

    register(registry, cache, queue, connect=connect, stuck=workers.oldest)
    children = children_of(queue, cache)
    cache.bind(**children)
    watching, drained = asyncio.Event(), asyncio.Event()
    metrics = (
        await serve_metrics(settings.metrics_port, counters.registry, watching.is_set)
        if settings.metrics_port
        else None
    )
    try:
        await check_kinds(kube, settings, stop)
        await elector.check()
        async with asyncio.TaskGroup() as group:
            # These first: when kopf ends, it cancels every task that began after it, a write under way included.
            group.create_task(_lead(elector, stop, drained, queue, lost))
            group.create_task(_work(workers, drained))
            group.create_task(_retire(stop, queue))
            group.create_task(resync_forever(world, queue, stop))
            for one in children.values():
                group.create_task(one.follow(kube, settings.namespaces, stop))
            await _known(children.values(), stop)
            if not stop.is_set():
                group.create_task(_watch(registry, settings, stop, watching, signals))
    except BaseExceptionGroup as failed:
        told = next(_leaves(failed, LeaseError), None) or next(_leaves(failed, WatchError), None)
        if told is None:
            raise
        raise told from None
    finally:
        await confirmer.close()
        await replicas.close()
        if gatherer and prometheus:
            await gatherer.close()
            await prometheus.close()
        await kube.close()
        await lease.close()
        if metrics:
            await metrics.cleanup()


def _leaves[E: Exception](group: BaseException, kind: type[E]) -> Iterator[E]:
    if isinstance(group, kind):
        yield group
    elif isinstance(group, BaseExceptionGroup):
        for each in group.exceptions:
            yield from _leaves(each, kind)


def _listen(signals: Iterable[signal.Signals], stop: asyncio.Event) -> None:
    for number in signals:
        asyncio.get_running_loop().add_signal_handler(number, stop.set)


async def _lead(
    elector: Elector,
    stop: asyncio.Event,
    drained: asyncio.Event,
    queue: WorkQueue,
    lost: Callable[[LeadershipLostError], NoReturn],
) -> None:
    try:
        await elector.run(stop, drained, queue.start)
    except LeadershipLostError as error:
        lost(error)


async def _retire(stop: asyncio.Event, queue: WorkQueue) -> None:
    """Writes under way are finished, nothing new is begun. kopf takes seconds to end: the next leader need not wait."""
    await stop.wait()
    queue.close()


async def _work(workers: Workers, drained: asyncio.Event) -> None:
    """The workers, until the queue is closed and the last of their writes has its answer."""
    await workers.run()
    drained.set()


async def _known(children: Iterable[Children], stop: asyncio.Event) -> None:
    """Returns when Jobs and Pods are known: a run must not be looked at as if it had none."""
    known = asyncio.gather(*(one.complete() for one in children))
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((known, stopped), return_when=asyncio.FIRST_COMPLETED)
    finally:
        known.cancel()
        stopped.cancel()


async def _watch(
    registry: kopf.OperatorRegistry,
    settings: Settings,
    stop: asyncio.Event,
    watching: asyncio.Event,
    signals: Iterable[signal.Signals],
) -> None:
    """kopf, until it is told to stop. What it raises (an answer that is no watch, a lost login) ends the process."""
    liveness = f"http://0.0.0.0:{settings.health_port}/healthz" if settings.health_port else None
    before = asyncio.all_tasks()
    tasks = await kopf.spawn_tasks(
        registry=registry,
        settings=kopf.OperatorSettings(),
        standalone=True,
        clusterwide=not settings.namespaces,
        namespaces=settings.namespaces,
        liveness_endpoint=liveness,
        stop_flag=stop,
        ready_flag=watching,
        identity=_IDENTITY,
    )
    # kopf has just taken the signals for itself; it would end by them, and nobody else would hear of it.
    _listen(signals, stop)
    try:
        await kopf.run_tasks(tasks, ignored=before)
    except Exception as error:
        raise watch_error(error) from error
    if not stop.is_set():
        raise RuntimeError("the watch ended by itself")


def _fill(
    registry: CollectorRegistry, components: Callable[[], list[Body]], clock: Callable[[], datetime]
) -> None:
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    registry.register(ComponentCollector(components, clock))


if __name__ == "__main__":
    sys.exit(main())
