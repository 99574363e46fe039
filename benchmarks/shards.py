"""What an evaluation of many incidents takes, step by step: `python -m benchmarks.shards INCIDENTS SHARDS [--memory]`.

The incidents are generated: 735 as large as real ones, or as many small ones as fit into a dataset. Every step is a
process of its own, as in the Job, one after the other; time is that of the processor (without the store's), memory the largest of a
process. With `--plain` the engine is one of ten lines that asks no graph: for what comes before and after it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import defaultdict
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

from rca_eval.contract import dump_exact, sha256

CLASSES = ("auth/login", "deploy/config", "data/datastore", "resource/cpu")
KEY = "RcaLiveActivation.Mode"
SMALL = 2_000
"""With more incidents than so many each has to be small, or a dataset cannot hold them."""
FIRST = 1_700_000_000


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("incidents", type=int)
    arguments.add_argument("shards", type=int)
    arguments.add_argument("--memory", action="store_true", help="what the reference engine remembers, too")
    arguments.add_argument("--first", type=int, help="only so many of the shards, and no verdict")
    arguments.add_argument("--plain", action="store_true", help="an engine that ranks by error rate")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="rca-shards-") as folder:
        _run(Path(folder), given)


def _run(folder: Path, given: argparse.Namespace) -> None:
    size, shards = given.incidents, given.shards
    data = dataset(size)
    (folder / "truth.json").write_bytes(data)
    print(f"{size} incidents, {len(data) / 1e6:.1f} MB, {shards} shards")
    taken: dict[str, list[tuple[float, float]]] = defaultdict(list)
    logs = []
    for index in range(given.first or shards):
        place = folder / str(index)
        (place / "output" / "1").mkdir(parents=True)
        (place / "output" / "2").mkdir(parents=True)
        env = {
            "RCA_EVAL_DATASET": str(folder / "truth.json"),
            "RCA_EVAL_DATASET_SHA256": sha256(data),
            "RCA_EVAL_INCIDENTS": str(place / "incidents"),
            "RCA_EVAL_OUTPUT": str(place / "output"),
            "RCA_EVAL_REVISION": "r1",
            "RCA_EVAL_VARIANTS": _variants(),
            "RCA_EVAL_RUN": "bench-1",
            "RCA_EVAL_TERMINATION_LOG": str(place / "told"),
            **({"RCA_EVAL_SHARDS": str(shards), "RCA_EVAL_SHARD": str(index)} if shards > 1 else {}),
            **({"RCA_EVAL_MEMORY": "Prequential"} if given.memory else {}),
        }
        taken["prepare"].append(_step("prepare", env, place))
        for repeat in ("1", "2"):
            mine = {
                "RCA_EVAL_INCIDENTS": str(place / "incidents" / repeat),
                "RCA_EVAL_OUTPUT": str(place / "output" / repeat),
            }
            engine = "plain" if given.plain else "engine"
            taken[engine].append(_step(engine, {**env, **mine}, place))
        taken["scorecard"].append(_step("scorecard", env, place))
        logs.append(place / "scorecard.log")
        if index == 0:
            size_of = sum(path.stat().st_size for path in (place / "incidents").rglob("*.json"))
            print(f"incidents of a shard: {size_of / 2e6:.1f} MB a repeat")
    for name, rows in taken.items():
        times, peaks = zip(*rows, strict=True)
        print(
            f"{name}: {max(times):.1f} s the longest, {sum(times):.1f} s all together, {max(peaks):.0f} MiB"
        )
    if given.first:
        return
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.shards_verdict", *map(str, logs)], check=True, capture_output=True
    )
    print(done.stdout.decode().strip())


def _step(name: str, env: dict[str, str], place: Path) -> tuple[float, float]:
    program = ["benchmarks.shards_plain"] if name == "plain" else ["rca_eval.job", name]
    with (place / f"{name}.log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-m", *program], env={**os.environ, **env}, stdout=log)
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{name} ended with {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def _variants() -> str:
    modes = {"AllShadow": "Shadow", "Without": "Shadow", "With": "Active"}
    return json.dumps([{"name": name, "modes": {KEY: mode}} for name, mode in modes.items()])


def dataset(size: int) -> bytes:
    """Equal numbers give equal bytes."""
    whole = {
        "schemaVersion": 1,
        "windowSeconds": 1800,
        "profile": "user",
        "incidents": [_incident(at, small=size > SMALL) for at in range(size)],
    }
    return dump_exact(whole).encode()


def _incident(number: int, *, small: bool) -> dict[str, Any]:
    source = random.Random(number)
    keys = [f"service-{at:02}" for at in range(5 if small else source.randint(5, 40))]
    cause, fired = source.choice(keys[1:]), FIRST + 3600 * number
    calls = [[source.choice(keys[:at]), keys[at]] for at in range(1, len(keys))]
    if not small:
        calls += [list(pair) for pair in pairwise(keys[::3]) if list(pair) not in calls]
    return {
        "id": f"IN-{number:05}",
        "faultClass": CLASSES[number % len(CLASSES)],
        "expectedRootCause": cause,
        "changeInduced": number % 5 == 0,
        "label": {"status": "confirmed"},
        "alert": {"name": "Http5xx", "service": keys[0], "firedAt": fired, "forSeconds": 60},
        "topology": {"services": [{"key": key} for key in keys], "calls": calls},
        "telemetry": {
            "availability": "full",
            "services": {
                key: {
                    "criticality": _decimal(source.random(), 3),
                    "errorRate": _decimal(
                        0.5 + source.random() / 2 if key == cause else source.random() / 2, 3
                    ),
                    **({} if small else {"series": _series(source, fired - 60, loud=key == cause)}),
                }
                for key in keys
            },
        },
        "changes": [{"kind": "Deploy", "service": cause, "at": fired - 300}] if number % 5 == 0 else [],
    }


def _series(source: random.Random, onset: int, *, loud: bool) -> list[dict[str, Any]]:
    if not loud and source.random() < 0.7:
        return []
    samples = [
        [onset + 60 * at, _decimal(100 + source.gauss(0, 1) + (30 if loud and at >= 0 else 0), 2)]
        for at in range(-30, 11)
    ]
    return [{"metric": "latency_p95", "samples": samples}]


def _decimal(value: float, digits: int) -> Decimal:
    return Decimal(round(abs(value) * 10**digits)).scaleb(-digits)


if __name__ == "__main__":
    main()
