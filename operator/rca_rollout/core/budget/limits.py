"""What stands in the way of a run that would begin, or of one that would pass."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal

from rca_eval.contract import Scorecard
from rca_rollout.api.reasons import Reason
from rca_rollout.api.schedule import Budget, Ledger, RunUsage
from rca_rollout.api.suite import EvalSuiteSpec
from rca_rollout.api.values import format_time
from rca_rollout.core.budget.book import Book, exempt
from rca_rollout.core.budget.ledger import attempts_of, month_end
from rca_rollout.core.budget.price import Body, plain
from rca_rollout.core.problem import Problem


def waits_for(
    spec: EvalSuiteSpec, ledger: Ledger | None, run: Body, active: Collection[str]
) -> Problem | None:
    """What a run whose turn has come still waits for: None where the ledger has its reservation (or there is no budget)."""
    if spec.budget is None:
        return None
    if ledger is not None:
        mine = next((r for r in ledger.reservations if r.uid == run["metadata"]["uid"]), None)
        if mine and mine.attempts > attempts_of(run):
            return None
        if not exempt(spec.budget, run, active) and (problem := exceeded(spec, ledger, run)):
            return problem
    return Problem(Reason.WAITING_FOR_TURN, "waits for its place in the suite's budget")


def exceeded(spec: EvalSuiteSpec, ledger: Ledger, run: Body) -> Problem | None:
    """Why the month has no room for this run, and until when; None where it has."""
    budget = spec.budget
    if budget is None:
        return None
    short = Book(ledger).short(spec, budget, run)
    if not short:
        return None
    return Problem(
        Reason.BUDGET_EXCEEDED,
        f"the budget of {ledger.month} has no room for another run ({'; '.join(short)}): it begins anew at "
        f"{format_time(month_end(ledger))}, or raise it in the EvalSuite",
    )


def usage_of(card: Scorecard) -> RunUsage:
    """What the engine says that it used, over all repeats; what not every answer says is not known."""
    said = card.measured.usage
    if said is None:
        asked = len(card.measured.seconds) * card.measured.repeats.count
        return RunUsage(answers=asked, reported=0)
    cost = said.known_cost
    return RunUsage(
        answers=said.answers,
        reported=min(said.with_tokens, said.with_cost) if said.with_cost else said.with_tokens,
        tokens=said.tokens,
        cost=None if cost is None else plain(Decimal(said.cost)),
    )


def overrun(budget: Budget | None, usage: RunUsage) -> Problem | None:
    """Why a run that would pass does not: it used more than it may, or did not say how much."""
    if budget is None:
        return None
    limits = (
        (budget.tokens_per_run, None if usage.tokens is None else Decimal(usage.tokens), "tokens"),
        (budget.cost_per_run, None if usage.cost is None else Decimal(usage.cost), "cost"),
    )
    for limit, used, what in limits:
        if limit is None:
            continue
        field = f"budget.{what}PerRun"
        if used is None:
            text = (
                f"{usage.answers - usage.reported} of {usage.answers} answers do not say what they used, and {field} is "
                f"set: let the engine write usage into predictions.json, or take {field} out of the EvalSuite"
            )
            return Problem(Reason.USAGE_UNKNOWN, text)
        if used > Decimal(str(limit)):
            text = f"the run used {plain(used)} ({what}), {field} is {limit}: let the engine use less, or raise it"
            return Problem(Reason.RUN_OVER_BUDGET, text)
    return None
