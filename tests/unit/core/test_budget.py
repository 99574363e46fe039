"""The ledger: what is reserved, settled and refused; the month's end; and that no order of crashes admits too much."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rca_testing import suites

from rca_rollout.api.schedule import Budget, Ledger, RunUsage
from rca_rollout.api.suite import EvalSuiteSpec
from rca_rollout.api.values import format_time
from rca_rollout.core import budget
from rca_rollout.core.admission import turns

NOW = datetime(2026, 11, 30, 10, tzinfo=UTC)
ACTIVE = frozenset({"uid-active"})
JUDGE = {
    "endpoint": "https://llm.example/v1",
    "model": "m",
    "tokensPerRun": 1000,
    "pricePerMillionTokens": "2.5",
}


def spec(**changes: Any) -> EvalSuiteSpec:
    return suites.suite(**changes).spec


def run(uid: str, trigger: str = "Manual", owner: str | None = None, **status: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": uid, "uid": uid, "creationTimestamp": format_time(NOW)}
    if owner:
        metadata["ownerReferences"] = [{"kind": "RcaComponent", "uid": owner}]
    return {"metadata": metadata, "spec": {"trigger": trigger}, "status": status}


def ended(
    uid: str, usage: dict[str, Any] | None = None, phase: str = "Passed", **status: Any
) -> dict[str, Any]:
    base = {"phase": phase, "attempts": 1, "startedAt": format_time(NOW), **status}
    return run(uid, **base, **({"usage": {"answers": 1, "reported": 1, **usage}} if usage else {}))


def running(uid: str, **status: Any) -> dict[str, Any]:
    return run(uid, phase="Running", attempts=1, jobRef={"name": "j"}, startedAt=format_time(NOW), **status)


def kept(
    wanted: EvalSuiteSpec, ledger: Ledger | None, runs: list[dict[str, Any]], now: datetime = NOW
) -> Ledger:
    line = turns(runs, ACTIVE, reserved=budget.reserved(ledger))
    found = budget.kept(wanted, ledger, runs, line=line, active=ACTIVE, now=now)
    assert found is not None
    # The same facts give the same ledger: a status that was lost is written again.
    line = turns(runs, ACTIVE, reserved=budget.reserved(found))
    assert budget.kept(wanted, found, runs, line=line, active=ACTIVE, now=now) == found
    return found


def waits(wanted: EvalSuiteSpec, ledger: Ledger | None, body: dict[str, Any]) -> str | None:
    held = budget.waits_for(wanted, ledger, body, ACTIVE)
    return held.reason if held else None


TOKENS = spec(budget={"tokensPerRun": 100, "tokensPerMonth": 250}, maxConcurrentRuns=10)


def test_a_run_begins_only_when_its_reservation_can_be_read() -> None:
    assert waits(TOKENS, None, run("a")) == "WaitingForTurn"
    ledger = kept(TOKENS, None, [run("a")])
    assert [(r.uid, r.tokens, r.attempts) for r in ledger.reservations] == [("a", 100, 1)]
    assert waits(TOKENS, ledger, run("a")) is None
    assert waits(TOKENS, ledger, run("b")) == "WaitingForTurn"
    assert waits(spec(), None, run("a")) is None


def test_reservations_and_sums_together_stay_within_the_budget() -> None:
    ledger = kept(TOKENS, None, [run("a"), run("b"), run("c")])
    assert [r.uid for r in ledger.reservations] == ["a", "b"]
    assert waits(TOKENS, ledger, run("c")) == "BudgetExceeded"


def test_what_a_run_used_takes_the_place_of_what_was_reserved_for_it() -> None:
    ledger = kept(TOKENS, None, [run("a"), run("b"), run("c")])
    ledger = kept(TOKENS, ledger, [ended("a", {"tokens": 40}), running("b"), run("c")])
    assert (ledger.runs, ledger.tokens, [r.uid for r in ledger.reservations]) == (1, 40, ["b", "c"])


@pytest.mark.parametrize(
    ("body", "tokens", "unknown"),
    [
        (ended("a"), 100, 1),
        (ended("a", phase="Error"), 100, 1),
        (ended("a", {"tokens": 170}), 170, 0),
        (ended("a", {"tokens": 30}, attempts=3), 230, 0),
        (None, 100, 1),
        (run("a", phase="Superseded"), 0, 0),
    ],
)
def test_what_is_not_known_is_counted_at_the_most_it_could_have_been(
    body: dict[str, Any] | None, tokens: int, unknown: int
) -> None:
    """Silence, a crash, a deleted run and a disrupted attempt; one that never began has used nothing."""
    ledger = kept(TOKENS, None, [run("a")])
    ledger = kept(TOKENS, ledger, [body] if body else [])
    assert (ledger.tokens, ledger.unknown, ledger.reservations) == (tokens, unknown, ())


def test_a_run_that_is_being_deleted_keeps_its_reservation_until_it_is_gone() -> None:
    going = running("a")
    going["metadata"]["deletionTimestamp"] = format_time(NOW)
    ledger = kept(TOKENS, kept(TOKENS, None, [run("a")]), [going])
    assert budget.reserved(ledger) == {"a"}


def test_another_attempt_needs_room_of_its_own() -> None:
    ledger = kept(TOKENS, None, [run("a"), run("b")])
    again = run("a", phase="Pending", attempts=1, startedAt=format_time(NOW))
    stuck = kept(TOKENS, ledger, [again, running("b")])
    assert waits(TOKENS, stuck, again) == "BudgetExceeded"
    free = kept(TOKENS, stuck, [again, ended("b", {"tokens": 10})])
    assert waits(TOKENS, free, again) is None
    assert next(r for r in free.reservations if r.uid == "a").tokens == 200


def test_who_cannot_be_paid_for_is_in_nobodys_way() -> None:
    wanted = spec(
        budget={"tokensPerRun": 100, "tokensPerMonth": 250},
        schedule={"cron": "0 2 * * *", "judge": True},
        judge=JUDGE,
        maxConcurrentRuns=1,
    )
    ledger = kept(wanted, None, [run("a-dear", "Scheduled"), run("b-cheap")])
    assert [r.uid for r in ledger.reservations] == ["b-cheap"]


def test_guard_runs_of_active_components_go_on_and_are_counted() -> None:
    guard = run("guard", "Guard", "uid-active")
    wanted = spec(budget={"runsPerMonth": 1}, maxConcurrentRuns=10)
    ledger = kept(wanted, None, [ended("a")])
    full = kept(wanted, ledger, [ended("a"), guard, run("b"), run("forged", "Guard")])
    assert budget.reserved(full) == {"guard"}
    assert waits(wanted, full, guard) is None
    counted = spec(budget={"runsPerMonth": 1, "guardExempt": False}, maxConcurrentRuns=10)
    assert budget.reserved(kept(counted, ledger, [ended("a"), guard])) == set()
    assert waits(counted, ledger, guard) == "BudgetExceeded"


def test_the_next_month_begins_at_nothing_and_the_message_says_when() -> None:
    ledger = kept(TOKENS, None, [ended("a", {"tokens": 90}), ended("b", {"tokens": 90})])
    full = budget.exceeded(TOKENS, ledger, run("c"))
    assert full is not None
    assert full.message == (
        "the budget of 2026-11 has no room for another run (tokensPerMonth: 180 of 250, a run reserves 100): it begins "
        "anew at 2026-12-01T00:00:00Z, or raise it in the EvalSuite"
    )
    later = kept(TOKENS, ledger, [run("c")], NOW + timedelta(days=1))
    assert (later.month, later.tokens, later.runs) == ("2026-12", 0, 0)
    assert budget.month_end(later) == datetime(2027, 1, 1, tzinfo=UTC)


def test_a_clock_that_is_set_back_opens_no_old_month() -> None:
    later = kept(
        TOKENS, None, [ended("a", {"tokens": 90}, startedAt="2026-12-01T00:00:00Z")], NOW + timedelta(days=1)
    )
    assert later.tokens == 90
    back = kept(TOKENS, later, [], NOW)
    assert (back.month, back.tokens) == ("2026-12", 90)


def test_what_was_reserved_in_the_old_month_is_of_the_old_month() -> None:
    ledger = kept(TOKENS, None, [run("a")])
    rolled = kept(TOKENS, ledger, [running("a"), run("b"), run("c")], NOW + timedelta(days=1))
    assert budget.reserved(rolled) == {"a", "b", "c"}
    settled = kept(TOKENS, rolled, [ended("a", {"tokens": 99}), run("b"), run("c")], NOW + timedelta(days=1))
    assert (settled.tokens, settled.runs) == (0, 0)


def test_a_ledger_begins_with_the_runs_that_are_there() -> None:
    runs = [
        ended("a", {"tokens": 60}),
        ended("old", {"tokens": 60}, startedAt="2026-10-30T00:00:00Z"),
        running("b"),
    ]
    ledger = kept(TOKENS, None, runs)
    assert (ledger.tokens, ledger.runs, budget.reserved(ledger)) == (60, 1, {"b"})


def test_a_budget_that_is_taken_away_and_given_back_forgets_nothing() -> None:
    ledger = kept(TOKENS, None, [ended("a", {"tokens": 60}), ended("b", {"tokens": 60})])
    paused = budget.kept(spec(), ledger, [], line=turns([], ()), active=(), now=NOW)
    assert paused is not None
    assert paused.paused
    again = kept(TOKENS, paused, [ended("b", {"tokens": 60})])
    assert (again.tokens, again.paused) == (120, False)


def test_costs_are_added_up_to_the_last_digit() -> None:
    wanted = spec(
        budget={"costPerRun": "0.3", "costPerMonth": "0.9", "currency": "EUR"}, maxConcurrentRuns=10
    )
    ledger = kept(
        wanted, None, [ended("a", {"cost": "0.1"}), ended("b", {"cost": "0.2"}), run("c"), run("d"), run("e")]
    )
    assert (ledger.cost, len(ledger.reservations)) == ("0.3", 2)
    assert ledger.summary == "0.3/0.9 EUR"


def test_the_judge_is_reserved_for_and_paid_by_its_tokens() -> None:
    wanted = spec(
        budget={"costPerRun": "1", "costPerMonth": "20"},
        schedule={"cron": "0 2 * * *", "judge": True},
        judge=JUDGE,
    )
    asked = run("a", "Scheduled")
    ledger = kept(wanted, None, [asked])
    assert (ledger.reservations[0].tokens, ledger.reservations[0].cost) == (1000, "1.0025")
    done = ended("a", {"cost": "0.5"}, judge={"tokens": 400})
    done["spec"]["trigger"] = "Scheduled"
    assert kept(wanted, ledger, [done]).cost == "0.501"
    silent = ended("a", {"cost": "0.5"})
    silent["spec"]["trigger"] = "Scheduled"
    assert kept(wanted, ledger, [silent]).cost == "0.5025"


@pytest.mark.parametrize(
    ("limits", "usage", "reason"),
    [
        ({"tokensPerRun": 100}, {"tokens": 100}, None),
        ({"tokensPerRun": 100}, {"tokens": 101}, "RunOverBudget"),
        ({"tokensPerRun": 100}, {}, "UsageUnknown"),
        ({"costPerRun": "0.3"}, {"cost": "0.3"}, None),
        ({"costPerRun": "0.3"}, {"cost": "0.300000001"}, "RunOverBudget"),
        ({"costPerRun": "0.3"}, {"tokens": 5}, "UsageUnknown"),
        ({"runsPerMonth": 5}, {}, None),
    ],
)
def test_no_run_passes_that_used_too_much_or_does_not_say_how_much(
    limits: dict[str, Any], usage: dict[str, Any], reason: str | None
) -> None:
    found = budget.overrun(Budget.model_validate(limits), RunUsage(answers=4, reported=1, **usage))
    assert (found.reason if found else None) == reason
    assert budget.overrun(None, RunUsage(answers=1, reported=0)) is None


_STEPS = st.lists(
    st.sampled_from(
        ["new", "guard", "decide", "lose", "start", "use", "overuse", "fail", "delete", "evict", "restart"]
    ),
    max_size=60,
)


@settings(max_examples=300, deadline=None)
@given(_STEPS, st.randoms(use_true_random=False))
def test_over_any_order_of_crashes_no_month_admits_more_than_its_budget(
    steps: list[str], chance: Any
) -> None:
    """`decide` writes a ledger, `lose` makes one that is never written; runs begin only by the written one.

    What was really used (each attempt up to 100 tokens, but for those that overuse) is held against the budget, less
    what guard runs and overuse took.
    """
    wanted = spec(
        budget={"tokensPerRun": 100, "tokensPerMonth": 1000, "runsPerMonth": 8}, maxConcurrentRuns=3
    )
    runs: dict[str, dict[str, Any]] = {}
    written: Ledger | None = None
    used = began = excess = number = 0

    def pick(test: Any) -> dict[str, Any] | None:
        found = [body for body in runs.values() if test(body["status"])]
        return chance.choice(found) if found else None

    for step in steps:
        if step in ("new", "guard"):
            number += 1
            owner = ("Guard", "uid-active") if step == "guard" else ("Manual", None)
            runs[f"r{number}"] = run(f"r{number}", *owner)
        elif step in ("decide", "lose"):
            made = kept(wanted, written, list(runs.values()))
            written = made if step == "decide" else written
        elif step == "start" and (body := pick(lambda s: not s.get("phase") or s.get("phase") == "Pending")):
            if waits(wanted, written, body) is None:
                status = body["status"]
                status.update(
                    phase="Running",
                    attempts=status.get("attempts", 0) + 1,
                    jobRef={"name": "j"},
                    startedAt=format_time(NOW),
                )
                exempt = body["spec"]["trigger"] == "Guard"
                used += 100
                began += status["attempts"] == 1
                excess += 100 if exempt else 0
                began -= exempt and status["attempts"] == 1
        elif step in ("use", "overuse", "fail") and (body := pick(lambda s: s.get("phase") == "Running")):
            tokens = 250 if step == "overuse" else 100
            body["status"].update(phase="Error" if step == "fail" else "Passed", jobRef=None)
            if step != "fail":
                body["status"]["usage"] = {"answers": 1, "reported": 1, "tokens": tokens}
            used, excess = used + tokens - 100, excess + tokens - 100
        elif step == "evict" and (body := pick(lambda s: s.get("phase") == "Running")):
            body["status"].update(phase="Pending", jobRef=None)
        elif step == "delete" and runs:
            gone = runs.pop(chance.choice(sorted(runs)))
            told = (gone["status"].get("usage") or {}).get("tokens", 0)
            if gone["metadata"]["uid"] in budget.reserved(written) and told > 100:
                # Deleted before it was settled: what it used beyond its reservation is known to nobody.
                used, excess = used - (told - 100), excess - (told - 100)
        assert used - excess <= 1000
        assert began <= 8
        if written:
            assert written.tokens >= 0
            assert Decimal(written.cost) >= 0
            assert len({r.uid for r in written.reservations}) == len(written.reservations)
    final = kept(wanted, written, list(runs.values()))
    held = sum(r.tokens for r in final.reservations)
    assert final.tokens + held >= used, "everything that was used is in the ledger"
