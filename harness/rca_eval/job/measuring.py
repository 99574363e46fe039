"""The measured part of a scorecard: what a machine adds to the answers, and whether the repeats agree."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from rca_eval.contract import (
    ARMS,
    Arm,
    IncidentResult,
    Measured,
    MttrRow,
    Prediction,
    Predictions,
    Repeats,
    SecondsRow,
    ShadowDecisionRow,
    Variant,
    WouldBeRow,
    canonical,
    nine,
)
from rca_eval.contract.protocol import VariantName
from rca_eval.contract.timing import mttr_of
from rca_eval.contract.usage import total
from rca_eval.job.prepare import Case

Key = tuple[str, str, str]
"""Variant, arm, case."""
MAX_DIFFERENCES = 20


def measured(
    work: Sequence[Case],
    unique: Sequence[Variant],
    answers: Sequence[Predictions],
    by_key: Sequence[Mapping[Key, Prediction]],
    results: Sequence[Mapping[Key, IncidentResult]],
) -> Measured:
    """Times, repeats and would-be rankings; every argument with one entry for each repeat, in order."""
    seconds = [
        SecondsRow(
            variant=variant.name,
            arm=case.arm,
            incident=case.incident.id,
            values=tuple(_seconds(repeat.get((variant.name, case.arm, case.case))) for repeat in by_key),
        )
        for variant in unique
        for case in work
    ]
    would_be = [
        WouldBeRow(
            component=component,
            variant=variant.name,
            arm=case.arm,
            incident=case.incident.id,
            entities=tuple(dict.fromkeys(case.names.get(entity, entity) for entity in entities)),
        )
        for variant in unique
        for case in work
        for component, entities in _would_be(by_key[0].get((variant.name, case.arm, case.case)))
    ]
    differences = _differences(work, unique, answers, by_key, results)
    arms: list[Arm] = [arm for arm in ARMS if any(case.arm == arm for case in work)]
    return Measured(
        engine=answers[0].engine,
        mttr_seconds=tuple(
            MttrRow(
                variant=variant.name,
                arm=arm,
                value=mttr_of(r for r in seconds if (r.variant, r.arm) == (variant.name, arm)),
            )
            for variant in unique
            for arm in arms
        ),
        seconds=tuple(seconds),
        repeats=Repeats(
            count=len(answers), identical=not differences, differences=tuple(differences[:MAX_DIFFERENCES])
        ),
        total_seconds=tuple(
            nine(sum((Fraction(a.seconds) for a in repeat.predictions), Fraction(0))) for repeat in answers
        ),
        would_be=tuple(would_be),
        shadow_decisions=_decisions(would_be, work, results[0]),
        usage=total(
            len(work) * len(unique) * len(answers),
            (answer.usage for repeat in answers for answer in repeat.predictions),
        ),
    )


def _decisions(
    rows: Sequence[WouldBeRow], work: Sequence[Case], results: Mapping[Key, IncidentResult]
) -> tuple[ShadowDecisionRow, ...]:
    """Agree means the same list of services; an incident without a ranking has nothing to agree with."""
    case_of = {(case.arm, case.incident.id): case.case for case in work}
    count: dict[tuple[VariantName, str | None], list[int]] = {}
    for row in rows:
        governing = results[row.variant, row.arm, case_of[row.arm, row.incident]]
        if governing.status == "Ranked":
            same = row.entities == tuple(one.key for one in governing.candidates)
            count.setdefault((row.variant, row.component), [0, 0])[not same] += 1
    return tuple(
        ShadowDecisionRow(component=component, variant=variant, agree=agree, disagree=disagree)
        for (variant, component), (agree, disagree) in count.items()
    )


def _would_be(answer: Prediction | None) -> list[tuple[str | None, tuple[str, ...]]]:
    if answer is None or answer.would_be is None:
        return []
    if isinstance(answer.would_be, tuple):
        return [(None, answer.would_be)]
    return sorted(answer.would_be.items())


def _seconds(answer: Prediction | None) -> str | None:
    return None if answer is None else nine(Fraction(answer.seconds))


def _differences(
    work: Sequence[Case],
    unique: Sequence[Variant],
    answers: Sequence[Predictions],
    by_key: Sequence[Mapping[Key, Prediction]],
    results: Sequence[Mapping[Key, IncidentResult]],
) -> list[str]:
    found = []
    for number in range(1, len(answers)):
        if answers[number].engine != answers[0].engine:
            found.append(f"repeat {number + 1} was answered by another engine or version")
        for case in work:
            for key in [(variant.name, case.arm, case.case) for variant in unique]:
                first, other = by_key[0].get(key), by_key[number].get(key)
                same = canonical(results[0][key]) == canonical(results[number][key])
                if not same or (first and first.would_be) != (other and other.would_be):
                    found.append(
                        f"{key[0]}/{key[1]}/{case.incident.id} differs between repeat 1 and {number + 1}"
                    )
    return found
