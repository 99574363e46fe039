"""What runs, and what its word for Active is.

The revision is named by the spec, or by the workload whose Pods run it. No module but this one reads it from the spec: all
others take it from the snapshot. Where the word for Active holds `{revision}`, a consumer of another revision reads it as
Shadow, so a new image cannot govern before its own promotion.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

import rfc8785

from rca_rollout.api.common import EffectiveMode
from rca_rollout.api.component import RcaComponentSpec, TargetValues
from rca_rollout.core.names import short_hash
from rca_rollout.core.problem import Problem

TOKEN = "{revision}"  # noqa: S105 - a placeholder in a mode's value
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/+-]{0,127}")
"""What a revision may be called."""


@dataclass(frozen=True)
class Running:
    """What runs in production, and is evaluated.

    `revision` is its name. `image` is what the Job runs in place of the suite's image, None where the spec names the
    revision. `digest` is that of the image as the Pods run it (`sha256:…`). `inputs` are name and digest of each further
    input, a set in order of the names. `pull_secrets` are what the Pods pull the image with.
    """

    revision: str
    image: str | None = None
    digest: str | None = None
    inputs: tuple[tuple[str, str], ...] = ()
    pull_secrets: tuple[str, ...] = field(default=(), compare=False)

    @property
    def identity(self) -> str:
        """A digest of all that decides what runs."""
        parts = [self.revision, self.digest, [list(pair) for pair in self.inputs]]
        return short_hash(rfc8785.dumps(parts).decode(), length=16)


@dataclass(frozen=True)
class Unsettled(Problem):
    """Pods run different things, or are about to. `seen` is what runs, `coming` what the template will bring: a revision's
    name, or the beginning of one that ends with `@`; or in words what it is, where it is one of `others` or nothing known.
    `inputs` are what all Pods read beside it; None where that is not known."""

    seen: tuple[Running, ...] = ()
    coming: str | None = None
    others: tuple[str, ...] = ()
    inputs: tuple[tuple[str, str], ...] | None = None

    def brings(self, revision: str | None) -> bool:
        """Whether the template's Pods will be of this revision, as far as can be told before they run."""
        if self.coming is None or revision is None:
            return True
        names = (self.coming, *self.others)
        return any(revision == name or (name.endswith("@") and revision.startswith(name)) for name in names)


def declared(spec: RcaComponentSpec) -> Running:
    """What runs according to the spec alone: the word of a person."""
    return Running(spec.revision or "")


def with_inputs(
    running: Running | Unsettled, inputs: tuple[tuple[str, str], ...] | Problem
) -> Running | Problem:
    """What runs, with its further inputs. Where one is missing, the image that runs is known all the same; and a prompt
    that changes in the middle of a rollout has changed for every Pod."""
    if isinstance(running, Unsettled):
        return running if isinstance(inputs, Problem) else replace(running, inputs=inputs)
    if isinstance(inputs, Problem):
        return Unsettled(inputs.reason, inputs.message, stalled=inputs.stalled, seen=(running,))
    return replace(running, inputs=inputs)


def bound(values: TargetValues) -> bool:
    """Whether the word for Active names a revision."""
    return TOKEN in values.active


def active_value(values: TargetValues, revision: str) -> str:
    """The word that switches a consumer of this revision to Active."""
    return values.active.replace(TOKEN, revision)


def revision_in(value: str | None, values: TargetValues) -> str | None:
    """The revision that a word for Active names; None where it is no such word, or where words name none."""
    if value is None or not bound(values):
        return None
    before, after = values.active.split(TOKEN, 1)
    found = value[len(before) : len(value) - len(after)]
    fits = value.startswith(before) and value.endswith(after) and len(value) > len(before) + len(after)
    return found if fits and NAME.fullmatch(found) else None


def effective_mode(
    value: str | None, values: TargetValues, promoted: str | None = None, now: str | None = None
) -> EffectiveMode:
    """What a consumer of the revision `now` makes of the key's value.

    An absent key is Shadow: the old path governs without a switch. A word that names a revision is Active for that revision
    only. While what runs cannot be told (`now` is None) it is read as the revision that was `promoted` reads it: where that
    one runs still, it governs.
    """
    if value is None or value == values.shadow:
        return EffectiveMode.SHADOW
    if not bound(values):
        return EffectiveMode.ACTIVE if value == values.active else EffectiveMode.UNKNOWN
    named = revision_in(value, values)
    if named is None:
        return EffectiveMode.UNKNOWN
    reader = now if now is not None else promoted
    return EffectiveMode.ACTIVE if named == reader else EffectiveMode.SHADOW
