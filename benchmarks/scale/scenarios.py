"""The three measurements: runs that come at once or one by one, what is written when nothing happens, and a leader killed."""

from __future__ import annotations

import asyncio
import re
import resource
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import load
from benchmarks.scale import stage
from benchmarks.scale.api import Api
from benchmarks.scale.card import deal
from benchmarks.scale.cluster import NAME, control_plane, kubelet_certificate
from benchmarks.scale.kubelet import Kubelet
from benchmarks.scale.ledger import Ledger, percentile
from benchmarks.scale.operator import Operator
from rca_eval.contract import Scorecard

QUIET = 60.0  # seconds without any work, in which nothing may be written
_WRITE = re.compile(
    r'^apiserver_request_total\{(?=[^}]*verb="(?:POST|PUT|PATCH|DELETE)")[^}]*resource="(\w+)"[^}]*\} (\S+)$',
    re.MULTILINE,
)
_OURS = ("configmaps", "events", "evalruns", "evalsuites", "jobs", "pods", "rcacomponents")


@dataclass
class Measured:
    """Seconds, MiB and counts of one scenario. `cpu` is the operator's, `bench_cpu` that of this process, which makes the runs,
    plays the node and watches. `load` is the load average of the minute that ended with it."""

    runs: int
    p50: float
    p95: float
    worst: float
    wall: float
    cpu: float
    bench_cpu: float
    peak_mib: float
    idle_mib: float
    requests: float
    writes_to_runs: float
    phases: dict[str, int]
    doubled: list[str]
    load: float
    by_kind: dict[str, float]
    quiet_writes: dict[str, float] | None = None
    after_kill: float | None = None

    def plain(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class _Scene:
    api: Api
    kubelet: Kubelet
    ledger: Ledger
    folder: Path
    kubeconfig: Path
    components: int
    keeping: asyncio.Task[None]
    stack: ExitStack

    def operator(self, name: str) -> Operator:
        made = Operator(name, self.kubeconfig, stage.NAMESPACE, self.folder)
        return self.stack.enter_context(made.running())

    async def verdicts(self, count: int, within: float, *operators: Operator) -> None:
        """Returns when so many runs have one."""
        deadline = time.monotonic() + within
        while len(self.ledger.ended) < count:
            if time.monotonic() > deadline:
                raise RuntimeError(
                    f"{len(self.ledger.ended)} of {count} verdicts after {within:.0f} s; {len(self.kubelet.bound)} Pods "
                    f"were bound, {len(self.ledger.completed)} Jobs completed:\n{operators[-1].log()[-2000:]}"
                )
            if self.keeping.done():
                self.keeping.result()
            self.kubelet.check()
            for one in operators:
                one.check()
            await asyncio.sleep(0.05)


@asynccontextmanager
async def _scene(made: Scorecard, runs: int, name: str) -> AsyncIterator[_Scene]:
    with ExitStack() as stack, tempfile.TemporaryDirectory(prefix="rca-bench-") as folder:
        kubeconfig = stack.enter_context(control_plane(name))
        api = Api(kubeconfig)
        components = stage.components_for(runs)
        kubelet = Kubelet(api, deal(made, runs, components), kubelet_certificate(name))
        ledger, listening = Ledger(), asyncio.Event()
        try:
            await stage.prepare(api, components)
            await kubelet.start()
            keeping = asyncio.create_task(ledger.keep(api, listening))
            await listening.wait()
            try:
                yield _Scene(api, kubelet, ledger, Path(folder), kubeconfig, components, keeping, stack)
            finally:
                keeping.cancel()
                await asyncio.gather(keeping, return_exceptions=True)
        finally:
            await kubelet.close()
            await api.close()


async def stream(
    made: Scorecard,
    runs: int,
    *,
    per_second: float = 0.0,
    quiet: float = 0.0,
    name: str = NAME,
    within: float = 300.0,
) -> Measured:
    """`runs` made at once or `per_second`; then `quiet` seconds in which the writes are counted."""
    async with _scene(made, runs, name) as scene:
        operator = scene.operator("rca-a")
        await asyncio.to_thread(operator.ready)
        await stage.settled(scene.api, scene.components)
        await asyncio.sleep(2)
        idle, cpu, sent = operator.memory_mib("VmRSS"), operator.cpu_seconds(), operator.requests()
        began, mine = time.monotonic(), _own_cpu()
        await stage.make_runs(scene.api, runs, scene.components, per_second=per_second)
        await scene.verdicts(runs, within, operator)
        wall, mine = max(scene.ledger.ended.values()) - began, _own_cpu() - mine
        # What follows a verdict belongs to its run, too: the Event, and the Job that is let go.
        await _settled(operator)
        cpu = operator.cpu_seconds() - cpu
        found = _measured(scene, operator, runs, wall=wall, cpu=(cpu, mine), idle=idle, before=sent)
        if quiet:
            await asyncio.sleep(5)
            before = await _writes(scene.api)
            await asyncio.sleep(quiet)
            after = await _writes(scene.api)
            found.quiet_writes = {
                kind: n - before.get(kind, 0.0) for kind, n in after.items() if n != before.get(kind)
            }
        return found


async def killed(made: Scorecard, runs: int, *, name: str = NAME, within: float = 120.0) -> Measured:
    """Two replicas; the leader is killed with all Jobs under way, and they end while nobody leads."""
    async with _scene(made, runs, name) as scene:
        first = scene.operator("rca-a")
        await asyncio.to_thread(first.ready)
        second = scene.operator("rca-b")
        await asyncio.to_thread(second.ready)
        await stage.settled(scene.api, scene.components)
        if not first.leads() or second.leads():
            raise RuntimeError("the first replica does not lead alone")
        scene.kubelet.may_end.clear()
        mine = _own_cpu()
        idle, cpu, sent = second.memory_mib("VmRSS"), second.cpu_seconds(), second.requests()
        await stage.make_runs(scene.api, runs, scene.components)
        deadline = time.monotonic() + within
        while len(scene.kubelet.bound) < runs:
            if time.monotonic() > deadline:
                raise RuntimeError(
                    f"{len(scene.kubelet.bound)} of {runs} Pods were bound after {within:.0f} s"
                )
            first.check()
            await asyncio.sleep(0.05)
        await asyncio.sleep(1)
        began = time.monotonic()
        first.kill()
        scene.kubelet.may_end.set()
        await scene.verdicts(runs, within, second)
        after, mine = max(scene.ledger.ended.values()) - began, _own_cpu() - mine
        await _settled(second)
        cpu = second.cpu_seconds() - cpu
        found = _measured(scene, second, runs, wall=after, cpu=(cpu, mine), idle=idle, before=sent)
        found.after_kill = after
        return found


def _measured(
    scene: _Scene,
    operator: Operator,
    runs: int,
    *,
    wall: float,
    cpu: tuple[float, float],
    idle: float,
    before: Any,
) -> Measured:
    ledger, delays = scene.ledger, scene.ledger.delays()
    sent = {
        kind: n - before.get(kind, 0.0) for kind, n in operator.requests().items() if n != before.get(kind)
    }
    phases: dict[str, int] = {}
    for phase in ledger.phases.values():
        phases[phase] = phases.get(phase, 0) + 1
    return Measured(
        runs=runs,
        p50=percentile(delays, 0.5),
        p95=percentile(delays, 0.95),
        worst=max(delays),
        wall=wall,
        cpu=cpu[0],
        bench_cpu=cpu[1],
        peak_mib=operator.memory_mib(),
        idle_mib=idle,
        requests=sum(n for kind, n in sent.items() if "leases" not in kind) / runs,
        writes_to_runs=sum(ledger.writes.values()) / runs,
        phases=phases,
        doubled=ledger.doubled(),
        load=load()[0],
        by_kind={kind: n / runs for kind, n in sorted(sent.items())},
    )


def _own_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def _settled(operator: Operator, within: float = 60.0) -> None:
    """Until the operator has sent nothing for two seconds."""
    deadline, last, since = time.monotonic() + within, -1.0, time.monotonic()
    while time.monotonic() < deadline:
        sent = sum(n for kind, n in operator.requests().items() if "leases" not in kind)
        if sent != last:
            last, since = sent, time.monotonic()
        elif time.monotonic() - since > 2:
            return
        await asyncio.sleep(2)  # each look makes the operator write out all its metrics


async def _writes(api: Api) -> dict[str, float]:
    """Writes so far of what the operator may write, whoever sent them: nobody else does, once all is done."""
    found: dict[str, float] = {}
    for plural, count in _WRITE.findall(await api.text("/metrics")):
        if plural in _OURS:
            found[plural] = found.get(plural, 0.0) + float(count)
    return found
