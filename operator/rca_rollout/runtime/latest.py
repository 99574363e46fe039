"""The newest version of each run that this process knows: the watch's, or its own last write until the watch tells of it."""

from __future__ import annotations

from rca_rollout.runtime.cache import Body, Cache, ObjectKey, slim_run

_FEW = 64


class Latest:
    """Versions are compared for equality only: what is older than an own write is what that write was made from."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._own: dict[ObjectKey, tuple[Body, frozenset[str]]] = {}
        self._full = _FEW

    def run(self, namespace: str, name: str) -> Body | None:
        """None where the watch does not show it: it may be gone, or too new."""
        key, seen = (namespace, name), self._cache.run(namespace, name)
        own = self._own.get(key)
        if own is None:
            return seen
        body, passed = own
        if seen is not None and _uid(seen) == _uid(body) and _version(seen) in passed:
            return body
        del self._own[key]
        return seen

    def wrote(self, before: Body, after: Body) -> None:
        """`before` was replaced by `after`, which the watch will show some time."""
        key = (str(after["metadata"]["namespace"]), str(after["metadata"]["name"]))
        _, passed = self._own.get(key, (None, frozenset[str]()))
        self._own[key] = (slim_run(after), passed | {_version(before)})
        if len(self._own) > self._full:
            self._drop_what_the_watch_has_told()

    def started(self) -> frozenset[str]:
        """UIDs of the runs that were given their turn by writes that the watch may not show yet."""
        return frozenset(
            _uid(body) for body, _ in self._own.values() if (body.get("status") or {}).get("jobRef")
        )

    def _drop_what_the_watch_has_told(self) -> None:
        """Nobody may ever ask again for a run that has ended. Done when twice as many are held as the last time."""
        for key, (body, passed) in list(self._own.items()):
            seen = self._cache.run(*key)
            if seen is None or _uid(seen) != _uid(body) or _version(seen) not in passed:
                del self._own[key]
        self._full = _FEW + 2 * len(self._own)

    def forget(self, namespace: str, name: str) -> None:
        self._own.pop((namespace, name), None)


def _uid(body: Body) -> str:
    return str(body["metadata"]["uid"])


def _version(body: Body) -> str:
    return str(body["metadata"].get("resourceVersion", ""))
