"""What is asked in the background for each component: forgotten when nobody wants to know any more, ended with the process."""

from __future__ import annotations

import asyncio
from typing import Protocol

from rca_rollout.runtime.queue import Key


class Place(Protocol):
    """Of one component: the task that asks, if one does."""

    task: asyncio.Task[None] | None


class Background[P: Place]:
    """The places of all components."""

    def __init__(self) -> None:
        self._places: dict[Key, P] = {}

    def forget(self, key: Key) -> None:
        """The component is gone, or nothing is to be asked of it."""
        place = self._places.pop(key, None)
        if place and place.task:
            place.task.cancel()

    async def close(self) -> None:
        """Ends what is being asked."""
        tasks = [place.task for place in self._places.values() if place.task]
        for key in list(self._places):
            self.forget(key)
        await asyncio.gather(*tasks, return_exceptions=True)
