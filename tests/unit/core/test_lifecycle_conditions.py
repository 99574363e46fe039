"""Live conditions in the life of a component.

Aspects: time counts only while all conditions let pass, over restarts, pauses and steps of the clock; a Guardrail blocks while
observing and demotes when Active; a Signal holds or alerts; no data waits and is told once; decisions are counted; evidence ages.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rca_testing.lifecycle_world import START, Crash, World

from rca_rollout.api.common import ComponentPhase, ConditionType
from rca_rollout.api.reasons import Reason
from rca_rollout.core.lifecycle.conditions import Reading
from rca_rollout.core.lifecycle.live import DECISIONS, counted_of, questions
from rca_rollout.core.problem import Problem

SIGNAL = {
    "name": "latency-p95",
    "query": "p95",
    "operator": "LessThanOrEqual",
    "threshold": "0.25",
    "role": "Signal",
}
GUARDRAIL = {
    "name": "errors",
    "query": "e",
    "operator": "LessThan",
    "threshold": "0.02",
    "role": "Guardrail",
}
GOOD, BAD, NONE = "0.01", "0.9", None
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


class Live:
    """A world with a Prometheus, which is asked as `runtime` asks it: what is due, whenever the component is looked at."""

    def __init__(
        self, *conditions: dict[str, Any], guard: tuple[dict[str, Any], ...] = (), **spec: Any
    ) -> None:
        observation = {"period": "2h", "interval": "30m", "minPassingRuns": 1, **spec}
        self.world = World(
            observation={**observation, "conditions": list(conditions)},
            guard={"interval": "1h", "conditions": list(guard)},
        )
        self.world.readings = {}
        self.says: dict[str, str | None] = {}
        self.decisions: str | None = "0"

    def ask(self) -> None:
        world = self.world
        assert world.readings is not None
        for question in questions(world.snapshot().component):
            answer = self.decisions if question.name == DECISIONS else self.says.get(question.name, GOOD)
            values = () if answer is None else (answer,)
            world.readings[question.name] = Reading(question.query, world.now, values)

    def look(self, **says: str | None) -> None:
        """What Prometheus says changes, it is asked, and the component is looked at until it rests."""
        self.says.update({name.replace("_", "-"): value for name, value in says.items()})
        for _ in range(3):
            self.ask()
            self.world.settle()

    def restart(self) -> None:
        self.world.readings = {}

    def pass_gate(self) -> None:
        self.look()
        self.world.pass_time(minutes=1)
        self.world.end_run("Passed")
        self.look()

    def minutes(self, count: int, **says: str | None) -> None:
        """Minute by minute; runs pass as soon as they can."""
        for _ in range(count):
            self.world.pass_time(minutes=1)
            if (current := self.world.status.current_run) and current.name in self.world.runs:
                self.world.end_run("Passed")
            self.look(**says)

    @property
    def observed(self) -> str:
        found = self.world.status.condition(ConditionType.OBSERVED)
        return found.message if found else ""


def observing(*conditions: dict[str, Any], **spec: Any) -> Live:
    live = Live(*conditions, **spec)
    live.pass_gate()
    assert live.world.phase is ComponentPhase.OBSERVING
    return live


def test_a_component_whose_conditions_hold_is_promoted_when_its_period_is_over() -> None:
    live = observing(SIGNAL, GUARDRAIL)
    live.minutes(119)
    assert live.world.value == "Shadow"
    live.minutes(4)
    assert live.world.value == "Active"


def test_the_message_says_everything_that_is_still_missing() -> None:
    live = observing(SIGNAL, {**SIGNAL, "name": "traffic"}, minShadowDecisions=20, minPassingRuns=3)
    live.decisions = "12.7"
    live.minutes(11)
    assert live.observed == "1/3 runs, until 2026-11-30T12:01:00Z, then a closing run, decisions 12 of 20"
    live.minutes(1, latency_p95="0.31", traffic=None)
    assert live.observed == (
        "1/3 runs, 12m of 2h counted, held since 2026-11-30T10:13:00Z, then a closing run, decisions 12 of 20, "
        "latency-p95 0.31 > 0.25 (Signal), traffic no data since 2026-11-30T10:13:00Z: the query found no series"
    )
    assert live.world.why(ConditionType.OBSERVED) == ("False", "ObservationHeld")


def test_the_time_of_a_violated_signal_does_not_count_and_nothing_else_is_lost() -> None:
    live = observing(SIGNAL)
    live.minutes(60)
    live.minutes(45, latency_p95=BAD)
    live.minutes(59, latency_p95=GOOD)
    assert live.world.value == "Shadow"
    live.minutes(4)
    assert live.world.value == "Active"
    assert live.world.reasons.count("ConditionViolated") == 1


@pytest.mark.parametrize("silence", ["NaN", None])
def test_a_prometheus_that_says_nothing_promotes_nothing(silence: str | None) -> None:
    live = Live(SIGNAL)
    live.says["latency-p95"] = silence
    live.pass_gate()
    live.minutes(200)
    assert live.world.value == "Shadow"
    live.minutes(119, latency_p95=GOOD)
    assert live.world.value == "Shadow"
    live.minutes(4)
    assert live.world.value == "Active"


def test_no_prometheus_at_all_is_said_and_promotes_nothing() -> None:
    world = World(observation={"period": "1m", "interval": "1m", "minPassingRuns": 1, "conditions": [SIGNAL]})
    for _ in range(30):
        world.go_on()
    assert world.value == "Shadow"
    found = world.status.condition(ConditionType.OBSERVED)
    assert found
    assert "no Prometheus is configured: set the chart's prometheus.url" in found.message


def test_no_data_that_is_ignored_lets_pass_and_is_shown() -> None:
    live = Live({**SIGNAL, "onNoData": "Ignore"})
    live.says["latency-p95"] = NONE
    live.pass_gate()
    live.minutes(125)
    assert live.world.value == "Active"


def test_an_info_holds_nothing_back_and_is_shown() -> None:
    live = Live({**SIGNAL, "role": "Info"})
    live.says["latency-p95"] = BAD
    live.pass_gate()
    assert [str(entry.state) for entry in live.world.status.condition_readings] == ["Violated"]
    live.minutes(125)
    assert live.world.value == "Active"
    assert "ConditionViolated" not in live.world.reasons


def test_no_data_for_longer_than_its_grace_is_told_once() -> None:
    live = Live({**SIGNAL, "noDataGrace": "10m"})
    live.says["latency-p95"] = NONE
    live.pass_gate()
    live.minutes(9)
    assert "ConditionNoData" not in live.world.reasons
    live.minutes(60)
    assert live.world.reasons.count("ConditionNoData") == 1
    live.restart()
    live.minutes(5)
    assert live.world.reasons.count("ConditionNoData") == 1


def test_a_violated_guardrail_blocks_until_a_retry_whatever_comes_later() -> None:
    live = observing(GUARDRAIL)
    live.minutes(30)
    live.minutes(1, errors=BAD)
    assert live.world.phase is ComponentPhase.BLOCKED
    assert live.world.why(ConditionType.PROMOTED) == ("False", "ConditionViolated")
    live.restart()
    live.minutes(300, errors=GOOD)
    assert live.world.phase is ComponentPhase.BLOCKED
    live.world.ask("retry", reason="the dependency was down")
    live.look()
    assert live.world.phase is ComponentPhase.EVALUATING
    live.pass_gate()
    live.minutes(125)
    assert live.world.value == "Active"


def test_a_guardrail_is_looked_at_while_a_run_is_under_way() -> None:
    live = observing(GUARDRAIL)
    live.world.pass_time(minutes=30)
    live.look()
    assert live.world.status.current_run
    live.world.pass_time(minutes=1)
    live.look(errors=BAD)
    assert live.world.phase is ComponentPhase.BLOCKED


@pytest.mark.parametrize("condition", [SIGNAL, GUARDRAIL])
def test_what_turns_bad_between_intent_and_write_is_not_written(condition: dict[str, str]) -> None:
    live = observing(condition, period="0s")
    live.world.pass_time(minutes=1)
    live.ask()
    live.world.end_run("Passed")
    for _ in range(10):
        live.world.step(Crash.BEFORE_ACTIONS)
        if live.world.status.intent:
            break
    assert live.world.status.intent
    live.look(**{condition["name"].replace("-", "_"): BAD})
    assert live.world.value == "Shadow"
    assert live.world.status.intent is None


def test_nothing_is_promoted_on_what_is_remembered() -> None:
    live = observing(SIGNAL, period="0s")
    live.world.pass_time(minutes=1)
    live.restart()
    live.world.end_run("Passed")
    live.world.settle()
    assert live.world.value == "Shadow"
    assert live.world.status.intent is None
    live.look()
    assert live.world.value == "Active"


def active(**condition: Any) -> Live:
    live = Live(guard=({**GUARDRAIL, **condition},))
    live.pass_gate()
    live.minutes(125)
    assert live.world.value == "Active"
    return live


def test_a_guardrail_that_two_readings_in_a_row_find_violated_demotes_and_blocks() -> None:
    live = active()
    live.minutes(1, errors=BAD)
    assert live.world.value == "Active"
    live.minutes(1, errors=GOOD)
    live.minutes(1, errors=BAD)
    assert live.world.value == "Active"
    live.minutes(1)
    assert live.world.value == "Shadow"
    demotion = live.world.status.demotion
    assert demotion
    assert (demotion.cause, demotion.message) == ("ConditionViolated", "errors 0.9 >= 0.02 (Guardrail)")
    assert live.world.why(ConditionType.PROMOTED) == ("False", "ConditionViolated")
    live.minutes(200, errors=GOOD)
    assert live.world.phase is ComponentPhase.BLOCKED


def test_the_first_of_two_readings_survives_a_restart() -> None:
    live = active()
    live.minutes(1, errors=BAD)
    live.restart()
    live.minutes(1)
    assert live.world.value == "Shadow"


def test_a_guardrail_demotes_without_a_suite() -> None:
    live = active()
    live.world.suite = Problem(Reason.SUITE_NOT_FOUND, "gone")
    live.minutes(2, errors=BAD)
    assert live.world.value == "Shadow"


@pytest.mark.parametrize("silence", ["NaN", None])
def test_no_data_demotes_nothing_and_is_told_once(silence: str | None) -> None:
    live = active(noDataGrace="10m")
    live.minutes(60, errors=silence)
    assert live.world.value == "Active"
    assert live.world.reasons.count("ConditionNoData") == 1
    assert live.world.why(ConditionType.DEGRADED) == ("True", "ConditionNoData")


def test_a_signal_of_an_active_component_alerts_once_for_each_time() -> None:
    live = active(role="Signal")
    live.minutes(20, errors=BAD)
    assert live.world.value == "Active"
    assert live.world.why(ConditionType.DEGRADED) == ("True", "ConditionViolated")
    assert live.world.reasons.count("ConditionViolated") == 1
    live.minutes(5, errors=GOOD)
    assert live.world.why(ConditionType.DEGRADED) is None
    live.minutes(5, errors=BAD)
    assert live.world.reasons.count("ConditionViolated") == 2


def test_a_suspended_component_is_not_asked_about_and_its_guardrails_rest() -> None:
    live = active()
    live.minutes(1, errors=BAD)
    live.world.edit(suspend=True)
    live.look()
    assert questions(live.world.snapshot().component) == ()
    live.minutes(10)
    assert live.world.value == "Active"


def test_mode_shadow_does_not_wait_for_prometheus() -> None:
    live = active()
    live.restart()
    live.world.edit(mode="Shadow")
    live.world.settle()
    assert live.world.value == "Shadow"


def test_too_few_decisions_hold_the_promotion_and_not_the_clock() -> None:
    live = observing(minShadowDecisions=20)
    live.decisions = "19.99"
    live.minutes(150)
    assert live.world.value == "Shadow"
    assert live.observed == "6/1 runs, decisions 19 of 20"
    live.decisions = "20.02"
    live.minutes(2)
    assert live.world.value == "Active"


@pytest.mark.parametrize("silence", ["NaN", "+Inf", None])
def test_decisions_that_cannot_be_counted_are_none(silence: str | None) -> None:
    live = observing(minShadowDecisions=1)
    live.decisions = silence
    live.minutes(150)
    assert live.world.value == "Shadow"
    assert "decisions 0 of 1" in live.observed


def test_decisions_of_an_earlier_observation_do_not_count() -> None:
    live = observing(minShadowDecisions=20)
    live.decisions = "500"
    live.minutes(2)
    assert live.world.readings is not None
    old = live.world.readings[DECISIONS]
    live.world.edit(revision="v2")
    live.world.settle()
    live.decisions = "0"
    live.pass_gate()
    live.world.readings[DECISIONS] = old
    live.world.pass_time(minutes=1)
    live.world.settle()
    assert "decisions 0 of 20" in live.observed


def test_without_a_minimum_decisions_are_shown_where_they_are_counted() -> None:
    live = observing()
    live.decisions = "7"
    live.minutes(11)
    assert live.observed.endswith("decisions 7")


def test_a_status_is_not_written_for_values_that_only_move() -> None:
    live = active()
    live.minutes(2)
    before = live.world.status_writes
    for number in range(9):
        live.minutes(1, errors=f"0.0{number}01"[:6] if number < 2 else "0.0012")
    assert live.world.status_writes - before <= 1


# -- age


def test_runs_that_are_too_old_do_not_count_and_the_message_says_so() -> None:
    live = observing(period="1h", interval="10m", maxEvidenceAge="31m", minPassingRuns=3)
    live.minutes(45)
    assert "more are older than 31m and do not count" in live.observed
    live.minutes(30)
    assert live.world.value == "Active"


def test_evidence_ages_while_the_key_cannot_be_written() -> None:
    live = observing(period="1h", interval="10m", maxEvidenceAge="31m", minPassingRuns=3)
    world = live.world
    assert world.config_map is not None
    world.config_map = {**world.config_map, "immutable": True}
    live.minutes(65)
    assert world.why(ConditionType.PROMOTED) == ("False", "TargetImmutable")
    made = len(world.created)
    live.minutes(180)
    assert len(world.created) > made
    newest = max(run.started_at for run in world.status.evidence.runs if run.started_at)  # type: ignore[union-attr]
    assert world.now - newest <= timedelta(minutes=35)


# -- properties

STEPS = st.lists(
    st.tuples(
        st.integers(1, 40),
        st.sampled_from([GOOD, BAD, NONE, "NaN"]),
        st.sampled_from(["", "", "", "restart", "down", "pause", "back", "forth"]),
    ),
    max_size=25,
)


@settings(deadline=None, max_examples=60)
@given(STEPS)
def test_exactly_the_time_counts_in_which_the_signal_held(steps: list[tuple[int, str | None, str]]) -> None:
    """Against a model that adds up minutes. `down`: the operator is away, so what it saw last stands. Steps of the clock count as
    time only where time counts; in a hold or a pause they change nothing."""
    live = observing(SIGNAL, period="500h", interval="720h")
    world, counted, state = live.world, timedelta(0), True
    for minutes, says, event in steps:
        span = timedelta(minutes=minutes)
        match event:
            case "restart":
                live.restart()
            case "pause":
                world.edit(suspend=True)
                live.look()
                world.now += span
                world.edit(suspend=False)
                live.look()
                state = live.says.get("latency-p95", GOOD) == GOOD
            case "back" if not state:
                world.now -= span
                live.look()
            case "forth" if not state:
                world.now += span
                live.look()
        if event == "down":
            live.restart()
        world.now += span
        counted += span if state else timedelta(0)
        live.look(latency_p95=says)
        state = says == GOOD
        observed = world.status.observation
        assert observed is not None
        assert observed.started_at is not None
        assert (observed.held_since is None) is state
        if state:
            assert world.now - observed.started_at == counted
        else:
            assert observed.counted
            assert counted_of(observed) == counted


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 30),
            st.sampled_from([GOOD, GOOD, BAD, NONE]),
            st.sampled_from([GOOD, GOOD, GOOD, GOOD, GOOD, GOOD, BAD, NONE]),
            st.sampled_from([None, None, None, *Crash]),
            st.booleans(),
        ),
        max_size=40,
    )
)
def test_nothing_is_promoted_but_on_fresh_good_readings_after_the_whole_period(steps: Any) -> None:
    """Over crashes, restarts and any order of answers."""
    live = Live(SIGNAL, GUARDRAIL, period="1h", interval="20m")
    world, good = live.world, timedelta(0)
    for minutes, signal, guardrail, crash, restart in steps:
        if restart:
            live.restart()
        span = timedelta(minutes=minutes)
        before = world.status.observation
        good += span if before and before.held_since is None else timedelta(0)
        world.now += span
        if (current := world.status.current_run) and current.name in world.runs:
            world.end_run("Passed")
        live.says.update({"latency-p95": signal, "errors": guardrail})
        live.ask()
        if crash:
            world.step(crash)
        live.look()
        if world.status.phase is ComponentPhase.BLOCKED:
            assert world.value == "Shadow"
            return
        if world.value == "Active":
            assert (signal, guardrail) == (GOOD, GOOD)
            assert good >= HOUR
            return
    assert world.now >= START
