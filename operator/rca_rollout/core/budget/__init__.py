"""A suite's budget: what a run costs at most is reserved in the ledger before it begins, and settled after its end.

The ledger is in the suite's status, which is written conditionally: a write that was lost is made again from the same
facts. A run begins only when its reservation can be read there. So over any order of crashes the sums and the
reservations of a month together stay within the budget, but for guard runs that are exempt and for what an engine
uses beyond its limit, which is counted in full. Whatever is not known is counted at the most it could have been.
"""

from rca_rollout.core.budget.ledger import kept, month_end, reserved
from rca_rollout.core.budget.limits import exceeded, overrun, usage_of, waits_for
from rca_rollout.core.budget.price import Price, asks_judge, judged, plain, price_of

__all__ = [
    "Price",
    "asks_judge",
    "exceeded",
    "judged",
    "kept",
    "month_end",
    "overrun",
    "plain",
    "price_of",
    "reserved",
    "usage_of",
    "waits_for",
]
