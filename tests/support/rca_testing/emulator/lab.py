"""The whole operator against the emulated cluster: objects of users, a kubelet, and operators that start and die."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import itertools
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import kmock
import pytest
import yaml
from kopf._cogs.aiokits import aiotasks
from kubernetes.aio.config import kube_config

from rca_eval.contract import canonical, parse_ground_truth, sha256
from rca_rollout.core.lease import Pace
from rca_rollout.runtime.main import serve
from rca_rollout.runtime.settings import Settings, from_environment
from rca_testing import scorecards
from rca_testing.emulator import clock
from rca_testing.emulator.kubelet import Kubelet
from rca_testing.emulator.server import ApiServer, Call
from rca_testing.emulator.store import Body, Change

NAMESPACE = "shop"
KEY = "RcaLiveActivation.Mode"
DATASET = (Path(__file__).parents[4] / "harness/rca_eval/data/ground-truth.seed.json").read_bytes()
_TRUTH = parse_ground_truth(DATASET, source="the seed profile")
_BASELINE = canonical(scorecards.baseline(_TRUTH, sha256(DATASET)))

# One Pod, whose container starts anew: who leads is no question, and asked seldom, for hours pass here in no time.
ALONE = Pace(lease=15_000, renew=10_000, retry=2_000, request=4_000)

type JobHook = Callable[["Lab", Body], None]


def succeed(lab: Lab, job: Body) -> None:
    """What a Job comes to if a test says nothing else."""
    lab.kubelet.succeed(job)


# Tasks inherit the context of whoever starts them, so this tells the operators' tasks apart, and from the server's.
_OPERATOR: contextvars.ContextVar[str] = contextvars.ContextVar("operator", default="")


async def _tasks_of_this_operator(*, ignored: Collection[Any] = ()) -> Collection[Any]:
    """kopf ends by cancelling every task of its loop, since it has its process to itself; here it shares one."""
    mine = _OPERATOR.get()
    ours = {task for task in asyncio.all_tasks() if task.get_context().get(_OPERATOR) == mine}
    return ours - {asyncio.current_task()} - set(ignored)


class Lab:
    """One emulated cluster with namespace `shop`. `on_job` decides what becomes of a new Job."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, pace: Pace | None = ALONE) -> None:
        self.pace = pace
        self.server = ApiServer()
        self.store = self.server.store
        self.kubelet = Kubelet(self.server, _TRUTH)
        self.on_job: JobHook = succeed
        self._tmp, self._env = tmp_path, monkeypatch
        self._numbers = itertools.count(1)
        self._running: dict[str, tuple[asyncio.Task[None], asyncio.Event]] = {}
        self._front: kmock.Server | None = None

    async def __aenter__(self) -> Lab:
        self._front = kmock.Server(self.server)
        await self.server.__aenter__()
        await self._front.__aenter__()
        self.server.listeners.append(self._changed)
        return self

    async def __aexit__(self, *error: object) -> None:
        try:
            for token in list(self._running):
                await self.kill(token)
        finally:
            self.server.close()
            assert self._front is not None
            await self._front.__aexit__(None, None, None)
            await self.server.__aexit__(None, None, None)

    # -- the operator

    def start(self, **settings: str) -> str:
        """A new operator process in all but name; the token tells its requests apart."""
        token = f"operator-{next(self._numbers)}"
        assert self._front is not None
        path = self._tmp / f"{token}.yaml"
        path.write_text(yaml.safe_dump(_kubeconfig(str(self._front.url).rstrip("/"), token)))
        # The client reads the environment when it is imported, and this constant afterwards.
        self._env.setattr(kube_config, "KUBE_CONFIG_DEFAULT_LOCATION", str(path))
        self._env.setattr(aiotasks, "all_tasks", _tasks_of_this_operator)
        self._env.setenv(
            "SSL_CERT_FILE", "/dev/null"
        )  # the bundle takes longer to read than an operator to start
        stop = asyncio.Event()
        context = contextvars.copy_context()
        context.run(_OPERATOR.set, token)
        serving = serve(
            self.settings(**settings),
            stop,
            clock=clock.now,
            steady=asyncio.get_running_loop().time,
            pace=self.pace,
        )
        task = asyncio.create_task(serving, context=context)
        self._running[token] = (task, stop)
        return token

    def settings(self, **changes: str) -> Settings:
        variables = {
            "HARNESS_IMAGE": "harness:1",
            "NAMESPACES": NAMESPACE,
            "METRICS_PORT": "0",
            "HEALTH_PORT": "0",
            "POD_NAME": "rca-rollout-0",
            "POD_UID": "6a1f",
        }
        return from_environment({f"RCA_ROLLOUT_{k}": v for k, v in {**variables, **changes}.items()})

    async def kill(self, token: str) -> None:
        """As `kill -9`: from this moment nothing it sends arrives; what it still does in memory is of no consequence."""
        self.server.dead.add(token)
        task, _ = self._running.pop(token)
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled() and (error := task.exception()):
            raise error

    async def stop(self, token: str) -> None:
        """As SIGTERM. Raises what the operator raised."""
        task, stop = self._running.pop(token)
        stop.set()
        await task

    async def ended(self, token: str, within: float = 600) -> BaseException | None:
        """How an operator ends by itself."""
        task, _ = self._running.pop(token)
        await asyncio.wait([task], timeout=within)
        assert task.done(), "the operator still runs"
        return task.exception()

    def alive(self, token: str) -> bool:
        return not self._running[token][0].done()

    # -- users

    def create(self, plural: str, name: str, **content: Any) -> Body:
        metadata = {"name": name, **content.pop("metadata", {})}
        return self.store.create(plural, NAMESPACE, {"metadata": metadata, **content})

    def modes(self, data: Mapping[str, str] | None = None, name: str = "modes", **metadata: Any) -> Body:
        """A target that opts in, with a key of somebody else's."""
        content = {KEY: "Shadow", "Unrelated.Mode": "Active"} if data is None else dict(data)
        metadata = {
            "labels": {"rca.bluerobin.io/watch": "Enabled", "team": "rca"},
            "annotations": {"rca.bluerobin.io/keys": f"{KEY}, RcaMemory.Mode"},
            **metadata,
        }
        return self.create("configmaps", name, metadata=metadata, data=content)

    def data(self) -> None:
        """The dataset and the baseline of the suite."""
        content = {"ground-truth.json": DATASET.decode(), "baseline.json": _BASELINE.decode()}
        self.create("configmaps", "incidents", data=content)

    def suite(self, name: str = "suite", **spec: Any) -> Body:
        source = {"configMapRef": {"name": "incidents"}}
        return self.create("evalsuites", name, spec={"dataset": source, "baseline": source, **spec})

    def component(self, name: str = "live", key: str = KEY, **spec: Any) -> Body:
        """With an observation of a second: the gate, and a closing run."""
        content = {
            "revision": "r1",
            "suiteRef": {"name": "suite"},
            "target": {"configMapRef": {"name": "modes"}, "key": key},
            "observation": {"period": "1s", "interval": "1s", "minPassingRuns": 2},
            **spec,
        }
        return self.create("rcacomponents", name, spec=content)

    def everything(self, **spec: Any) -> None:
        self.modes()
        self.data()
        self.suite()
        self.component(**spec)

    # -- looking

    def get(self, plural: str, name: str) -> Body:
        return copy.deepcopy(self.store.get(plural, NAMESPACE, name))

    def list(self, plural: str) -> list[Body]:
        return copy.deepcopy(self.store.list(plural, NAMESPACE))

    def status(self, name: str = "live", plural: str = "rcacomponents") -> Body:
        status: Body = self.store.get(plural, NAMESPACE, name).get("status") or {}
        return status

    def condition(self, kind: str, name: str = "live", plural: str = "rcacomponents") -> Body:
        conditions = self.status(name, plural).get("conditions") or []
        return next((c for c in conditions if c["type"] == kind), {})

    def events(self, kind: str = "RcaComponent", name: str | None = None) -> list[Body]:
        """Events in the order in which they happened."""
        found = [e for e in self.list("events") if e["involvedObject"]["kind"] == kind]
        found = [e for e in found if name in (None, e["involvedObject"]["name"])]
        return sorted(found, key=lambda event: int(event["metadata"]["resourceVersion"]))

    def mode(self, key: str = KEY) -> str | None:
        value: str | None = (self.get("configmaps", "modes").get("data") or {}).get(key)
        return value

    async def until(self, check: Callable[[], Any], within: float = 120) -> Any:
        """Waits for the store to change until `check` holds; `within` is in the loop's own seconds."""
        loop = asyncio.get_running_loop()
        end = loop.time() + within
        while not (found := check()):
            self.server.news.clear()
            try:
                await asyncio.wait_for(self.server.news.wait(), end - loop.time())
            except TimeoutError:
                raise AssertionError(f"not reached in {within} s:\n{self.story()}") from None
        return found

    async def phase(self, wanted: str, name: str = "live", within: float = 120) -> Body:
        await self.until(lambda: self.status(name).get("phase") == wanted, within)
        return self.status(name)

    async def reason(self, kind: str, wanted: str, name: str = "live", within: float = 120) -> Body:
        await self.until(lambda: self.condition(kind, name).get("reason") == wanted, within)
        return self.condition(kind, name)

    async def quiet(self, seconds: float = 30) -> None:
        """Returns when nothing was written for so long; fails if that never comes."""
        async with asyncio.timeout(1800 + 3 * seconds):
            while True:
                self.server.news.clear()
                try:
                    await asyncio.wait_for(self.server.news.wait(), seconds)
                except TimeoutError:
                    return

    def writes(self, verb: str | None = None, plural: str | None = None) -> list[Call]:
        """The writes that were carried out."""
        return [
            call
            for call in self.server.writes()
            if call.status < 300
            and call.status
            and verb in (None, call.verb)
            and plural in (None, call.plural)
        ]

    def key_writes(self) -> list[Call]:
        return self.writes("patch", "configmaps")

    def story(self) -> str:
        """For a failed test: what stands, and the last requests."""
        lines = [
            f"mode {self.mode()}" if ("configmaps", NAMESPACE, "modes") in self.store.objects else "no target"
        ]
        for plural in ("rcacomponents", "evalsuites", "evalruns"):
            for body in self.list(plural):
                status = body.get("status") or {}
                told = [
                    f"{c['type']}={c['status']}/{c['reason']}: {c['message']}"
                    for c in status.get("conditions") or []
                ]
                lines.append(f"{plural}/{body['metadata']['name']} {status.get('phase')} {'; '.join(told)}")
        for token, (task, _) in self._running.items():
            if task.done():
                lines.append(f"{token} ended: {task.exception()!r}")
        lines += [f"{call.verb} {call.path} {call.status}" for call in self.server.calls[-25:]]
        return "\n".join(lines)

    def _changed(self, change: Change) -> None:
        """Hands every new Job to `on_job`, a second later."""
        if change.plural == "jobs" and change.before is None and change.after is not None:
            asyncio.get_running_loop().call_later(1, self._play, change.after)

    def _play(self, job: Body) -> None:
        if ("jobs", NAMESPACE, job["metadata"]["name"]) in self.store.objects:
            self.on_job(self, job)


def _kubeconfig(url: str, token: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "emulated",
        "contexts": [
            {"name": "emulated", "context": {"cluster": "emulated", "user": token, "namespace": NAMESPACE}}
        ],
        "clusters": [{"name": "emulated", "cluster": {"server": url}}],
        "users": [{"name": token, "user": {"token": token}}],
    }
