"""Weights that a scorecard gives away: against the baseline, and against what the reference engine publishes."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from rca_eval.contract import ArmResult, Baseline, GroundTruth, Scorecard
from rca_eval.engine import NAME
from rca_eval.gate.counterfactual import (
    WeightChange,
    changed_weights,
    in_order,
    recovered_weights,
    weight,
    weights_text,
)
from rca_eval.report.incident_data import term_values

# Written out again on purpose: a scorecard of an engine whose tables were edited is held against these, and read
# from the engine they would have been edited with it. A test holds the two against each other.
PUBLISHED = {
    "baro": {
        term: Fraction(share, 100)
        for term, share in {"topo": 35, "tele": 25, "hist": 15, "chg": 15, "baro": 10}.items()
    },
    "baroNoChange": {
        term: Fraction(share, 17) for term, share in {"topo": 7, "tele": 5, "hist": 3, "baro": 2}.items()
    },
}
TAKEN_APART = 200  # incidents whose series are computed with; a weight shows in a handful


def shadow_weights(
    card: Scorecard, baseline: Baseline | None, truth: GroundTruth | None
) -> tuple[WeightChange, ...]:
    """Weights by which AllShadow differs from the baseline, LivePath first; with the dataset the weights themselves."""
    reference = {arm.arm: arm for arm in baseline.arms} if baseline else {}
    mine = {arm.arm: arm for arm in card.deterministic.arms_of("AllShadow") or ()}
    for name in ("LivePath", "ScorerOnly"):
        if name not in mine or name not in reference:
            continue
        found = changed_weights(mine[name], reference[name])
        if found:
            return tuple(_with_weights(found, mine[name], reference[name], truth if _ours(card) else None))
    return ()


def active_notes(card: Scorecard, baseline: Baseline | None, truth: GroundTruth | None) -> Iterator[str]:
    """What is knowable of tables that govern in Active only: a baseline, which is a Shadow, has no such table.

    With the dataset a weight is weighted value / value, and is held against the engine's published table.
    """
    live = next((arm for arm in card.deterministic.arms_of("With") or () if arm.arm == "LivePath"), None)
    if live is None or baseline is None:
        return
    known = {row.table for arm in baseline.arms for row in arm.incidents}
    unknown = sorted({row.table for row in live.incidents if row.table and row.table not in known})
    unknown = [table for table in unknown if table in PUBLISHED] if _ours(card) else []
    if not unknown:
        return
    if truth is None:
        names = ", ".join(unknown)
        whose = f"table {names} governs" if len(unknown) == 1 else f"tables {names} govern"
        yield (
            f"{whose} in Active only, so the baseline holds no weight of it; give --dataset to hold its weights "
            "against the published ones"
        )
        return
    part = _part(live)
    found = recovered_weights(part, term_values(truth, part))
    for table in unknown:
        differing = [
            f"{term} {weight(PUBLISHED[table][term])} -> {weight(found[table, term])}"
            for term in in_order(PUBLISHED[table])
            if (table, term) in found and found[table, term] != PUBLISHED[table][term]
        ]
        if differing:
            yield f"weights of table {table}, published -> measured: {', '.join(differing)}"


def text_of(changes: tuple[WeightChange, ...]) -> str:
    return weights_text(changes, limit=200)


def _with_weights(
    found: tuple[WeightChange, ...], mine: ArmResult, reference: ArmResult, truth: GroundTruth | None
) -> Iterator[WeightChange]:
    if truth is None:
        yield from found
        return
    one, other = _part(mine), _part(reference)
    now, then = (
        recovered_weights(one, term_values(truth, one)),
        recovered_weights(other, term_values(truth, other)),
    )
    for change in found:
        table, _, renamed = change.table.partition(" (now ")
        before, after = then.get((table, change.term)), now.get((renamed.rstrip(")") or table, change.term))
        if after is None and not change.ratio:
            after = Fraction(0)
        yield replace(change, before=before, after=after)


def _part(arm: ArmResult) -> ArmResult:
    """A few incidents of each table are enough, and a large set would be computed with for minutes."""
    return arm.model_copy(update={"incidents": arm.incidents[:TAKEN_APART]})


def _ours(card: Scorecard) -> bool:
    return card.measured.engine.name == NAME
