"""References of a baseline: what was answered with components Active, from the scorecards that measured it."""

from collections.abc import Iterable, Iterator

from rca_eval.contract import Arm, Baseline, ContractError, Reason, Scorecard
from rca_eval.contract.scorecard import Reference, fingerprint
from rca_eval.replay.baseline import check_measured


def references_of(card: Scorecard) -> Iterator[Reference]:
    """One for each arm of each variant with a component Active. Raises `ContractError(BaselineInvalid)`."""
    check_measured(card)
    for variant in card.deterministic.variants:
        if not variant.active:
            continue
        for arm in card.deterministic.arms_of(variant.name) or ():
            yield Reference(
                active=variant.active,
                arm=arm.arm,
                incidents={result.id: fingerprint(result) for result in arm.incidents},
            )


def with_references(
    baseline: Baseline, cards: Iterable[Scorecard], *, kept: Iterable[Reference] = ()
) -> Baseline:
    """The baseline with what the scorecards measured; `kept` ones stay where nothing was measured anew.

    Raises `ContractError(DatasetChanged)` for a scorecard of another dataset or incidents, and `BaselineInvalid` for
    one that must not become a reference, or that contradicts another.
    """
    found = {(one.active, one.arm): one for one in kept}
    new: dict[tuple[tuple[str, ...], Arm], Reference] = {}
    for card in cards:
        if card.deterministic.dataset != baseline.dataset:
            raise ContractError(
                Reason.DATASET_CHANGED,
                "a reference is of another dataset, or of a part of it, than the baseline; replay the same incidents.",
            )
        for one in references_of(card):
            if new.setdefault((one.active, one.arm), one) != one:
                raise ContractError(
                    Reason.BASELINE_INVALID,
                    f"two scorecards answer otherwise with {', '.join(one.active)} Active; name those of one version.",
                )
    found |= new
    rows = sorted(found.values(), key=lambda one: (len(one.active), one.active, one.arm))
    return baseline.model_copy(update={"references": tuple(rows)})
