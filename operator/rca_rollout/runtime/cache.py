"""The watched objects, as kopf's indices hold them. Read-only here; what is decided on for a write is read live."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rca_rollout.core.admission import is_open, started
from rca_rollout.core.names import RUN_LABEL, label_value
from rca_rollout.core.owners import owned

type Body = Mapping[str, Any]
type ObjectKey = tuple[str, str]
type Index = Mapping[ObjectKey, Iterable[Body]]


KOPF_VIEWS = ("components", "runs", "suites")
VIEWS = (*KOPF_VIEWS, "open_runs", "jobs", "pods")


_KEPT = (
    "name",
    "namespace",
    "uid",
    "labels",
    "ownerReferences",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_ADDRESSES = ("hostIP", "hostIPs", "podIP", "podIPs", "qosClass", "observedGeneration")
_ECHOES = 10_000
_UNREAD = ("checks", "conditions")
_KEPT_OF_JOBS = ("suspend", "ttlSecondsAfterFinished", "activeDeadlineSeconds")


class View:
    """One kopf index, less the objects that are known to be deleted though the index still has them."""

    def __init__(self) -> None:
        self._index: Index = {}
        self.bound = False
        self._gone: frozenset[str] = frozenset()

    def bind(self, index: Index) -> None:
        self._index = index
        self.bound = True

    def at(self, namespace: str, name: str) -> list[Body]:
        """What the index holds under this key."""
        return [body for body in self._index.get((namespace, name)) or () if _uid(body) not in self._gone]

    def one(self, namespace: str, name: str) -> Body | None:
        return next(iter(self.at(namespace, name)), None)

    def all(self, namespace: str | None = None) -> Iterator[Body]:
        for where, name in list(self._index):
            if namespace is None or where == namespace:
                yield from self.at(where, name)

    def uids(self) -> set[str]:
        """All that the index holds, what is hidden included."""
        return {_uid(body) for store in self._index.values() for body in store}

    def hide(self, uids: set[str]) -> int:
        """From now on these are not there. How many of them were, until now."""
        new = uids - self._gone
        # Replaced, not added to: what the index has dropped by itself needs no hiding any more.
        self._gone = frozenset(uids)
        return len(new)


class OpenRuns(Mapping[ObjectKey, Iterable[Body]]):
    """The runs that have not ended, by namespace and suite. Kept beside kopf's index of all runs, and with it: a second
    index would be another call for every event."""

    def __init__(self) -> None:
        self._by_suite: dict[ObjectKey, dict[str, Body]] = {}
        self._waiting: dict[ObjectKey, set[str]] = {}

    def __getitem__(self, key: ObjectKey) -> Iterable[Body]:
        return self._by_suite[key].values()

    def __iter__(self) -> Iterator[ObjectKey]:
        return iter(self._by_suite)

    def __len__(self) -> int:
        return len(self._by_suite)

    def note(self, body: Body) -> None:
        """As it is now. The suite of a run cannot change."""
        if not is_open(body):
            self.drop(body)
            return
        place, uid = _place(body), _uid(body)
        self._by_suite.setdefault(place, {})[uid] = body
        if started(body):
            self._begun(place, uid)
        else:
            self._waiting.setdefault(place, set()).add(uid)

    def drop(self, body: Body) -> None:
        place, uid = _place(body), _uid(body)
        runs = self._by_suite.get(place, {})
        runs.pop(uid, None)
        if not runs:
            self._by_suite.pop(place, None)
        self._begun(place, uid)

    def waiting(self, place: ObjectKey) -> int:
        """How many have not begun."""
        return len(self._waiting.get(place, ()))

    def count(self, place: ObjectKey) -> int:
        return len(self._by_suite.get(place, ()))

    def _begun(self, place: ObjectKey, uid: str) -> None:
        waiting = self._waiting.get(place, set())
        waiting.discard(uid)
        if not waiting:
            self._waiting.pop(place, None)


class Cache:
    """Bound once, when kopf has made its indices; they are complete before the first handler is called."""

    def __init__(self) -> None:
        self.views = {kind: View() for kind in VIEWS}
        self.complete = False
        """Whether everything has been listed once."""
        self._echoes: set[tuple[str, str]] = set()
        self.opened = OpenRuns()

    def bind(self, **indices: Index) -> None:
        if "runs" in indices and "open_runs" not in indices:
            indices["open_runs"] = self.opened
        for kind, index in indices.items():
            self.views[kind].bind(index)

    def wrote(self, body: Body) -> None:
        """This process has written this version, and has looked at it already."""
        if len(self._echoes) >= _ECHOES:
            self._echoes.clear()  # of versions that the watch never showed; the others cost a look more
        self._echoes.add(_version(body))

    def is_echo(self, body: Body) -> bool:
        """Whether the watch shows what was written here: asked once of each version."""
        version = _version(body)
        known = version in self._echoes
        self._echoes.discard(version)
        return known

    def component(self, namespace: str, name: str) -> Body | None:
        return self.views["components"].one(namespace, name)

    def suite(self, namespace: str, name: str) -> Body | None:
        return self.views["suites"].one(namespace, name)

    def run(self, namespace: str, name: str) -> Body | None:
        return self.views["runs"].one(namespace, name)

    def components(self, namespace: str | None = None) -> Iterator[Body]:
        return self.views["components"].all(namespace)

    def suites(self, namespace: str | None = None) -> Iterator[Body]:
        return self.views["suites"].all(namespace)

    def runs(self, namespace: str | None = None) -> Iterator[Body]:
        return self.views["runs"].all(namespace)

    def runs_of_component(self, namespace: str, uid: str) -> list[Body]:
        """Runs that this very component owns, whatever their labels say."""
        return [run for run in self.runs(namespace) if owned(run, uid)]

    def runs_of_suite(self, namespace: str, suite: str) -> list[Body]:
        return [run for run in self.runs(namespace) if _suite(run) == suite]

    def open_runs(self, namespace: str, suite: str) -> list[Body]:
        """The runs of a suite that have not ended; where they are indexed, without looking at all the others."""
        if self.views["open_runs"].bound:
            return self.views["open_runs"].at(namespace, suite)
        return [run for run in self.runs_of_suite(namespace, suite) if is_open(run)]

    def all_started(self, namespace: str, suite: str) -> bool:
        """Whether every run of the suite that has not ended has begun."""
        if self.views["open_runs"].bound:
            return self.opened.waiting((namespace, suite)) == 0
        return all(started(run) for run in self.open_runs(namespace, suite))

    def count_open(self, namespace: str, suite: str) -> int:
        """How many runs of the suite have not ended, at most: those that are known to be deleted are counted, too."""
        if self.views["open_runs"].bound:
            return self.opened.count((namespace, suite))
        return len(self.open_runs(namespace, suite))

    def components_of_suite(self, namespace: str, suite: str) -> list[Body]:
        return [component for component in self.components(namespace) if _suite(component) == suite]

    def job(self, namespace: str, run: str, name: str) -> Body | None:
        """The Job of that name among those that carry the run's label."""
        return next(
            (job for job in self.jobs_of_run(namespace, run) if job["metadata"]["name"] == name), None
        )

    def jobs_of_run(self, namespace: str, run: str) -> list[Body]:
        return self.views["jobs"].at(namespace, label_value(run))

    def pods(self, namespace: str, run: str, job: str) -> list[Body]:
        found = self.views["pods"].at(namespace, label_value(run))
        return [pod for pod in found if _label(pod, "batch.kubernetes.io/job-name") == job]


def suite_of(body: Body) -> str:
    """The suite that a run or a component names."""
    return _suite(body)


def run_of(body: Body) -> str | None:
    """The run that a Job or Pod of ours belongs to, by label."""
    return _label(body, RUN_LABEL)


def slim_pod(body: Body) -> dict[str, Any]:
    """What `core.pods` reads of a Pod. A Pod's spec and managed fields are most of its size, and never looked at."""
    metadata = body["metadata"]
    return {
        "metadata": {k: metadata[k] for k in _KEPT if k in metadata},
        "status": {k: v for k, v in (body.get("status") or {}).items() if k not in _ADDRESSES},
    }


def slim_job(body: Body) -> dict[str, Any]:
    """What `core.pods` and `core.runs` read of a Job. Its Pod's template is most of its size."""
    metadata, spec, status = body["metadata"], body.get("spec") or {}, body.get("status") or {}
    return {
        "metadata": {k: metadata[k] for k in _KEPT if k in metadata},
        "spec": {k: spec[k] for k in _KEPT_OF_JOBS if k in spec},
        "status": {k: v for k, v in status.items() if k != "ready"},
    }


def slim_run(body: Body) -> dict[str, Any]:
    """A run as it is; of one that has ended and that no component owns, without the gate's rows, its conditions and modes: they
    are most of it, and nobody will decide by them. So what is kept must never be written."""
    kept = slim(body)
    if not is_open(body) and not body["metadata"].get("ownerReferences"):
        status = {k: v for k, v in (body.get("status") or {}).items() if k not in _UNREAD}
        if "inputs" in status:
            status["inputs"] = {k: v for k, v in status["inputs"].items() if k != "variants"}
        kept["status"] = status
    return kept


def slim(body: Body) -> dict[str, Any]:
    """An object without its managed fields."""
    metadata = {k: v for k, v in body["metadata"].items() if k != "managedFields"}
    return {**body, "metadata": metadata}


def _place(body: Body) -> ObjectKey:
    return str(body["metadata"]["namespace"]), _suite(body)


def _version(body: Body) -> tuple[str, str]:
    return _uid(body), str(body["metadata"].get("resourceVersion", ""))


def _uid(body: Body) -> str:
    return str(body["metadata"]["uid"])


def _suite(body: Body) -> str:
    return str(((body.get("spec") or {}).get("suiteRef") or {}).get("name", ""))


def _label(body: Body, label: str) -> str | None:
    value = (body["metadata"].get("labels") or {}).get(label)
    return str(value) if value else None
