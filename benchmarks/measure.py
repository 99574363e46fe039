"""What a benchmark says: figures, and bounds that they keep or miss."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Figure:
    """`repeats` measurements of one thing. A bound is held against the median, or against the least where
    `by_least` says so: a cost, to which whatever else runs on the machine can only add.
    """

    name: str
    unit: str
    median: float
    least: float
    most: float
    repeats: int
    limit: float | None = None
    at_least: bool = False
    """Whether the limit is the lowest value allowed, and not the highest."""
    by_least: bool = False

    @classmethod
    def of(
        cls,
        name: str,
        unit: str,
        values: Sequence[float],
        *,
        limit: float | None = None,
        at_least: bool = False,
        by_least: bool = False,
    ) -> Figure:
        middle, low, high = statistics.median(values), min(values), max(values)
        return cls(name, unit, middle, low, high, len(values), limit, at_least, by_least)

    @property
    def kept(self) -> bool | None:
        """None without a limit."""
        if self.limit is None:
            return None
        value = self.least if self.by_least else self.median
        return value >= self.limit if self.at_least else value <= self.limit


@dataclass(frozen=True)
class Fact:
    """Something that is so or not, such as equal ranks."""

    name: str
    kept: bool
    detail: str = ""


@dataclass
class Outcome:
    """The result of one benchmark. `skipped` is the reason why there is none; a skipped one keeps no bound and
    misses none.
    """

    name: str
    figures: list[Figure] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    """For the file of all figures: what the table has no room for."""

    @property
    def missed(self) -> list[str]:
        rows = [(one.name, one.kept) for one in self.figures] + [(one.name, one.kept) for one in self.facts]
        return [name for name, kept in rows if kept is False]

    def plain(self) -> dict[str, Any]:
        whole = asdict(self)
        for row, figure in zip(whole["figures"], self.figures, strict=True):
            row["kept"] = figure.kept
        return {**whole, "missed": self.missed}


def seconds(work: Callable[[], object], *, repeats: int, number: int = 1) -> list[float]:
    """`repeats` times the mean over `number` runs, in seconds, after one run that is not counted."""
    work()
    found = []
    for _ in range(repeats):
        began = time.perf_counter()
        for _ in range(number):
            work()
        found.append((time.perf_counter() - began) / number)
    return found
