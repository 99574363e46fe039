"""How long the detection of an onset takes at most: its cost is bounded, whatever the incident holds."""

from __future__ import annotations

import random
from decimal import Decimal

from benchmarks.incidents import document
from benchmarks.measure import Figure, Outcome, seconds
from rca_eval.contract import parse_incident
from rca_eval.contract.protocol import EngineSeries
from rca_eval.engine.onset import change_time, detected_onset

LIMIT_MS = 250.0


def run(*, repeats: int = 7) -> Outcome:
    outcome = Outcome("onset")
    usual = [parse_incident(document(number)) for number in range(20)]
    usual = [one for one in usual if any(row.series for row in one.telemetry.services.values())]
    times = seconds(lambda: [detected_onset(one) for one in usual], repeats=repeats)
    outcome.figures.append(
        Figure.of("detection, generated incidents", "ms", [1e3 * one / len(usual) for one in times])
    )
    source, fired = random.Random(1), 1700001800
    large = [
        EngineSeries.model_construct(
            metric=f"m{at}",
            samples=tuple(
                (when, Decimal(repr(source.gauss(0, 1)))) for when in range(fired - 1800, fired + 601, 5)
            ),
        )
        for at in range(120)
    ]
    times = seconds(lambda: change_time(large, fired=fired, window=1800), repeats=repeats)
    outcome.figures.append(
        Figure.of(
            "detection, 120 series of 481 samples",
            "ms",
            [1e3 * one for one in times],
            limit=LIMIT_MS,
            by_least=True,
        )
    )
    return outcome
