"""Generated incidents of realistic size, as the documents that an engine reads. Equal numbers give equal bytes."""

from __future__ import annotations

import random
from decimal import Decimal
from itertools import pairwise
from typing import Any

from rca_eval.contract import dump_exact

WINDOW, FIRST = 1800, 1700000000
METRICS = ("latency_p95", "error_ratio", "cpu", "memory_bytes")


def document(number: int) -> bytes:
    """Incident `number`: 5 to 40 services in up to five layers, calls down the layers, 0 to 3 changes, none
    to two series of 41 samples for each service (one on average, as in the bundled set), one service the cause.
    """
    source = random.Random(number)
    size = source.randint(5, 40)
    keys = [f"service-{at:02}" for at in range(size)]
    depth = min(5, 2 + size // 8)
    layers = [keys[at::depth] for at in range(depth)]
    calls = [
        [caller, callee]
        for upper, lower in pairwise(layers)
        for caller in upper
        for callee in sorted(source.sample(lower, min(len(lower), source.randint(1, 3))))
    ]
    fired = FIRST + 3600 * number
    cause = source.choice(keys)
    value = {
        "protocol": 1,
        "case": f"case-{number % 2**32:08x}",
        "windowSeconds": WINDOW,
        "alert": {
            "name": "Http5xxRatioHigh",
            "service": keys[0],
            "firedAt": fired,
            "forSeconds": 60,
            "severity": "critical",
        },
        "topology": {"services": [{"key": key, "kind": "workload"} for key in keys], "calls": calls},
        "telemetry": {
            "availability": "full",
            "services": {key: _telemetry(source, fired - 60, loud=key == cause) for key in keys},
        },
        "changes": [
            {
                "kind": source.choice(["Deploy", "Change"]),
                "service": source.choice(keys),
                "at": fired - source.randint(60, 2 * WINDOW),
                "ref": f"{source.getrandbits(160):040x}",
            }
            for _ in range(source.randint(0, 3))
        ],
    }
    return dump_exact(value).encode()


def _telemetry(source: random.Random, onset: int, *, loud: bool) -> dict[str, Any]:
    return {
        "criticality": _decimal(source.random(), 3),
        "errorRate": _decimal(source.random() ** 3, 4),
        "errorRateBefore": _decimal(source.random() ** 6, 4),
        "series": [
            {"metric": metric, "samples": _samples(source, onset, 30 if loud else source.choice([0, 0, 5]))}
            for metric in METRICS[: source.choice([0, 1, 1, 2])]
        ],
    }


def _samples(source: random.Random, onset: int, height: int) -> list[list[Any]]:
    level = 10 ** source.randint(0, 4)
    return [
        [
            onset + 60 * at,
            _decimal(level * (10 + source.gauss(0, 1) + (height if at >= 0 else 0)), 4)
            if source.random() > 0.01
            else None,
        ]
        for at in range(-30, 11)
    ]


def _decimal(value: float, digits: int) -> Decimal:
    return Decimal(round(abs(value) * 10**digits)).scaleb(-digits)
