"""The parts of a scorecard and a baseline that the checks compare, resolved once."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from rca_eval.contract.metrics import mean, median
from rca_eval.contract.numbers import exact
from rca_eval.contract.scorecard import ArmResult, Baseline, IncidentResult, Scorecard
from rca_eval.gate.policy import GateContext, GatePolicy
from rca_eval.gate.ranks import Ranks

_SHORT = re.compile(r"^([A-Za-z]+-[0-9]+)(?=[-_.]|$)")
SHOWN_IDS = 5
SHOWN_CHARACTERS = 150  # a message has 300 and needs the rest for its numbers

Ranking = tuple[str, ...]


@dataclass(frozen=True)
class Subject:
    """Everything that a check may look at."""

    scorecard: Scorecard
    baseline: Baseline | None
    policy: GatePolicy
    context: GateContext
    ranks: Ranks = field(default_factory=Ranks, repr=False, compare=False)
    found: dict[str, str | None] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What a rule has answered already, by its name: for a rule that others ask, too."""

    @property
    def candidate_name(self) -> str:
        """The variant that is judged: With; in a batch run, which has no component, the effective modes as
        they are.
        """
        present = {variant.name for variant in self.scorecard.deterministic.variants}
        if "With" in present or self.context.component:
            return "With"
        return "Without" if "Without" in present else "AllShadow"

    @property
    def reference_name(self) -> str:
        """The variant that With is compared with; a batch run is compared with itself."""
        present = {variant.name for variant in self.scorecard.deterministic.variants}
        return "Without" if "Without" in present or self.context.component else self.candidate_name

    @property
    def needed_variants(self) -> tuple[str, ...]:
        return (
            ("AllShadow", "Without", "With") if self.context.component else ("AllShadow", self.candidate_name)
        )

    @property
    def component(self) -> str | None:
        """The mode key that With switches on; None if With is not Without with exactly one mode made Active."""
        modes = {variant.name: variant.modes for variant in self.scorecard.deterministic.variants}
        if "Without" not in modes or "With" not in modes:
            return None
        changed = changed_modes(modes["Without"], modes["With"])
        return changed[0] if len(changed) == 1 and modes["With"].get(changed[0]) == "Active" else None

    def arms(self, variant: str) -> dict[str, ArmResult]:
        found = self.scorecard.deterministic.arms_of(variant)
        return {arm.arm: arm for arm in found or ()}

    @property
    def baseline_arms(self) -> dict[str, ArmResult]:
        return {arm.arm: arm for arm in self.baseline.arms} if self.baseline else {}

    def seconds(self, variant: str, arm: str) -> Fraction | None:
        """MTTR: mean over incidents of the median over repeats. None when a time is missing: a mean must not
        skip the slow.
        """
        owner = self.scorecard.deterministic.owner_of(variant)
        expected = self.arms(variant).get(arm)
        if owner is None or expected is None or not expected.incidents:
            return None
        if (owner, arm) not in self._mttr:
            self._mttr[owner, arm] = self._mean_time(expected, self._times.get((owner, arm), {}))
        return self._mttr[owner, arm]

    @cached_property
    def _times(self) -> dict[tuple[str, str], dict[str, tuple[str | None, ...]]]:
        """Variant that ran and arm, to incident, to the seconds of each repeat."""
        found: dict[tuple[str, str], dict[str, tuple[str | None, ...]]] = {}
        for row in self.scorecard.measured.seconds:
            found.setdefault((row.variant, row.arm), {})[row.incident] = row.values
        return found

    @cached_property
    def _mttr(self) -> dict[tuple[str, str], Fraction | None]:
        return {}

    @staticmethod
    def _mean_time(expected: ArmResult, rows: Mapping[str, tuple[str | None, ...]]) -> Fraction | None:
        medians = []
        for result in expected.incidents:
            values = rows.get(result.id, ())
            known = [exact(value) for value in values if value is not None]
            if not known or len(known) < len(values):
                return None
            medians.append(median(known))
        return mean(medians)

    def baseline_seconds(self, arm: str) -> Fraction | None:
        rows = self.baseline.mttr_seconds if self.baseline else ()
        return next((exact(row.value) for row in rows if row.arm == arm and row.value is not None), None)

    def protected(self, arm: ArmResult) -> list[IncidentResult]:
        if self.policy.protected_incidents is None:
            return [result for result in arm.incidents if result.protected or result.change_induced]
        return [result for result in arm.incidents if result.id in self.policy.protected_incidents]


def changed_modes(without: Mapping[str, str], with_: Mapping[str, str]) -> list[str]:
    """The mode keys under which the two did not run alike, sorted; absent is a mode of its own."""
    return sorted(key for key in {*without, *with_} if with_.get(key) != without.get(key))


def hits(arm: ArmResult) -> dict[str, bool]:
    """Incident id to "the expected cause is alone at the top", recomputed from the candidates."""
    return Ranks().hits(arm)


def ranking(result: IncidentResult) -> Ranking:
    """The engine's own order; an answer that is none ranks nothing."""
    return tuple(row.key for row in result.candidates) if result.status == "Ranked" else ()


def comparable(one: ArmResult, other: ArmResult) -> bool:
    """Both measured the same incidents; a mean over others would be a number without a meaning."""
    return bool(one.incidents) and [r.id for r in one.incidents] == [r.id for r in other.incidents]


def accuracy(arm: ArmResult) -> Fraction:
    """AC@1. Raises `ValueError` for an arm without incidents."""
    return Ranks().accuracy(arm)


def short_ids(wanted: Sequence[str], among: Iterable[str]) -> str:
    """`GT-03, GT-07`: the prefix where it is unique among all ids, else the id; at most five, then `and n
    more`.
    """
    prefix = {name: (match[1] if (match := _SHORT.match(name)) else name) for name in {*among, *wanted}}
    count = Counter(prefix.values())
    names = [prefix[name] if count[prefix[name]] == 1 else name for name in wanted]
    count_shown = SHOWN_IDS
    while count_shown > 1 and len(", ".join(names[:count_shown])) > SHOWN_CHARACTERS:
        count_shown -= 1
    rest = len(names) - count_shown
    return ", ".join(names[:count_shown]) + (f" and {rest} more" if rest > 0 else "")
