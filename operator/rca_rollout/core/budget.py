"""A suite's budget: what a run costs at most is reserved in the ledger before it begins, and settled after its end.

The ledger is in the suite's status, which is written conditionally: a write that was lost is made again from the same
facts. A run begins only when its reservation can be read there. So over any order of crashes the sums and the
reservations of a month together stay within the budget, but for guard runs that are exempt and for what an engine
uses beyond its limit, which is counted in full. Whatever is not known is counted at the most it could have been.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Context, Decimal
from typing import Any

from rca_eval.contract import Scorecard
from rca_rollout.api.common import Trigger
from rca_rollout.api.reasons import Reason
from rca_rollout.api.schedule import Budget, Ledger, Reservation, RunUsage
from rca_rollout.api.suite import EvalSuiteSpec
from rca_rollout.api.values import format_time
from rca_rollout.core.admission import Turns, guards, started
from rca_rollout.core.problem import Problem

type Body = Mapping[str, Any]

_MOST = 1000  # reservations that the status can hold
# No sum of costs is rounded: nine digits on both sides of the point, times as many runs as there can be.
_EXACT = Context(prec=60)


@dataclass(frozen=True)
class Price:
    """The most that one attempt of a run may use; 0 where the budget sets no limit."""

    tokens: int = 0
    cost: Decimal = Decimal(0)


def judged(run: Body, spec: EvalSuiteSpec) -> bool:
    """Whether the judge is asked about this run."""
    return asks_judge((run.get("spec") or {}).get("trigger"), spec)


def asks_judge(trigger: str | None, spec: EvalSuiteSpec) -> bool:
    """A scheduled run, in one piece, of a suite that wants an opinion. A shard has no scorecard to judge."""
    wanted = spec.schedule and spec.schedule.judge and spec.judge
    return bool(trigger == Trigger.SCHEDULED and wanted and (spec.job.shards or 1) == 1)


def price_of(spec: EvalSuiteSpec, *, with_judge: bool) -> Price:
    budget = spec.budget or Budget(runs_per_month=1_000_000)
    tokens = budget.tokens_per_run or 0
    cost = budget.cost_per_run.decimal if budget.cost_per_run else Decimal(0)
    if with_judge and spec.judge:
        tokens += spec.judge.tokens_per_run
        cost = _EXACT.add(cost, _judge_cost(spec, spec.judge.tokens_per_run))
    return Price(tokens, cost)


def kept(
    spec: EvalSuiteSpec,
    ledger: Ledger | None,
    runs: Sequence[Body],
    *,
    line: Turns,
    active: Collection[str],
    now: datetime,
) -> Ledger | None:
    """The ledger as it is now: the month, what has ended, and room for those whose turn it is. Pure and repeatable.

    `runs` are all of the suite's, `line` its turns with the ledger's reservations in it.
    """
    if spec.budget is None:
        return ledger and ledger.evolve(paused=True, reservations=())
    month = _month(now)
    if ledger is None or ledger.paused:
        ledger = _begun(spec, ledger, runs, month, now)
    elif ledger.month < month:
        # What was reserved in the old month is of the old month.
        ledger = ledger.evolve(month=month, runs=0, tokens=0, cost="0", unknown=0)
    ledger = _settled(spec, ledger, runs)
    ledger = _reserved(spec, ledger, runs, line, active)
    return ledger.evolve(summary=_summary(spec.budget, ledger))


def reserved(ledger: Ledger | None) -> frozenset[str]:
    """UIDs of the runs that the ledger has made room for."""
    return frozenset(r.uid for r in ledger.reservations) if ledger else frozenset()


def waits_for(
    spec: EvalSuiteSpec, ledger: Ledger | None, run: Body, active: Collection[str]
) -> Problem | None:
    """What a run whose turn has come still waits for: None where the ledger has its reservation (or there is no budget)."""
    if spec.budget is None:
        return None
    if ledger is not None:
        mine = next((r for r in ledger.reservations if r.uid == run["metadata"]["uid"]), None)
        if mine and mine.attempts > _attempts(run):
            return None
        if not _exempt(spec.budget, run, active) and (problem := exceeded(spec, ledger, run)):
            return problem
    return Problem(Reason.WAITING_FOR_TURN, "waits for its place in the suite's budget")


def exceeded(spec: EvalSuiteSpec, ledger: Ledger, run: Body) -> Problem | None:
    """Why the month has no room for this run, and until when; None where it has."""
    budget = spec.budget
    if budget is None:
        return None
    short = _Book(ledger).short(spec, budget, run)
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


def month_end(ledger: Ledger) -> datetime:
    """When the next month begins, UTC."""
    year, month = (int(part) for part in ledger.month.split("-"))
    return datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)


def plain(value: Decimal) -> str:
    """A decimal as people write it: no exponent, no zeros at its end."""
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _begun(
    spec: EvalSuiteSpec, old: Ledger | None, runs: Sequence[Body], month: str, now: datetime
) -> Ledger:
    """From the runs that are there: a suite that was recreated does not begin at nothing while they are."""
    fresh = Ledger(month=max(month, old.month) if old else month, since=old.since if old else now)
    begun = [run for run in runs if _attempts(run) and _month_of(run) == fresh.month]
    for at in range(0, len(begun), _MOST):
        some = tuple(_reservation(spec, run, fresh.month, _attempts(run)) for run in begun[at : at + _MOST])
        running = {r.uid: r for r in (*fresh.reservations, *some)}
        fresh = _settled(spec, fresh.evolve(reservations=tuple(running.values())[-_MOST:]), runs)
    if old and old.month == fresh.month:
        fresh = fresh.evolve(
            runs=max(fresh.runs, old.runs),
            tokens=max(fresh.tokens, old.tokens),
            cost=plain(max(Decimal(fresh.cost), Decimal(old.cost))),
            unknown=max(fresh.unknown, old.unknown),
        )
    return fresh


def _settled(spec: EvalSuiteSpec, ledger: Ledger, runs: Iterable[Body]) -> Ledger:
    """Without the reservations of what has ended or is gone; with what it used in the sums, if it is of this month."""
    there = {str(run["metadata"]["uid"]): run for run in runs}
    kept_, count, tokens, cost, unknown = [], ledger.runs, ledger.tokens, Decimal(ledger.cost), ledger.unknown
    for reservation in ledger.reservations:
        run = there.get(reservation.uid)
        if run is not None and _running(run):
            kept_.append(reservation)
            continue
        if reservation.month != ledger.month or (run is not None and not _attempts(run)):
            continue
        used, known = _charge(spec, reservation, run)
        count, tokens, unknown = count + 1, tokens + used.tokens, unknown + (not known)
        cost = _EXACT.add(cost, used.cost)
    return ledger.evolve(
        reservations=tuple(kept_), runs=count, tokens=tokens, cost=plain(cost), unknown=unknown
    )


def _reserved(
    spec: EvalSuiteSpec, ledger: Ledger, runs: Sequence[Body], line: Turns, active: Collection[str]
) -> Ledger:
    """With room for those whose turn it is. Who cannot be paid for is in nobody's way: the next in line is asked."""
    assert spec.budget is not None  # noqa: S101 - the caller has looked
    there = {str(run["metadata"]["uid"]): run for run in runs}
    book = _Book(ledger)

    def affordable(run: Body) -> bool:
        assert spec.budget is not None  # noqa: S101 - the caller has looked
        return _exempt(spec.budget, run, active) or not book.short(spec, spec.budget, run)

    for uid in sorted(line.holding):
        run, mine = there.get(uid), book.rows.get(uid)
        if run is None:
            continue
        if mine is None and started(run):  # it began before there was a budget
            book.add(_reservation(spec, run, ledger.month, max(1, _attempts(run))))
        elif mine and not started(run) and mine.attempts <= _attempts(run) and affordable(run):
            book.add(_reservation(spec, run, ledger.month, _attempts(run) + 1, mine))
    places = spec.max_concurrent_runs - len(line.holding)
    for uid in line.waiting:
        if places <= 0:
            break
        run = there.get(uid)
        if run is not None and affordable(run):
            book.add(_reservation(spec, run, ledger.month, _attempts(run) + 1))
            places -= 1
    return ledger.evolve(reservations=tuple(book.rows.values()))


class _Book:
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
        if old is None and len(self.rows) >= _MOST:
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
        if cost is not None and _EXACT.add(self._cost, price.cost) > cost.decimal:
            found.append(
                f"costPerMonth: {plain(self._cost)} of {cost}{label}, a run reserves {plain(price.cost)}"
            )
        return found

    def _count(self, one: Reservation, sign: int) -> None:
        if one.month == self._ledger.month:
            self._runs += sign
            self._tokens += sign * one.tokens
            self._cost = _EXACT.add(self._cost, sign * Decimal(one.cost))


def _charge(spec: EvalSuiteSpec, reservation: Reservation, run: Body | None) -> tuple[Price, bool]:
    """What a run is counted with, and whether it said so itself. One that is gone, and each attempt but the one that gave
    the result, is counted at its reservation."""
    share = Price(
        reservation.tokens // max(1, reservation.attempts),
        _EXACT.divide(Decimal(reservation.cost), Decimal(max(1, reservation.attempts))),
    )
    limited = spec.budget is not None and (spec.budget.tokens_per_run or spec.budget.cost_per_run)
    if run is None:
        return Price(reservation.tokens, Decimal(reservation.cost)), not limited
    status = run.get("status") or {}
    usage, opinion = status.get("usage") or {}, status.get("judge")
    before = max(0, _attempts(run) - 1)
    tokens, cost = before * share.tokens, _EXACT.multiply(Decimal(before), share.cost)
    asked = 0
    if judged(run, spec) and spec.judge:
        asked = int(opinion.get("tokens", 0)) if opinion else spec.judge.tokens_per_run
    known = True
    engine = price_of(spec, with_judge=False)
    if usage.get("tokens") is not None:
        tokens += int(usage["tokens"])
    else:
        tokens, known = tokens + engine.tokens, not engine.tokens
    if usage.get("cost") is not None:
        cost = _EXACT.add(cost, Decimal(usage["cost"]))
    else:
        cost, known = _EXACT.add(cost, engine.cost), known and not engine.cost
    return Price(tokens + asked, _EXACT.add(cost, _judge_cost(spec, asked))), known


def _reservation(
    spec: EvalSuiteSpec, run: Body, month: str, attempts: int, old: Reservation | None = None
) -> Reservation:
    """For so many attempts; one that is extended stays in the month in which it began."""
    price = price_of(spec, with_judge=judged(run, spec))
    more = attempts - (old.attempts if old else 0)
    cost = _EXACT.multiply(Decimal(more), price.cost)
    return Reservation(
        uid=run["metadata"]["uid"],
        name=run["metadata"]["name"],
        month=old.month if old else month,
        attempts=attempts,
        tokens=(old.tokens if old else 0) + more * price.tokens,
        cost=plain(_EXACT.add(Decimal(old.cost) if old else Decimal(0), cost)),
    )


def _judge_cost(spec: EvalSuiteSpec, tokens: int) -> Decimal:
    price = spec.judge.price_per_million_tokens if spec.judge else None
    return _EXACT.multiply(price.decimal, Decimal(tokens)).scaleb(-6) if price else Decimal(0)


def _exempt(budget: Budget, run: Body, active: Collection[str]) -> bool:
    return budget.guard_exempt and guards(run, active)


def _running(run: Body) -> bool:
    """Being deleted, and not over: its engine may still be at work."""
    return (run.get("status") or {}).get("phase") in (None, "Pending", "Running")


def _attempts(run: Body) -> int:
    return int((run.get("status") or {}).get("attempts") or 0)


def _month(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m")


def _month_of(run: Body) -> str:
    return str((run.get("status") or {}).get("startedAt") or "")[:7]


def _summary(budget: Budget, ledger: Ledger) -> str:
    parts = []
    if budget.runs_per_month is not None:
        parts.append(f"{ledger.runs}/{budget.runs_per_month} runs")
    if budget.tokens_per_month is not None:
        parts.append(f"{ledger.tokens}/{budget.tokens_per_month} tokens")
    if budget.cost_per_month is not None:
        parts.append(f"{ledger.cost}/{budget.cost_per_month} {budget.currency or ''}".strip())
    return ", ".join(parts) or f"{ledger.runs} runs"
