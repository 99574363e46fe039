"""Many generated incidents, one after the other, on one core: incidents a second, and whether memory grows."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.incidents import document
from benchmarks.machine import one_core, resident_kib
from benchmarks.measure import Fact, Figure, Outcome
from rca_eval.contract import Run, parse_incident
from rca_eval.engine import Blend
from rca_eval.graph import GraphStore, open_store
from rca_eval.job import engine as job

COUNT, EARLY = 10_000, 1_000
PER_SECOND = 200.0
GROWTH_KIB = 4096
"""How much the process may grow from the 1 000th to the last incident: 0.5 KiB for each would be a leak."""


@dataclass
class _Spent:
    """Seconds. Of the store only the processor's time is known."""

    parse: float = 0.0
    answer: float = 0.0
    wall: float = 0.0


def run(*, count: int = COUNT) -> Outcome:
    """From the document of an incident to its prediction: parse, seed, investigate, drop.

    The bound is on the time that one core spends on it (this process and the store's), which is what the wall clock
    says when the core has nothing else to do; the wall clock's own figure stands beside it. Making the documents is
    not part of it.
    """
    one_core()
    outcome = Outcome("throughput")
    early = min(EARLY, count // 2)
    spent, sizes, memory, store_memory = _Spent(), 0, [], []
    with open_store() as store:
        server = _server(store)
        before = _cpu_seconds(server)
        for number in range(count):
            data = document(number)
            sizes += len(data)
            _one(store, data, spent)
            if number + 1 in (early, count):
                memory.append(resident_kib())
                store_memory.append(_resident_kib(server))
        busy = _cpu_seconds(server) - before
    total = spent.parse + spent.answer + busy
    outcome.figures += [
        Figure.of("incidents a second of one core", "1/s", [count / total], limit=PER_SECOND, at_least=True),
        Figure.of("incidents a second by the wall clock", "1/s", [count / spent.wall]),
        Figure.of("parsing a document", "ms", [1e3 * spent.parse / count]),
        Figure.of("answering it, in this process", "ms", [1e3 * spent.answer / count]),
        Figure.of("answering it, in the store", "ms", [1e3 * busy / count]),
        Figure.of("document", "KiB", [sizes / count / 1024]),
        Figure.of(f"memory at {early}", "KiB", [memory[0]]),
        Figure.of(f"memory at {count}", "KiB", [memory[1]]),
        Figure.of("the store's growth in between", "KiB", [store_memory[1] - store_memory[0]]),
    ]
    growth = memory[1] - memory[0]
    outcome.facts.append(
        Fact("memory is flat", growth <= GROWTH_KIB, f"{growth:+d} KiB, at most {GROWTH_KIB}")
    )
    return outcome


def _one(store: GraphStore, data: bytes, spent: _Spent) -> None:
    wall, began = time.perf_counter(), time.process_time()
    incident = parse_incident(data)
    parsed = time.process_time()
    work = Run(
        variant="AllShadow",
        arm="LivePath",
        case=incident.case,
        modes={},
        incident=f"LivePath/{incident.case}.json",
    )
    answer = job._answer(
        work, incident, store, Blend(), "benchmark"
    )  # production's own path, not a copy of it
    if not answer.candidates:
        raise RuntimeError(
            f"incident {incident.case} has no candidate: what was measured is no investigation"
        )
    spent.answer += time.process_time() - parsed
    spent.parse += parsed - began
    spent.wall += time.perf_counter() - wall


def _server(store: GraphStore) -> int:
    pid = store._database.client.pid  # the embedded server's; nobody else needs to know it
    return int(pid)


def _cpu_seconds(pid: int) -> float:
    """User and system time of a process. Raises `OSError` where there is no /proc."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident_kib(pid: int) -> int:
    fields = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
