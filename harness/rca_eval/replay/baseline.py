"""A baseline is the AllShadow variant of a scorecard, written down with where it came from."""

import json

from rca_eval.contract import (
    Baseline,
    BaselineMttr,
    BaselineProvenance,
    ContractError,
    Reason,
    Scorecard,
    parse_baseline,
)
from rca_eval.data import PROFILES, baseline_bytes

CREATED_BY = "rca-eval baseline write"


def from_scorecard(card: Scorecard, *, comment: str = "") -> Baseline:
    """Raises `ContractError(BaselineInvalid)` if the scorecard must not become a reference."""
    arms = card.deterministic.arms_of("AllShadow")
    if not arms or "LivePath" not in {arm.arm for arm in arms}:
        raise _refused("it has no AllShadow variant with a LivePath arm")
    if not card.measured.repeats.identical or card.measured.repeats.count < 2:
        raise _refused("its repeats are not two or more identical ones")
    owner = card.deterministic.owner_of("AllShadow")
    return Baseline(
        comment=comment,
        provenance=BaselineProvenance(engine=card.measured.engine, created_by=CREATED_BY),
        dataset=card.deterministic.dataset,
        arms=arms,
        mttr_seconds=tuple(
            BaselineMttr(arm=row.arm, value=row.value)
            for row in card.measured.mttr_seconds
            if row.variant == owner
        ),
    )


def to_text(baseline: Baseline) -> str:
    """The file's text: one figure a line, so that a change of the reference reads well in a diff."""
    return json.dumps(baseline.plain(), indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def bundled_for(dataset_sha256: str) -> Baseline | None:
    """The committed baseline of a bundled dataset, found by the dataset's digest."""
    for profile in PROFILES:
        baseline = parse_baseline(baseline_bytes(profile), source=f"the bundled baseline of {profile}")
        if baseline.dataset.sha256 == dataset_sha256:
            return baseline
    return None


def _refused(why: str) -> ContractError:
    return ContractError(
        Reason.BASELINE_INVALID, f"the scorecard cannot become a baseline: {why}; replay all of it again."
    )
