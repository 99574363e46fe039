"""How long an investigation of the bundled incidents takes, by arm: the time that a scorecard calls seconds."""

from __future__ import annotations

import statistics
import time

from benchmarks.measure import Figure, Outcome
from rca_eval.contract import ARMS, Arm, EngineIncident, Run, parse_ground_truth, sha256
from rca_eval.data import ground_truth_bytes
from rca_eval.engine import Blend
from rca_eval.graph import EMBEDDED, GraphStore, open_store
from rca_eval.job import engine as job
from rca_eval.job.prepare import cases, with_past

LIMITS: dict[Arm, float] = {"ScorerOnly": 1.7, "LivePath": 3.2}
"""Milliseconds: the means that the method's authors give for an investigation with FalkorDB in its path."""


def run(*, repeats: int = 15, store: str = EMBEDDED) -> Outcome:
    """Mean over the nine incidents, `repeats` times, in production's own path: seed, investigate, drop.

    All components are in Shadow, so the ranking that each of them would give is computed too, and what memory has
    of earlier incidents is asked.
    """
    data = ground_truth_bytes("graded")
    truth, digest = parse_ground_truth(data), sha256(data)
    work = [
        (
            Run(
                variant="AllShadow",
                arm=case.arm,
                case=case.case,
                modes={},
                incident=f"{case.arm}/{case.case}.json",
            ),
            with_past(case, truth, digest),
        )
        for case in cases(truth, digest)
    ]
    outcome = Outcome("investigation")
    with open_store(store) as graphs:
        for arm in ARMS:
            mine = [(run, view) for run, view in work if run.arm == arm]
            _round(graphs, mine)  # the first answers of a process pay for imports and caches
            rounds = [_round(graphs, mine) for _ in range(repeats)]
            outcome.figures += [
                Figure.of(
                    f"{arm}: investigation, mean of {len(mine)}",
                    "ms",
                    [inner for inner, _ in rounds],
                    limit=LIMITS[arm],
                    by_least=True,
                ),
                Figure.of(
                    f"{arm}: with seeding and dropping the graph", "ms", [outer for _, outer in rounds]
                ),
            ]
    outcome.notes.append("all components in Shadow; the rankings that they would give are computed")
    outcome.notes.append("incidents with earlier ones also seed a memory, which waits for a vector index")
    return outcome


def _round(graphs: GraphStore, work: list[tuple[Run, EngineIncident]]) -> tuple[float, float]:
    """Mean milliseconds of the investigation alone, and of all that is done for an incident."""
    inner, outer = [], []
    for run_, view in work:
        began = time.perf_counter()
        answer = job._answer(
            run_, view, graphs, Blend(), "benchmark"
        )  # production's own path, not a copy of it
        outer.append(1e3 * (time.perf_counter() - began))
        inner.append(1e3 * float(answer.seconds))
    return statistics.mean(inner), statistics.mean(outer)
