"""Our ranking of metric tables against fse-baro's scorer: equal ranks where the definitions agree, and the ratio of times.

The tables are the ten Sock Shop cases of the RCD data set, where that folder is at hand (`--data`, or RCA_DATA), and
generated ones of the same shape, so that the ratio can be measured anywhere that fse-baro is installed.
"""

from __future__ import annotations

import csv
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.measure import Fact, Figure, Outcome, seconds
from rca_eval.contract import ContractError, Reason
from rca_eval.engine.baro_tables import OURS, PUBLISHED, Ranked, rank_metrics, rank_services

RATIO = 20.0
FOLDERS = ("sock-shop-data", "rcd-sock-shop/sock-shop-data")
LEFT_OUT = ("_lat_50", "_lat_99")
"""Of three percentiles of one latency the authors of the data's baselines keep one."""

type Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """Two tables, split by what was recorded when; `truth` is the service at fault, where it is known."""

    name: str
    names: tuple[str, ...]
    before: Floats
    after: Floats
    truth: str | None = None


def run(*, data: Path | None = None, repeats: int = 7) -> Outcome:
    outcome = Outcome("baro")
    scorer = _scorer()
    if scorer is None:
        outcome.skipped.append(
            "fse-baro is not installed here; make an environment of its own: python -m venv bench, then "
            "bench/bin/pip install --require-hashes -r locks/bench.txt, and start this with "
            "PYTHONPATH=harness bench/bin/python -m benchmarks"
        )
    generated = [_generated(seed) for seed in range(10)]
    if scorer is not None:
        _compare(outcome, "generated", generated, scorer, repeats)
    folder = _folder(data)
    if folder is None:
        outcome.skipped.append(
            "no Sock Shop cases; name the folder that holds sock-shop-data/<service>-<fault>/<n>/normal.csv "
            "with --data or RCA_DATA"
        )
        return outcome
    found = list(read_cases(folder))
    if not found:
        raise ContractError(Reason.FILE_UNREADABLE, f"{folder} holds no case; check --data or RCA_DATA.")
    if scorer is not None:
        _compare(outcome, "sock shop", found, scorer, repeats)
    _quality(outcome, found)
    return outcome


def _compare(
    outcome: Outcome, what: str, cases: list[Case], scorer: Callable[[Any, int], list[str]], repeats: int
) -> None:
    """Per case the median of both times and their ratio; all ranks must be equal under the published definition."""
    import pandas as pd  # type: ignore[import-untyped]  # noqa: PLC0415  (comes with fse-baro)

    ours, theirs, ratios, different = [], [], [], []
    for case in cases:
        table = pd.DataFrame(np.concatenate([case.before, case.after]), columns=list(case.names))
        table.insert(0, "time", np.arange(len(table)))
        split = len(case.before)

        def mine(
            table: Any = table, case: Case = case, split: int = split
        ) -> tuple[list[Ranked], list[Ranked]]:
            values = table.iloc[:, 1:].to_numpy()  # both begin with the same table
            ranked = rank_metrics(values[:split], values[split:], case.names, PUBLISHED)
            return ranked, rank_services(ranked)

        def reference(table: Any = table, split: int = split) -> list[str]:
            return scorer(table, split)

        metrics, services = mine()
        published = reference()
        if [one.name for one in metrics] != published or [one.name for one in services] != list(
            dict.fromkeys(name.partition("_")[0] for name in published)
        ):
            different.append(case.name)
        fast = sorted(seconds(mine, repeats=repeats, number=5))[repeats // 2]
        slow = sorted(seconds(reference, repeats=repeats))[repeats // 2]
        ours.append(1e3 * fast)
        theirs.append(1e3 * slow)
        ratios.append(slow / fast)
    outcome.facts.append(
        Fact(
            f"{what}: ranks of metrics and services as fse-baro's",
            not different,
            f"{len(cases) - len(different)} of {len(cases)} equal" + "".join(f", not {x}" for x in different),
        )
    )
    outcome.figures += [
        Figure.of(f"{what}: this scorer", "ms", ours),
        Figure.of(f"{what}: fse-baro's scorer", "ms", theirs),
        Figure.of(f"{what}: times as fast", "x", ratios, limit=RATIO, at_least=True),
    ]


def _quality(outcome: Outcome, cases: list[Case]) -> None:
    """Where the service at fault stands under both definitions. Not bounded: it is about data, not about speed."""
    for name, definition in (("published", PUBLISHED), ("ours", OURS)):
        places = []
        for case in cases:
            ranked = [
                one.name
                for one in rank_services(rank_metrics(case.before, case.after, case.names, definition))
            ]
            places.append(ranked.index(case.truth) + 1 if case.truth in ranked else 0)
        hits = sum(place == 1 for place in places)
        outcome.notes.append(
            f"{name} definition: service at fault at {', '.join(map(str, places))}; AC@1 {hits}/{len(places)}"
        )


def read_cases(folder: Path) -> Iterator[Case]:
    """`<service>-<fault>/<n>/{normal,anomalous}.csv`. They are split by file: in time, some lie the other way round."""
    for path in sorted(folder.glob("*/*/normal.csv")):
        head, before = _read(path)
        late_head, after = _read(path.with_name("anomalous.csv"))
        if head != late_head:
            raise ContractError(
                Reason.FILE_UNREADABLE, f"{path} and its anomalous.csv have different columns."
            )
        keep = [at for at, name in enumerate(head) if name != "time" and not name.endswith(LEFT_OUT)]
        service = path.parent.parent.name.rpartition("-")[0]
        yield Case(
            f"{path.parent.parent.name}/{path.parent.name}",
            tuple(head[at] for at in keep),
            before[:, keep],
            after[:, keep],
            service,
        )


def _read(path: Path) -> tuple[list[str], Floats]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            head, *rows = csv.reader(file)
    except (OSError, ValueError) as error:
        raise ContractError(
            Reason.FILE_UNREADABLE, f"{path} cannot be read ({error}); check --data."
        ) from None
    return head, np.array([[float(cell) if cell else np.nan for cell in row] for row in rows])


def _generated(seed: int) -> Case:
    """38 metrics of 13 services, 300 rows on both sides, one service with a step."""
    random = np.random.default_rng(seed)
    kinds = ("cpu", "mem", "latency")
    names = tuple(f"service{at // 3:02}_{kinds[at % 3]}" for at in range(38))
    scale = 10.0 ** random.integers(0, 8, 38)
    before, after = (random.normal(10, 1, (300, 38)) * scale for _ in range(2))
    step = 3 * int(random.integers(0, 12))
    after[:, step : step + 3] += 20 * scale[step : step + 3]
    return Case(f"generated-{seed}", names, before, after)


def _folder(data: Path | None) -> Path | None:
    given = data or (Path(os.environ["RCA_DATA"]) if os.environ.get("RCA_DATA") else None)
    if given is None:
        return None
    for name in FOLDERS:
        if (given / name).is_dir():
            return given / name
    return given if given.is_dir() else None


def _scorer() -> Callable[[Any, int], list[str]] | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from baro.root_cause_analysis import (  # type: ignore[import-not-found]  # noqa: PLC0415
                robust_scorer,
            )
    except ImportError:
        return None

    def rank(table: Any, split: int) -> list[str]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [str(name) for name in robust_scorer(table, anomalies=[split])["ranks"]]

    return rank
