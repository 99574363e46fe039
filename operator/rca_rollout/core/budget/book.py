"""A ledger with its reservations added up: what there is room for."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal

from rca_rollout.api.schedule import Budget, Ledger, Reservation
from rca_rollout.api.suite import EvalSuiteSpec
from rca_rollout.core.admission import guards
from rca_rollout.core.budget.price import EXACT, Body, judged, plain, price_of

MOST = 1000  # reservations that the status can hold


class Book:
    """A ledger with its reservations added up, and room for more."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.rows = {one.uid: one for one in ledger.reservations}
        self._tokens, self._cost = ledger.tokens, Decimal(ledger.cost)
        self._runs = ledger.runs
        for one in ledger.reservations:
            self._count(one, 1)

    def add(self, one: Reservation) -> None:
        """In the place of an older one for the same run. More than the status can hold wait."""
        old = self.rows.get(one.uid)
        if old is None and len(self.rows) >= MOST:
            return
        if old is not None:
            self._count(old, -1)
        self._count(one, 1)
        self.rows[one.uid] = one

    def short(self, spec: EvalSuiteSpec, budget: Budget, run: Body) -> list[str]:
        """What there is too little of for another attempt of this run, in words."""
        price = price_of(spec, with_judge=judged(run, spec))
        again = (run.get("metadata") or {}).get("uid") in self.rows
        label = f" {budget.currency}" if budget.currency else ""
        found: list[str] = []
        if budget.runs_per_month is not None and not again and self._runs + 1 > budget.runs_per_month:
            found.append(f"runsPerMonth: {self._runs} of {budget.runs_per_month}")
        tokens, cost = budget.tokens_per_month, budget.cost_per_month
        if tokens is not None and self._tokens + price.tokens > tokens:
            found.append(f"tokensPerMonth: {self._tokens} of {tokens}, a run reserves {price.tokens}")
        if cost is not None and EXACT.add(self._cost, price.cost) > cost.decimal:
            found.append(
                f"costPerMonth: {plain(self._cost)} of {cost}{label}, a run reserves {plain(price.cost)}"
            )
        return found

    def _count(self, one: Reservation, sign: int) -> None:
        if one.month == self._ledger.month:
            self._runs += sign
            self._tokens += sign * one.tokens
            self._cost = EXACT.add(self._cost, sign * Decimal(one.cost))


def exempt(budget: Budget, run: Body, active: Collection[str]) -> bool:
    return budget.guard_exempt and guards(run, active)
