"""One scorecard out of the parts that the shards of one evaluation made. Pure.

The deterministic part is, byte for byte, the one of the same evaluation in one piece. Whatever is missing, there twice or
of something else is refused by name, so that a smaller set never stands for the whole.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction

from rca_eval.contract.canonical import digest
from rca_eval.contract.dealing import ArmCase, deal
from rca_eval.contract.errors import ContractError, Reason
from rca_eval.contract.merge_checks import check_rows, mismatch
from rca_eval.contract.metrics import aggregate
from rca_eval.contract.numbers import nine
from rca_eval.contract.part import ScorecardPart, ShardArm
from rca_eval.contract.protocol import ARMS, Arm
from rca_eval.contract.scorecard import (
    ArmResult,
    Control,
    Deterministic,
    IncidentResult,
    Measured,
    MttrRow,
    Repeats,
    Scorecard,
    ShadowDecisionRow,
    VariantResult,
)
from rca_eval.contract.timing import mttr_of
from rca_eval.contract.usage import together

MAX_DIFFERENCES = 20
_SHOWN = 5

type Arms = tuple[ArmResult, ...]
type ArmsOf = Callable[[ScorecardPart], Arms]


def merge(parts: Sequence[ScorecardPart]) -> Scorecard:
    """The whole scorecard, whatever the order of the parts.

    Raises `ContractError`: ShardMissing (no part, or not all), ShardMismatch (a part twice, or of another run, attempt,
    dataset, revision, engine or other modes; incidents that overlap, are missing, or were not dealt to their part).
    """
    parts = _complete(parts)
    for part in parts:
        check_rows(part)
    ids = _incidents(parts)
    _as_dealt(parts)
    first = parts[0].deterministic
    deterministic = Deterministic(
        dataset=first.dataset.model_copy(update={"incidents": ids}),
        revision=first.revision,
        variants=tuple(
            VariantResult(
                name=variant.name,
                modes=variant.modes,
                same_as=variant.same_as,
                arms=() if variant.same_as else _arms(parts, _variant(at)),
            )
            for at, variant in enumerate(first.variants)
        ),
        control=Control(name="KnownBad", arms=_arms(parts, _control)) if first.control else None,
    )
    return Scorecard(
        provenance=parts[0].provenance, deterministic=deterministic, measured=_measured(parts, deterministic)
    )


def _complete(parts: Sequence[ScorecardPart]) -> list[ScorecardPart]:
    """All parts of one evaluation, each once, in order."""
    if not parts:
        raise ContractError(Reason.SHARD_MISSING, "there is no part to merge; name the parts of one run.")
    first = parts[0]
    for part in parts[1:]:
        for what, of in _COMMON.items():
            if of(part) != of(first):
                raise mismatch(
                    part, f"has another {what} than {first.shard.name}; merge the parts of one run"
                )
    found: dict[int, ScorecardPart] = {}
    for part in parts:
        if part.shard.index >= part.shard.count:
            raise mismatch(part, "does not exist; score it again")
        if part.shard.index in found:
            raise mismatch(part, "is there twice; name each part once")
        found[part.shard.index] = part
    absent = [str(at + 1) for at in range(first.shard.count) if at not in found]
    if absent:
        raise ContractError(
            Reason.SHARD_MISSING,
            f"of {first.shard.count} shards there is no part of {_list(absent)}; a part of the incidents is never "
            "judged, run what is missing again.",
        )
    return [found[at] for at in sorted(found)]


_COMMON: dict[str, Callable[[ScorecardPart], object]] = {
    "number of shards": lambda part: part.shard.count,
    "dataset": lambda part: part.deterministic.dataset.sha256,
    "revision": lambda part: part.deterministic.revision,
    "run or attempt": lambda part: part.shard.run,
    "profile": lambda part: part.deterministic.dataset.profile,
    "window": lambda part: part.deterministic.dataset.window_seconds,
    "number of incidents": lambda part: part.shard.incidents,
    "list of incidents": lambda part: part.shard.incidents_sha256,
    "number of cases": lambda part: [(arm.arm, arm.total) for arm in part.shard.arms],
    "set of variants or modes": lambda part: [
        (v.name, sorted(v.modes.items()), v.same_as) for v in part.deterministic.variants
    ],
    "control": lambda part: part.deterministic.control is None,
    "provenance": lambda part: part.provenance,
    "engine": lambda part: part.measured.engine,
    "number of repeats": lambda part: part.measured.repeats.count,
}


def _incidents(parts: Sequence[ScorecardPart]) -> tuple[str, ...]:
    """The ids of the whole dataset in the order of its file, and every arm complete."""
    shard = parts[0].shard
    known: dict[int, str] = {}
    for arm in shard.arms:
        places: set[int] = set()
        for part in parts:
            for place, name in _places(part, arm.arm):
                if place in places:
                    raise mismatch(part, f"holds {name} of {arm.arm}, which another part holds too")
                if known.setdefault(place, name) != name:
                    raise mismatch(part, f"has {name} where another part has {known[place]}")
                places.add(place)
        if len(places) != arm.total:
            raise mismatch(
                None, f"the parts hold {len(places)} of {arm.total} cases of {arm.arm}; score them again"
            )
    ids = tuple(known[place] for place in sorted(known))
    if sorted(known) != list(range(shard.incidents)) or digest(list(ids)) != shard.incidents_sha256:
        raise mismatch(
            None,
            f"the parts hold {len(ids)} incidents, not the {shard.incidents} of the dataset; score them again",
        )
    return ids


def _as_dealt(parts: Sequence[ScorecardPart]) -> None:
    held: dict[ArmCase, ScorecardPart] = {
        (arm.arm, name): part
        for part in parts
        for arm in part.shard.arms
        for _, name in _places(part, arm.arm)
    }
    dealt = deal(parts[0].deterministic.dataset.sha256, held, len(parts))
    for case, part in held.items():
        if dealt[case] != part.shard.index:
            raise mismatch(part, f"holds {case[1]} of {case[0]}, which was not dealt to it; score it again")


def _places(part: ScorecardPart, arm: Arm) -> Iterator[tuple[int, str]]:
    """Place and incident of each row of an arm."""
    rows = next((one.incidents for one in _first_arms(part) if one.arm == arm), ())
    places = next((one.places for one in part.shard.arms if one.arm == arm), ())
    return zip(places, (row.id for row in rows), strict=True)


def _first_arms(part: ScorecardPart) -> Arms:
    return next((v.arms for v in part.deterministic.variants if v.same_as is None), ())


def _variant(at: int) -> ArmsOf:
    return lambda part: part.deterministic.variants[at].arms


def _control(part: ScorecardPart) -> Arms:
    control = part.deterministic.control
    return control.arms if control else ()


def _arms(parts: Sequence[ScorecardPart], arms_of: ArmsOf) -> Arms:
    """The arms of one ranker, their rows in the order of the dataset's file, their metrics from all of them."""
    found = []
    for arm in ARMS:
        rows: list[tuple[int, IncidentResult]] = []
        for part in parts:
            places = _shard_arm(part, arm)
            mine = next((one.incidents for one in arms_of(part) if one.arm == arm), ())
            rows += zip(places.places if places else (), mine, strict=True)
        if rows:
            whole = tuple(row for _, row in sorted(rows, key=lambda pair: pair[0]))
            figures = aggregate([(row.order(), row.expected) for row in whole])
            found.append(
                ArmResult(
                    arm=arm, incidents=whole, metrics={name: nine(value) for name, value in figures.items()}
                )
            )
    return tuple(found)


def _shard_arm(part: ScorecardPart, arm: Arm) -> ShardArm | None:
    return next((one for one in part.shard.arms if one.arm == arm), None)


def _measured(parts: Sequence[ScorecardPart], whole: Deterministic) -> Measured:
    ran = [variant for variant in whole.variants if variant.same_as is None]
    order = {
        (variant.name, arm.arm, row.id): at
        for variant in ran
        for arm in variant.arms
        for at, row in enumerate(arm.incidents)
    }
    ranks = {key: at for at, key in enumerate(order)}
    seconds = sorted(
        (row for part in parts for row in part.measured.seconds),
        key=lambda row: ranks[row.variant, row.arm, row.incident],
    )
    would_be = sorted(
        (row for part in parts for row in part.measured.would_be),
        key=lambda row: ranks[row.variant, row.arm, row.incident],
    )
    by_arm: dict[tuple[str, str], list[int]] = {}
    for at, row in enumerate(seconds):
        by_arm.setdefault((row.variant, row.arm), []).append(at)
    decisions: dict[tuple[str, str | None], list[int]] = {}
    for one in (row for part in parts for row in part.measured.shadow_decisions):
        so_far = decisions.setdefault((one.variant, one.component), [0, 0])
        so_far[0] += one.agree
        so_far[1] += one.disagree
    seen = dict.fromkeys((row.variant, row.component) for row in would_be)
    repeats = parts[0].measured.repeats.count
    return Measured(
        engine=parts[0].measured.engine,
        mttr_seconds=tuple(
            MttrRow(
                variant=variant.name,
                arm=arm.arm,
                value=mttr_of(seconds[at] for at in by_arm[variant.name, arm.arm]),
            )
            for variant in ran
            for arm in variant.arms
        ),
        seconds=tuple(seconds),
        repeats=Repeats(
            count=repeats,
            identical=all(part.measured.repeats.identical for part in parts),
            differences=tuple(_differences(parts)),
        ),
        total_seconds=tuple(
            nine(sum((Fraction(part.measured.total_seconds[at]) for part in parts), Fraction(0)))
            for at in range(repeats)
        ),
        would_be=tuple(would_be),
        shadow_decisions=tuple(
            ShadowDecisionRow(component=component, variant=variant, agree=count[0], disagree=count[1])
            for variant, component in seen
            if (count := decisions.get((variant, component)))
        ),
        usage=together(
            [part.measured.usage for part in parts],
            [len(part.measured.seconds) * repeats for part in parts],
        ),
    )


def _differences(parts: Sequence[ScorecardPart]) -> Iterable[str]:
    return list(dict.fromkeys(text for part in parts for text in part.measured.repeats.differences))[
        :MAX_DIFFERENCES
    ]


def _list(names: Sequence[str]) -> str:
    rest = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
