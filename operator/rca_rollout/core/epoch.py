"""What evidence is about: the epoch (what is measured, and how) and the context (beside what it is measured)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import rfc8785

from rca_rollout.api.component import RcaComponentSpec
from rca_rollout.api.revision import EpochPart, EvalImage
from rca_rollout.core import sidecars
from rca_rollout.core.names import short_hash
from rca_rollout.core.revision import Running, declared
from rca_rollout.core.suites import SuiteFacts

_DIGITS = 16
TAG = "the image behind the suite's tag"


def epoch_parts(
    component: RcaComponentSpec, suite: SuiteFacts, running: Running, pinned: EvalImage | None = None
) -> dict[str, Any]:
    """All that makes evidence evidence for this change, by the name that people know it by. Not resources, scheduling,
    intervals, deadlines, suspension: those may be changed in the middle of an observation without touching what was shown.

    `pinned` is what the suite's image was last seen to be, from when its tag had moved.
    """
    job = suite.spec.job
    parts: dict[str, Any] = {
        "the revision": running.revision,
        "target": component.target.to_dict(),
        "the dataset": suite.dataset_sha256,
        "the baseline": suite.baseline_sha256,
        "the job's image, command, args or env": {
            "image": None if running.image else suite.image,
            "command": list(job.command or ()),
            "args": list(job.args or ()),
            "env": [[item.name, item.value] for item in job.env or ()],
        },
        "the tolerance": suite.spec.tolerance.to_dict(),
        "protectedIncidents": None
        if suite.spec.protected_incidents is None
        else sorted(suite.spec.protected_incidents),
        "maxRegressedIncidents": suite.spec.max_regressed_incidents,
        "shadowFidelity": str(suite.spec.shadow_fidelity),
        "knownBad": str(suite.spec.known_bad),
        "minIncidents or minFaultClasses": [suite.spec.min_incidents, suite.spec.min_fault_classes],
        **dict(running.inputs),
    }
    # Absent where there is none, as inputs are: a digest of nothing would say that there was something.
    if job.sidecars:
        parts["the job's sidecars"] = sidecars.measured(job.sidecars)
    if running.digest:
        parts["the workload's image"] = running.digest
    if pinned and pinned.image == suite.image and not running.image:
        parts[TAG] = pinned.digest
    return parts


def epoch_of(
    component: RcaComponentSpec,
    suite: SuiteFacts,
    running: Running | None = None,
    pinned: EvalImage | None = None,
) -> str:
    """`running` is what runs; without it, what the spec alone says of it."""
    return digest(epoch_parts(component, suite, running or declared(component), pinned))


def stored_parts(parts: Mapping[str, Any]) -> tuple[EpochPart, ...]:
    """The parts as status remembers them: enough to name what changed, and no value."""
    return tuple(EpochPart(name=name, digest=digest(value)) for name, value in sorted(parts.items()))


def changed_parts(old: Iterable[EpochPart], new: Iterable[EpochPart]) -> tuple[str, ...]:
    """The names of the parts that differ, came or went."""
    before, after = ({part.name: part.digest for part in parts} for parts in (old, new))
    return tuple(name for name in sorted({*before, *after}) if before.get(name) != after.get(name))


def digest(value: Any) -> str:
    """A short digest of the canonical JSON form (RFC 8785): the order of keys does not matter."""
    return short_hash(rfc8785.dumps(value).decode(), length=_DIGITS)


@dataclass(frozen=True)
class Sibling:
    """Another component of the suite, as far as it matters to this one's evidence."""

    name: str
    key: str
    mode: str
    revision: str
    promoting_since: datetime | None = None


def context_of(siblings: Iterable[Sibling]) -> str:
    """Which other components were Active, and at which revision, when something was measured."""
    return digest(sorted([s.key, s.mode, s.revision if s.mode == "Active" else ""] for s in siblings))


def effective_modes(own_key: str, own_mode: str, siblings: Iterable[Sibling]) -> Mapping[str, str]:
    """Key to mode for all components of the suite, this one included."""
    return {**{s.key: s.mode for s in siblings}, own_key: own_mode}
