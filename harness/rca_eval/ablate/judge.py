"""What must hold in a matrix. Pure and exact.

Baseline    all Shadow is the committed baseline, byte for byte
Regression  AC@1 of every combination >= AC@1 of all Shadow - tolerance, in each arm
Protected   every protected or change-induced incident has AC@1 = 1 in every combination
Fidelity    what a component in Shadow would have ranked is what it ranks when it is Active, all others alike
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from rca_eval.ablate.run import ALL_SHADOW, COMBINATIONS, SHORT, Combination, Matrix, label
from rca_eval.contract import ArmResult, canonical, display
from rca_eval.engine import KEYS
from rca_eval.gate.subject import accuracy, hits, short_ids

CheckName = Literal["Baseline", "Regression", "Protected", "Fidelity"]
CHECKS: tuple[CheckName, ...] = ("Baseline", "Regression", "Protected", "Fidelity")


@dataclass(frozen=True)
class Finding:
    """Something that does not hold, in one cell: dataset, arm, combination. `missing` is a check that could not be made."""

    check: CheckName
    dataset: str
    message: str
    arm: str | None = None
    combination: Combination | None = None
    missing: bool = False

    @property
    def cell(self) -> str:
        """`graded/LivePath/live+cap`."""
        parts = [self.dataset, self.arm, None if self.combination is None else label(self.combination)]
        return "/".join(part for part in parts if part)


def judge(matrix: Matrix, *, tolerance: Fraction) -> list[Finding]:
    """All that does not hold, in the order of the checks."""
    return [
        *_baseline(matrix),
        *_regression(matrix, tolerance),
        *_protected(matrix),
        *_fidelity(matrix),
    ]


def _baseline(matrix: Matrix) -> Iterator[Finding]:
    name, baseline = matrix.subject.name, matrix.subject.baseline
    if baseline is None:
        text = "there is no baseline of this dataset; write one with `rca-eval baseline write` and name it with --baseline"
        yield Finding("Baseline", name, text, missing=True)
        return
    if baseline.dataset.sha256 != matrix.subject.sha256:
        text = "the baseline is of another dataset; name the one that was written from this file"
        yield Finding("Baseline", name, text, missing=True)
        return
    mine = {arm.arm: arm for arm in matrix.arms[ALL_SHADOW]}
    committed = {arm.arm: arm for arm in baseline.arms}
    for arm in sorted(mine.keys() | committed.keys()):
        if arm not in mine or arm not in committed:
            where = "baseline" if arm in mine else "dataset"
            yield Finding("Baseline", name, f"the {where} has no such arm", arm, ALL_SHADOW)
        elif canonical(mine[arm]) != canonical(committed[arm]):
            changed = _changed(mine[arm], committed[arm])
            text = f"{len(changed)} of {len(mine[arm].incidents)} incidents differ from the baseline"
            names = f" ({short_ids(changed, changed)})" if changed else ""
            yield Finding("Baseline", name, f"{text}{names}", arm, ALL_SHADOW)


def _changed(mine: ArmResult, committed: ArmResult) -> list[str]:
    before = {row.id: canonical(row) for row in committed.incidents}
    return [row.id for row in mine.incidents if before.get(row.id) != canonical(row)]


def _regression(matrix: Matrix, tolerance: Fraction) -> Iterator[Finding]:
    for reference in matrix.arms[ALL_SHADOW]:
        base, had = accuracy(reference), hits(reference)
        for active in COMBINATIONS:
            mine = matrix.arm(active, reference.arm)
            if accuracy(mine) < base - tolerance:
                lost = [key for key, hit in hits(mine).items() if had[key] and not hit]
                text = (
                    f"AC@1 {display(accuracy(mine))} < {display(base)} - {display(tolerance, 2)} "
                    f"({short_ids(lost, had)} lost)"
                )
                yield Finding("Regression", matrix.subject.name, text, reference.arm, active)


def _protected(matrix: Matrix) -> Iterator[Finding]:
    for active in COMBINATIONS:
        for arm in matrix.arms[active]:
            kept = hits(arm)
            guarded = [row.id for row in arm.incidents if row.protected or row.change_induced]
            lost = [key for key in guarded if not kept[key]]
            if lost:
                text = f"{len(lost)} of {len(guarded)} protected incidents lost ({short_ids(lost, kept)})"
                yield Finding("Protected", matrix.subject.name, text, arm.arm, active)


def _fidelity(matrix: Matrix) -> Iterator[Finding]:
    for active in COMBINATIONS:
        for arm in matrix.arms[active]:
            for key in KEYS:
                if key in active:
                    continue
                ids = [row.id for row in arm.incidents]
                wrong = [
                    one
                    for one in ids
                    if matrix.would_be[active, arm.arm, one].get(key)
                    != matrix.rankings[active | {key}, arm.arm, one]
                ]
                if wrong:
                    text = (
                        f"what {SHORT[key]} would have ranked is not what it ranks in {len(wrong)} of {len(ids)} "
                        f"incidents ({short_ids(wrong, ids)})"
                    )
                    yield Finding("Fidelity", matrix.subject.name, text, arm.arm, active)
