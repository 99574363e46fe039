"""Bayesian change point detection over many series at once.

BARO (Pham, Ha, Zhang: FSE 2024, arXiv 2405.09330) finds the time of a failure with multivariate Bayesian online
change point detection (Adams, MacKay: arXiv 0710.3742). The model is the same here: between two change points the
samples of a metric are independent normal draws, and the hazard 1/lambda of a change is constant. Two things
differ. Metrics are independent of each other within a segment, with a Normal-Gamma prior for each instead of one
Normal-Inverse-Wishart prior for all, so that a missing sample can be left out and none is invented. And since the
whole window is known when an engine is asked, the run lengths are read backwards from its end, as the most
probable set of change points (Fearnhead, Liu: JRSS B 69, 2007) instead of the most probable run length at each
moment.

n samples of a metric in a segment, with the sum s and the sum of squares q, have the density (Murphy: Conjugate
Bayesian analysis of the Gaussian distribution, 2007, equation 95; the prior mean is 0)
    kappa_n = kappa_0 + n        alpha_n = alpha_0 + n/2
    beta_n  = beta_0 + (q - s^2/n) / 2 + kappa_0 s^2 / (2 n kappa_n)
    log p   = lgamma(alpha_n) - lgamma(alpha_0) + alpha_0 log beta_0 - alpha_n log beta_n
              + log(kappa_0 / kappa_n) / 2 - n/2 log(2 pi)
which is the product of the Student-t predictives of the online form. The score of a set of change points is the
sum of log p over segments and metrics, plus log(H / (1 - H)) for each change, H = 1/lambda.

Floats are used: what comes out is the time of a sample, not a score.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

type Floats = npt.NDArray[np.float64]
type Column = Sequence[tuple[int, float]]

MAX_ROWS = 240
MAX_COLUMNS = 16
MIN_SAMPLES = 8
MIN_SEGMENT = 3  # rows between two changes: a spike of one sample is none
LAMBDA = 250  # rows; one change in a window is expected, two are not
KAPPA, ALPHA, BETA = 0.1, 1.0, 1.0
RANGE_SHARE = 0.05
CLIP = 20.0
SPIKE = 5.0


class Change(NamedTuple):
    """`evidence`: log p with the change minus log p without it, all others as they are."""

    at: int
    evidence: float


def changes(columns: Sequence[Column], *, seconds: int) -> list[Change]:
    """The changes that the series show together, in order of time; `at` is the time of the first sample after it.

    `columns` are series as `(unix seconds, value)`, sorted, all within `seconds`. At most 240 rows of the 16 series
    that change most are looked at, whatever comes in; series with fewer than 8 samples, and flat ones, are not.
    """
    usable = [column for column in columns if len(column) >= MIN_SAMPLES]
    if not usable:
        return []
    times, values = _grid(usable, seconds)
    if len(times) < 2 * MIN_SEGMENT:
        return []
    scaled = _standardised(values)
    loud = _changing(_Segments.of(scaled))
    if not loud:
        return []
    return [Change(times[row], evidence) for row, evidence in _changes(_Segments.of(scaled[:, loud]))]


def _grid(columns: Sequence[Column], seconds: int) -> tuple[list[int], Floats]:
    """Rows are the steps of the densest series in which anything was sampled; a cell is the mean of its samples,
    or NaN. The time of a row is that of its first sample.
    """
    begin = min(column[0][0] for column in columns)
    gap = min((column[-1][0] - column[0][0]) // (len(column) - 1) for column in columns)
    step = max(1, gap, -(-(seconds + 1) // MAX_ROWS))
    first: dict[int, int] = {}
    for column in columns:
        for at, _ in column:
            row = (at - begin) // step
            first[row] = min(at, first.get(row, at))
    order = sorted(first)
    place = {row: position for position, row in enumerate(order)}
    total, count = np.zeros((len(order), len(columns))), np.zeros((len(order), len(columns)))
    for position, column in enumerate(columns):
        rows = [place[(at - begin) // step] for at, _ in column]
        np.add.at(total[:, position], rows, [value for _, value in column])
        np.add.at(count[:, position], rows, 1.0)
    with np.errstate(invalid="ignore"):
        return [first[row] for row in order], total / count


def _standardised(values: Floats) -> Floats:
    """Around the median, in units of the noise; flat columns become empty ones.

    The noise is the median step between neighbouring samples (0.954 of the standard deviation for normal ones),
    which a change of level does not blow up; at least 5 % of the range, so that a metric that drifts smoothly is no
    staircase of changes.
    """
    scaled = np.full_like(values, np.nan)
    for at in range(values.shape[1]):
        known = np.isfinite(values[:, at])
        column = values[known, at]
        spread = float(np.ptp(column)) if column.size else 0.0
        if column.size < 2 * MIN_SEGMENT or not 0 < spread < math.inf:
            continue
        noise = max(float(np.median(np.abs(np.diff(column)))) / 0.954, RANGE_SHARE * spread)
        column = _without_spikes(column, SPIKE * noise)
        scaled[known, at] = np.clip((column - np.median(column)) / noise, -CLIP, CLIP)
    return scaled


def _without_spikes(column: Floats, height: float) -> Floats:
    """One sample that is far from the median of itself and its two neighbours becomes that median: to a normal
    model it would be a segment of its own. A step, which has its second sample on its side, stays.
    """
    middle = np.median(np.stack([column[:-2], column[1:-1], column[2:]]), axis=0)
    middle = np.concatenate([middle[:1], middle, middle[-1:]])
    return np.where(np.abs(column - middle) > height, middle, column)


@dataclass(frozen=True)
class _Segments:
    """Running sums, from which the evidence for any segment of rows follows; each is (rows + 1, columns)."""

    count: npt.NDArray[np.intp]
    total: Floats
    squares: Floats
    terms: Floats
    """The part of log p that depends on n only, by n."""

    @classmethod
    def of(cls, scaled: Floats) -> "_Segments":
        known = np.isfinite(scaled)
        filled = np.where(known, scaled, 0.0)
        start = np.zeros((1, scaled.shape[1]))

        def running(of: Floats) -> Floats:
            return np.concatenate([start, np.cumsum(of, axis=0)])

        n = range(scaled.shape[0] + 1)
        terms = [
            math.lgamma(ALPHA + k / 2)
            - math.lgamma(ALPHA)
            + ALPHA * math.log(BETA)
            + math.log(KAPPA / (KAPPA + k)) / 2
            - k / 2 * math.log(2 * math.pi)
            for k in n
        ]
        return cls(
            running(known.astype(np.float64)).astype(np.intp),
            running(filled),
            running(filled * filled),
            np.array(terms),
        )

    @property
    def rows(self) -> int:
        return int(self.count.shape[0]) - 1

    def evidence(self, begin: "int | slice", end: "int | slice") -> Floats:
        """log p of the rows from `begin` up to but not including `end`, for each column."""
        n = self.count[end] - self.count[begin]
        total, squares = self.total[end] - self.total[begin], self.squares[end] - self.squares[begin]
        square_of_mean = total * total / np.maximum(n, 1)
        beta = BETA + np.maximum(squares - square_of_mean, 0) / 2 + KAPPA * square_of_mean / (2 * (KAPPA + n))
        found: Floats = self.terms[n] - (ALPHA + n / 2) * np.log(beta)
        return found


def _changing(segments: _Segments) -> list[int]:
    """The columns with evidence for one change of their own, at most 16, those with the most first."""
    rows = segments.rows
    inner = slice(MIN_SEGMENT, rows - MIN_SEGMENT + 1)
    split = segments.evidence(0, inner) + segments.evidence(inner, rows) - segments.evidence(0, rows)
    best = split.max(axis=0)
    order = sorted(range(len(best)), key=lambda at: (-best[at], at))
    return sorted(at for at in order[:MAX_COLUMNS] if best[at] > math.log(LAMBDA))


def _changes(segments: _Segments) -> list[Change]:
    """The most probable set of changes, in order of time."""
    rows = segments.rows
    change = -math.log(LAMBDA - 1)  # log(H / (1 - H))
    best, before = [0.0] + [-math.inf] * rows, [0] * (rows + 1)
    for end in range(MIN_SEGMENT, rows + 1):
        begins = end - MIN_SEGMENT + 1
        score = segments.evidence(slice(0, begins), end).sum(axis=1) + best[:begins]
        score[1:] += change
        before[end] = int(score.argmax())
        best[end] = float(score[before[end]])
    cuts = [rows]
    while cuts[-1] > 0:
        cuts.append(before[cuts[-1]])
    cuts.reverse()
    return [Change(cuts[at], _gain(segments, *cuts[at - 1 : at + 2])) for at in range(1, len(cuts) - 1)]


def _gain(segments: _Segments, begin: int, middle: int, end: int) -> float:
    both = segments.evidence(begin, middle) + segments.evidence(middle, end)
    return float((both - segments.evidence(begin, end)).sum())
