"""Names, spans, conditions, figures: small, and everywhere."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rca_testing import evidence, suites
from rca_testing.lifecycle_world import START

from rca_eval.gate import GatePolicy, GateResult
from rca_rollout.api.common import Blame, ConditionType
from rca_rollout.api.reasons import Reason
from rca_rollout.core import names, verdict
from rca_rollout.core.clock import earliest, short
from rca_rollout.core.conditions import drop_conditions, keep_times, reason_of, set_condition

LABEL = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_name = st.from_regex(r"\A[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?\Z")
_component = st.from_regex(r"\A[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?\Z")
READY = ConditionType.READY


@given(_component, st.from_regex(r"\A[0-9a-f]{16}\Z"), st.integers(1, 10**9))
def test_every_name_fits_and_is_a_label(component: str, epoch: str, number: int) -> None:
    run = names.run_name(component, epoch, number)
    made = (run, names.job_name(run, "uid", 4), names.label_value(run))
    assert all(len(name) <= 63 and LABEL.fullmatch(name) for name in made)
    assert LABEL.fullmatch(names.scorecard_name(run))
    assert len(names.event_name(component, "u", "r", "t")) <= 253


@given(_component, _component, st.integers(1, 10**9), st.integers(1, 10**9))
def test_two_runs_never_share_a_name(one: str, other: str, n: int, m: int) -> None:
    same = names.run_name(one, "abcdef", n) == names.run_name(other, "abcdef", m)
    assert same == ((one, n) == (other, m))


@given(_name, _name)
def test_two_runs_never_share_a_scorecard_or_a_job(one: str, other: str) -> None:
    assert (names.scorecard_name(one) == names.scorecard_name(other)) == (one == other)
    assert names.job_name(one, "u1", 1) != names.job_name(other, "u2", 1)


def test_long_names_that_differ_only_at_the_end_stay_apart() -> None:
    one, other = "a" * 62 + "1", "a" * 62 + "2"
    assert names.scorecard_name(one) != names.scorecard_name(other)
    assert names.label_value("a" * 100 + "1") != names.label_value("a" * 100 + "2")


def test_hashed_parts_cannot_run_into_each_other() -> None:
    assert names.short_hash("ab", "c") != names.short_hash("a", "bc")


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (timedelta(0), "0s"), (timedelta(seconds=-5), "0s"), (timedelta(seconds=90), "1m30s"), (timedelta(hours=24), "1d"),
        (timedelta(days=2, hours=4, minutes=7), "2d4h"), (timedelta(hours=3, minutes=10, seconds=9), "3h10m"),
    ],
)  # fmt: skip
def test_spans_show_their_two_leading_units(span: timedelta, text: str) -> None:
    assert short(span) == text


def test_the_earliest_of_what_is_known() -> None:
    assert earliest(None, START + timedelta(1), START) == START
    assert earliest(None, None) is None


def test_a_transition_moves_only_with_the_status() -> None:
    later = START + timedelta(hours=1)
    first = set_condition((), READY, True, "A", "a", generation=1, now=START)
    same = set_condition(first, READY, True, "B", "b", generation=2, now=later)
    assert (same[0].last_transition_time, same[0].reason, same[0].observed_generation) == (START, "B", 2)
    for status in (False, None):
        assert (
            set_condition(first, READY, status, "A", "a", generation=1, now=later)[0].last_transition_time
            == later
        )


def test_there_is_one_condition_of_a_type_in_the_order_of_first_appearance() -> None:
    held = set_condition((), READY, True, "A", "", generation=1, now=START)
    held = set_condition(held, ConditionType.PROMOTED, None, "B", "", generation=1, now=START)
    held = set_condition(held, READY, False, "C", "", generation=1, now=START)
    assert [(c.type, c.status) for c in held] == [("Ready", "False"), ("Promoted", "Unknown")]
    assert reason_of(held, READY) == "C"
    assert reason_of(drop_conditions(held, READY), READY) is None


def test_what_changes_and_changes_back_within_a_step_has_not_changed() -> None:
    later = START + timedelta(hours=1)
    old = set_condition((), READY, True, "A", "", generation=1, now=START)
    new = set_condition(old, READY, False, "B", "", generation=1, now=later)
    new = set_condition(new, READY, True, "C", "", generation=1, now=later)
    assert keep_times(old, new)[0].last_transition_time == START


@pytest.mark.parametrize(
    ("value", "plain", "signed"),
    [
        (Fraction(7, 9), "0.778", "+0.778"), (Fraction(1), "1.000", "+1.000"), (Fraction(0), "0.000", "+0.000"),
        (Fraction(-2, 9), "-0.222", "-0.222"), (Fraction(-1, 10000), "-0.000", "+0.000"), (None, None, None),
    ],
)  # fmt: skip
def test_figures_have_three_digits_and_differences_a_sign(
    value: Fraction | None, plain: str, signed: str
) -> None:
    assert (verdict.figure(value), verdict.figure(value, signed=True)) == (plain, signed)


def test_figures_are_those_of_the_live_path_also_through_a_variant_that_ran_once() -> None:
    card = evidence.scorecard("a" * 64, lost=("GT-01-incident",))
    assert verdict.figure(verdict.accuracy_of(card, "With")) == "0.889"
    assert verdict.figure(verdict.accuracy_of(card, "Without")) == "1.000"
    assert verdict.seconds(verdict.mttr_of(card, "Without")) == "0.003s"
    assert verdict.accuracy_of(card, "Other") is verdict.mttr_of(card, "Other") is None


def judged(lost: tuple[str, ...]) -> GateResult:
    facts = suites.facts()
    card = evidence.scorecard(facts.dataset_sha256, lost=lost)
    return verdict.judge(
        card, facts, dataset_sha256=facts.dataset_sha256, revision="v1", component=True, wall_seconds=(9, 9)
    )


def test_the_suite_s_tolerance_is_the_gate_s() -> None:
    assert judged(()).verdict == "Passed"
    assert judged(("GT-01-incident",)).verdict == "Failed"
    lenient = suites.facts(
        tolerance={"accuracyDrop": "0.5", "mttrRise": "1h"}, protectedIncidents=[], minIncidents=3
    )
    policy = verdict.policy_of(lenient)
    assert (policy.accuracy_drop, policy.mttr_rise, policy.min_incidents) == ("0.5", 3600, 3)
    assert tuple(policy.protected_incidents or ()) == ()


def test_a_suite_that_says_nothing_more_is_judged_by_the_gate_s_own_defaults() -> None:
    assert verdict.policy_of(suites.facts()) == GatePolicy()


@pytest.mark.parametrize(
    ("spec", "field", "value"),
    [
        ({"maxRegressedIncidents": 0}, "max_regressed_incidents", 0),
        ({"maxRegressedIncidents": 7}, "max_regressed_incidents", 7),
        ({"shadowFidelity": "IfLogged"}, "shadow_fidelity", "IfLogged"),
        ({"shadowFidelity": "Required"}, "shadow_fidelity", "Required"),
        ({"knownBad": "Skip"}, "require_known_bad", False),
        ({"knownBad": "Required"}, "require_known_bad", True),
    ],
)
def test_what_a_suite_asks_of_the_gate_reaches_it(spec: dict[str, object], field: str, value: object) -> None:
    assert getattr(verdict.policy_of(suites.facts(**spec)), field) == value


def test_a_shadow_that_logs_something_else_is_pinned_on_the_component() -> None:
    facts = suites.facts()
    card = evidence.scorecard(facts.dataset_sha256)
    other = tuple(row.model_copy(update={"entities": ("trap",)}) for row in card.measured.would_be)
    card = card.model_copy(update={"measured": card.measured.model_copy(update={"would_be": other})})
    result = verdict.judge(
        card, facts, dataset_sha256=facts.dataset_sha256, revision="v1", component=True, wall_seconds=(9, 9)
    )
    assert verdict.reason_of(result) == Reason.SHADOW_FIDELITY
    assert verdict.blame_of(card, facts, result) is Blame.COMPONENT
    assert any(check.name == "ShadowFidelity" for check in verdict.checks_of(result))


def test_reasons_and_checks_fit_conditions_and_status() -> None:
    result = judged(("GT-01-incident", "GT-03-incident"))
    assert verdict.reason_of(result) == Reason.ACCURACY_REGRESSED
    checks = verdict.checks_of(result)
    assert any(check.name == "AC@1" and check.result == "Failed" and check.arm for check in checks)
