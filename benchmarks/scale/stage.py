"""What users have in the cluster: a dataset with its baseline, a suite, components in Shadow, and runs that they make.

One suite that lets a thousand runs go at a time, which is the most that it can say: no run waits because its suite says so,
and each asks whose turn it is among all. A suite keeps a hundred runs of each component that passed, so there are as many
components as it needs to keep all. They are suspended, so that all runs are the benchmark's.
"""

from __future__ import annotations

import asyncio
import math

import yaml

from benchmarks.scale.api import OURS, Api, Body
from benchmarks.scale.card import REVISION, files, key_of
from benchmarks.scale.cluster import CRDS

NAMESPACE = "bench"
SUITE = "suite"
AT_ONCE = 1000
KEPT = 100
_AT_ONCE = 32


def components_for(runs: int) -> int:
    return math.ceil(runs / KEPT)


async def prepare(api: Api, components: int) -> None:
    for path in sorted(CRDS.glob("*.yaml")):
        body = yaml.safe_load(path.read_text(encoding="utf-8"))
        await api.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    await api.request("POST", "/api/v1/namespaces", body)
    await _until_served(api)
    await _make(api, "configmaps", {"metadata": {"name": "incidents"}, "data": files()})
    source = {"configMapRef": {"name": "incidents"}}
    suite: Body = {"dataset": source, "baseline": source, "maxConcurrentRuns": AT_ONCE}
    # All stay: what is measured is the evaluation, and not the tidying away.
    suite["historyLimits"] = {"passed": KEPT, "other": KEPT}
    await _make(api, "evalsuites", {"metadata": {"name": SUITE}, "spec": suite})
    for number in range(components):
        await _component(api, number)


async def settled(api: Api, components: int, within: float = 60.0) -> None:
    """Returns when the operator has looked at all of them."""
    deadline = asyncio.get_running_loop().time() + within
    for plural, count in (("evalsuites", 1), ("rcacomponents", components)):
        while True:
            found = await api.request("GET", f"/{OURS}/namespaces/{NAMESPACE}/{plural}")
            done = [item for item in found["items"] if (item.get("status") or {}).get("conditions")]
            if len(done) == count:
                break
            if asyncio.get_running_loop().time() > deadline:
                raise RuntimeError(f"only {len(done)} of {count} {plural} have a status after {within:.0f} s")
            await asyncio.sleep(0.2)


async def make_runs(api: Api, count: int, components: int, *, per_second: float = 0.0) -> None:
    """All at once, or so many a second."""
    slots, loop = asyncio.Semaphore(_AT_ONCE), asyncio.get_running_loop()
    began = loop.time()

    async def make(number: int) -> None:
        async with slots:
            component = {"name": f"c{number % components}"}
            spec = {"suiteRef": {"name": SUITE}, "componentRef": component, "trigger": "Manual"}
            await _make(api, "evalruns", {"metadata": {"name": run_name(number)}, "spec": spec})

    async with asyncio.TaskGroup() as group:
        for number in range(count):
            if per_second:
                await asyncio.sleep(max(0.0, began + number / per_second - loop.time()))
            group.create_task(make(number))


def run_name(number: int) -> str:
    return f"run-{number:04}"


def run_number(name: str) -> int:
    return int(name.removeprefix("run-"))


async def _component(api: Api, number: int) -> None:
    key = key_of(number)
    opt_in = {
        "labels": {"rca.bluerobin.io/watch": "Enabled"},
        "annotations": {"rca.bluerobin.io/keys": key},
    }
    component = {
        "suiteRef": {"name": SUITE},
        "revision": REVISION,
        "target": {"configMapRef": {"name": f"modes-{number}"}, "key": key},
        "suspend": True,
    }
    await _make(
        api, "configmaps", {"metadata": {"name": f"modes-{number}", **opt_in}, "data": {key: "Shadow"}}
    )
    await _make(api, "rcacomponents", {"metadata": {"name": f"c{number}"}, "spec": component})


async def _make(api: Api, plural: str, body: Body) -> None:
    kinds = {"evalruns": "EvalRun", "evalsuites": "EvalSuite", "rcacomponents": "RcaComponent"}
    if plural in kinds:
        body = {"apiVersion": "rca.bluerobin.io/v1alpha1", "kind": kinds[plural], **body}
        await api.request("POST", f"/{OURS}/namespaces/{NAMESPACE}/{plural}", body)
    else:
        await api.request("POST", f"/api/v1/namespaces/{NAMESPACE}/{plural}", body)


async def _until_served(api: Api) -> None:
    for _ in range(200):
        try:
            for plural in ("evalruns", "evalsuites", "rcacomponents"):
                await api.request("GET", f"/{OURS}/namespaces/{NAMESPACE}/{plural}")
            await api.request("GET", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default")
        except RuntimeError:
            await asyncio.sleep(0.1)
        else:
            return
    raise RuntimeError("the API server does not serve our kinds after 20 s")
