"""A whole, valid scorecard to damage: nine incidents, two arms, three variants, a control that is caught."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import settings

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
    nine,
)
from rca_eval.graph import GraphStore, open_store

# Two shared cores: how long an example takes says nothing about the code.
settings.register_profile("harness", deadline=None)
settings.load_profile("harness")

IDS = (
    "GT-01-login-break",
    "GT-02-rca-gateway-down-floor",
    "GT-03-bad-deploy-archives-api",
    "GT-04-falkordb-down",
    "GT-05-postgres-meshed-reset",
    "GT-06-upload-thumbnail-fail",
    "GT-07-bad-commit-web",
    "GT-08-rag-chat-down",
    "GT-09-ollama-embeddings-down",
)
CLASSES = ("auth/login", "deploy/config", "data/datastore")
ENGINE = Engine(name="test-engine", version="1")
DATASET = "a" * 64


def incident(name: str, position: int, *, hit: bool = True) -> IncidentResult:
    scores = ("0.800000000", "0.700000000")
    keys = ("cause", "trap") if hit else ("trap", "cause")
    return IncidentResult(
        id=name,
        fault_class=CLASSES[position % 3],
        change_induced=name.startswith(("GT-03", "GT-07")),
        protected=False,
        expected=("cause",),
        status="Ranked",
        candidates=tuple(ScoredCandidate(key=k, score=s) for k, s in zip(keys, scores, strict=True)),
        rank=1 if hit else 2,
    )


def arm(kind: Any, lost: tuple[str, ...] = (), ids: tuple[str, ...] = IDS) -> ArmResult:
    rows = tuple(incident(name, at, hit=not name.startswith(lost or "-")) for at, name in enumerate(ids))
    metrics = aggregate([(row.order(), row.expected) for row in rows])
    return ArmResult(arm=kind, incidents=rows, metrics={name: nine(value) for name, value in metrics.items()})


@pytest.fixture(scope="session")
def make_scorecard() -> Callable[..., Scorecard]:
    """`make(lost=("GT-03",), seconds={"With": "40"})`: what With loses in the live arm, its times."""

    def make(
        *,
        lost: tuple[str, ...] = (),
        without_lost: tuple[str, ...] = (),
        seconds: dict[str, str] | None = None,
        ids: tuple[str, ...] = IDS,
        control_lost: tuple[str, ...] = ("GT-01", "GT-04"),
        **changes: Any,
    ) -> Scorecard:
        times = {"AllShadow": "0.003", "Without": "0.003", "With": "0.003", **(seconds or {})}
        variants = {
            "AllShadow": (arm("ScorerOnly", ids=ids), arm("LivePath", ids=ids)),
            "Without": (arm("ScorerOnly", ids=ids), arm("LivePath", without_lost, ids)),
            "With": (arm("ScorerOnly", ids=ids), arm("LivePath", lost, ids)),
        }
        measured = Measured(
            engine=ENGINE,
            mttr_seconds=tuple(
                MttrRow(variant=name, arm=a.arm, value=nine(Fraction(times[name])))
                for name, arms in variants.items()
                for a in arms
            ),
            seconds=tuple(
                SecondsRow(
                    variant=name, arm=a.arm, incident=row.id, values=(nine(Fraction(times[name])),) * 2
                )
                for name, arms in variants.items()
                for a in arms
                for row in a.incidents
            ),
            repeats=Repeats(count=2, identical=True),
            total_seconds=("0.162000000", "0.162000000"),
            would_be=tuple(
                WouldBeRow(
                    component="K.Mode",
                    variant=name,
                    arm=a.arm,
                    incident=row.id,
                    entities=tuple(one.key for one in row.candidates),
                )
                for name in ("AllShadow", "Without")
                for a in variants["With"]
                for row in a.incidents
            ),
        )
        deterministic = Deterministic(
            dataset=DatasetInfo(sha256=DATASET, profile="graded", window_seconds=1800, incidents=ids),
            revision="r1",
            variants=tuple(
                VariantResult(
                    name=name, modes={"K.Mode": "Active" if name == "With" else "Shadow"}, arms=arms
                )
                for name, arms in variants.items()
            ),
            control=Control(
                name="KnownBad", arms=(arm("ScorerOnly", ids=ids), arm("LivePath", control_lost, ids))
            ),
        )
        whole = Scorecard(provenance="Scored", deterministic=deterministic, measured=measured)
        return whole.model_copy(update=changes) if changes else whole

    return make


@pytest.fixture(scope="session")
def make_baseline() -> Callable[..., Baseline]:
    def make(*, ids: tuple[str, ...] = IDS, seconds: str = "0.003", **changes: Any) -> Baseline:
        whole = Baseline(
            provenance=BaselineProvenance(engine=ENGINE, created_by="a test"),
            dataset=DatasetInfo(sha256=DATASET, profile="graded", window_seconds=1800, incidents=ids),
            arms=(arm("ScorerOnly", ids=ids), arm("LivePath", ids=ids)),
            mttr_seconds=tuple(
                BaselineMttr(arm=a, value=nine(Fraction(seconds))) for a in ("ScorerOnly", "LivePath")
            ),
        )
        return whole.model_copy(update=changes) if changes else whole

    return make


@pytest.fixture(scope="session")
def store() -> Iterator[GraphStore]:
    """One real, embedded FalkorDB for all tests; every incident gets a clean graph in it."""
    with open_store() as opened:
        yield opened
