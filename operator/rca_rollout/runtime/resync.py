"""Finds what the watch has missed: objects that were deleted while it was away.

When a watch is older than the API server's memory, kopf lists anew, and a list does not tell what is no longer in it:
the index keeps the deleted objects for ever. A run that waits for such a Job, or a suite that waits for such a run,
would wait for ever with it. So every now and then the names are listed (metadata only), and what is gone is hidden.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from rca_rollout.core.names import MANAGED_SELECTOR
from rca_rollout.kube.errors import KubeError
from rca_rollout.kube.resources import COMPONENTS, JOBS, PODS, RUNS, SUITES, Resource
from rca_rollout.runtime.queue import Key, WorkQueue
from rca_rollout.runtime.world import World

log = logging.getLogger("rca_rollout.resync")

INTERVAL = 120.0  # seconds; how long a missed deletion can go unnoticed
# View of the cache: what it is a view of, by which label.
_WATCHED: Mapping[str, tuple[Resource, str]] = {
    "components": (COMPONENTS, ""),
    "runs": (RUNS, ""),
    "suites": (SUITES, ""),
    "jobs": (JOBS, MANAGED_SELECTOR),
    "pods": (PODS, MANAGED_SELECTOR),
}


async def resync_forever(
    world: World, queue: WorkQueue, stop: asyncio.Event, interval: float = INTERVAL
) -> None:
    """Until `stop` is set. A list that fails is tried again at the next turn: hiding on no data would be a guess."""
    while not stop.is_set():
        try:
            await asyncio.wait_for(stop.wait(), interval)
        except TimeoutError:
            try:
                await resync(world, queue)
            except KubeError as problem:
                log.warning("not compared with the API server, next time: %s", problem)


async def resync(world: World, queue: WorkQueue) -> int:
    """One comparison. The number of objects that were found to be gone; everything is looked at again if it is not 0."""
    found = 0
    keys = _everything(world)  # what is gone included: it has left something behind that has to go, too
    for name, (resource, selector) in _WATCHED.items():
        view = world.cache.views[name]
        # Taken before the list: what was known then and is not in the list has been deleted, whatever came since.
        known = view.uids()
        live: set[str] = set()
        for namespace in world.settings.namespaces or (None,):
            live |= await world.kube.list_uids(resource, namespace, label_selector=selector)
        found += view.hide(known - live)
        if name == "runs":
            world.cache.views["open_runs"].hide(known - live)
    if found:
        log.info("%d objects were deleted while the watch was away", found)
        for key in keys:
            queue.add(key)
    return found


def _everything(world: World) -> list[Key]:
    kinds = (
        ("RcaComponent", world.cache.components()),
        ("EvalSuite", world.cache.suites()),
        ("EvalRun", world.cache.runs()),
    )
    return [
        Key(kind, b["metadata"]["namespace"], b["metadata"]["name"]) for kind, bodies in kinds for b in bodies
    ]
