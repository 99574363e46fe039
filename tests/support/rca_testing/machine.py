"""A node whose kubelet is a script: Pods that are bound to it end as the script says, and their logs can be read.

It plays the machine, not our client: a Node object with a heartbeat, a certificate from the cluster's own signer, the
log endpoint that the API server asks, Pod statuses written as a kubelet writes them. Scheduler and Job controller are
the real ones. Pods come here by `selector()` and `tolerations()`, so it stands beside real nodes unnoticed.

    with Machine(kubeconfig).running() as machine:
        machine.scripts[namespace] = lambda pod: succeeded(pod, logs={"main": b"done\\n"}, words={"main": "{}"})
"""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from rca_testing.upstream import Upstream
from rca_testing.wire import run_to_the_end

LABEL = "rca-testing/machine"
_HEARTBEAT = 10.0  # seconds; the controller manager misses a node after 50

type Body = dict[str, Any]


@dataclass(frozen=True)
class Ending:
    """How a Pod ends: exit status and last words of each container that ran, and what they logged."""

    exits: Mapping[str, tuple[int, str]]
    logs: Mapping[str, bytes] = field(default_factory=dict)
    images: Mapping[str, str] = field(default_factory=dict)
    """`imageID`s; `sha256:0…` where none is given."""


type Script = Callable[[Body], Ending | None]
"""What becomes of a Pod; None: it runs, ready and on loopback, until `Machine.end` is told."""


def containers(pod: Body) -> list[str]:
    """The names, in the order in which they run."""
    spec = pod["spec"]
    return [each["name"] for each in [*(spec.get("initContainers") or []), *spec["containers"]]]


def succeeded(
    pod: Body, *, logs: Mapping[str, bytes] | None = None, words: Mapping[str, str] | None = None
) -> Ending:
    """All containers ended well, some of them with last words."""
    return Ending({name: (0, (words or {}).get(name, "")) for name in containers(pod)}, logs or {})


def failed(pod: Body, container: str, status: int = 1, words: str = "") -> Ending:
    """This container failed; those before it ended well."""
    before = containers(pod)[: containers(pod).index(container)]
    return Ending({**dict.fromkeys(before, (0, "")), container: (status, words)})


class Machine:
    """In a thread of its own. Namespaces without a script are left alone."""

    def __init__(self, kubeconfig: Path) -> None:
        self.upstream = Upstream(kubeconfig)
        self.name = f"machine-{uuid.uuid4().hex[:6]}"
        self.scripts: dict[str, Script] = {}
        self.delay = 0.0
        """Seconds between a Pod's binding and its end."""
        self.ended = 0
        self._logs: dict[tuple[str, str], Mapping[str, bytes]] = {}
        self._seen: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def selector(self) -> dict[str, str]:
        return {LABEL: self.name}

    def tolerations(self) -> list[dict[str, str]]:
        return [{"key": LABEL, "operator": "Exists", "effect": "NoSchedule"}]

    def end(self, pod: Body, ending: Ending) -> None:
        """Ends a Pod that was left running. Returns when it is written."""
        asyncio.run_coroutine_threadsafe(self._end(pod, ending), self._loop).result(30)

    @contextmanager
    def running(self) -> Iterator[Machine]:
        self._loop = asyncio.new_event_loop()
        ready, self._stop = threading.Event(), asyncio.Event()
        broken: list[BaseException] = []

        def run() -> None:
            try:
                run_to_the_end(self._loop, self._serve(ready))
            except BaseException as error:
                broken.append(error)
                raise

        thread = threading.Thread(target=run, name=self.name)
        thread.start()
        try:
            while not ready.wait(0.2):
                assert thread.is_alive(), f"the machine does not come up: {broken}"
            yield self
        finally:
            if thread.is_alive():
                self._loop.call_soon_threadsafe(self._stop.set)
            thread.join(60)

    async def _serve(self, ready: threading.Event) -> None:
        async with self.upstream.session() as self._session:
            app = web.Application()
            app.router.add_get("/containerLogs/{namespace}/{pod}/{container}", self._log)
            runner = web.AppRunner(app, handle_signals=False, shutdown_timeout=0.5, access_log=None)
            await runner.setup()
            context = await self._certificate()
            await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
            await self._register(int(runner.addresses[0][1]))
            tasks = [asyncio.create_task(self._beat()), asyncio.create_task(self._follow())]
            await self._schedulable()
            ready.set()
            stopped = asyncio.create_task(self._stop.wait())
            try:
                done, _ = await asyncio.wait([*tasks, stopped], return_when=asyncio.FIRST_COMPLETED)
                for task in done - {stopped}:
                    task.result()
            finally:
                for task in (*tasks, *self._tasks):
                    task.cancel()
                await self._ask("DELETE", f"/api/v1/nodes/{self.name}")
                await self._ask("DELETE", f"{_LEASES}/{self.name}")
                await runner.cleanup()

    # -- the node

    async def _certificate(self) -> ssl.SSLContext:
        """As a kubelet gets its own: signed by the cluster, after somebody has approved it."""
        user = f"system:node:{self.name}"
        with tempfile.TemporaryDirectory(prefix="rca-machine-") as folder:
            key, wish, pair = Path(folder, "key.pem"), Path(folder, "wish.pem"), Path(folder, "pair.pem")
            _openssl(
                *("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
                *("-subj", f"/O=system:nodes/CN={user}", "-addext", "subjectAltName=IP:127.0.0.1"),
                *("-keyout", str(key), "-out", str(wish)),
            )
            body = {
                "apiVersion": "certificates.k8s.io/v1",
                "kind": "CertificateSigningRequest",
                "metadata": {"name": self.name},
                "spec": {
                    "request": base64.b64encode(wish.read_bytes()).decode(),  # noqa: ASYNC240
                    "signerName": "kubernetes.io/kubelet-serving",
                    "usages": ["digital signature", "server auth"],
                },
            }
            acting = {"Impersonate-User": user, "Impersonate-Group": "system:nodes"}
            made = await self._ask("POST", _REQUESTS, body, headers=acting)
            told = {"type": "Approved", "status": "True", "reason": "Test", "message": "a test's machine"}
            made["status"] = {"conditions": [told]}
            await self._ask("PUT", f"{_REQUESTS}/{self.name}/approval", made)
            deadline = time.monotonic() + 60
            while not (made.get("status") or {}).get("certificate"):
                assert time.monotonic() < deadline, "the cluster signs no certificate"
                await asyncio.sleep(0.1)
                made = await self._ask("GET", f"{_REQUESTS}/{self.name}")
            await self._ask("DELETE", f"{_REQUESTS}/{self.name}")
            pair.write_bytes(base64.b64decode(made["status"]["certificate"]) + key.read_bytes())  # noqa: ASYNC240
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(pair)
            return context

    async def _register(self, port: int) -> None:
        room = {"cpu": "4000", "memory": "8Ti", "pods": "5000", "ephemeral-storage": "8Ti"}
        ready = {"type": "Ready", "status": "True", "reason": "Scripted", "lastHeartbeatTime": _now()}
        node = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.name, "labels": self.selector()},
            "spec": {"taints": [{"key": LABEL, "value": self.name, "effect": "NoSchedule"}]},
            "status": {
                "capacity": room,
                "allocatable": room,
                "conditions": [ready],
                "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
            },
        }
        await self._ask("POST", "/api/v1/nodes", node)

    async def _beat(self) -> None:
        spec = {"holderIdentity": self.name, "leaseDurationSeconds": 40}
        lease: Body = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self.name},
        }
        await self._ask("POST", _LEASES, {**lease, "spec": {**spec, "renewTime": _micro()}})
        while True:
            await asyncio.sleep(_HEARTBEAT)
            change = {"spec": {**spec, "renewTime": _micro()}}
            with suppress(aiohttp.ClientError, TimeoutError):
                await self._ask("PATCH", f"{_LEASES}/{self.name}", change)

    async def _schedulable(self) -> None:
        """The controllers have seen that it is ready."""
        deadline = time.monotonic() + 90
        while True:
            node = await self._ask("GET", f"/api/v1/nodes/{self.name}")
            taints = [each["key"] for each in node["spec"].get("taints") or []]
            if taints == [LABEL]:
                return
            assert time.monotonic() < deadline, f"the node stays tainted: {taints}"
            await asyncio.sleep(0.2)

    # -- Pods

    async def _follow(self) -> None:
        where = {"fieldSelector": f"spec.nodeName={self.name}"}
        while True:
            with suppress(aiohttp.ClientError, TimeoutError):
                listed = await self._ask("GET", "/api/v1/pods", query=where)
                for pod in listed["items"]:
                    self._meet(pod)
                query = {**where, "watch": "1", "resourceVersion": listed["metadata"]["resourceVersion"]}
                async with self._session.get(self.upstream.url("/api/v1/pods"), params=query) as answer:
                    async for line in answer.content:
                        told = json.loads(line)
                        if told["type"] == "ERROR":
                            break
                        if told["type"] != "DELETED":
                            self._meet(told["object"])
            await asyncio.sleep(0.2)

    def _meet(self, pod: Body) -> None:
        uid, leaving = pod["metadata"]["uid"], bool(pod["metadata"].get("deletionTimestamp"))
        mark = f"{uid}-leaving" if leaving else uid
        # What leaves is let go in any case: a namespace waits for it.
        if mark in self._seen or not (leaving or pod["metadata"]["namespace"] in self.scripts):
            return
        if not leaving and (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
            return
        self._seen.add(mark)
        task = asyncio.create_task(self._let_go(pod) if leaving else self._run(pod))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, pod: Body) -> None:
        if self.delay:
            await asyncio.sleep(self.delay)
        script = self.scripts.get(pod["metadata"]["namespace"])
        ending = script(pod) if script else None
        if ending is None:
            ready = {"type": "Ready", "status": "True", "lastTransitionTime": _now()}
            where = {"podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}
            await self._status(pod, {"phase": "Running", "startTime": _now(), "conditions": [ready], **where})
        else:
            await self._end(pod, ending)

    async def _end(self, pod: Body, ending: Ending) -> None:
        namespace, name, now = pod["metadata"]["namespace"], pod["metadata"]["name"], _now()
        self._logs[namespace, name] = ending.logs
        inits = [each["name"] for each in pod["spec"].get("initContainers") or []]
        images = {
            each["name"]: each["image"]
            for each in [*(pod["spec"].get("initContainers") or []), *pod["spec"]["containers"]]
        }
        states: list[Body] = []
        for container, (status, words) in ending.exits.items():
            reason = "Completed" if status == 0 else "Error"
            ended = {"exitCode": status, "reason": reason, "startedAt": now, "finishedAt": now}
            states.append(
                {
                    "name": container,
                    "image": images[container],
                    "imageID": ending.images.get(container, "sha256:" + "0" * 64),
                    "ready": False,
                    "restartCount": 0,
                    "state": {"terminated": {**ended, **({"message": words} if words else {})}},
                }
            )
        well = all(status == 0 for status, _ in ending.exits.values())
        await self._status(
            pod,
            {
                "phase": "Succeeded" if well else "Failed",
                "startTime": now,
                "initContainerStatuses": [each for each in states if each["name"] in inits],
                "containerStatuses": [each for each in states if each["name"] not in inits],
            },
        )
        self.ended += 1

    async def _status(self, pod: Body, status: Body) -> None:
        """Gone is gone: nobody waits for that Pod."""
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
        change = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}
        for _ in range(20):
            with suppress(aiohttp.ClientError, TimeoutError):
                await self._ask("PATCH", f"{path}/status", change, missing=(404, 409))
                return
            await asyncio.sleep(0.5)

    async def _let_go(self, pod: Body) -> None:
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}}
        with suppress(aiohttp.ClientError, TimeoutError):
            await self._ask("DELETE", path, body, missing=(404, 409))

    async def _log(self, request: web.Request) -> web.Response:
        told = request.match_info
        logs = self._logs.get((told["namespace"], told["pod"]))
        if logs is None:
            return web.Response(status=404, text="no such container")
        text = logs.get(told["container"], b"")
        if lines := int(request.query.get("tailLines", "0")):
            text = b"".join(text.splitlines(keepends=True)[-lines:])
        return web.Response(
            body=text[: int(request.query.get("limitBytes", "1000000000"))], content_type="text/plain"
        )

    async def _ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        missing: tuple[int, ...] = (),
    ) -> Body:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        async with self._session.request(
            method,
            self.upstream.url(path),
            params=query,
            data=None if body is None else json.dumps(body),
            headers={"Content-Type": kind, **(headers or {})},
            timeout=aiohttp.ClientTimeout(total=30),
        ) as answer:
            if answer.status not in missing and answer.status >= 300:
                raise aiohttp.ClientPayloadError(f"{method} {path}: {answer.status} {await answer.text()}")
            told: Body = await answer.json()
            return told


_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _micro() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _openssl(*arguments: str) -> None:
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"openssl {arguments[0]}: {done.stderr}"
