"""What counts as caught, by whom, and when the goal is met."""

import pytest

from rca_eval.gate import CheckResult, GateResult
from rca_eval.selftest.aa import Replays, differences
from rca_eval.selftest.mutant import Mutant
from rca_eval.selftest.outcome import Outcome, Sight, Survey, named, share, sight

IDS = ("GT-01-login", "GT-02-gateway", "GT-10-login", "plain")
PLAIN = Mutant("plain", "weights", "engine/blend.py", "a", "b", "a mistake")
EQUAL = Mutant("equal", "weights", "engine/blend.py", "a", "b", "a mistake", equivalent="no input shows it")
PASSED = Sight("q", "Passed", "GatePassed", "fine")
BY_ACCURACY = Sight("q", "Failed", "AC@1", "lost", ("AC@1",), ("GT-01-login",), ("GT-01-login",))
BY_BYTES = Sight("q", "Failed", "ShadowCollapse", "differs", ("ShadowCollapse",), ("GT-01-login",))
BY_FAILURE = Sight("q", "Error", "EngineFailed", "it crashed", ("EngineFailed",))


def check(name: str, result: str, message: str, reason: str | None = None) -> CheckResult:
    return CheckResult.model_validate({"name": name, "result": result, "message": message, "reason": reason})


def test_an_incident_counts_as_named_only_if_a_reader_can_see_it() -> None:
    assert named(["1 lost (GT-01 lost)"], IDS) == ("GT-01-login",)
    assert named(["With/LivePath/GT-02-gateway differs"], IDS) == ("GT-02-gateway",)
    assert named(["GT-0 and GT-011 and GT-100 and plainer"], IDS) == ()
    assert named(["5 lost and 4 more"], IDS) == ()


def test_the_sight_of_a_verdict_separates_accuracy_from_bytes() -> None:
    rows = (
        check("Validity", "Passed", "may decide"),
        check("AC@1", "Failed", "AC@1 0.8 < 1.0 (GT-01 lost)"),
        check("ShadowCollapse", "Failed", "differs in 1 (GT-02)"),
        check("NoEffect", "Warning", "GT-10 has no effect"),
    )
    seen = sight("q", GateResult(verdict="Failed", reason="AC@1", message="m", checks=rows), IDS)
    assert seen.checks == ("AC@1", "ShadowCollapse")
    assert seen.incidents == ("GT-01-login", "GT-02-gateway")
    assert seen.accuracy == ("GT-01-login",)


def test_a_passed_verdict_with_a_warning_is_no_catch() -> None:
    rows = (check("NoEffect", "Warning", "GT-10 changed nothing"),)
    seen = sight("q", GateResult(verdict="Passed", reason="GatePassed", message="m", checks=rows), IDS)
    assert not seen.caught
    assert not seen.incidents
    assert seen.warnings == ("NoEffect",)
    assert Outcome(PLAIN, (seen,)).status == "survived"


@pytest.mark.parametrize(
    ("mutant", "sights", "status", "by_accuracy"),
    [
        (PLAIN, (PASSED, BY_ACCURACY), "caught", True),
        (PLAIN, (PASSED, BY_BYTES), "caught", False),
        (PLAIN, (BY_FAILURE,), "unnamed", False),
        (PLAIN, (PASSED, PASSED), "survived", False),
        (EQUAL, (PASSED,), "equivalent", False),
        (EQUAL, (PASSED, BY_BYTES), "refuted", False),
    ],
)
def test_what_becomes_of_a_mutant(
    mutant: Mutant, sights: tuple[Sight, ...], status: str, by_accuracy: bool
) -> None:
    outcome = Outcome(mutant, sights)
    assert (outcome.status, outcome.by_accuracy) == (status, by_accuracy)


def test_the_sight_that_is_shown_is_the_one_that_tells_most() -> None:
    assert Outcome(PLAIN, (PASSED, BY_FAILURE, BY_BYTES, BY_ACCURACY)).best == BY_ACCURACY
    assert Outcome(PLAIN, (PASSED, BY_FAILURE, BY_BYTES)).best == BY_BYTES
    assert Outcome(PLAIN, (PASSED,)).best is None


def test_the_goal_is_nine_of_ten_and_equivalent_mutants_do_not_count() -> None:
    caught, lost, equal = Outcome(PLAIN, (BY_BYTES,)), Outcome(PLAIN, (PASSED,)), Outcome(EQUAL, (PASSED,))
    assert Survey("d", (caught,) * 9 + (lost,) + (equal,) * 50).met
    assert not Survey("d", (caught,) * 8 + (lost,) + (equal,) * 50).met


def test_being_caught_without_an_incident_is_not_enough_for_the_goal() -> None:
    assert not Survey("d", (Outcome(PLAIN, (BY_FAILURE,)),)).met


def test_no_mutants_are_no_pass() -> None:
    nothing = Survey("d", ())
    assert not nothing.met
    assert nothing.plain()["shareNamed"] is None
    assert share(0, 0) is None


def test_differing_bytes_are_counted_and_a_missing_answer_is_all_of_it() -> None:
    one = {"a": b"same", "b": b"four", "c": b"gone"}
    other = {"a": b"same", "b": b"fourth", "d": b"new"}
    assert dict(differences(one, other)) == {"b": 2, "c": 4, "d": 3}
    assert list(differences(one, one)) == []


def test_no_replays_are_not_identical_ones() -> None:
    assert not Replays(0, 0, 0, 0, 0, ()).identical
    assert Replays(2, 1, 2, 4, 0, ()).identical
    assert not Replays(2, 1, 2, 4, 1, ("With/LivePath/GT-01",)).identical
    assert not Replays(2, 1, 2, 4, 0, (), "it crashed").identical
