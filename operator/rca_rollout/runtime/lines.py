"""The line before each suite, from what is watched."""

from __future__ import annotations

from collections.abc import Collection

from rca_rollout.api.parse import InvalidSpec, parse
from rca_rollout.api.run import EvalRun
from rca_rollout.core.admission import Turns, active_components, turns
from rca_rollout.core.memo import Memo
from rca_rollout.runtime.cache import Body, Cache

_REMEMBERED = 4096


class Lines:
    """Remembers which specs can be read (they never change), so that each is read once and not at every question."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._usable: Memo[bool] = Memo(_REMEMBERED)

    def of(self, namespace: str, suite: str, reserved: Collection[str] = ()) -> Turns:
        """Whose turn it is in this suite."""
        active = self.active(namespace, suite)
        open_runs = self._cache.open_runs(namespace, suite)
        return turns(open_runs, active, usable=self.usable, reserved=reserved)

    def anybody_waits(self, namespace: str, suite: str) -> bool:
        """Whether there is a run that has not begun, usable or not."""
        return not self._cache.all_started(namespace, suite)

    def room_for_all(self, namespace: str, suite: str, limit: int) -> bool:
        """Whether as many may run as have not ended, and one more that is not seen yet: then everybody's turn has come."""
        return self._cache.count_open(namespace, suite) < limit

    def active(self, namespace: str, suite: str) -> frozenset[str]:
        """UIDs of the suite's components that govern."""
        return active_components(self._cache.components_of_suite(namespace, suite))

    def usable(self, body: Body) -> bool:
        """Whether the run can ever have its turn."""
        metadata = body["metadata"]
        known = (str(metadata["uid"]), metadata.get("generation"))
        return self._usable.get(known, lambda: not isinstance(parse(EvalRun, body), InvalidSpec))
