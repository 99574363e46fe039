"""Metrics: series come and go with the objects, have a help text, and are read by Prometheus' own parser."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from rca_testing.lifecycle_world import START, World

from rca_rollout.metrics.collector import ComponentCollector
from rca_rollout.metrics.counters import Counters

type Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def scrape(bodies: Callable[[], list[Any]], after: timedelta = timedelta(0)) -> Series:
    registry = CollectorRegistry()
    registry.register(ComponentCollector(bodies, lambda: START + after))
    Counters(registry)
    text = generate_latest(registry).decode()
    found: Series = {}
    for family in text_string_to_metric_families(text):
        assert family.name.startswith("rca_"), family.name
        assert family.documentation.strip().endswith("."), family.name
        for sample in family.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in found, f"twice: {key}"
            found[key] = sample.value
    return found


def value(series: Series, name: str, **labels: str) -> float | None:
    return series.get((name, frozenset({"namespace": "default", "name": "live", **labels}.items())))


def of(world: World) -> list[Any]:
    return [world.component]


def test_a_component_just_made_has_its_series_without_figures() -> None:
    series = scrape(lambda: of(World()))
    assert value(series, "rca_component_info", suite="suite", revision="v1") == 1
    assert value(series, "rca_component_phase", phase="Pending") == 0
    assert value(series, "rca_observation_passing_runs") == 0
    assert value(series, "rca_eval_accuracy_ratio") is None
    assert value(series, "rca_gate_passed") is None


def test_each_state_is_one_of_a_closed_set() -> None:
    world = World().promoted()
    series = scrape(lambda: of(world))
    phases = {
        dict(labels)["phase"]: v for (name, labels), v in series.items() if name == "rca_component_phase"
    }
    assert [phase for phase, v in phases.items() if v] == ["Active"]
    assert set(phases) == {
        "Pending", "Evaluating", "Observing", "AwaitingApproval", "Promoting", "Active", "Blocked", "Suspended",
    }  # fmt: skip
    assert value(series, "rca_component_mode", mode="Active") == 1
    assert value(series, "rca_component_condition", type="Promoted") == 1
    assert value(series, "rca_component_condition", type="Stalled") == 0


def test_figures_of_the_last_verdict_are_numbers() -> None:
    world = World()
    world.settle()
    world.end_run("Failed", accuracy="0.778", delta="-0.222", mttr="0.003s", baseline="1.000")
    world.settle()
    series = scrape(lambda: of(world))
    assert value(series, "rca_eval_accuracy_ratio") == 0.778
    assert value(series, "rca_eval_delta_ratio") == -0.222
    assert value(series, "rca_eval_mttr_seconds") == 0.003
    assert value(series, "rca_eval_baseline_ratio") == 1
    assert value(series, "rca_gate_passed") == 0
    assert value(series, "rca_eval_last_verdict_timestamp_seconds") == START.timestamp()


def test_the_observation_s_clock_stands_still_while_suspended() -> None:
    world = World()
    world.run_and_pass()
    world.pass_time(minutes=9)
    minute = timedelta(minutes=1)
    assert value(scrape(lambda: of(world), 10 * minute), "rca_observation_elapsed_seconds") == 540
    assert value(scrape(lambda: of(world)), "rca_observation_required_seconds") == 7200
    world.edit(suspend=True)
    world.settle()
    assert value(scrape(lambda: of(world), 300 * minute), "rca_observation_elapsed_seconds") == 540


def test_series_go_with_their_object() -> None:
    bodies = of(World().promoted())
    registry = CollectorRegistry()
    registry.register(ComponentCollector(lambda: bodies, lambda: START))
    assert b'name="live"' in generate_latest(registry)
    bodies.clear()
    assert b'name="live"' not in generate_latest(registry)


def test_a_status_that_another_version_wrote_does_not_break_the_scrape() -> None:
    body = World().component
    body["status"] = {
        "phase": "New",
        "evaluation": {"accuracy": "n/a", "verdict": None, "finishedAt": "yesterday"},
        "observation": {"startedAt": 7, "endsAt": "2026-11-30T10:00:00"},
        "evidence": {"passing": "many"},
        "conditions": [{}],
    }
    series = scrape(lambda: [body, {"metadata": {"namespace": "default", "name": "empty"}}])
    assert value(series, "rca_eval_accuracy_ratio") is None
    assert value(series, "rca_component_info", suite="suite", revision="v1") == 1


def test_counters_start_at_nothing_and_say_the_version() -> None:
    series = scrape(list)
    assert series[("rca_reconcile_errors_total", frozenset({("kind", "EvalRun")}))] == 0
    assert any(name == "rca_build_info" and v == 1 for (name, _), v in series.items())
