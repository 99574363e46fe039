"""Whether one part holds what it says, and nothing else, before it is merged with others. Pure."""

from collections.abc import Iterator

from rca_eval.contract.errors import ContractError, Reason
from rca_eval.contract.numbers import is_finite
from rca_eval.contract.part import ScorecardPart
from rca_eval.contract.protocol import Arm
from rca_eval.contract.scorecard import ArmResult


def mismatch(part: ScorecardPart | None, text: str) -> ContractError:
    """`ShardMismatch`; with a part, the sentence begins with its name."""
    return ContractError(Reason.SHARD_MISMATCH, f"{part.shard.name} {text}." if part else f"{text}.")


def check_rows(part: ScorecardPart) -> None:
    """Every variant that ran, and the control, hold exactly the cases of this part; so do the measured rows.

    Raises `ContractError(ShardMismatch)`, or ScorecardInvalid for a figure that is no number.
    """
    dealt = {arm.arm: arm.places for arm in part.shard.arms}
    if len(dealt) != len(part.shard.arms):
        raise mismatch(part, "lists an arm twice; score it again")
    for places in dealt.values():
        if list(places) != sorted(set(places)):
            raise mismatch(part, "has its incidents out of order; score it again")
    first: dict[Arm, list[str]] | None = None
    for whose, arms in _rankers(part):
        held = {arm.arm: [row.id for row in arm.incidents] for arm in arms}
        wanted = {name: len(places) for name, places in dealt.items() if places}
        if {name: len(ids) for name, ids in held.items()} != wanted or held != (first or held):
            raise mismatch(part, f"does not hold the same incidents under {whose}; score it again")
        first = held
    if first is None:
        raise mismatch(part, "holds no variant that ran; score it again")
    ids = {name for names in first.values() for name in names}
    if set(part.deterministic.dataset.incidents) != ids:
        raise mismatch(part, "lists other incidents than it holds; score it again")
    _check_measured(part, first)


def _rankers(part: ScorecardPart) -> Iterator[tuple[str, tuple[ArmResult, ...]]]:
    for variant in part.deterministic.variants:
        if variant.same_as is None:
            yield variant.name, variant.arms
    if part.deterministic.control:
        yield "the control", part.deterministic.control.arms


def _check_measured(part: ScorecardPart, held: dict[Arm, list[str]]) -> None:
    measured = part.measured
    ran = [variant.name for variant in part.deterministic.variants if variant.same_as is None]
    cases = {(name, arm, incident) for name in ran for arm, ids in held.items() for incident in ids}
    timed = [(row.variant, row.arm, row.incident) for row in measured.seconds]
    if len(timed) != len(cases) or set(timed) != cases:
        raise mismatch(part, "has not one time for each of its answers; score it again")
    if not {(row.variant, row.arm, row.incident) for row in measured.would_be} <= cases:
        raise mismatch(part, "logs would-be rankings of what it does not hold; score it again")
    if len(measured.total_seconds) != measured.repeats.count:
        raise mismatch(part, "has not one total time for each repeat; score it again")
    times = [*measured.total_seconds, *(value for row in measured.seconds for value in row.values if value)]
    scores = (
        row.score
        for _, arms in _rankers(part)
        for arm in arms
        for result in arm.incidents
        for row in result.candidates
        if row.score
    )
    bad = next((figure for figure in (*times, *scores) if not is_finite(figure)), None)
    if bad is not None:
        raise ContractError(
            Reason.SCORECARD_INVALID,
            f"{part.shard.name} holds the figure {bad}; a figure must be a finite number.",
        )
