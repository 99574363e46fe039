"""Redact the dataset: one folder per repeat, with a manifest and the incidents, without a label in it.

Every repeat has its own order of runs, services, calls and changes, so that an engine whose answer depends on
an order shows it.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rca_eval.contract import (
    ARMS,
    Arm,
    ContractError,
    EngineIncident,
    GroundTruth,
    Incident,
    Manifest,
    Reason,
    Run,
    Variant,
    case_id,
    dump_exact,
)
from rca_eval.contract.dealing import WHOLE, Share, deal
from rca_eval.job.past import Remembered, past_of, remembered
from rca_eval.job.project import has_arm, planted_names, project


@dataclass(frozen=True)
class Case:
    """An incident in an arm, under its opaque name; `names` leads from what an engine may answer to the
    service's key.
    """

    arm: Arm
    incident: Incident
    case: str
    view: EngineIncident
    names: Mapping[str, str]


def cases(truth: GroundTruth, dataset_sha256: str, share: Share = WHOLE) -> list[Case]:
    """The cases of a dataset that are in this share, arms in order, incidents in the order of the file.

    Raises `ContractError`: DatasetInvalid if two cases of the whole dataset would get one name (8 hex digits can collide
    in large sets), EnvironmentInvalid if there are more shards than cases.
    """
    every = [(arm, incident) for arm in ARMS for incident in truth.incidents if has_arm(incident, arm)]
    if len({case_id(dataset_sha256, arm, incident.id) for arm, incident in every}) != len(every):
        raise ContractError(
            Reason.DATASET_INVALID,
            "two incidents get the same case id; change any byte of the dataset, e.g. its _comment.",
        )
    if share.count > max(1, len(every)):
        raise ContractError(
            Reason.ENVIRONMENT_INVALID,
            f"{share.count} shards are too many for {len(every)} cases; lower the number of shards.",
        )
    dealt = deal(dataset_sha256, ((arm, incident.id) for arm, incident in every), share.count)
    found = []
    for arm, incident in every:
        if dealt[arm, incident.id] != share.index:
            continue
        case = case_id(dataset_sha256, arm, incident.id)
        view = project(incident, arm, case=case, window=truth.window_seconds)
        if view is not None:
            found.append(Case(arm, incident, case, view, _names(truth, incident, arm, case)))
    return found


def _names(truth: GroundTruth, incident: Incident, arm: Arm, case: str) -> dict[str, str]:
    names = dict(truth.aliases)
    for service in incident.topology.services if incident.topology else ():
        names |= dict.fromkeys(service.aliases, service.key)
    return names | (planted_names(incident.expected_root_cause, case) if arm == "ScorerOnly" else {})


def distinct(variants: Sequence[Variant]) -> Iterator[tuple[Variant, Variant | None]]:
    """Each variant with the earlier one that has the same modes, if there is one: equal mode vectors run
    once.
    """
    for position, variant in enumerate(variants):
        yield (
            variant,
            next((earlier for earlier in variants[:position] if earlier.modes == variant.modes), None),
        )


def prepare(
    truth: GroundTruth,
    dataset_sha256: str,
    variants: Sequence[Variant],
    *,
    revision: str,
    repeats: int,
    folder: Path,
    memory: GroundTruth | None = None,
    share: Share = WHOLE,
) -> int:
    """Write `folder`/1 … `folder`/repeats; returns the number of runs in each.

    A shard writes its own cases, each exactly as it is among all: with the past that the whole of `memory` gives it.

    With `memory`, incidents of LivePath carry their past, taken from these labels (`job.past`). For the reference
    engine only: in the folder of any other they would be the answers to the rest.
    """
    # In the order of the opaque names: in the file's, shuffles could be undone and the times of files be compared.
    work = sorted(cases(truth, dataset_sha256, share), key=lambda case: case.case)
    unique = [variant for variant, same in distinct(variants) if same is None]
    known = remembered(memory, dataset_sha256) if memory else ()
    for repeat in range(1, repeats + 1):
        # Not for secrecy: the order must differ between repeats and be the same on every machine.
        shuffle = random.Random(f"{dataset_sha256}/{repeat}").shuffle  # noqa: S311
        runs = [
            Run(
                variant=variant.name,
                arm=case.arm,
                case=case.case,
                modes=variant.modes,
                incident=f"{case.arm}/{case.case}.json",
            )
            for variant in unique
            for case in work
        ]
        shuffle(runs)
        target = folder / str(repeat)
        for case in work:
            path = target / case.arm / f"{case.case}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            view = with_past(case, memory, dataset_sha256, known) if memory else case.view
            path.write_text(_document(_shuffled(view, repeat)), encoding="utf-8")
        manifest = Manifest(revision=revision, runs=tuple(runs))
        (target / "manifest.json").write_text(dump_exact(manifest.plain()) + "\n", encoding="utf-8")
    return len(unique) * len(work)


def with_past(
    case: Case, truth: GroundTruth, dataset_sha256: str, known: Sequence[Remembered] | None = None
) -> EngineIncident:
    """The view of a case with what a memory may know of these labels; ScorerOnly never has any."""
    if case.arm != "LivePath":
        return case.view
    past = past_of(case.incident, truth, dataset_sha256, known)
    return case.view.model_copy(update={"past": past or None})


def _document(view: EngineIncident) -> str:
    return dump_exact(view.model_dump(by_alias=True, exclude_none=True)) + "\n"


def _shuffled(view: EngineIncident, repeat: int) -> EngineIncident:
    shuffle = random.Random(f"{view.case}/{repeat}").shuffle  # noqa: S311
    # Sorted first: who undoes the shuffle must not find the order of the author, who writes the cause first.
    topology = view.topology
    services, calls, changes = (
        sorted(rows, key=str) for rows in (topology.services, topology.calls, view.changes)
    )
    past = list(view.past or ())  # sorted by opaque key
    for rows in (services, calls, changes, past):
        shuffle(rows)
    topology = topology.model_copy(update={"services": tuple(services), "calls": tuple(calls)})
    return view.model_copy(
        update={"topology": topology, "changes": tuple(changes), "past": tuple(past) or None}
    )
