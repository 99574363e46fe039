"""The robust score of BARO for whole tables of metrics, in numpy: ours by default, the published one by option.

| | `OURS` | `PUBLISHED` (fse-baro 0.2.2, its form for tables) |
|---|---|---|
| score of a sample | abs(x - median) / scale | (x - median) / scale: a drop counts nothing |
| scale | max(IQR, 0.01 * range of both tables) | IQR, and 1 where it is 0 |
| a metric that is constant in a table | scores as any other | is left out |
| memory (`*_mem`) | as it is; the unit has no influence | divided by 10^6, since a scale of 1 has a unit |
| ties | by name | by column |

Scores are doubles. Each is made of order statistics and a few additions and divisions that IEEE 754 rounds in one
way, so the ranking is the same on every platform.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rca_eval.contract import ContractError, Reason
from rca_eval.engine.baro import MIN_POST, MIN_PRE, RANGE_SHARE

type Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Definition:
    """How a metric is scored; the defaults are those of `engine.baro`."""

    one_sided: bool = False
    range_share: float = float(RANGE_SHARE)
    """Floor under the IQR, as a share of the range; 0 means that an IQR of 0 becomes 1."""
    constants: bool = True
    """Whether a metric that is constant in one of the tables is ranked."""
    divide: Mapping[str, float] = field(default_factory=dict)
    """Divisors by suffix of the metric's name."""
    by_name: bool = True
    """Equal scores in the order of names, not of columns."""
    min_before: int = MIN_PRE
    min_after: int = MIN_POST


OURS = Definition()
PUBLISHED = Definition(
    one_sided=True, range_share=0.0, constants=False, divide={"_mem": 1e6}, by_name=False,
    min_before=1, min_after=1,
)  # fmt: skip


class Ranked(NamedTuple):
    """A metric or a service with its score, which is comparable within one call only."""

    name: str
    score: float


def rank_metrics(
    before: npt.ArrayLike, after: npt.ArrayLike, names: Sequence[str], definition: Definition = OURS
) -> list[Ranked]:
    """Metrics from the most to the least unusual.

    `before` and `after` have a row for each moment, in any order, and a column for each of `names`. NaN and the
    infinities are no samples; a metric with too few samples in either table is not ranked. Raises
    `ContractError(DatasetInvalid)` for tables that do not fit each other and for names that occur twice.
    """
    early, late = _table(before, names, "before"), _table(after, names, "after")
    if definition.divide:
        units = np.array([_divisor(name, definition.divide) for name in names])
        early, late = early / units, late / units
    scores = _scores(early, late, definition)
    kept = [at for at, score in enumerate(scores.tolist()) if score == score]  # noqa: PLR0124  (not NaN)
    kept.sort(key=lambda at: (-scores[at], names[at] if definition.by_name else "", at))
    return [Ranked(names[at], float(scores[at])) for at in kept]


def rank_services(
    metrics: Iterable[Ranked], owner: Callable[[str], str] = lambda name: name.partition("_")[0]
) -> list[Ranked]:
    """Services by their most unusual metric, each once. By default a metric is `<service>_<rest>`, the service
    without an underscore in its name.
    """
    found: dict[str, float] = {}
    for name, score in metrics:
        found.setdefault(owner(name), score)
    return [Ranked(name, score) for name, score in found.items()]


def _table(values: npt.ArrayLike, names: Sequence[str], which: str) -> Floats:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != len(names):
        raise ContractError(
            Reason.DATASET_INVALID,
            f"the table {which} the onset has the shape {table.shape} for {len(names)} metrics; it needs a row for "
            "each moment and a column for each metric.",
        )
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ContractError(
            Reason.DATASET_INVALID, f"the metric {twice} has two columns; drop one of them, or rename it."
        )
    return table


def _divisor(name: str, divide: Mapping[str, float]) -> float:
    return next((by for suffix, by in divide.items() if name.endswith(suffix)), 1.0)


def _scores(before: Floats, after: Floats, definition: Definition) -> Floats:
    """One score for each column, NaN where there is none."""
    early, early_count = _ordered(before)
    late, late_count = _ordered(after)
    usable = (early_count >= max(definition.min_before, 1)) & (late_count >= max(definition.min_after, 1))
    if not usable.any():
        return np.full(before.shape[1], np.nan)
    first, last = early[:, 0], _at(early, early_count - 1)
    low, high = late[:, 0], _at(late, late_count - 1)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        middle = (_at(early, (early_count - 1) // 2) + _at(early, early_count // 2)) / 2
        scale = _quantile(early, early_count, 3) - _quantile(early, early_count, 1)
        spread = np.maximum(last, high) - np.minimum(first, low)
        away = high - middle if definition.one_sided else np.maximum(high - middle, middle - low)
        if definition.range_share:
            scale = np.maximum(scale, definition.range_share * spread)
        else:
            # As scikit-learn's scaler does: what is only the trace of a rounding counts as 0.
            scale = np.where(scale < 10 * np.finfo(np.float64).eps, 1.0, scale)
        scores = np.where(spread == 0, 0.0, away / scale)
    if not definition.constants:
        usable &= (first != last) & (low != high)
    found: Floats = np.where(usable, scores, np.nan)
    return found


def _ordered(table: Floats) -> tuple[Floats, npt.NDArray[np.intp]]:
    """Each metric as a sorted row, its samples first, and how many these are."""
    rows = np.ascontiguousarray(table.T)
    if rows.shape[1] == 0:
        rows = np.full((rows.shape[0], 1), np.nan)
    known = np.isfinite(rows)
    if not known.all():
        rows = np.where(known, rows, np.nan)  # sorted to the end
    return np.sort(rows, axis=1), known.sum(axis=1)


def _at(ordered: Floats, position: npt.NDArray[np.intp]) -> Floats:
    return ordered[np.arange(ordered.shape[0]), np.maximum(position, 0)]


def _quantile(ordered: Floats, count: npt.NDArray[np.intp], number: int) -> Floats:
    below, quarters = np.divmod(number * (count - 1), 4)
    start = _at(ordered, below)
    end = _at(ordered, np.minimum(below + 1, count - 1))
    return start + (end - start) * (quarters / 4)
