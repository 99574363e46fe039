"""A node without a machine. Its Pods end as soon as they may, with the status and the log that the real containers leave.

The scheduler binds the Pods, the Job controller makes and counts them, the API server fetches the logs from here over
TLS as from any kubelet; only what happens between a Pod's start and its end is left out.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from aiohttp import web

from benchmarks.scale.api import Api, Body
from benchmarks.scale.card import Card
from benchmarks.scale.stage import run_number
from hack.cluster.certificates import Pair
from rca_rollout.core.names import MANAGED_SELECTOR, RUN_LABEL

NODE = "bench"
_LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_AT_ONCE = 16  # requests under way; more would only wait in the API server
_MERGE = "application/merge-patch+json"


class Kubelet:
    """`may_end` holds Pods back while it is not set. `held` counts those that are bound and not ended."""

    def __init__(self, api: Api, cards: Sequence[Card], certificate: Pair) -> None:
        self._api, self._cards, self._certificate = api, cards, certificate
        self._of_pod: dict[str, Card] = {}
        self.may_end = asyncio.Event()
        self.may_end.set()
        self.bound: set[str] = set()
        self.logs_read = 0
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        port = await self._serve()
        await self._register(port)
        self._spawn(self._heartbeat())
        self._spawn(self._play())

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._runner.cleanup()

    def check(self) -> None:
        """Raises what ended one of its tasks: a figure without a kubelet would be no figure."""
        for task in self._tasks:
            if task.done():
                task.result()

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended_well)

    def _ended_well(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or task.exception() is None:
            self._tasks.discard(task)

    async def _serve(self) -> int:
        async def logs(request: web.Request) -> web.Response:
            self.logs_read += 1
            log = self._of_pod[request.match_info["pod"]].log
            limit = int(request.query.get("limitBytes", len(log)))
            return web.Response(body=log[:limit], content_type="text/plain")

        app = web.Application()
        app.router.add_get("/containerLogs/{namespace}/{pod}/scorecard", logs)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
        await self._runner.setup()
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self._certificate.certificate, self._certificate.key)
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        return int(self._runner.addresses[0][1])

    async def _register(self, port: int) -> None:
        metadata = {"name": NODE, "labels": {"kubernetes.io/hostname": NODE}}
        await self._api.request(
            "POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
        )
        room = {"cpu": "100k", "memory": "100Ti", "ephemeral-storage": "100Ti", "pods": "100k"}
        ready = {
            "type": "Ready",
            "status": "True",
            "reason": "KubeletReady",
            "lastHeartbeatTime": _now(),
            "lastTransitionTime": _now(),
        }
        status = {
            "capacity": room,
            "allocatable": room,
            "conditions": [ready],
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }
        await self._api.request("PATCH", f"/api/v1/nodes/{NODE}/status", {"status": status}, content=_MERGE)
        await self._api.request("POST", _LEASE, _lease())

    async def _heartbeat(self) -> None:
        while True:
            await asyncio.sleep(10)
            await self._api.request("PATCH", f"{_LEASE}/{NODE}", {"spec": _lease()["spec"]}, content=_MERGE)

    async def _play(self) -> None:
        async for seen in self._api.watch("/api/v1/pods", MANAGED_SELECTOR):
            metadata = seen.body["metadata"]
            if seen.kind == "DELETED" or not seen.body["spec"].get("nodeName"):
                continue
            if metadata["uid"] not in self.bound:
                self.bound.add(metadata["uid"])
                self._of_pod[metadata["name"]] = self._cards[run_number(metadata["labels"][RUN_LABEL])]
                self._spawn(self._end(seen.body))

    async def _end(self, pod: Body) -> None:
        await self.may_end.wait()
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}/status"
        async with self._slots:
            await self._api.request(
                "PATCH",
                path,
                {"status": _ended(pod["spec"], self._of_pod[pod["metadata"]["name"]])},
                content=_MERGE,
            )


def _ended(spec: Body, card: Card) -> Body:
    """As the kubelet leaves a Pod whose containers all ended well, one after the other."""
    now = datetime.now(UTC)
    steps = [*spec["initContainers"], *spec["containers"]]
    states = []
    for number, container in enumerate(steps):
        finish = now - timedelta(seconds=card.seconds * (len(steps) - 1 - number))
        ended: Body = {
            "exitCode": 0,
            "reason": "Completed",
            "startedAt": _stamp(finish - timedelta(seconds=card.seconds)),
            "finishedAt": _stamp(finish),
            "containerID": "containerd://0",
        }
        if container["name"] == "scorecard":
            ended["message"] = card.words
        states.append(
            {
                "name": container["name"],
                "image": container["image"],
                "imageID": f"{container['image']}@sha256:{64 * '0'}",
                "ready": False,
                "started": False,
                "restartCount": 0,
                "state": {"terminated": ended},
            }
        )
    conditions = [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": _stamp(now)},
        {"type": "Initialized", "status": "True", "lastTransitionTime": _stamp(now)},
        {"type": "Ready", "status": "False", "reason": "PodCompleted", "lastTransitionTime": _stamp(now)},
    ]
    return {
        "phase": "Succeeded",
        "startTime": _stamp(now - timedelta(seconds=card.seconds * len(steps))),
        "conditions": conditions,
        "initContainerStatuses": states[:-1],
        "containerStatuses": states[-1:],
    }


def _lease() -> Body:
    spec = {"holderIdentity": NODE, "leaseDurationSeconds": 40, "renewTime": _now(micro=True)}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": NODE, "namespace": "kube-node-lease"},
        "spec": spec,
    }


def _now(*, micro: bool = False) -> str:
    now = datetime.now(UTC)
    return now.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if micro else _stamp(now)


def _stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
