"""How the operator bears many runs: 200 and 1 000 at once, five a second, a leader killed with 200 under way.

Real: the API server, its controllers and scheduler, the operator's process, the dataset, the scorecard. Played: the
node, whose Pods end as soon as they are bound (`kubelet.py`). The bounds are fractions of what Argo Rollouts 1.10.1
needs for as many AnalysisRuns with a Job metric on two cores, in the better of its settings.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence

from benchmarks.measure import Fact, Figure, Outcome
from benchmarks.scale import card, scenarios
from benchmarks.scale.scenarios import QUIET, Measured
from rca_eval.contract import Scorecard

SCENARIOS = ("rate", "200", "1000", "kill")
PEAK_MIB = 110.0


def run(names: Sequence[str] = SCENARIOS) -> Outcome:
    """Each on a control plane of its own: some five minutes in all. Raises `RuntimeError` where one could not be measured."""
    outcome = Outcome("scale")
    made = card.make()
    for name in names:
        found = asyncio.run(_measure(name, made))
        print(f"scale {name}: {found.plain()}", file=sys.stderr, flush=True)
        outcome.details[name] = found.plain()
        _figures(outcome, name, found)
    return outcome


async def _measure(name: str, made: Scorecard) -> Measured:
    match name:
        case "rate":
            return await scenarios.stream(made, 200, per_second=5)
        case "kill":
            return await scenarios.killed(made, 200)
        case "200":
            return await scenarios.stream(made, 200, quiet=QUIET)
        case "queue":
            return await scenarios.stream(made, 200)
        case _:
            return await scenarios.stream(made, int(name))


# Argo's figure and ours, for p95 (s), wall (s), CPU (s), peak (MiB).
_ARGO: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "rate": {"p95": (0.93, 0.19)},
    "200": {"p95": (2.1, 0.42), "wall": (8.5, 5.1), "cpu": (1.5, 1.5), "peak": (127, PEAK_MIB)},
    "1000": {"p95": (8.4, 1.7), "wall": (41, 24.6), "cpu": (9.5, 9.5), "peak": (170, PEAK_MIB)},
    "kill": {"kill": (27, 20)},
}
_TITLES = {"rate": "5 a second, 200", "200": "200 at once", "1000": "1000 at once", "kill": "killed with 200"}


def _figures(outcome: Outcome, name: str, found: Measured) -> None:
    title, against = _TITLES.get(name, f"{name} at once"), _ARGO.get(name, {})

    def add(key: str, what: str, unit: str, value: float | None) -> None:
        if value is None:
            return
        argo, limit = against.get(key, (None, None))
        beside = f" (Argo {argo:g})" if argo is not None else ""
        outcome.figures.append(Figure.of(f"{title}: {what}{beside}", unit, [value], limit=limit))

    if name != "kill":
        add("p50", "Job complete to verdict, p50", "s", found.p50)
        add("p95", "Job complete to verdict, p95", "s", found.p95)
        add("wall", "first run to last verdict", "s", found.wall)
    add("kill", "kill to last verdict", "s", found.after_kill)
    add("cpu", "CPU", "s", found.cpu)
    add("bench", "CPU of the benchmark's own process", "s", found.bench_cpu)
    add("peak", "peak memory", "MiB", found.peak_mib)
    add("requests", "requests a run", "", found.requests)
    passed = found.phases == {"Passed": found.runs}
    outcome.facts.append(Fact(f"{title}: every run passed", passed, f"{found.phases}, load {found.load}"))
    outcome.facts.append(Fact(f"{title}: one Job a run", not found.doubled, " ".join(found.doubled[:5])))
    if found.quiet_writes is not None:
        told = ", ".join(f"{kind} {n:g}" for kind, n in found.quiet_writes.items())
        outcome.facts.append(Fact(f"{title}: then {QUIET:g} s without a write", not found.quiet_writes, told))
