"""Orders and ranks of answers, each found once. Every check asks for them, and to order the candidates is what a verdict costs.

Kept beside the documents, not on them: a copy of a row with other candidates must not inherit a rank. A row is known by
its identity, and is held on to while its rank is, so that no other row can take its place.
"""

from fractions import Fraction

from rca_eval.contract.metrics import MetricName, aggregate, mean
from rca_eval.contract.scorecard import ArmResult, IncidentResult

Order = tuple[str, ...]


class Ranks:
    """What `IncidentResult.order` and `true_rank` say, remembered. Raises what they raise."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[IncidentResult, Order, int | None]] = {}

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
        return aggregate([(self.order(result), result.expected) for result in arm.incidents])

    def _of(self, result: IncidentResult) -> tuple[IncidentResult, Order, int | None]:
        known = self._known.get(id(result))
        if known is None:
            order, truth = tuple(result.order()), set(result.expected)
            place = next((at for at, key in enumerate(order, 1) if key in truth), None)
            known = self._known[id(result)] = (result, order, place)
        return known
