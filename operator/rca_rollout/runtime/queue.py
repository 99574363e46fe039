"""A de-duplicating work queue: one key is worked on by one worker at a time, and never lost.

The rules are those of client-go's work queue: adding a key that waits is a no-op, adding one that is being worked on
makes it due again when that work ends, a failure makes it due later. A key has at most one planned wake-up; an earlier
one replaces a later one. Nothing here is durable: keys come back from the watch, clocks from status.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, order=True)
class Key:
    """One object to reconcile."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


@dataclass
class Backoff:
    """Delays between failures of one key: `base · 2ⁿ` seconds, at most `limit`."""

    base: float = 0.5
    limit: float = 60.0
    failures: dict[Key, int] = field(default_factory=dict)

    def next(self, key: Key) -> float:
        """The delay before the next try, in seconds."""
        count = self.failures.get(key, 0)
        self.failures[key] = count + 1
        return float(min(self.limit, self.base * 2 ** min(count, 20)))

    def forget(self, key: Key) -> None:
        self.failures.pop(key, None)


class WorkQueue:
    """Keys that are due now, keys that are due later, and keys in work. For one event loop, not thread-safe."""

    def __init__(self, clock: Callable[[], float], *, started: bool = True) -> None:
        self._clock = clock  # monotonic seconds
        self._started = started
        self._ready: deque[Key] = deque()
        self._urgent: deque[Key] = deque()
        self._waiting: set[Key] = set()
        self._working: set[Key] = set()
        self._again: set[Key] = set()
        self._later: dict[Key, float] = {}
        self._held: dict[Key, float] = {}
        self._heap: list[tuple[float, Key]] = []
        self._changed = asyncio.Event()
        self._closed = False

    @property
    def depth(self) -> int:
        """How many keys are due and not yet in work."""
        return len(self._waiting)

    @property
    def working(self) -> int:
        return len(self._working)

    def planned(self, key: Key) -> float | None:
        """When `key` wakes up by itself (monotonic seconds), or None."""
        return self._later.get(key)

    def add(self, key: Key, *, urgent: bool = False) -> None:
        """Makes `key` due now, or at the end of its `hold`; before all that are due and not `urgent`."""
        held = self._held.get(key, 0.0) - self._clock()
        if held > 0 and key not in self._working:
            self.add_after(key, held)
            return
        self._held.pop(key, None)
        self._later.pop(key, None)
        if key in self._working:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting.add(key)
            (self._urgent if urgent else self._ready).append(key)
            self._changed.set()
        elif urgent and key not in self._urgent:
            # Its other place stays, and is passed over when it comes.
            self._urgent.append(key)

    def add_after(self, key: Key, seconds: float) -> None:
        """Makes `key` due in `seconds`, unless it is due before that already."""
        due = self._clock() + max(0.0, seconds)
        if key in self._waiting or self._later.get(key, float("inf")) <= due:
            return
        self._later[key] = due
        heapq.heappush(self._heap, (due, key))
        if len(self._heap) > 2 * len(self._later) + 64:
            # Plans that were replaced stay in the heap until their time comes, and that may be hours.
            self._heap = [(due, key) for key, due in self._later.items()]
            heapq.heapify(self._heap)
        self._changed.set()

    def hold(self, key: Key, seconds: float) -> None:
        """Makes `key`, which is in work, due in `seconds` and not before, whatever is heard of it: the server asked so."""
        self._held[key] = self._clock() + seconds
        self.add_after(key, seconds)

    async def take(self) -> Key | None:
        """The next key that is due, now in work; None once the queue is closed."""
        while not self._closed:
            self._promote_due()
            if self._started and (key := self._next()):
                return key
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), self._until_next())
            except TimeoutError:
                continue
        return None

    def _next(self) -> Key | None:
        for line in (self._urgent, self._ready):
            while line:
                key = line.popleft()
                if key in self._waiting:
                    self._waiting.discard(key)
                    self._working.add(key)
                    return key
        return None

    def done(self, key: Key) -> None:
        """Ends the work on `key`; it is due again at once if it was added meanwhile."""
        self._working.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def start(self) -> None:
        """Lets keys be taken, where the queue was made to wait for it: until then it only collects them."""
        self._started = True
        self._changed.set()

    def close(self) -> None:
        """Lets every `take` return None; keys in work are not touched."""
        self._closed = True
        self._changed.set()

    def _promote_due(self) -> None:
        now = self._clock()
        while self._heap and self._heap[0][0] <= now:
            due, key = heapq.heappop(self._heap)
            if self._later.get(key) == due:  # else an older plan that was replaced
                del self._later[key]
                self.add(key)
        # A worker that was woken shares the wake-up with the others when more than one key is due.
        if self._waiting and self._started:
            self._changed.set()

    def _until_next(self) -> float | None:
        return max(0.0, self._heap[0][0] - self._clock()) if self._heap else None
