"""What stands beside a verdict and is never part of it: what moved, what is close, how sure the comparison is. Pure."""

from collections.abc import Iterator, Mapping
from fractions import Fraction

from rca_eval.contract.numbers import nine
from rca_eval.contract.scorecard import ArmResult, IncidentResult
from rca_eval.gate.ranks import Ranks
from rca_eval.gate.result import Against, ArmStatistics, ClassCount, Margin, Movement
from rca_eval.gate.statistics import (
    LEVEL,
    RESAMPLES,
    SEED,
    bootstrap_drop,
    mcnemar_exact,
    mcnemar_mid_p,
    wilson,
)
from rca_eval.gate.subject import comparable

ARM_ORDER = ("LivePath", "ScorerOnly")  # the honest arm names the verdict before the sentinel does
SMALLEST_MARGINS = 3

Arms = Mapping[str, ArmResult]
Moves = tuple[Movement, ...]


def movements(mine: Arms, reference: Arms, ranks: Ranks | None = None) -> tuple[Moves, Moves, Moves]:
    """Incidents that are lost, won, and neither, by the pessimistic rank; those that both sides measured."""
    ranks = ranks or Ranks()
    regressed: list[Movement] = []
    fixed: list[Movement] = []
    unchanged: list[Movement] = []
    for arm in ARM_ORDER:
        before = {row.id: ranks.rank(row) for row in reference[arm].incidents} if arm in reference else {}
        for row in mine[arm].incidents if arm in mine else ():
            if row.id not in before:
                continue
            move = Movement(arm=arm, incident=row.id, before=before[row.id], after=ranks.rank(row))
            was, now = move.before == 1, move.after == 1
            (unchanged if was == now else fixed if now else regressed).append(move)
    return tuple(regressed), tuple(fixed), tuple(unchanged)


def margins(
    live: ArmResult | None, reference: ArmResult | None, ranks: Ranks | None = None
) -> tuple[Margin, ...]:
    """The three smallest margins of an arm: what will be lost next."""
    ranks = ranks or Ranks()
    before = {row.id: ranks.margin(row) for row in reference.incidents} if reference else {}
    known = [
        (margin, row.id, live.arm)
        for row in (live.incidents if live else ())
        if live and (margin := ranks.margin(row)) is not None
    ]
    return tuple(
        _margin(arm, name, margin, before.get(name)) for margin, name, arm in sorted(known)[:SMALLEST_MARGINS]
    )


def arm_statistics(
    mine: ArmResult,
    reference: ArmResult,
    against: Against,
    tolerance: Fraction,
    ranks: Ranks | None = None,
) -> ArmStatistics:
    """One arm against one reference, paired by incident; incidents that only one side measured do not count."""
    ranks = ranks or Ranks()
    before, now = ranks.hits(reference), ranks.hits(mine)
    pairs = [(before[name], hit) for name, hit in now.items() if name in before]
    lost, won = pairs.count((True, False)), pairs.count((False, True))
    drop = bootstrap_drop(lost, won, len(pairs)) or (None, None)
    rate = wilson(sum(hit for _, hit in pairs), len(pairs)) or (None, None)
    resolution = Fraction(1, len(pairs)) if pairs else None
    return ArmStatistics(
        arm=mine.arm,
        against=against,
        incidents=len(pairs),
        regressed=lost,
        fixed=won,
        mcnemar_exact=_figure(mcnemar_exact(lost, won)),
        mcnemar_mid_p=_figure(mcnemar_mid_p(lost, won)),
        drop_low=_figure(drop[0]),
        drop_high=_figure(drop[1]),
        level=nine(LEVEL),
        resamples=RESAMPLES,
        seed=SEED,
        wilson_low=_figure(rate[0]),
        wilson_high=_figure(rate[1]),
        resolution=_figure(resolution),
        underpowered=resolution is None or resolution > tolerance,
    )


def class_counts(
    mine: Arms, baseline: Arms, without: Arms, ranks: Ranks | None = None
) -> Iterator[ClassCount]:
    """Hits by fault class, classes in the order of their names; a reference over other incidents says nothing."""
    ranks = ranks or Ranks()
    for arm in ARM_ORDER:
        if arm not in mine:
            continue
        now = mine[arm].incidents
        before = baseline[arm] if arm in baseline and comparable(mine[arm], baseline[arm]) else None
        beside = without[arm] if arm in without and comparable(mine[arm], without[arm]) else None
        for name in sorted({row.fault_class for row in now}):
            yield ClassCount(
                arm=arm,
                fault_class=name,
                incidents=sum(row.fault_class == name for row in now),
                hits=_hits_of(now, name, ranks),
                baseline=_hits_of(before.incidents, name, ranks) if before else None,
                without=_hits_of(beside.incidents, name, ranks) if beside else None,
            )


def _hits_of(rows: tuple[IncidentResult, ...], fault_class: str, ranks: Ranks) -> int:
    return sum(ranks.rank(row) == 1 for row in rows if row.fault_class == fault_class)


def _margin(arm: str, name: str, now: Fraction, before: Fraction | None) -> Margin:
    return Margin(
        arm=arm,
        incident=name,
        value=nine(now),
        baseline=_figure(before),
        margin_delta=None if before is None else nine(now - before),
    )


def _figure(value: Fraction | None) -> str | None:
    return None if value is None else nine(value)
