"""Whether the component did anything at all, beside the verdict and never part of it. Pure."""

from collections.abc import Iterator, Mapping

from rca_eval.contract.scorecard import ArmResult, IncidentResult
from rca_eval.gate.result import CheckResult
from rca_eval.gate.subject import Subject, ranking


def no_effect_check(s: Subject) -> Iterator[CheckResult]:
    """A warning: a component that changes no ranking here passes, but has shown nothing either.

    What counts is what a reader of the rankings sees: status and order of each answer, ties as the worst case. A score, a
    decision or evidence that is written differently above the same order is no effect.
    """
    if not s.context.component:
        yield CheckResult(name="NoEffect", result="NotApplicable", message="the run measures no component")
        return
    with_, without = s.arms(s.candidate_name), s.arms(s.reference_name)
    if not with_ or not without:
        return
    mine, other = _answers(with_), _answers(without)
    moved = [at for at in mine if at not in other or _seen(s, mine[at]) != _seen(s, other[at])]
    if moved or mine.keys() != other.keys():
        text = f"With ranks otherwise than Without in {len(moved)} of {len(mine)} answers: the component has an effect"
        yield CheckResult(name="NoEffect", result="Passed", message=text)
        return
    scored = sum(_scores(mine[at]) != _scores(other[at]) for at in mine)
    beside = f"; scores moved in {scored} of {len(mine)} answers, but no order" if scored else ""
    text = f"With ranks as Without in every incident: the component changed no ranking here{beside}"
    yield CheckResult(name="NoEffect", result="Warning", message=text)


def _answers(arms: Mapping[str, ArmResult]) -> dict[tuple[str, str], IncidentResult]:
    return {(arm.arm, row.id): row for arm in arms.values() for row in arm.incidents}


def _seen(s: Subject, row: IncidentResult) -> tuple[object, ...]:
    """The order both as the engine gave it and as it is judged: a new tie moves the cause in the second alone."""
    return row.status, ranking(row), s.ranks.order(row)


def _scores(row: IncidentResult) -> dict[str, str | None]:
    return {one.key: one.score for one in row.candidates}
