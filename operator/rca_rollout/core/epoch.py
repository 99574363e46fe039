"""What evidence is about: the epoch (what is measured, and how) and the context (beside what it is measured)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import rfc8785

from rca_rollout.api.component import RcaComponentSpec
from rca_rollout.core.names import short_hash
from rca_rollout.core.revision import Running, declared
from rca_rollout.core.suites import SuiteFacts

_DIGITS = 16


def epoch_parts(component: RcaComponentSpec, suite: SuiteFacts, running: Running) -> dict[str, Any]:
    """All that makes evidence evidence for this change. Not resources, scheduling, intervals, deadlines, suspension:
    those may be changed in the middle of an observation without touching what was shown."""
    job = suite.spec.job
    return {
        "revision": running.revision,
        "target": component.target.to_dict(),
        "dataset": suite.dataset_sha256,
        "baseline": suite.baseline_sha256,
        "job": {
            "image": suite.image,
            "command": list(job.command or ()),
            "args": list(job.args or ()),
            "env": [[item.name, item.value] for item in job.env or ()],
        },
        "tolerance": suite.spec.tolerance.to_dict(),
        "protected": None
        if suite.spec.protected_incidents is None
        else sorted(suite.spec.protected_incidents),
        "regressed": suite.spec.max_regressed_incidents,
        "fidelity": str(suite.spec.shadow_fidelity),
        "control": str(suite.spec.known_bad),
        "minimum": [suite.spec.min_incidents, suite.spec.min_fault_classes],
    }


def epoch_of(component: RcaComponentSpec, suite: SuiteFacts, running: Running | None = None) -> str:
    """`running` is what runs; without it, what the spec alone says of it."""
    return digest(epoch_parts(component, suite, running or declared(component)))


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
