"""Deletions that the watch has missed are found by comparing names with the real API server."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from kubernetes.aio.client import Configuration
from kubernetes.aio.config import load_kube_config
from prometheus_client import CollectorRegistry
from rca_testing.cluster import Cluster

from rca_rollout.kube.client import Kube
from rca_rollout.kube.errors import TransientError
from rca_rollout.metrics.counters import Counters
from rca_rollout.runtime.cache import Cache
from rca_rollout.runtime.preflight import check_kinds
from rca_rollout.runtime.queue import Key, WorkQueue
from rca_rollout.runtime.resync import resync
from rca_rollout.runtime.settings import Settings
from rca_rollout.runtime.world import World

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("crds")]


def suite(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "rca.bluerobin.io/v1alpha1",
        "kind": "EvalSuite",
        "metadata": {"name": name},
        "spec": {"dataset": {"configMapRef": {"name": "d"}}, "baseline": {"configMapRef": {"name": "b"}}},
    }


async def world_of(cluster: Cluster, *namespaces: str) -> World:
    loaded = Configuration()
    await load_kube_config(config_file=str(cluster.kubeconfig), client_configuration=loaded)
    settings = Settings(namespaces, "image", "IfNotPresent", 0, 0, "INFO", "plain", timedelta(minutes=15))
    return World(kube=Kube(loaded), cache=Cache(), settings=settings, counters=Counters(CollectorRegistry()))


async def stale(cluster: Cluster, namespace: str) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """An index with one suite that is there and one that has been deleted since."""
    index = {}
    for name in ("kept", "deleted"):
        cluster.kubectl("-n", namespace, "create", "-f", "-", input=str(suite(name)).replace("'", '"'))
        body = cluster.objects.get_namespaced_custom_object(
            "rca.bluerobin.io", "v1alpha1", namespace, "evalsuites", name
        )
        index[(namespace, name)] = [body]
    cluster.kubectl("-n", namespace, "delete", "evalsuite", "deleted")
    return index


@pytest.mark.parametrize("clusterwide", [False, True])
async def test_what_was_deleted_behind_the_watch_is_hidden_and_everything_is_looked_at_again(
    cluster: Cluster, namespace: str, clusterwide: bool
) -> None:
    world = await world_of(cluster, *(() if clusterwide else (namespace,)))
    queue = WorkQueue(asyncio.get_running_loop().time)
    try:
        # The CRDs are new: the server may be learning of them still.
        await check_kinds(world.kube, world.settings, asyncio.Event())
        world.cache.bind(suites=await stale(cluster, namespace))
        assert await resync(world, queue) == 1
        assert world.cache.suite(namespace, "deleted") is None
        assert [body["metadata"]["name"] for body in world.cache.suites()] == ["kept"]
        # What is gone is looked at, too: it has left something behind that has to go with it.
        looked_at = {await queue.take(), await queue.take()}
        assert looked_at == {Key("EvalSuite", namespace, name) for name in ("kept", "deleted")}
        # The second time there is nothing new, and so nothing to do.
        assert await resync(world, queue) == 0
        assert queue.depth == 0
    finally:
        await world.kube.close()


async def test_a_list_that_fails_hides_nothing(cluster: Cluster, namespace: str) -> None:
    world = await world_of(cluster, namespace)
    world.cache.bind(suites=await stale(cluster, namespace))
    await world.kube.close()
    world.kube._api.configuration.host = "https://127.0.0.1:1"
    unreachable = World(
        kube=Kube(world.kube._api.configuration),
        cache=world.cache,
        settings=world.settings,
        counters=world.counters,
    )
    try:
        with pytest.raises(TransientError):
            await resync(unreachable, WorkQueue(asyncio.get_running_loop().time))
        assert world.cache.suite(namespace, "deleted") is not None
    finally:
        await unreachable.kube.close()
