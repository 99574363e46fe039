"""What users have in the cluster: a dataset with its baseline, suites, components in Shadow, and runs that they make.

A suite lets 16 runs go at a time, so there are as many suites as the runs need: no run waits because its suite says so.
The components are suspended, so that all runs are the benchmark's.
"""

from __future__ import annotations

import asyncio
import math

import yaml

from benchmarks.scale.api import OURS, Api, Body
from benchmarks.scale.card import KEY, REVISION, files
from benchmarks.scale.cluster import CRDS

NAMESPACE = "bench"
PER_SUITE = 16
_AT_ONCE = 32


async def prepare(api: Api, runs: int) -> int:
    """The number of suites."""
    for path in sorted(CRDS.glob("*.yaml")):
        body = yaml.safe_load(path.read_text(encoding="utf-8"))
        await api.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    await api.request("POST", "/api/v1/namespaces", body)
    await _until_served(api)
    await _make(api, "configmaps", {"metadata": {"name": "incidents"}, "data": files()})
    suites = math.ceil(runs / PER_SUITE)
    for number in range(suites):
        await _suite(api, number)
    return suites


async def settled(api: Api, suites: int, within: float = 60.0) -> None:
    """Returns when the operator has looked at all of them."""
    deadline = asyncio.get_running_loop().time() + within
    for plural in ("evalsuites", "rcacomponents"):
        while True:
            found = await api.request("GET", f"/{OURS}/namespaces/{NAMESPACE}/{plural}")
            done = [item for item in found["items"] if (item.get("status") or {}).get("conditions")]
            if len(done) == suites:
                break
            if asyncio.get_running_loop().time() > deadline:
                raise RuntimeError(
                    f"only {len(done)} of {suites} {plural} have a status after {within:.0f} s"
                )
            await asyncio.sleep(0.2)


async def make_runs(api: Api, count: int, suites: int, *, per_second: float = 0.0) -> None:
    """All at once, or so many a second."""
    slots, loop = asyncio.Semaphore(_AT_ONCE), asyncio.get_running_loop()
    began = loop.time()

    async def make(number: int) -> None:
        async with slots:
            name = f"s{number % suites}"
            spec = {"suiteRef": {"name": name}, "componentRef": {"name": name}, "trigger": "Manual"}
            await _make(api, "evalruns", {"metadata": {"name": f"run-{number:04}"}, "spec": spec})

    async with asyncio.TaskGroup() as group:
        for number in range(count):
            if per_second:
                await asyncio.sleep(max(0.0, began + number / per_second - loop.time()))
            group.create_task(make(number))


async def _suite(api: Api, number: int) -> None:
    name = f"s{number}"
    source = {"configMapRef": {"name": "incidents"}}
    opt_in = {
        "labels": {"rca.bluerobin.io/watch": "Enabled"},
        "annotations": {"rca.bluerobin.io/keys": KEY},
    }
    suite: Body = {"dataset": source, "baseline": source, "maxConcurrentRuns": PER_SUITE}
    # All stay: what is measured is the evaluation, and not the tidying away.
    suite["historyLimits"] = {"passed": 100, "other": 100}
    component = {
        "suiteRef": {"name": name},
        "revision": REVISION,
        "target": {"configMapRef": {"name": f"modes-{number}"}, "key": KEY},
        "suspend": True,
    }
    await _make(
        api, "configmaps", {"metadata": {"name": f"modes-{number}", **opt_in}, "data": {KEY: "Shadow"}}
    )
    await _make(api, "evalsuites", {"metadata": {"name": name}, "spec": suite})
    await _make(api, "rcacomponents", {"metadata": {"name": name}, "spec": component})


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
