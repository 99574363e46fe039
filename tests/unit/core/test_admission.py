"""Whose turn it is: what runs, who comes first, who waits for ever (nobody), and who is in nobody's way."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rca_rollout.api.values import format_time
from rca_rollout.core.admission import PATIENCE, active_components, turns

BEGIN = datetime(2026, 11, 30, 10, tzinfo=UTC)
ACTIVE, SHADOWING = "uid-active", "uid-shadow"


def run(
    uid: str,
    minutes: float = 0,
    *,
    trigger: str = "Manual",
    owner: str | None = None,
    **status: Any,
) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "name": uid,
        "uid": uid,
        "creationTimestamp": format_time(BEGIN + timedelta(minutes=minutes)),
    }
    if owner:
        metadata["ownerReferences"] = [{"kind": "RcaComponent", "uid": owner}]
    return {"metadata": metadata, "spec": {"trigger": trigger}, "status": status}


def order(*runs: dict[str, Any]) -> list[str]:
    return list(turns(runs, {ACTIVE}).waiting)


def test_guard_runs_of_active_components_come_first_then_gate_runs_then_all_others() -> None:
    assert order(
        run("manual", 0),
        run("scheduled", 1, trigger="Scheduled"),
        run("gate", 2, trigger="Gate", owner=SHADOWING),
        run("closing", 3, trigger="Closing", owner=SHADOWING),
        run("guard", 4, trigger="Guard", owner=ACTIVE),
    ) == ["guard", "gate", "closing", "manual", "scheduled"]


def test_the_oldest_of_a_kind_comes_first_and_the_name_decides_between_equals() -> None:
    assert order(run("b", 1), run("a", 1), run("c", 0)) == ["c", "a", "b"]


def test_a_trigger_that_somebody_wrote_by_hand_opens_no_door() -> None:
    assert order(
        run("old", 0), run("forged", 1, trigger="Guard"), run("gate", 2, trigger="Gate", owner="x")
    ) == [
        "gate",
        "old",
        "forged",
    ]


def test_a_guard_run_of_a_component_that_is_not_active_any_more_waits_with_the_gate_runs() -> None:
    guard = run("guard", 1, trigger="Guard", owner=SHADOWING)
    assert order(run("gate", 0, trigger="Gate", owner=ACTIVE), guard) == ["gate", "guard"]


def test_what_runs_goes_on_and_takes_its_place_from_those_that_wait() -> None:
    running = run("running", 5, phase="Running", jobRef={"name": "j"})
    found = turns([run("a", 0), run("b", 1), running], set())
    assert found.next(1) == ()
    assert found.next(2) == ("a",)
    assert found.problem("running", 1) is None
    assert found.problem("a", 2) is None
    held = found.problem("b", 2)
    assert held is not None
    assert held.reason == "WaitingForTurn"
    assert "2 evaluations at once" in held.message


def test_a_limit_that_is_lowered_stops_nothing_and_starts_nothing() -> None:
    several = [run(f"r{n}", n, phase="Running", jobRef={"name": "j"}) for n in range(3)]
    found = turns([*several, run("new", 9)], set())
    assert found.next(1) == ()
    assert all(found.problem(f"r{n}", 1) is None for n in range(3))


def test_a_run_that_ended_goes_or_cannot_be_read_is_in_nobodys_way() -> None:
    gone = run("gone", 0)
    gone["metadata"]["deletionTimestamp"] = format_time(BEGIN)
    broken = run("broken", 0)
    found = turns(
        [gone, broken, run("ended", 0, phase="Error"), run("me", 5)],
        set(),
        usable=lambda body: body is not broken,
    )
    assert found.waiting == ("me",)


def test_only_components_whose_key_reads_active_count_as_active() -> None:
    bodies = [
        {"metadata": {"uid": "a"}, "status": {"mode": "Active"}},
        {"metadata": {"uid": "b"}, "status": {"mode": "Shadow"}},
        {"metadata": {"uid": "c"}},
    ]
    assert active_components(bodies) == {"a"}


def test_a_run_that_the_budget_has_made_room_for_holds_its_place() -> None:
    found = turns([run("first", 0), run("second", 1)], set(), reserved={"second"})
    assert found.next(1) == ()
    assert found.problem("second", 1) is None
    assert found.problem("first", 1) is not None


_KINDS = st.sampled_from([("Guard", ACTIVE), ("Gate", SHADOWING), ("Manual", None), ("Scheduled", None)])
_WAITING = st.lists(st.tuples(_KINDS, st.integers(0, 60 * 48)), min_size=1, max_size=30)


@given(_WAITING, st.integers(1, 40))
def test_never_more_than_the_limit_start_and_no_place_stays_empty(waiting: list[Any], limit: int) -> None:
    runs = [run(f"r{n}", made, trigger=kind[0], owner=kind[1]) for n, (kind, made) in enumerate(waiting)]
    assert len(turns(runs, {ACTIVE}).next(limit)) == min(limit, len(runs))


@given(_WAITING)
def test_nobody_is_overtaken_by_a_run_that_was_made_after_his_patience_had_ended(waiting: list[Any]) -> None:
    made = {f"r{n}": minutes for n, (_, minutes) in enumerate(waiting)}
    runs = [run(f"r{n}", at, trigger=kind[0], owner=kind[1]) for n, (kind, at) in enumerate(waiting)]
    longest = max(PATIENCE.values()).total_seconds() / 60
    line = order(*runs)
    for place, uid in enumerate(line):
        assert all(made[ahead] <= made[uid] + longest for ahead in line[:place])
