"""The ledger from one look to the next: the month, what has ended, and room for those whose turn it is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal

from rca_rollout.api.schedule import Budget, Ledger, Reservation
from rca_rollout.api.suite import EvalSuiteSpec
from rca_rollout.core.admission import Turns, started
from rca_rollout.core.budget.book import MOST, Book, exempt
from rca_rollout.core.budget.price import EXACT, Body, Price, judge_cost, judged, plain, price_of


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


def month_end(ledger: Ledger) -> datetime:
    """When the next month begins, UTC."""
    year, month = (int(part) for part in ledger.month.split("-"))
    return datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)


def _begun(
    spec: EvalSuiteSpec, old: Ledger | None, runs: Sequence[Body], month: str, now: datetime
) -> Ledger:
    """From the runs that are there: a suite that was recreated does not begin at nothing while they are."""
    fresh = Ledger(month=max(month, old.month) if old else month, since=old.since if old else now)
    begun = [run for run in runs if attempts_of(run) and _month_of(run) == fresh.month]
    for at in range(0, len(begun), MOST):
        some = tuple(_reservation(spec, run, fresh.month, attempts_of(run)) for run in begun[at : at + MOST])
        running = {r.uid: r for r in (*fresh.reservations, *some)}
        fresh = _settled(spec, fresh.evolve(reservations=tuple(running.values())[-MOST:]), runs)
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
        if reservation.month != ledger.month or (run is not None and not attempts_of(run)):
            continue
        used, known = _charge(spec, reservation, run)
        count, tokens, unknown = count + 1, tokens + used.tokens, unknown + (not known)
        cost = EXACT.add(cost, used.cost)
    return ledger.evolve(
        reservations=tuple(kept_), runs=count, tokens=tokens, cost=plain(cost), unknown=unknown
    )


def _reserved(
    spec: EvalSuiteSpec, ledger: Ledger, runs: Sequence[Body], line: Turns, active: Collection[str]
) -> Ledger:
    """With room for those whose turn it is. Who cannot be paid for is in nobody's way: the next in line is asked."""
    assert spec.budget is not None  # noqa: S101 - the caller has looked
    there = {str(run["metadata"]["uid"]): run for run in runs}
    book = Book(ledger)

    def affordable(run: Body) -> bool:
        assert spec.budget is not None  # noqa: S101 - the caller has looked
        return exempt(spec.budget, run, active) or not book.short(spec, spec.budget, run)

    for uid in sorted(line.holding):
        run, mine = there.get(uid), book.rows.get(uid)
        if run is None:
            continue
        if mine is None and started(run):  # it began before there was a budget
            book.add(_reservation(spec, run, ledger.month, max(1, attempts_of(run))))
        elif mine and not started(run) and mine.attempts <= attempts_of(run) and affordable(run):
            book.add(_reservation(spec, run, ledger.month, attempts_of(run) + 1, mine))
    places = spec.max_concurrent_runs - len(line.holding)
    for uid in line.waiting:
        if places <= 0:
            break
        run = there.get(uid)
        if run is not None and affordable(run):
            book.add(_reservation(spec, run, ledger.month, attempts_of(run) + 1))
            places -= 1
    return ledger.evolve(reservations=tuple(book.rows.values()))


def _charge(spec: EvalSuiteSpec, reservation: Reservation, run: Body | None) -> tuple[Price, bool]:
    """What a run is counted with, and whether it said so itself. One that is gone, and each attempt but the one that gave
    the result, is counted at its reservation."""
    share = Price(
        reservation.tokens // max(1, reservation.attempts),
        EXACT.divide(Decimal(reservation.cost), Decimal(max(1, reservation.attempts))),
    )
    limited = spec.budget is not None and (spec.budget.tokens_per_run or spec.budget.cost_per_run)
    if run is None:
        return Price(reservation.tokens, Decimal(reservation.cost)), not limited
    status = run.get("status") or {}
    usage, opinion = status.get("usage") or {}, status.get("judge")
    before = max(0, attempts_of(run) - 1)
    tokens, cost = before * share.tokens, EXACT.multiply(Decimal(before), share.cost)
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
        cost = EXACT.add(cost, Decimal(usage["cost"]))
    else:
        cost, known = EXACT.add(cost, engine.cost), known and not engine.cost
    return Price(tokens + asked, EXACT.add(cost, judge_cost(spec, asked))), known


def _reservation(
    spec: EvalSuiteSpec, run: Body, month: str, attempts: int, old: Reservation | None = None
) -> Reservation:
    """For so many attempts; one that is extended stays in the month in which it began."""
    price = price_of(spec, with_judge=judged(run, spec))
    more = attempts - (old.attempts if old else 0)
    cost = EXACT.multiply(Decimal(more), price.cost)
    return Reservation(
        uid=run["metadata"]["uid"],
        name=run["metadata"]["name"],
        month=old.month if old else month,
        attempts=attempts,
        tokens=(old.tokens if old else 0) + more * price.tokens,
        cost=plain(EXACT.add(Decimal(old.cost) if old else Decimal(0), cost)),
    )


def _running(run: Body) -> bool:
    """Being deleted, and not over: its engine may still be at work."""
    return (run.get("status") or {}).get("phase") in (None, "Pending", "Running")


def attempts_of(run: Body) -> int:
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
