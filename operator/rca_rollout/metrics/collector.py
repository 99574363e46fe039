"""What the API knows of each component, as metrics: read from the watched objects at scrape time.

Nothing is remembered, so a series goes with its object and is right after a restart. Label values are names of
components and closed sets of words, never names of runs, hashes or messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from rca_rollout.api.common import ComponentPhase, ConditionType, EffectiveMode

_LABELS = ["namespace", "name"]

type Body = Mapping[str, Any]


class ComponentCollector(Collector):
    """`components` gives the watched RcaComponents, `clock` the time (aware)."""

    def __init__(self, components: Callable[[], Iterable[Body]], clock: Callable[[], datetime]) -> None:
        self._components = components
        self._clock = clock

    def describe(self) -> Iterable[GaugeMetricFamily]:
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        bodies = list(self._components())
        yield from _states(bodies)
        yield from _figures(bodies)
        yield from _clocks(bodies, self._clock())


def _states(bodies: list[Body]) -> Iterator[GaugeMetricFamily]:
    info = GaugeMetricFamily(
        "rca_component_info", "1, with what the component is about.", labels=[*_LABELS, "suite", "revision"]
    )
    phase = GaugeMetricFamily(
        "rca_component_phase", "1 for the present phase, else 0.", labels=[*_LABELS, "phase"]
    )
    mode = GaugeMetricFamily(
        "rca_component_mode", "1 for the effective mode, else 0.", labels=[*_LABELS, "mode"]
    )
    condition = GaugeMetricFamily(
        "rca_component_condition", "1 if the condition is True, else 0.", labels=[*_LABELS, "type"]
    )
    for body in bodies:
        key, spec, status = _key(body), body.get("spec") or {}, body.get("status") or {}
        info.add_metric(
            [
                *key,
                (spec.get("suiteRef") or {}).get("name", ""),
                str(spec.get("revision") or status.get("revision") or ""),
            ],
            1,
        )
        for each_phase in ComponentPhase:
            phase.add_metric([*key, each_phase], status.get("phase") == each_phase)
        for each_mode in EffectiveMode:
            mode.add_metric([*key, each_mode], status.get("mode") == each_mode)
        held = {c.get("type"): c.get("status") for c in status.get("conditions") or []}
        for each_type in ConditionType:
            condition.add_metric([*key, each_type], held.get(each_type) == "True")
    yield from (info, phase, mode, condition)


def _figures(bodies: list[Body]) -> Iterator[GaugeMetricFamily]:
    accuracy = GaugeMetricFamily(
        "rca_eval_accuracy_ratio",
        "AC@1 of the live path with the component Active, of the last verdict.",
        labels=_LABELS,
    )
    baseline = GaugeMetricFamily("rca_eval_baseline_ratio", "AC@1 of the committed baseline.", labels=_LABELS)
    delta = GaugeMetricFamily(
        "rca_eval_delta_ratio", "AC@1 with the component less that without it.", labels=_LABELS
    )
    mttr = GaugeMetricFamily(
        "rca_eval_mttr_seconds", "Mean time to the cause in the replay (a proxy).", labels=_LABELS
    )
    passed = GaugeMetricFamily(
        "rca_gate_passed", "1 if the last verdict was a pass, 0 if a failure.", labels=_LABELS
    )
    fields = ((accuracy, "accuracy"), (baseline, "baseline"), (delta, "delta"), (mttr, "mttr"))
    for body in bodies:
        evaluation = (body.get("status") or {}).get("evaluation") or {}
        for family, field in fields:
            value = _number(evaluation.get(field))
            if value is not None:
                family.add_metric(_key(body), value)
        if evaluation.get("verdict"):
            passed.add_metric(_key(body), evaluation["verdict"] == "Passed")
    yield from (accuracy, baseline, delta, mttr, passed)


def _clocks(bodies: list[Body], now: datetime) -> Iterator[GaugeMetricFamily]:
    last = GaugeMetricFamily(
        "rca_eval_last_verdict_timestamp_seconds", "When the last verdict was given.", labels=_LABELS
    )
    runs = GaugeMetricFamily("rca_observation_passing_runs", "Passing runs that count.", labels=_LABELS)
    elapsed = GaugeMetricFamily("rca_observation_elapsed_seconds", "Time under observation.", labels=_LABELS)
    required = GaugeMetricFamily("rca_observation_required_seconds", "Time asked for.", labels=_LABELS)
    retries = GaugeMetricFamily(
        "rca_eval_consecutive_errors", "Runs in a row that gave no verdict.", labels=_LABELS
    )
    for body in bodies:
        key, status = _key(body), body.get("status") or {}
        observation = status.get("observation") or {}
        finished = _time((status.get("evaluation") or {}).get("finishedAt"))
        if finished:
            last.add_metric(key, finished.timestamp())
        started, ends = _time(observation.get("startedAt")), _time(observation.get("endsAt"))
        if started and ends:
            until = _time(status.get("suspendedAt")) or now  # the clock stands still while suspended
            elapsed.add_metric(key, max(0.0, (until - started).total_seconds()))
            required.add_metric(key, (ends - started).total_seconds())
        runs.add_metric(key, _number((status.get("evidence") or {}).get("passing")) or 0)
        retries.add_metric(key, _number((status.get("retry") or {}).get("consecutive")) or 0)
    yield from (last, runs, elapsed, required, retries)


def _key(body: Body) -> list[str]:
    return [str(body["metadata"]["namespace"]), str(body["metadata"]["name"])]


def _number(text: Any) -> float | None:
    try:
        return float(str(text).removesuffix("s")) if text is not None else None
    except ValueError:
        return None


def _time(text: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(text)) if text else None
    except ValueError:
        return None
    return found if found and found.tzinfo else None
