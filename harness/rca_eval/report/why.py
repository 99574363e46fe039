"""The one sentence under the verdict: which change alone would bring the lost incidents back."""

from collections import Counter
from collections.abc import Sequence

from rca_eval.gate.counterfactual import Change, Counterfactual, restores_all
from rca_eval.report.document import Why
from rca_eval.report.rows import Pair
from rca_eval.report.text import clean, count

Explained = Sequence[tuple[Pair, Counterfactual | None]]


def why_of(explained: Explained, *, total: int, weights: tuple[str, ...], notes: tuple[str, ...]) -> Why:
    """`total` counts all lost incidents, also those beyond the ones that were taken apart."""
    arms = {pair.side.now.arm for pair, _ in explained}
    arm = "LivePath" if "LivePath" in arms else "ScorerOnly"
    mine = [(pair, found) for pair, found in explained if pair.side.now.arm == arm]
    tried = len({(one.kind, one.name) for _, found in mine if found for one in found.changes})
    sentence = _sentence(mine, tried) if mine else None
    if sentence and total > len(explained):
        sentence += f"; of {total} lost the first {len(explained)} were taken apart"
    if sentence is None and weights:
        sentence = f"other weights than in the reference: {weights[0]}"
    return Why(sentence=sentence, tried=tried, weights=weights, notes=notes)


def _sentence(mine: Explained, tried: int) -> str | None:
    silent = [pair for pair, _ in mine if pair.now.status != "Ranked"]
    ranked = [found for pair, found in mine if found and pair.now.status == "Ranked"]
    infra = ""
    if silent:
        kinds = ", ".join(
            f"{number} {name}" for name, number in sorted(Counter(p.now.status for p in silent).items())
        )
        infra = f"{len(silent)} of {len(mine)} lost incidents have no ranking ({kinds})"
    if not ranked:
        return infra or None
    parts = [part for part in (infra, _of_ranked(ranked, tried)) if part]
    return "; ".join(parts)


def _of_ranked(ranked: Sequence[Counterfactual], tried: int) -> str:
    number = len(ranked)
    if not any(one.changes for one in ranked):
        return clean(next((one.note for one in ranked if one.note), "nothing differs from the reference"))
    everything = restores_all(ranked)
    if everything is not None:
        return f"{clean(everything.text)}; {_alone(everything, number)} ({count(tried, 'change')} tried)"
    best = Counter((change.kind, change.name) for one in ranked for change in one.restoring)
    if not best:
        return f"none of the {count(tried, 'change')} alone brings one of the {number} back"
    (kind, name), often = min(best.items(), key=lambda item: (-item[1], item[0][0] == "table", item[0]))
    text = next(c.text for one in ranked for c in one.restoring if (c.kind, c.name) == (kind, name))
    return (
        f"none of {count(tried, 'change')} alone brings all {number} back; the most, {often}: {clean(text)}"
    )


def _alone(change: Change, number: int) -> str:
    whom = {1: "it", 2: "both"}.get(number, f"all {number}")
    if change.kind == "candidate":
        return f"a candidate again is what would bring {whom} back"
    return f"put back alone it brings {whom} back"
