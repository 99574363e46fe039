"""Asks the replicas of consumers whether they have loaded what was written, beside the reconciliation, which takes what is
known and never waits.

Answers live in memory, bound to their question: one that was asked before a write, or by another process, is not there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from rca_rollout.api.confirmation import REPLICAS_LIMIT, HttpConfirmation
from rca_rollout.core.confirming import (
    Answer,
    Question,
    judge_replicas,
    judge_values,
    nobody,
    pause,
    read_modes,
)
from rca_rollout.core.lifecycle.live import NO_PROMETHEUS
from rca_rollout.core.replicas import Replica, ready_replicas
from rca_rollout.integrations.confirm import AT_ONCE, ReplicaError, Replicas
from rca_rollout.integrations.prometheus import QueryError
from rca_rollout.kube.errors import KubeError
from rca_rollout.kube.resources import PODS, Resource
from rca_rollout.runtime.background import Background
from rca_rollout.runtime.queue import Key, WorkQueue
from rca_rollout.runtime.readings import Source

log = logging.getLogger("rca_rollout.confirmations")

# Seconds; more than it takes to ask as many Pods as there may be, if none of them answers.
ROUND = 90.0


class Pods(Protocol):
    """Where the Pods are listed. Raises `KubeError`."""

    async def list(
        self, resource: Resource, namespace: str, *, label_selector: str = ""
    ) -> list[dict[str, Any]]: ...


@dataclass
class _Place:
    """Of one component: what is asked, the last answer, and the task that goes on asking."""

    uid: str
    question: Question
    answer: Answer | None = None
    task: asyncio.Task[None] | None = None


class Confirmer(Background[_Place]):
    """`clock` as the reconcilers see it. A component whose answer is another one is put into the queue."""

    def __init__(
        self,
        pods: Pods,
        prometheus: Source | None,
        replicas: Replicas,
        queue: WorkQueue,
        clock: Callable[[], datetime],
    ) -> None:
        super().__init__()
        self._pods = pods
        self._prometheus = prometheus
        self._replicas = replicas
        self._queue = queue
        self._clock = clock
        self._turns = asyncio.Semaphore(AT_ONCE)

    def look(self, key: Key, uid: str, question: Question | None) -> Answer | None:
        """What is known of this very question now. It is asked in the background for as long as it stands."""
        if question is None:
            self.forget(key)
            return None
        place = self._places.get(key)
        if place is None or place.uid != uid or place.question != question:
            self.forget(key)
            place = self._places[key] = _Place(uid, question)
            place.task = asyncio.create_task(self._go_on_asking(key, place))
        return place.answer

    async def _go_on_asking(self, key: Key, place: _Place) -> None:
        """Also after all have confirmed: until the decision is made, one may be there that has not."""
        while True:
            answer = await self._answer(key, place.question)
            old, place.answer = place.answer, answer
            if old is None or (old.confirmed, old.total, old.problem) != (
                answer.confirmed,
                answer.total,
                answer.problem,
            ):
                self._queue.add(key)
            await asyncio.sleep(pause(place.question, self._clock()).total_seconds())

    async def _answer(self, key: Key, asked: Question) -> Answer:
        """One round; whatever goes wrong in it is an answer, too."""
        at = self._clock()  # before it: an answer is never younger than what it tells
        try:
            async with asyncio.timeout(ROUND):
                if isinstance(asked.how, HttpConfirmation):
                    return await self._ask_replicas(asked, asked.how, at)
                if self._prometheus is None:
                    return nobody(asked, at, NO_PROMETHEUS)
                return judge_values(asked, at, (await self._prometheus.query(asked.query)).values)
        except TimeoutError:
            return nobody(asked, at, f"the replicas could not be asked within {ROUND:g} s")
        except QueryError as problem:
            return nobody(asked, at, problem.message)
        except KubeError as problem:
            return nobody(asked, at, f"the Pods cannot be listed: {problem.message}")
        except Exception as problem:  # the next round may go well; until then nothing is confirmed
            log.exception("%s: unexpected", key)
            return nobody(asked, at, f"asking failed: {type(problem).__name__}")

    async def _ask_replicas(self, asked: Question, how: HttpConfirmation, at: datetime) -> Answer:
        before = await self._ready(asked)
        said: dict[Replica, str | None] = {}
        if len(before) <= REPLICAS_LIMIT:
            async with asyncio.TaskGroup() as group:
                for replica in before:
                    group.create_task(self._ask_one(asked, how, replica, said))
        # Who came meanwhile has not been asked, and who went is nobody's replica any more.
        return judge_replicas(asked, at, said, await self._ready(asked))

    async def _ask_one(
        self, asked: Question, how: HttpConfirmation, replica: Replica, said: dict[Replica, str | None]
    ) -> None:
        async with self._turns:
            try:
                body = await self._replicas.ask(replica.address, how.port, how.path)
            except ReplicaError as problem:
                said[replica] = problem.message
                return
        said[replica] = read_modes(body, asked)

    async def _ready(self, asked: Question) -> tuple[Replica, ...]:
        found = await self._pods.list(PODS, asked.subject.namespace, label_selector=asked.selector)
        return ready_replicas(found, asked.config_map)
