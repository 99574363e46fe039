"""How far one weight may move before an incident changes hands. Pure and exact.

With all other terms as they are, a term t multiplied by x moves the lead of the cause over a rival to
lead + (x - 1) * (t of the cause - t of the rival). The cause is first for the x that keep every lead above zero: an
interval, open at a lead of zero, because a tie counts against the truth.
"""

from dataclasses import dataclass
from fractions import Fraction

from rca_eval.contract import IncidentResult
from rca_eval.gate.counterfactual import RESIDUAL, in_order, with_residual
from rca_eval.report.rows import contenders

ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class Range:
    """Multiples of a term for which the cause is first: `low` < x < `high`; None is no bound (low: down to zero)."""

    term: str
    low: Fraction | None
    high: Fraction | None

    @property
    def holds_now(self) -> bool:
        return (self.low is None or self.low < ONE) and (self.high is None or self.high > ONE)


def ranges(row: IncidentResult) -> tuple[Range, ...]:
    """For each term the multiples that put the cause first; a term that cannot do it alone is left out.

    Empty without terms, and where the cause is no candidate. A term without any value moves nothing.
    """
    terms = with_residual(row)
    cause, _ = contenders(row)
    if cause not in terms:
        return ()
    rivals = [key for key in terms if key not in row.expected]
    totals = {key: sum(values.values(), ZERO) for key, values in terms.items()}
    found = []
    for name in in_order({term for values in terms.values() for term in values} - {RESIDUAL}):
        if not any(values.get(name) for values in terms.values()):
            continue
        low, high, possible = ZERO, None, True
        closed = True  # zero itself is allowed
        for rival in rivals:
            lead = totals[cause] - totals[rival]
            pull = terms[cause].get(name, ZERO) - terms[rival].get(name, ZERO)
            if not pull:
                possible = possible and lead > 0
            elif pull > 0:
                bound = ONE - lead / pull
                if bound >= low:
                    low, closed = bound, False
            else:
                bound = ONE - lead / pull
                high = bound if high is None else min(high, bound)
        if possible and (high is None or high > low):
            found.append(Range(name, None if closed else low, high))
    return tuple(found)
