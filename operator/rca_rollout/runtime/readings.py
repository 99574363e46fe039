"""Asks Prometheus what is due for each component, beside the reconciliation, which takes what is there and never waits.

Readings live in memory. What must survive the process is in status; what was only read is read again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from rca_rollout.core.lifecycle.conditions import Reading, Readings
from rca_rollout.core.lifecycle.live import Question
from rca_rollout.integrations.prometheus import Answer, Fault, QueryError
from rca_rollout.runtime.background import Background
from rca_rollout.runtime.queue import Key, WorkQueue

log = logging.getLogger("rca_rollout.readings")

# Queries at a time, of all components: a slow Prometheus must not be asked more and more.
AT_ONCE = 4
# A query that cannot be answered as it is written is not asked more often; changed, it is another one.
REFUSED_PAUSE = timedelta(minutes=1)


class Source(Protocol):
    """What can be asked. Raises `QueryError`."""

    async def query(self, text: str) -> Answer: ...


@dataclass
class _Place:
    """Of one component: the last answers, when each is asked again, and the task that asks."""

    uid: str
    readings: dict[str, Reading] = field(default_factory=dict)
    not_before: dict[str, datetime] = field(default_factory=dict)
    task: asyncio.Task[None] | None = None


class Gatherer(Background[_Place]):
    """`clock` as the reconcilers see it. A component whose answers came is put into the queue."""

    def __init__(self, source: Source, queue: WorkQueue, clock: Callable[[], datetime]) -> None:
        super().__init__()
        self._source = source
        self._queue = queue
        self._clock = clock
        self._turns = asyncio.Semaphore(AT_ONCE)

    def look(self, key: Key, uid: str, questions: Sequence[Question]) -> Readings:
        """What is known of these questions now. Those that are due are asked in the background, all in one task."""
        place = self._places.get(key)
        if not questions:
            self.forget(key)
            return {}
        if place is None or place.uid != uid:
            self.forget(key)
            place = self._places[key] = _Place(uid)
        asked = {question.name: question for question in questions}
        for name in [name for name, reading in place.readings.items() if _other(reading, asked.get(name))]:
            del place.readings[name]
            place.not_before.pop(name, None)
        due = [question for question in questions if self._due(place, question)]
        if due and not self.asking(key):
            # What is due in a moment goes along: one look at the component for all of them.
            soon = [one for one in questions if self._due(place, one, one.interval / 4)]
            place.task = asyncio.create_task(self._ask(key, place, soon))
        return dict(place.readings)

    def asking(self, key: Key) -> bool:
        """Whether answers of this component are still awaited."""
        place = self._places.get(key)
        return place is not None and place.task is not None and not place.task.done()

    def _due(self, place: _Place, question: Question, early: timedelta = timedelta(0)) -> bool:
        reading, now = place.readings.get(question.name), self._clock()
        if (
            reading is None or reading.at > now + question.interval
        ):  # in the future: by a clock that was wrong
            return True
        pause = place.not_before.get(question.name)
        if pause is not None and now < pause <= now + timedelta(hours=1):
            return False
        return now + early >= reading.at + question.interval

    async def _ask(self, key: Key, place: _Place, questions: Sequence[Question]) -> None:
        async with asyncio.TaskGroup() as group:
            for question in questions:
                group.create_task(self._ask_one(key, place, question))
        self._queue.add(key)

    async def _ask_one(self, key: Key, place: _Place, question: Question) -> None:
        async with self._turns:
            at = self._clock()  # before the answer: a reading is never younger than what it tells
            pause = None
            try:
                answer = await self._source.query(question.text(at))
                reading = Reading(question.query, at, answer.values, warnings=answer.warnings)
            except QueryError as problem:
                log.info("%s: %s: %s", key, question.name, problem.message)
                reading = Reading(question.query, at, problem=problem.message)
                wait = (
                    REFUSED_PAUSE if problem.fault is Fault.QUERY else timedelta(seconds=problem.retry_after)
                )
                pause = at + wait if wait else None
            except (
                Exception
            ) as problem:  # one question must not end the others; it has no answer, and that is told
                log.exception("%s: %s: unexpected", key, question.name)
                reading = Reading(question.query, at, problem=f"the query failed: {type(problem).__name__}")
        place.readings[question.name] = reading
        place.not_before.pop(question.name, None)
        if pause is not None:
            place.not_before[question.name] = pause


def _other(reading: Reading, question: Question | None) -> bool:
    return question is None or question.query != reading.query
