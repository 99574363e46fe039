"""The same, as Prometheus metrics. The library works without prometheus-client; then this module is not imported."""

from collections.abc import Iterable
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.registry import REGISTRY

from rca_eval.modes.decisions import FAILURES, Outcome
from rca_eval.modes.file import ModeFile
from rca_eval.modes.value import Mode


class ModeMetrics:
    """Counters that begin at 0 for each component and outcome, and the mode as it is when it is scraped.

    rca_shadow_decisions_total{component,outcome}   decisions in Shadow: agree, disagree, error, timeout
    rca_active_fallbacks_total{component,outcome}   failures in Active, answered by the legacy path: error, timeout
    rca_mode_active{component}                      1 if this process would govern with the component now, else 0
    """

    def __init__(
        self, components: Iterable[str], modes: ModeFile, registry: CollectorRegistry = REGISTRY
    ) -> None:
        self._components = frozenset(components)
        self._decisions = Counter(
            "rca_shadow_decisions",
            "What components in Shadow would have decided, beside what governed.",
            ["component", "outcome"],
            registry=registry,
        )
        self._fallbacks = Counter(
            "rca_active_fallbacks",
            "Failures of components in Active, after which the legacy path answered.",
            ["component", "outcome"],
            registry=registry,
        )
        active = Gauge(
            "rca_mode_active",
            "1 if the component governs in this process, read at the time of the scrape.",
            ["component"],
            registry=registry,
        )
        for component in sorted(self._components):
            for outcome in Outcome:
                self._decisions.labels(component, outcome.value)
            for outcome in FAILURES:
                self._fallbacks.labels(component, outcome.value)
            active.labels(component).set_function(partial(_active, modes, component))

    def count(self, component: str, mode: Mode, outcome: Outcome) -> None:
        """A decision; of a component that was not named at the start nothing is counted, so labels stay closed."""
        if component in self._components:
            counter = self._decisions if mode is Mode.SHADOW else self._fallbacks
            counter.labels(component, outcome.value).inc()


def _active(modes: ModeFile, component: str) -> float:
    return float(modes.read(component) is Mode.ACTIVE)
