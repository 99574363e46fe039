"""What only this process knows: counters of what it did. What the API knows is in `collector`."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from rca_rollout import __version__
from rca_rollout.api.common import RunPhase
from rca_rollout.api.reasons import Reason

# A reconciliation is a handful of requests: milliseconds when all is well, seconds when the API server is not.
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

_DEMOTIONS = (
    Reason.GUARD_FAILED,
    Reason.SHADOW_REQUESTED,
    Reason.REVISION_CHANGED,
    Reason.INPUT_CHANGED,
    Reason.DEMOTE_REQUESTED,
    Reason.ABORTED,
    Reason.CONDITION_VIOLATED,
    Reason.CONFIRMATION_FAILED,
    Reason.ACTIVE_WITHOUT_EVIDENCE,
    Reason.DELETED,
)


class Counters:
    """Counters, one set per process and registry. Labels are namespaces, names and closed sets of words."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self.verdicts = Counter(
            "rca_eval_runs",
            "Evaluation runs that ended, by phase.",
            ["namespace", "component", "phase"],
            registry=registry,
        )
        self.promotions = Counter(
            "rca_promotions", "Switches to Active.", ["namespace", "name", "trigger"], registry=registry
        )
        self.demotions = Counter(
            "rca_demotions", "Switches to Shadow.", ["namespace", "name", "trigger"], registry=registry
        )
        self.conflicts = Counter(
            "rca_write_conflicts",
            "Conditional writes that found the world changed (status: our own objects, target: a ConfigMap's key).",
            ["namespace", "what"],
            registry=registry,
        )
        self.reconciles = Histogram(
            "rca_reconcile_seconds",
            "Duration of reconciliations.",
            ["kind"],
            buckets=_BUCKETS,
            registry=registry,
        )
        self.errors = Counter(
            "rca_reconcile_errors", "Reconciliations that will be tried again.", ["kind"], registry=registry
        )
        self.queue_depth = Gauge("rca_queue_depth", "Keys that are due and not in work.", registry=registry)
        self.working = Gauge("rca_queue_working", "Keys in work.", registry=registry)
        self.leader = Gauge(
            "rca_leader", "1 while this process leads, 0 while it stands by.", registry=registry
        )
        self.lease_errors = Counter(
            "rca_lease_errors", "Requests about the Lease that failed.", registry=registry
        )
        self.requests = Counter(
            "rca_api_requests",
            "Requests to the API server, by method, resource and the class of the answer (0: none).",
            ["method", "resource", "code"],
            registry=registry,
        )
        for kind in ("RcaComponent", "EvalRun", "EvalSuite"):
            self.errors.labels(kind)
            self.reconciles.labels(kind)
        self._of_components = (
            (self.verdicts, "component"),
            (self.promotions, "name"),
            (self.demotions, "name"),
        )
        info = Gauge("rca_build_info", "1, with the version of the operator.", ["version"], registry=registry)
        info.labels(__version__).set(1)

    def asked(self, method: str, resource: str, status: int) -> None:
        """One request was answered with this HTTP status (0: not at all)."""
        self.requests.labels(method, resource, f"{status // 100}xx" if status else "0").inc()

    def meet(self, namespace: str, name: str) -> None:
        """The series of a component begin at 0: an increase from nothing is one that nobody sees."""
        for phase in RunPhase:
            if phase.final:
                self.verdicts.labels(namespace, name, str(phase))
        self.promotions.labels(namespace, name, "Evidence")
        for cause in _DEMOTIONS:
            self.demotions.labels(namespace, name, str(cause))

    def forget(self, namespace: str, name: str) -> None:
        """The series of a component that is gone go with it."""
        for counter, label in self._of_components:
            counter.remove_by_labels({"namespace": namespace, label: name})
