"""From a stored scorecard to the gate's verdict."""

from __future__ import annotations

from datetime import datetime, timedelta

from rca_rollout.api.common import RunPhase
from rca_rollout.api.reasons import Reason
from rca_rollout.api.run_status import StoredScorecard
from rca_rollout.core import answers, budget, verdict
from rca_rollout.core.problem import Problem
from rca_rollout.core.runs.ending import end
from rca_rollout.core.runs.image import unknown
from rca_rollout.core.runs.snapshot import RunPlan, RunSnapshot, StoreScorecard
from rca_rollout.core.suites import SuiteFacts


def conclude(snapshot: RunSnapshot, suite: SuiteFacts, walls: tuple[float, ...], now: datetime) -> RunPlan:
    """The Job has succeeded: its scorecard is stored first, and judged once it is."""
    reading = snapshot.reading
    if reading is None:
        return RunPlan(snapshot.run.status, wake_at=now + timedelta(seconds=5))
    if isinstance(reading, Problem):
        return end(snapshot, RunPhase.ERROR, reading.reason, reading.message, now)
    if not reading.stored:
        # No watch tells of this ConfigMap: it is read back, and judged, in the next look.
        return RunPlan(snapshot.run.status, (StoreScorecard(reading),), wake_at=now + timedelta(seconds=1))
    if nothing := unknown(snapshot):
        return end(snapshot, RunPhase.INCONCLUSIVE, Reason.IMAGE_CHANGED, nothing, now)
    inputs = snapshot.run.status.inputs
    assert inputs is not None  # noqa: S101 - no Job without inputs
    card = reading.scorecard
    measured = {variant.name: dict(variant.modes) for variant in inputs.variants}
    told = {variant.name: dict(variant.modes) for variant in card.deterministic.variants}
    if told != measured:
        text = "the scorecard was measured under other modes than intended: is the harness image of this version?"
        return end(snapshot, RunPhase.INCONCLUSIVE, Reason.VARIANT_MISSING, text, now)
    result = verdict.judge(
        card,
        suite,
        dataset_sha256=inputs.dataset_sha256 or "",
        revision=inputs.revision or "",
        component=snapshot.component is not None,
        wall_seconds=tuple(int(wall) for wall in walls),
        sha256=reading.sha256 if reading.parts is None else None,
    )
    with_, without = verdict.accuracy_of(card, "With"), verdict.accuracy_of(card, "Without")
    delta = with_ - without if with_ is not None and without is not None else None
    usage = budget.usage_of(card)
    figures = snapshot.run.status.evolve(
        checks=verdict.checks_of(result),
        regression_of=verdict.blame_of(card, suite, result),
        harm=verdict.harm_of(card, suite, result) if snapshot.component is not None else None,
        fixed=verdict.fixed_of(card) if snapshot.component is not None else None,
        scorecard=StoredScorecard(
            config_map_ref=reading.config_map,
            key=reading.key,
            sha256=reading.sha256,
            deterministic_sha256=answers.deterministic_sha256(card),
            parts=reading.parts,
        ),
        accuracy=verdict.figure(with_),
        delta=verdict.figure(delta, signed=True),
        mttr=verdict.seconds(verdict.mttr_of(card, "With")),
        baseline=verdict.figure(suite.accuracy),
        usage=usage,
        judge=snapshot.judge,
    )
    if result.verdict == "Passed" and (over := budget.overrun(suite.spec.budget, usage)):
        return end(snapshot, RunPhase.INCONCLUSIVE, over.reason, over.message, now, status=figures)
    return end(
        snapshot, RunPhase(result.verdict), verdict.reason_of(result), result.message, now, status=figures
    )
