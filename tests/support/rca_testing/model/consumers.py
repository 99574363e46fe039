"""The replicas of the consumers: what each has really loaded, what it says when it is asked, and who has heard it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from rca_rollout.core.confirming import Answer, Question, judge_replicas, read_modes
from rca_rollout.core.replicas import Replica
from rca_rollout.kube.resources import COMPONENTS, CONFIGMAPS
from rca_rollout.runtime.queue import Key
from rca_testing.model import agent
from rca_testing.model.store import Store

CONFIRMATION: dict[str, Any] = {
    "timeout": "5m",
    "http": {"selector": {"matchLabels": {"app": "agent"}}, "port": 8080},
}
PODS = (Replica("agent-0", "u0", "10.0.0.1"), Replica("agent-1", "u1", "10.0.0.2"))
LATE = Replica("agent-2", "u2", "10.0.0.3")


class Says(Enum):
    """What the second of two replicas does."""

    TRUTH = "loads the key, and says what it has loaded"
    OLD = "goes on with what it has loaded before"
    OTHER = "says that it reads the value as the other mode"
    NOISE = "answers with something else than modes"
    NOTHING = "does not answer in time"
    COMES = "is one more than was asked"
    GONE = "is not there, as the first is not"


@dataclass(frozen=True)
class Heard:
    """Every replica had loaded this value, acted as this mode, and said so."""

    name: str
    uid: str
    value: str
    mode: str


class Consumers:
    """Those of all components, in one installation. `heard` is the truth about confirmations, in their order."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.says = Says.TRUTH
        self.heard: list[Heard] = []
        self._loaded: dict[tuple[str, int], str] = {}

    def ask(self, uid: str, asked: Question, at: datetime) -> Answer:
        """One round, as the operator's own would come out."""
        if self.says is Says.GONE:
            return judge_replicas(asked, at, {}, ())
        if self.says is Says.NOTHING:
            said: dict[Replica, str | None] = {PODS[0]: self._say(asked, 0), PODS[1]: "does not answer"}
            return judge_replicas(asked, at, said, PODS)
        said = {pod: self._say(asked, number) for number, pod in enumerate(PODS)}
        ready = (*PODS, LATE) if self.says is Says.COMES else PODS
        if self.says in (Says.TRUTH, Says.OLD) and all(
            (self._loaded.get((asked.subject.key, number), ""), self._acts(asked, number))
            == (asked.value, str(asked.mode))
            for number in (0, 1)
        ):
            self.heard.append(Heard(asked.subject.component, uid, asked.value, str(asked.mode)))
        return judge_replicas(asked, at, said, ready)

    def _say(self, asked: Question, number: int) -> str | None:
        key = asked.subject.key
        if number == 0 or self.says is not Says.OLD:
            body = self._store.find(CONFIGMAPS, asked.config_map)
            value = ((body or {}).get("data") or {}).get(key)
            self._loaded[key, number] = value or ""
        mode = self._acts(asked, number)
        if number == 1 and self.says is Says.OTHER:
            mode = "Shadow" if mode == "Active" else "Active"
        entry = {"component": key, "value": self._loaded.get((key, number)), "mode": mode, "reason": ""}
        found: Any = {"ok": True} if number == 1 and self.says is Says.NOISE else [entry]
        return read_modes(json.dumps(found).encode(), asked)

    def _acts(self, asked: Question, number: int) -> str:
        """What this replica makes of what it has loaded: it knows its own revision."""
        body = self._store.find(COMPONENTS, asked.subject.component)
        if body is None:
            return "Shadow"
        spec = body["spec"]
        running = sorted(agent.truths(spec, self._store.objects), key=repr)
        if not running:
            return "Shadow"
        active = (spec["target"].get("values") or {}).get("active", "Active")
        value = self._loaded.get((asked.subject.key, number))
        return "Active" if running[number % len(running)].acts(value, active) else "Shadow"


@dataclass
class _Place:
    uid: str
    question: Question
    answer: Answer


class Asking:
    """The port of the confirmer of one process: asks at once, is heard at the next look, and goes on as time goes on."""

    def __init__(
        self, consumers: Consumers, clock: Callable[[], datetime], wake: Callable[[Key], None]
    ) -> None:
        self._consumers, self._clock, self._wake = consumers, clock, wake
        self._places: dict[Key, _Place] = {}

    def look(self, key: Key, uid: str, question: Question | None) -> Answer | None:
        if question is None:
            self.forget(key)
            return None
        place = self._places.get(key)
        if place is not None and (place.uid, place.question) == (uid, question):
            return place.answer
        self._places[key] = _Place(uid, question, self._consumers.ask(uid, question, self._clock()))
        self._wake(key)
        return None

    def forget(self, key: Key) -> None:
        self._places.pop(key, None)

    def go_on(self) -> None:
        """The next round; who is answered otherwise is woken."""
        for key, place in list(self._places.items()):
            answer = self._consumers.ask(place.uid, place.question, self._clock())
            old, place.answer = place.answer, answer
            if (old.confirmed, old.total, old.problem) != (answer.confirmed, answer.total, answer.problem):
                self._wake(key)


__all__ = ["CONFIRMATION", "Asking", "Consumers", "Heard", "Says"]
