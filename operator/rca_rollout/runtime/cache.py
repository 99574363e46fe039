"""The watched objects, as kopf's indices hold them. Read-only here; what is decided on for a write is read live."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rca_rollout.core.names import COMPONENT_LABEL, RUN_LABEL, SUITE_LABEL, label_value

type Body = Mapping[str, Any]
type ObjectKey = tuple[str, str]
type Index = Mapping[ObjectKey, Iterable[Body]]


class Cache:
    """Bound once, when kopf has made its indices; they are complete before the first handler is called."""

    def __init__(self) -> None:
        self._components: Index = {}
        self._runs: Index = {}
        self._suites: Index = {}
        self._jobs: Index = {}
        self._pods: Index = {}

    def bind(self, *, components: Index, runs: Index, suites: Index, jobs: Index, pods: Index) -> None:
        self._components, self._runs, self._suites = components, runs, suites
        self._jobs, self._pods = jobs, pods

    def component(self, namespace: str, name: str) -> Body | None:
        return _one(self._components, namespace, name)

    def suite(self, namespace: str, name: str) -> Body | None:
        return _one(self._suites, namespace, name)

    def run(self, namespace: str, name: str) -> Body | None:
        return _one(self._runs, namespace, name)

    def components(self, namespace: str | None = None) -> Iterator[Body]:
        return _all(self._components, namespace)

    def suites(self, namespace: str | None = None) -> Iterator[Body]:
        return _all(self._suites, namespace)

    def runs(self, namespace: str | None = None) -> Iterator[Body]:
        return _all(self._runs, namespace)

    def runs_of_component(self, namespace: str, component: str, uid: str) -> list[Body]:
        """Runs that this very component owns, whatever their labels say."""
        label = label_value(component)
        return [
            run
            for run in _all(self._runs, namespace)
            if _label(run, COMPONENT_LABEL) == label
            and any(ref.get("uid") == uid for ref in run["metadata"].get("ownerReferences") or [])
        ]

    def runs_of_suite(self, namespace: str, suite: str) -> list[Body]:
        return [
            run
            for run in _all(self._runs, namespace)
            if (run.get("spec") or {}).get("suiteRef", {}).get("name") == suite
        ]

    def components_of_suite(self, namespace: str, suite: str) -> list[Body]:
        return [
            component
            for component in _all(self._components, namespace)
            if (component.get("spec") or {}).get("suiteRef", {}).get("name") == suite
        ]

    def job(self, namespace: str, run: str, name: str) -> Body | None:
        """The Job of that name among those that carry the run's label."""
        found = self._jobs.get((namespace, label_value(run))) or ()
        return next((job for job in found if job["metadata"]["name"] == name), None)

    def jobs_of_run(self, namespace: str, run: str) -> list[Body]:
        return list(self._jobs.get((namespace, label_value(run))) or ())

    def pods(self, namespace: str, run: str, job: str) -> list[Body]:
        found = self._pods.get((namespace, label_value(run))) or ()
        return [pod for pod in found if _label(pod, "batch.kubernetes.io/job-name") == job]


def run_of(body: Body) -> str | None:
    """The run that a Job or Pod of ours belongs to, by label."""
    return _label(body, RUN_LABEL)


def suite_of(body: Body) -> str | None:
    return _label(body, SUITE_LABEL)


def slim_pod(body: Body) -> dict[str, Any]:
    """What `core.pods` reads of a Pod. A Pod's spec and managed fields are most of its size, and never looked at."""
    metadata = body["metadata"]
    kept = ("name", "namespace", "uid", "labels", "creationTimestamp", "deletionTimestamp")
    return {
        "metadata": {k: metadata[k] for k in kept if k in metadata},
        "status": dict(body.get("status") or {}),
    }


def slim(body: Body) -> dict[str, Any]:
    """An object without its managed fields."""
    metadata = {k: v for k, v in body["metadata"].items() if k != "managedFields"}
    return {**body, "metadata": metadata}


def _one(index: Index, namespace: str, name: str) -> Body | None:
    return next(iter(index.get((namespace, name)) or ()), None)


def _all(index: Index, namespace: str | None) -> Iterator[Body]:
    for (where, _), store in index.items():
        if namespace is None or where == namespace:
            yield from store


def _label(body: Body, label: str) -> str | None:
    value = (body["metadata"].get("labels") or {}).get(label)
    return str(value) if value else None
