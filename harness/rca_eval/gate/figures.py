"""All numbers that a verdict could rest on, so that one that is no number can be found and named."""

from collections.abc import Iterator

from rca_eval.contract.scorecard import ArmResult
from rca_eval.gate.subject import Subject


def all_arms(s: Subject) -> Iterator[ArmResult]:
    """Every arm of every variant that ran, of the control and of the baseline."""
    for variant in s.scorecard.deterministic.variants:
        yield from variant.arms
    if s.scorecard.deterministic.control:
        yield from s.scorecard.deterministic.control.arms
    if s.baseline:
        yield from s.baseline.arms


def figures(s: Subject) -> Iterator[tuple[str, str]]:
    """Every figure of scorecard and baseline that may not be finite, with words for where it stands: of an arm that is known
    to hold finite ones only, none.
    """
    for arm in all_arms(s):
        if not s.ranks.finite(arm, arm_figures):
            yield from arm_figures(arm)
    measured = s.scorecard.measured
    yield from (("MTTR", row.value) for row in measured.mttr_seconds if row.value is not None)
    yield from (
        (f"a time of {row.incident}", v) for row in measured.seconds for v in row.values if v is not None
    )
    yield from (("a total time", value) for value in measured.total_seconds)
    if s.baseline:
        yield from (
            ("the baseline's MTTR", row.value) for row in s.baseline.mttr_seconds if row.value is not None
        )


def arm_figures(arm: ArmResult) -> Iterator[tuple[str, str]]:
    """Every figure of one arm, with words for where it stands."""
    yield from ((f"{arm.arm} {name}", value) for name, value in arm.metrics.items())
    for result in arm.incidents:
        for row in result.candidates:
            found = [row.score, *(row.terms or {}).values()]
            yield from ((f"a score of {result.id}", value) for value in found if value is not None)
