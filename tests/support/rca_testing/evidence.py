"""Nine incidents, their baseline and scorecards about them: small, valid, and easy to damage."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

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
    WouldBeRow,
    aggregate,
    canonical,
    nine,
    sha256,
)

KEY = "RcaLiveActivation.Mode"
IDS = tuple(f"GT-0{n}-incident" for n in range(1, 10))
CLASSES = ("auth/login", "deploy/config", "data/datastore")
ENGINE = Engine(name="test", version="1")

type Modes = Mapping[str, Mapping[str, str]]

MODES: Modes = {
    "AllShadow": {KEY: "Shadow"},
    "Without": {KEY: "Shadow"},
    "With": {KEY: "Active"},
}


def ground_truth(ids: Iterable[str] = IDS, profile: str = "graded") -> str:
    """The text of a dataset."""
    incidents = [
        {
            "id": name,
            "faultClass": CLASSES[at % 3],
            "expectedRootCause": "cause",
            "changeInduced": name.startswith("GT-03"),
        }
        for at, name in enumerate(ids)
    ]
    whole = {"schemaVersion": 1, "windowSeconds": 1800, "profile": profile, "incidents": incidents}
    return json.dumps(whole)


def baseline(dataset: str, ids: tuple[str, ...] = IDS) -> str:
    """The text of a perfect baseline, measured on `dataset`."""
    whole = Baseline(
        provenance=BaselineProvenance(engine=ENGINE, created_by="a test"),
        dataset=_dataset(sha256(dataset.encode()), ids),
        arms=_arms(ids=ids),
        mttr_seconds=tuple(
            BaselineMttr(arm=arm.arm, value=nine(Fraction("0.003"))) for arm in _arms(ids=ids)
        ),
    )
    return canonical(whole).decode()


def scorecard(
    dataset_sha256: str,
    *,
    revision: str = "v1",
    modes: Modes = MODES,
    lost: tuple[str, ...] = (),
    without_lost: tuple[str, ...] = (),
    with_seconds: str = "0.003",
    **changes: Any,
) -> Scorecard:
    """What the scorecard container would have made; `lost` are the incidents that With misses in the live arm."""
    same = modes["AllShadow"] == modes["Without"]
    rows = [
        VariantResult(name="AllShadow", modes=dict(modes["AllShadow"]), arms=_arms()),
        VariantResult(
            name="Without",
            modes=dict(modes["Without"]),
            same_as="AllShadow" if same else None,
            arms=() if same else _arms(without_lost),
        ),
        VariantResult(name="With", modes=dict(modes["With"]), arms=_arms(lost)),
    ]
    measured = [(row.name, arm) for row in rows for arm in row.arms]
    times = {"With": with_seconds}
    whole = Scorecard(
        provenance="Scored",
        deterministic=Deterministic(
            dataset=_dataset(dataset_sha256, IDS),
            revision=revision,
            variants=tuple(rows),
            control=Control(name="KnownBad", arms=_arms(IDS[:3])),
        ),
        measured=Measured(
            engine=ENGINE,
            mttr_seconds=tuple(
                MttrRow(variant=name, arm=arm.arm, value=nine(Fraction(times.get(name, "0.003"))))
                for name, arm in measured
            ),
            seconds=tuple(
                SecondsRow(
                    variant=name,
                    arm=arm.arm,
                    incident=row.id,
                    values=(nine(Fraction(times.get(name, "0.003"))),) * 2,
                )
                for name, arm in measured
                for row in arm.incidents
            ),
            repeats=Repeats(count=2, identical=True),
            total_seconds=("0.108000000", "0.108000000"),
            would_be=tuple(
                WouldBeRow(
                    component=key,
                    variant=name,
                    arm=arm.arm,
                    incident=row.id,
                    entities=tuple(one.key for one in row.candidates),
                )
                for key, mode in modes["With"].items()
                if mode != modes["Without"].get(key)
                for name in dict.fromkeys(("AllShadow", "AllShadow" if same else "Without"))
                for arm in _arms(lost)
                for row in arm.incidents
            ),
        ),
    )
    return whole.model_copy(update=changes) if changes else whole


def _dataset(digest: str, ids: tuple[str, ...]) -> DatasetInfo:
    return DatasetInfo(sha256=digest, profile="graded", window_seconds=1800, incidents=ids)


def _arms(lost: tuple[str, ...] = (), ids: tuple[str, ...] = IDS) -> tuple[ArmResult, ...]:
    return (_arm("ScorerOnly", (), ids), _arm("LivePath", lost, ids))


def _arm(kind: Any, lost: tuple[str, ...], ids: tuple[str, ...]) -> ArmResult:
    rows = tuple(_incident(name, at, hit=name not in lost) for at, name in enumerate(ids))
    metrics = aggregate([(row.order(), row.expected) for row in rows])
    return ArmResult(arm=kind, incidents=rows, metrics={name: nine(value) for name, value in metrics.items()})


def _incident(name: str, at: int, *, hit: bool) -> IncidentResult:
    keys = ("cause", "trap") if hit else ("trap", "cause")
    return IncidentResult(
        id=name,
        fault_class=CLASSES[at % 3],
        change_induced=name.startswith("GT-03"),
        protected=False,
        expected=("cause",),
        status="Ranked",
        candidates=tuple(
            ScoredCandidate(key=key, score=score)
            for key, score in zip(keys, ("0.800000000", "0.700000000"), strict=True)
        ),
        rank=1 if hit else 2,
    )
