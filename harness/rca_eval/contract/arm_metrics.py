"""All ranking metrics of an arm, for a report: every view of ties, chance, retrieval, and each fault class. Pure.

The gate decides on `AC@1` of `contract.metrics` alone; what is here explains it. Errors, time-outs and missing
answers are misses in every denominator.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from itertools import chain

from rca_eval.contract.groundtruth import FaultClass
from rca_eval.contract.metrics import mean
from rca_eval.contract.model import Int, Model
from rca_eval.contract.numbers import Figure, is_finite, nine
from rca_eval.contract.protocol import Arm
from rca_eval.contract.scorecard import ArmResult, IncidentResult
from rca_eval.contract.ties import (
    Group,
    Grouped,
    View,
    accuracy_within,
    grouped,
    reachable_within,
    reciprocal_rank_of,
)

CUTOFFS = (1, 3, 5)

Pools = Mapping[str, Collection[str]]
"""Incident id to the candidates that a ranker could choose from."""


class Views(Model):
    """One metric under the worst, the best and the average order of equal scores."""

    pessimistic: Figure
    optimistic: Figure
    expected: Figure


class AtCutoff(Model):
    """The metrics of the first k candidates.

    `accuracy` is AC@k, `average` Avg@k = mean of AC@1..AC@k. `retrieval` is the AC@k of a perfect re-ranking of
    all candidates, and `rerank` = AC@k / retrieval, null when nothing was retrieved: a candidate that is
    missing, or one that stands too low. `chance` and `chanceAverage` are AC@k and Avg@k of a random order of
    the same candidates, `lift` = Avg@k - chanceAverage; null unless the candidates of every incident are known.
    """

    k: Int
    accuracy: Views
    average: Views
    retrieval: Figure
    rerank: Figure | None
    chance: Figure | None
    chance_average: Figure | None
    lift: Figure | None


class RankingMetrics(Model):
    """Metrics over some incidents; without any, `at` is empty and the rest null.

    `ranked`, `errors`, `timeouts` and `missing` add up to `incidents`. `nonFinite` counts candidates whose
    score is no finite number; they rank last. `tieRate` is the share of incidents in which a cause has the score
    of a candidate that is none. `reciprocalRank` is MRR, by the first cause that is found.
    """

    incidents: Int
    ranked: Int
    errors: Int
    timeouts: Int
    missing: Int
    non_finite: Int
    tie_rate: Figure | None
    reciprocal_rank: Views | None
    at: tuple[AtCutoff, ...]


class ClassMetrics(RankingMetrics):
    fault_class: FaultClass


class ArmMetrics(RankingMetrics):
    """An arm of one variant, and its fault classes in the order of their names."""

    arm: Arm
    classes: tuple[ClassMetrics, ...]


def describe_arm(
    arm: ArmResult, pools: Pools | None = None, *, cutoffs: Sequence[int] = CUTOFFS
) -> ArmMetrics:
    """Every metric of an arm. Total: a score that is no number ranks last, an arm may be empty.

    `pools` gives each incident's candidates in LivePath (`contract.pools`); the length of an answer would be a
    wrong guess, because an engine may cut its list. ScorerOnly has other candidates, and no chance is told for
    it. Raises `ValueError` for a cutoff below 1.
    """
    if any(k < 1 for k in cutoffs):
        raise ValueError("a cutoff is at least 1")
    if arm.arm != "LivePath":
        pools = None
    classes = sorted({row.fault_class for row in arm.incidents})
    return ArmMetrics(
        arm=arm.arm,
        classes=tuple(
            ClassMetrics(
                fault_class=name,
                **_metrics([row for row in arm.incidents if row.fault_class == name], pools, cutoffs),
            )
            for name in classes
        ),
        **_metrics(arm.incidents, pools, cutoffs),
    )


def ranking_of(row: IncidentResult) -> Grouped:
    """The groups of an incident's answer; none for an error, a time-out or no answer, whatever it lists."""
    candidates = [(one.key, one.score) for one in row.candidates] if row.status == "Ranked" else []
    return grouped(candidates, row.expected)


def accuracy(k: int, rankings: Sequence[Grouped], view: View = "pessimistic") -> Fraction:
    """AC@k: the mean over incidents. Raises `ValueError` without any."""
    return mean([accuracy_within(k, one, view) for one in rankings])


def average(k: int, rankings: Sequence[Grouped], view: View = "pessimistic") -> Fraction:
    """Avg@k: the mean of AC@1 .. AC@k. Raises `ValueError` without incidents."""
    return mean([accuracy(j, rankings, view) for j in range(1, k + 1)])


def reciprocal_rank(rankings: Sequence[Grouped], view: View = "pessimistic") -> Fraction:
    """MRR. Raises `ValueError` without incidents."""
    return mean([reciprocal_rank_of(one, view) for one in rankings])


def retrieval(k: int, rankings: Sequence[Grouped], budget: int | None = None) -> Fraction:
    """Retrieval@budget: the AC@k of a perfect re-ranking of each answer's first `budget`, or of all, candidates."""
    return mean([reachable_within(k, one, budget) for one in rankings])


def rerank(k: int, rankings: Sequence[Grouped], budget: int | None = None) -> Fraction | None:
    """Rerank@k: what the order makes of what was retrieved, AC@k = retrieval * rerank; None if nothing was."""
    reachable = retrieval(k, rankings, budget)
    return accuracy(k, rankings) / reachable if reachable else None


def random_order(pool: Collection[str], expected: Collection[str]) -> Grouped:
    """A ranking in which all candidates are equal: its expected view is chance."""
    known = set(pool)
    groups = (Group(0, len(known), len(known & set(expected))),) if known else ()
    return Grouped(groups, len(set(expected)))


def _metrics(
    rows: Sequence[IncidentResult], pools: Pools | None, cutoffs: Sequence[int]
) -> dict[str, object]:
    rankings = [ranking_of(row) for row in rows]
    known = pools is not None and all(row.id in pools for row in rows)
    chance = [random_order((pools or {})[row.id], row.expected) for row in rows] if known else None
    statuses = [row.status for row in rows]
    return {
        "incidents": len(rows),
        "ranked": statuses.count("Ranked"),
        "errors": statuses.count("Error"),
        "timeouts": statuses.count("Timeout"),
        "missing": statuses.count("Missing"),
        "non_finite": sum(
            one.score is not None and not is_finite(one.score)
            for one in chain.from_iterable(row.candidates for row in rows)
        ),
        "tie_rate": nine(mean([Fraction(one.tied) for one in rankings])) if rows else None,
        "reciprocal_rank": _views(lambda view: reciprocal_rank(rankings, view)) if rows else None,
        "at": tuple(_at(k, rankings, chance) for k in cutoffs) if rows else (),
    }


def _at(k: int, rankings: Sequence[Grouped], chance: Sequence[Grouped] | None) -> AtCutoff:
    ordered = rerank(k, rankings)
    luck = None if chance is None else average(k, chance, "expected")
    return AtCutoff(
        k=k,
        accuracy=_views(lambda view: accuracy(k, rankings, view)),
        average=_views(lambda view: average(k, rankings, view)),
        retrieval=nine(retrieval(k, rankings)),
        rerank=None if ordered is None else nine(ordered),
        chance=None if chance is None else nine(accuracy(k, chance, "expected")),
        chance_average=None if luck is None else nine(luck),
        lift=None if luck is None else nine(average(k, rankings) - luck),
    )


def _views(of: Callable[[View], Fraction]) -> Views:
    return Views(
        pessimistic=nine(of("pessimistic")), optimistic=nine(of("optimistic")), expected=nine(of("expected"))
    )
