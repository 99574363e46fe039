"""How the gate's verdict scales with the number of incidents; it has no bound, but should be linear."""

from __future__ import annotations

from fractions import Fraction

from benchmarks.measure import Figure, Outcome, seconds
from rca_eval.contract import (
    ArmResult,
    Baseline,
    BaselineMttr,
    BaselineProvenance,
    Control,
    DatasetInfo,
    Deterministic,
    Engine,
    IncidentResult,
    Measured,
    MttrRow,
    Repeats,
    Scorecard,
    ScoredCandidate,
    SecondsRow,
    VariantResult,
    aggregate,
    nine,
)
from rca_eval.contract.scorecard import WouldBeRow
from rca_eval.gate import GateContext, GatePolicy, evaluate

REPEATS = {9: 9, 1_000: 3, 10_000: 1}
ENGINE, SHA, MODE = Engine(name="benchmark", version="1"), "b" * 64, "RcaLiveActivation.Mode"
SECONDS = nine(Fraction(3, 1000))


def run() -> Outcome:
    """`evaluate` of one scorecard against one baseline, five candidates an incident, one in fifty lost."""
    outcome = Outcome("gate")
    for size, repeats in REPEATS.items():
        card, baseline = _documents(size)
        times = seconds(
            lambda card=card, baseline=baseline: evaluate(  # type: ignore[misc]
                card, baseline, GatePolicy(), GateContext(component=True, revision="r1")
            ),
            repeats=repeats,
        )
        outcome.figures.append(Figure.of(f"evaluate, {size} incidents", "ms", [1e3 * one for one in times]))
    return outcome


def _documents(size: int) -> tuple[Scorecard, Baseline]:
    names = tuple(f"IN-{at:05}" for at in range(size))
    whole, lossy, none = _arms(names, 0), _arms(names, 50), _arms(names, 1)
    dataset = DatasetInfo(sha256=SHA, profile="graded", window_seconds=1800, incidents=names)
    variants = (("AllShadow", whole), ("Without", whole), ("With", lossy))
    deterministic = Deterministic(
        dataset=dataset,
        revision="r1",
        variants=tuple(
            VariantResult(name=name, modes={MODE: "Active" if name == "With" else "Shadow"}, arms=arms)
            for name, arms in variants
        ),
        control=Control(name="KnownBad", arms=(whole[0], none[1])),
    )
    measured = Measured(
        engine=ENGINE,
        mttr_seconds=tuple(
            MttrRow(variant=name, arm=arm.arm, value=SECONDS) for name, arms in variants for arm in arms
        ),
        seconds=tuple(
            SecondsRow(variant=name, arm=arm.arm, incident=incident, values=(SECONDS, SECONDS))
            for name, arms in variants
            for arm in arms
            for incident in names
        ),
        repeats=Repeats(count=2, identical=True),
        total_seconds=(nine(Fraction(size)), nine(Fraction(size))),
        would_be=tuple(
            WouldBeRow(
                variant="Without", arm=arm.arm, incident=row.id, component=MODE, entities=tuple(row.order())
            )
            for arm in lossy
            for row in arm.incidents
        ),
    )
    baseline = Baseline(
        provenance=BaselineProvenance(engine=ENGINE, created_by="a benchmark"),
        dataset=dataset,
        arms=whole,
        mttr_seconds=tuple(BaselineMttr(arm=arm.arm, value=SECONDS) for arm in whole),
    )
    return Scorecard(provenance="Scored", deterministic=deterministic, measured=measured), baseline


def _arms(names: tuple[str, ...], lost_each: int) -> tuple[ArmResult, ArmResult]:
    return _arm("ScorerOnly", names, 0), _arm("LivePath", names, lost_each)


def _arm(arm: str, names: tuple[str, ...], lost_each: int) -> ArmResult:
    rows = tuple(
        _row(name, lost=bool(lost_each) and at % lost_each == 0, at=at) for at, name in enumerate(names)
    )
    metrics = aggregate([(row.order(), row.expected) for row in rows])
    return ArmResult(
        arm=arm,
        incidents=rows,
        metrics={name: nine(value) for name, value in metrics.items()},
    )


def _row(name: str, *, lost: bool, at: int) -> IncidentResult:
    keys = [
        *(("trap", "cause") if lost else ("cause", "trap")),
        *(f"service-{n}" for n in range(3)),
    ]
    return IncidentResult(
        id=name,
        fault_class=("auth/login", "deploy/config", "data/datastore")[at % 3],
        change_induced=False,
        protected=False,
        expected=("cause",),
        status="Ranked",
        candidates=tuple(
            ScoredCandidate(key=key, score=nine(Fraction(9 - n, 10))) for n, key in enumerate(keys)
        ),
        rank=2 if lost else 1,
    )
