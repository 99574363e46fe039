"""Which finished runs may go: all but the newest of each kind, and never one that somebody still refers to.

A run's scorecard goes with it. What it showed is counted in its component's status, and what it cost in its suite's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rca_rollout.api.common import RunPhase, Trigger
from rca_rollout.api.component_status import RcaComponentStatus
from rca_rollout.api.history import HistoryLimits
from rca_rollout.api.run import EvalRun
from rca_rollout.api.values import format_time

type Body = Mapping[str, Any]


@dataclass(frozen=True)
class Finished:
    """A run that has ended. `at` is when, in RFC 3339 and UTC, which sorts as text."""

    name: str
    uid: str
    component: str | None
    scheduled: bool
    passed: bool
    at: str


def finished(run: EvalRun) -> Finished | None:
    """None where it has not ended, or is being deleted."""
    metadata, spec, status = run.metadata, run.spec, run.status
    if status.phase is None or not status.phase.final or metadata.deletion_timestamp:
        return None
    at = status.finished_at or metadata.creation_timestamp
    return Finished(
        name=metadata.name,
        uid=metadata.uid,
        component=spec.component_ref.name if spec.component_ref else None,
        scheduled=spec.trigger is Trigger.SCHEDULED,
        passed=status.phase is RunPhase.PASSED,
        at=format_time(at) if at else "",
    )


def finished_body(run: Body) -> Finished | None:
    """The same of an object as it was read, also of one that our schema does not take."""
    metadata, spec, status = run["metadata"], run.get("spec") or {}, run.get("status") or {}
    if status.get("phase") in (None, "Pending", "Running") or metadata.get("deletionTimestamp"):
        return None
    return Finished(
        name=str(metadata["name"]),
        uid=str(metadata["uid"]),
        component=(spec.get("componentRef") or {}).get("name"),
        scheduled=spec.get("trigger") == Trigger.SCHEDULED,
        passed=status["phase"] == RunPhase.PASSED,
        at=str(status.get("finishedAt") or metadata.get("creationTimestamp") or ""),
    )


def surplus(
    runs: Iterable[Finished | None], limits: HistoryLimits, *, kept: Collection[str]
) -> tuple[Finished, ...]:
    """Those beyond the limits, the oldest first; `kept` are the names and UIDs that stay.

    The groups are: scheduled or not, of which component, passed or not. Deterministic, and repeatable after a crash.
    """
    groups: dict[tuple[bool, str | None, bool], list[Finished]] = defaultdict(list)
    for run in runs:
        if run is not None:
            groups[run.scheduled, run.component, run.passed].append(run)
    found: list[Finished] = []
    for (_, _, passed), group in groups.items():
        group.sort(key=_age, reverse=True)
        found += group[limits.passed if passed else limits.other :]
    return tuple(sorted((r for r in found if {r.name, r.uid}.isdisjoint(kept)), key=_age))


def owned_by_component(run: Body) -> bool:
    """Whether a component answers for this run: it alone knows what it still refers to."""
    owners = run["metadata"].get("ownerReferences") or []
    return any(owner.get("kind") == "RcaComponent" for owner in owners)


def referred(status: RcaComponentStatus) -> frozenset[str]:
    """The names of all runs that a component's status refers to, wherever it does: their scorecards are its evidence."""
    names = set(_runs_in(status.to_dict()))
    names |= {run.name for run in status.evidence.runs} if status.evidence else set()
    return frozenset(names | ({status.current_run.name} if status.current_run else set()))


def _runs_in(value: Any) -> Iterator[str]:
    """Every text under a key `run`: by this name a status refers to a run, in parts that do not exist yet, too."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "run" and isinstance(inner, str):
                yield inner
            else:
                yield from _runs_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _runs_in(inner)


def _age(run: Finished) -> tuple[str, str]:
    return run.at, run.name
