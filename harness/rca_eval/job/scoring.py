"""Grade predictions against the labels. Pure: the engine's answers and the ground truth in, a scorecard out.

An incident without an answer is Missing, an error is an Error, a time-out a Timeout; all are misses and stay
in the denominator. An entity that nobody knows is recorded and ranked like any other; matching is exact after
aliases, never by substring.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from rca_eval.contract import (
    ARMS,
    ArmResult,
    ContractError,
    Control,
    DatasetInfo,
    Deterministic,
    GroundTruth,
    Incident,
    IncidentResult,
    Prediction,
    Predictions,
    RankedEntity,
    Reason,
    Scorecard,
    ScoredCandidate,
    Variant,
    VariantResult,
    aggregate,
    nine,
    shown,
)
from rca_eval.contract.dealing import WHOLE, Share
from rca_eval.job.measuring import Key, measured
from rca_eval.job.prepare import Case, cases, distinct


def score(
    truth: GroundTruth,
    dataset_sha256: str,
    variants: Sequence[Variant],
    answers: Sequence[Predictions],
    *,
    revision: str,
    control: Control | None,
    share: Share = WHOLE,
) -> Scorecard:
    """The scorecard of a run: `answers` has one entry for each repeat, the first one is what is graded.

    Of a shard, it is about the cases of its share, and not to be shown: `job.parts` makes a part of it.

    Raises `ContractError(PredictionsInvalid)` if an engine answers what it was not asked.
    """
    work = cases(truth, dataset_sha256, share)
    held = {case.incident.id for case in work}
    pairs = list(distinct(variants))
    unique = [variant for variant, same in pairs if same is None]
    asked: set[Key] = {(variant.name, case.arm, case.case) for variant in unique for case in work}
    by_key = [_by_key(repeat, asked, number) for number, repeat in enumerate(answers, 1)]
    results = [
        {key: _result(case, repeat.get(key)) for case in work for key in _keys(case, unique)}
        for repeat in by_key
    ]
    deterministic = Deterministic(
        dataset=DatasetInfo(
            sha256=dataset_sha256,
            profile=truth.profile,
            window_seconds=truth.window_seconds,
            incidents=tuple(
                incident.id for incident in truth.incidents if share.whole or incident.id in held
            ),
        ),
        revision=revision,
        variants=tuple(
            VariantResult(
                name=variant.name,
                modes=variant.modes,
                same_as=same.name if same else None,
                arms=()
                if same
                else arm_results(work, {c.case: results[0][variant.name, c.arm, c.case] for c in work}),
            )
            for variant, same in pairs
        ),
        control=control,
    )
    return Scorecard(
        provenance="Scored",
        deterministic=deterministic,
        measured=measured(work, unique, answers, by_key, results),
    )


def arm_results(work: Sequence[Case], results: Mapping[str, IncidentResult]) -> tuple[ArmResult, ...]:
    """The arms of one ranker, arms without an incident left out; `results` is by case id."""
    found = []
    for arm in ARMS:
        rows = tuple(results[case.case] for case in work if case.arm == arm)
        if rows:
            figures = aggregate([(row.order(), row.expected) for row in rows])
            found.append(
                ArmResult(
                    arm=arm, incidents=rows, metrics={name: nine(value) for name, value in figures.items()}
                )
            )
    return tuple(found)


def ranked_result(case: Case, ranked: Sequence[RankedEntity], **more: object) -> IncidentResult:
    """The graded answer of an engine that ranked; aliases are resolved, and only the best of two names of one
    service stays.
    """
    seen: dict[str, ScoredCandidate] = {}
    for one in ranked:
        key = case.names.get(one.entity, one.entity)
        terms = (
            {term: nine(Fraction(value)) for term, value in one.terms.items()}
            if one.terms is not None
            else None
        )
        figure = None if one.score is None else nine(Fraction(one.score))
        seen.setdefault(key, ScoredCandidate(key=key, score=figure, terms=terms))
    return _graded(case.incident, tuple(seen.values()), status="Ranked", **more)


def _graded(incident: Incident, candidates: tuple[ScoredCandidate, ...], **more: object) -> IncidentResult:
    row = IncidentResult(
        id=incident.id,
        fault_class=incident.fault_class,
        change_induced=incident.change_induced,
        protected=incident.protected,
        expected=incident.expected_root_cause,
        candidates=candidates,
        **more,
    )
    return row.model_copy(update={"rank": row.true_rank()})


def _result(case: Case, answer: Prediction | None) -> IncidentResult:
    if answer is None:
        return _graded(
            case.incident, (), status="Missing", error="the engine gave no answer to this incident"
        )
    if answer.timed_out or answer.error is not None:
        status = "Timeout" if answer.timed_out else "Error"
        return _graded(case.incident, (), status=status, error=answer.error, table=answer.table)
    return ranked_result(
        case,
        answer.candidates,
        table=answer.table,
        decision=answer.decision,
        evidence=answer.evidence,
    )


def _by_key(repeat: Predictions, asked: set[Key], number: int) -> dict[Key, Prediction]:
    found = {(answer.variant, answer.arm, answer.case): answer for answer in repeat.predictions}
    foreign = sorted(found.keys() - asked)
    if foreign:
        name = "/".join(foreign[0])
        raise ContractError(
            Reason.PREDICTIONS_INVALID,
            f"predictions.json of repeat {number} answers {shown(name)}, which the manifest does "
            "not ask; answer its runs only.",
        )
    return {(str(a), str(b), c): answer for (a, b, c), answer in found.items()}


def _keys(case: Case, unique: Sequence[Variant]) -> list[Key]:
    return [(variant.name, case.arm, case.case) for variant in unique]
