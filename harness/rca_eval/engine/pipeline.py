"""From what was gathered to a ranked answer, under any set of active components.

Order: table and BARO term, `hist` from memory, blend, cap, order, verification gate, hypotheses. With no
component active this is the legacy path alone, and its bytes are those of an engine that has no component.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from rca_eval.engine.blend import Blend
from rca_eval.engine.components import LIVE_ACTIVATION
from rca_eval.engine.investigation import Findings, Ranking, rank


@dataclass(frozen=True)
class Conclusion:
    """A ranking, and what the active components say about it (None when none of them has a say)."""

    ranking: Ranking
    decision: str | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The services, best first."""
        return tuple(one.key for one in self.ranking.candidates)


class Pipeline:
    """One incident's findings, ranked as often as modes are asked about."""

    def __init__(self, findings: Findings, blend: Blend) -> None:
        self._findings = findings
        self._blend = blend

    def conclude(self, active: AbstractSet[str]) -> Conclusion:
        """The answer when exactly these components govern."""
        return Conclusion(rank(self._findings, self._blend, use_baro=LIVE_ACTIVATION in active))
