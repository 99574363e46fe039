"""Run it: 2^4 combinations of Shadow and Active, both arms, on seeded graphs. No combination is derived from another."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product

from rca_eval.contract import (
    ArmResult,
    Baseline,
    ContractError,
    GroundTruth,
    IncidentResult,
    Prediction,
    Reason,
    Run,
)
from rca_eval.engine import (
    ACTIVE,
    EVIDENCE_CAP,
    HYPOTHESES,
    KEYS,
    LIVE_ACTIVATION,
    MEMORY,
    SHADOW,
    Blend,
    answer,
)
from rca_eval.graph import GraphStore, graph_key
from rca_eval.job.engine import past_memory
from rca_eval.job.prepare import Case, cases, with_past
from rca_eval.job.scoring import arm_results, ranked_result

Combination = frozenset[str]
"""The keys that are Active; all others are in Shadow."""
SHORT: Mapping[str, str] = {LIVE_ACTIVATION: "live", EVIDENCE_CAP: "cap", MEMORY: "mem", HYPOTHESES: "hyp"}
COMBINATIONS: tuple[Combination, ...] = tuple(
    sorted(
        (
            frozenset(key for key, on in zip(KEYS, bits, strict=True) if on)
            for bits in product((False, True), repeat=len(KEYS))
        ),
        key=lambda active: (len(active), [key not in active for key in KEYS]),
    )
)
ALL_SHADOW: Combination = frozenset()


def label(active: Combination) -> str:
    """`live+mem`, or `all Shadow`."""
    return "+".join(SHORT[key] for key in KEYS if key in active) or "all Shadow"


@dataclass(frozen=True)
class Subject:
    """A dataset: its name in the table, its labels, and the baseline that it is held against (None: there is none)."""

    name: str
    truth: GroundTruth
    sha256: str
    baseline: Baseline | None


@dataclass(frozen=True)
class Matrix:
    """What one dataset gave: graded arms by combination, and by combination, arm and incident what each component in
    Shadow would have ranked.
    """

    subject: Subject
    arms: Mapping[Combination, tuple[ArmResult, ...]]
    rankings: Mapping[tuple[Combination, str, str], tuple[str, ...]]
    would_be: Mapping[tuple[Combination, str, str], Mapping[str, tuple[str, ...]]]

    def arm(self, active: Combination, name: str) -> ArmResult:
        return next(one for one in self.arms[active] if one.arm == name)


def run(
    subject: Subject,
    store: GraphStore,
    *,
    blend: Blend,
    name: str,
    on_step: Callable[[str], None] = lambda _: None,
) -> Matrix:
    """The whole matrix of a dataset. `name` is unique to this run and part of its graphs' keys.

    Raises `ContractError`: DatasetInvalid if nothing of it can run in LivePath, StoreUnavailable.
    """
    work = cases(subject.truth, subject.sha256)
    if not any(case.arm == "LivePath" for case in work):
        raise ContractError(
            Reason.DATASET_INVALID,
            f"no incident of {subject.name} can run in LivePath, so there is nothing to ablate; add alert, topology "
            "and telemetry.",
        )
    results: dict[Combination, dict[str, IncidentResult]] = {active: {} for active in COMBINATIONS}
    rankings: dict[tuple[Combination, str, str], tuple[str, ...]] = {}
    would_be: dict[tuple[Combination, str, str], Mapping[str, tuple[str, ...]]] = {}
    for done, case in enumerate(work, 1):
        on_step(f"{subject.name}: {done} of {len(work)} incidents, {len(COMBINATIONS)} combinations each")
        for active, found in _answers(case, subject, store, blend, name).items():
            results[active][case.case] = ranked_result(
                case, found.candidates, table=found.table, decision=found.decision, evidence=found.evidence
            )
            place = (active, case.arm, case.incident.id)
            rankings[place] = tuple(one.entity for one in found.candidates)
            would_be[place] = found.would_be if isinstance(found.would_be, dict) else {}
    return Matrix(
        subject, {active: arm_results(work, rows) for active, rows in results.items()}, rankings, would_be
    )


def _answers(
    case: Case, subject: Subject, store: GraphStore, blend: Blend, name: str
) -> dict[Combination, Prediction]:
    view = with_past(case, subject.truth, subject.sha256)
    with (
        store.incident(graph_key(name, case.arm), view) as graph,
        past_memory(store, name, view) as memory,
    ):
        return {active: answer(_order(case, active), view, graph, blend, memory) for active in COMBINATIONS}


def _order(case: Case, active: Combination) -> Run:
    modes = {key: ACTIVE if key in active else SHADOW for key in KEYS}
    path = f"{case.arm}/{case.case}.json"
    return Run(variant="Without", arm=case.arm, case=case.case, modes=modes, incident=path)
