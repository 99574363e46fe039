"""Modes and the variants that one evaluation measures (DESIGN, section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rca_rollout.api.common import EffectiveMode

SHADOW, ACTIVE = str(EffectiveMode.SHADOW), str(EffectiveMode.ACTIVE)


@dataclass(frozen=True)
class Variant:
    """One mode vector: ConfigMap key to `Shadow` or `Active`, as the evaluated image would read it."""

    name: str
    modes: Mapping[str, str]


def variants(effective: Mapping[str, str], component_key: str | None) -> tuple[Variant, ...]:
    """AllShadow, Without and With for the component behind `component_key`.

    `effective` holds the modes of all components of the suite; whatever is not Active counts as Shadow. Without a
    component (a run made by hand) the effective modes are measured as they are: With equals Without.
    """
    known = {key: (ACTIVE if mode == ACTIVE else SHADOW) for key, mode in sorted(effective.items())}
    all_shadow = dict.fromkeys(known, SHADOW)
    without, with_ = dict(known), dict(known)
    if component_key is not None:
        all_shadow[component_key] = without[component_key] = SHADOW
        with_[component_key] = ACTIVE
    return (
        Variant("AllShadow", dict(sorted(all_shadow.items()))),
        Variant("Without", dict(sorted(without.items()))),
        Variant("With", dict(sorted(with_.items()))),
    )
