"""Answers of pure functions, kept while the same is asked again: a restart costs nothing but the work."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable


class Memo[V]:
    """The newest `size` answers; what is kept must not be changed by anybody."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._known: OrderedDict[Hashable, V] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """What `make` gave for this key before, or gives now. The key has to hold all that `make` depends on."""
        try:
            # Threads ask, too: what is here at one moment may have made room for another at the next.
            self._known.move_to_end(key)
            return self._known[key]
        except KeyError:
            made = make()
        self._known[key] = made
        if len(self._known) > self._size:
            self._known.popitem(last=False)
        return made
