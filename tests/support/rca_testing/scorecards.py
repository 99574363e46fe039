"""Scorecards and baselines as the scorecard container makes them: valid to the last figure, with what a test wants lost."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

from rca_eval.contract import (
    ArmResult,
    Baseline,
    BaselineMttr,
    BaselineProvenance,
    Control,
    DatasetInfo,
    Deterministic,
    Engine,
    GroundTruth,
    Incident,
    IncidentResult,
    Measured,
    MttrRow,
    Repeats,
    Scorecard,
    ScoredCandidate,
    SecondsRow,
    VariantResult,
    WouldBeRow,
    aggregate,
    nine,
)
from rca_eval.contract.protocol import ARMS

_ENGINE = Engine(name="emulated", version="1")
_SECONDS = nine(Fraction(3, 1000))


def scorecard(
    truth: GroundTruth,
    sha256: str,
    *,
    revision: str,
    variants: Sequence[tuple[str, Mapping[str, str]]],
    lost: Mapping[str, Collection[str]] | None = None,
) -> Scorecard:
    """`lost` names per variant the incidents (by the beginning of their id) that the live path does not explain."""
    arms = {name: _arms(truth, (lost or {}).get(name, ())) for name, _ in variants}
    names = [name for name, _ in variants]
    first = {tuple(sorted(modes.items())): name for name, modes in reversed(list(variants))}
    owners = {name: first[tuple(sorted(modes.items()))] for name, modes in variants}
    ran = [name for name in names if owners[name] == name]
    return Scorecard(
        provenance="Scored",
        deterministic=Deterministic(
            dataset=_dataset(truth, sha256),
            revision=revision,
            variants=tuple(
                VariantResult(name=name, modes=dict(modes), arms=arms[name])
                if name in ran
                else VariantResult(name=name, modes=dict(modes), same_as=owners[name])
                for name, modes in variants
            ),
            control=Control(name="KnownBad", arms=_arms(truth, ("GT-01", "GT-04", "GT-05"))),
        ),
        measured=Measured(
            engine=_ENGINE,
            mttr_seconds=tuple(MttrRow(variant=n, arm=a, value=_SECONDS) for n in ran for a in ARMS),
            seconds=tuple(
                SecondsRow(variant=name, arm=arm, incident=incident.id, values=(_SECONDS, _SECONDS))
                for name in ran
                for arm in ARMS
                for incident in truth.incidents
            ),
            repeats=Repeats(count=2, identical=True),
            total_seconds=(nine(Fraction(1, 5)),) * 2,
            would_be=_would_be(dict(variants), ran, arms),
        ),
    )


def _would_be(
    modes: Mapping[str, Mapping[str, str]], ran: Sequence[str], arms: Mapping[str, tuple[ArmResult, ...]]
) -> tuple[WouldBeRow, ...]:
    """Every variant in which the component of With is in Shadow logs honestly what With ranks."""
    without, with_ = modes.get("Without", {}), modes.get("With", {})
    switched = [key for key, value in with_.items() if value != without.get(key)]
    return tuple(
        WouldBeRow(
            component=key,
            variant=name,
            arm=arm.arm,
            incident=row.id,
            entities=tuple(candidate.key for candidate in row.candidates),
        )
        for key in switched
        for name in ran
        if modes[name].get(key) != with_[key]
        for arm in arms["With"]
        for row in arm.incidents
    )


def baseline(truth: GroundTruth, sha256: str) -> Baseline:
    """What the same engine measures with everything in Shadow."""
    return Baseline(
        provenance=BaselineProvenance(engine=_ENGINE, created_by="a test"),
        dataset=_dataset(truth, sha256),
        arms=_arms(truth, ()),
        mttr_seconds=tuple(BaselineMttr(arm=arm, value=_SECONDS) for arm in ARMS),
    )


def _dataset(truth: GroundTruth, sha256: str) -> DatasetInfo:
    return DatasetInfo(
        sha256=sha256,
        profile=truth.profile or "",
        window_seconds=truth.window_seconds,
        incidents=tuple(incident.id for incident in truth.incidents),
    )


def _arms(truth: GroundTruth, lost: Collection[str]) -> tuple[ArmResult, ...]:
    """ScorerOnly never loses an incident: the cause is planted on top there."""
    found: list[ArmResult] = []
    for arm in ARMS:
        missed = tuple(lost) if arm == "LivePath" else ()
        rows = tuple(
            _row(incident, hit=not incident.id.startswith(missed or ("-",))) for incident in truth.incidents
        )
        figures = aggregate([(row.order(), row.expected) for row in rows])
        found.append(
            ArmResult(arm=arm, incidents=rows, metrics={name: nine(value) for name, value in figures.items()})
        )
    return tuple(found)


def _row(incident: Incident, *, hit: bool) -> IncidentResult:
    cause = incident.expected_root_cause[0]
    order = (cause, "a-trap") if hit else ("a-trap", cause)
    return IncidentResult(
        id=incident.id,
        fault_class=incident.fault_class,
        change_induced=incident.change_induced,
        protected=False,
        expected=tuple(incident.expected_root_cause),
        status="Ranked",
        candidates=tuple(
            ScoredCandidate(key=key, score=score)
            for key, score in zip(order, ("0.800000000", "0.700000000"), strict=True)
        ),
        rank=1 if hit else 2,
    )
