"""Answers of pure functions, kept while the same is asked again: a restart costs nothing but the work."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable


class Memo[V]:
    """The newest `size` answers. `worth` says which are kept at all; what is kept must not be changed by anybody."""

    def __init__(self, size: int, worth: Callable[[V], bool] = lambda _: True) -> None:
        self._size, self._worth = size, worth
        self._known: OrderedDict[Hashable, V] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """What `make` gave for this key before, or gives now. The key has to hold all that `make` depends on."""
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        made = make()
        if self._worth(made):
            self._known[key] = made
            if len(self._known) > self._size:
                self._known.popitem(last=False)
        return made
