"""A baseline is the AllShadow variant of a scorecard, written down with where it came from."""

import json

from rca_eval.contract import (
    ArmResult,
    Baseline,
    BaselineMttr,
    BaselineProvenance,
    ContractError,
    Reason,
    Scorecard,
    is_finite,
    nine,
    parse_baseline,
)
from rca_eval.data import ALL_PROFILES, baseline_bytes
from rca_eval.gate.figures import arm_figures

CREATED_BY = "rca-eval baseline write"


def from_scorecard(card: Scorecard, *, comment: str = "") -> Baseline:
    """The baseline that a scorecard gives. Raises `ContractError(BaselineInvalid)` if it must not become a reference."""
    arms = card.deterministic.arms_of("AllShadow")
    if not arms or "LivePath" not in {arm.arm for arm in arms}:
        raise _refused("it has no AllShadow variant with a LivePath arm")
    check_measured(card)
    owner = card.deterministic.owner_of("AllShadow")
    return Baseline(
        comment=comment,
        provenance=BaselineProvenance(
            engine=card.measured.engine,
            created_by=CREATED_BY,
            revision=card.deterministic.revision or None,
            evidence_sha256=card.deterministic_sha256(),
        ),
        dataset=card.deterministic.dataset,
        arms=arms,
        mttr_seconds=tuple(
            BaselineMttr(arm=row.arm, value=row.value)
            for row in card.measured.mttr_seconds
            if row.variant == owner
        ),
    )


def check_measured(card: Scorecard) -> None:
    """That everything in it was measured and follows from its rows. Raises `ContractError(BaselineInvalid)`."""
    if card.provenance != "Scored":
        raise _refused("it is self-reported, and a reference has to be measured")
    if not card.measured.repeats.identical or card.measured.repeats.count < 2:
        raise _refused("its repeats are not two or more identical ones")
    for variant in card.deterministic.variants:
        for arm in variant.arms:
            _check(arm)


def _check(arm: ArmResult) -> None:
    """A reference is believed for a long time, so its figures must follow from its rows."""
    if not arm.incidents:
        raise _refused(f"its arm {arm.arm} holds no incident")
    for where, figure in arm_figures(arm):
        if not is_finite(figure):
            raise _refused(f"{where} is {figure}")
    wrong = [row.id for row in arm.incidents if row.rank != row.true_rank()]
    if wrong:
        raise _refused(f"the rank of {wrong[0]} in {arm.arm} does not follow from its candidates")
    if arm.metrics != {name: nine(value) for name, value in arm.recomputed().items()}:
        raise _refused(f"the metrics of {arm.arm} do not follow from its rows")


def to_text(baseline: Baseline) -> str:
    """The file's text: one figure a line, so that a change of the reference reads well in a diff."""
    return json.dumps(baseline.plain(), indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def bundled_for(dataset_sha256: str) -> Baseline | None:
    """The committed baseline of a bundled dataset, found by the dataset's digest."""
    for profile in ALL_PROFILES:
        baseline = parse_baseline(baseline_bytes(profile), source=f"the bundled baseline of {profile}")
        if baseline.dataset.sha256 == dataset_sha256:
            return baseline
    return None


def _refused(why: str) -> ContractError:
    return ContractError(
        Reason.BASELINE_INVALID, f"the scorecard cannot become a baseline: {why}; replay all of it again."
    )
