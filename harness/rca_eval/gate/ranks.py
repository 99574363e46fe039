"""Orders and ranks of answers, each found once. Every check asks for them, and to order the candidates is what a verdict costs.

Kept beside the documents, not on them: a copy of a row with other candidates must not inherit a rank. A row is known by
its identity, and is held on to while its rank is, so that no other row can take its place.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction

from rca_eval.contract.metrics import MetricName, aggregate, mean
from rca_eval.contract.numbers import is_finite
from rca_eval.contract.scorecard import ArmResult, IncidentResult, fingerprint

Order = tuple[str, ...]
# Of rows; whoever keeps a memory for long judges by another baseline some day, and nobody needs the rows of the old one.
_MOST = 4096


class Ranks:
    """What `IncidentResult.order`, `true_rank` and `margin` say, and digests, remembered. Raises what they raise.

    One may be kept for many scorecards that share their answers."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[IncidentResult, Order, int | None]] = {}
        self._margins: dict[int, tuple[IncidentResult, Fraction | None]] = {}
        self._prints: dict[int, tuple[IncidentResult, str]] = {}
        self._metrics: dict[int, tuple[ArmResult, dict[MetricName, Fraction]]] = {}
        self._finite: dict[int, tuple[ArmResult, bool]] = {}

    def order(self, result: IncidentResult) -> Order:
        """Keys in pessimistic order; empty unless the engine ranked."""
        return self._of(result)[1]

    def rank(self, result: IncidentResult) -> int | None:
        """1-based place of the first expected cause, recomputed from the candidates; None for a miss outside them."""
        return self._of(result)[2]

    def hits(self, arm: ArmResult) -> dict[str, bool]:
        """Incident id to "the expected cause is alone at the top"."""
        return {result.id: self.rank(result) == 1 for result in arm.incidents}

    def accuracy(self, arm: ArmResult) -> Fraction:
        """AC@1. Raises `ValueError` for an arm without incidents."""
        return mean([Fraction(hit) for hit in self.hits(arm).values()])

    def recomputed(self, arm: ArmResult) -> dict[MetricName, Fraction]:
        """The metrics again, from the rows. Raises `ValueError` for an arm without incidents."""
        known = self._metrics.get(id(arm))
        if known is None:
            found = aggregate([(self.order(result), result.expected) for result in arm.incidents])
            known = self._metrics[id(arm)] = (arm, found)
        return known[1]

    def margin(self, result: IncidentResult) -> Fraction | None:
        """Score of the best expected candidate - the best other; None without scores or without both."""
        known = self._margins.get(id(result))
        if known is None:
            known = self._margins[id(result)] = (result, result.margin())
        return known[1]

    def fingerprint(self, result: IncidentResult) -> str:
        """16 hex digits for everything that was answered about an incident."""
        known = self._prints.get(id(result))
        if known is None:
            known = self._prints[id(result)] = (result, fingerprint(result))
        return known[1]

    def finite(self, arm: ArmResult, figures: Callable[[ArmResult], Iterable[tuple[str, str]]]) -> bool:
        """Whether all of the arm's figures are finite numbers."""
        known = self._finite.get(id(arm))
        if known is None:
            found = all(is_finite(value) for _, value in figures(arm))
            known = self._finite[id(arm)] = (arm, found)
        return known[1]

    def trimmed(self) -> "Ranks":
        """The same, or empty where it has grown out of what one set of answers and a baseline need."""
        if len(self._known) > _MOST:
            for memory in (self._known, self._margins, self._prints, self._metrics, self._finite):
                memory.clear()
        return self

    def _of(self, result: IncidentResult) -> tuple[IncidentResult, Order, int | None]:
        known = self._known.get(id(result))
        if known is None:
            order, truth = tuple(result.order()), set(result.expected)
            place = next((at for at, key in enumerate(order, 1) if key in truth), None)
            known = self._known[id(result)] = (result, order, place)
        return known
