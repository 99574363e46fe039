"""Confirmation, purely: what the replicas of a consumer are asked, what their answers mean, and when to ask again.

Whatever is not a clear yes of every replica is a no, and says which one and why.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from rca_rollout.api.common import Mode
from rca_rollout.api.component import RcaComponent
from rca_rollout.api.confirmation import (
    REPLICAS_LIMIT,
    ConfirmationState,
    HttpConfirmation,
    QueryConfirmation,
)
from rca_rollout.core.lifecycle.comparison import number
from rca_rollout.core.lifecycle.conditions import Subject, render
from rca_rollout.core.replicas import Replica

_SHOWN, _SHOWN_CHARACTERS = 3, 60
_SOONEST, _WAITING = timedelta(seconds=1), timedelta(seconds=10)
_OVERDUE, _LATEST = timedelta(seconds=15), timedelta(minutes=5)


@dataclass(frozen=True)
class Question:
    """Has every replica loaded `value`, that was written before `since`, and reads it as `mode`?"""

    subject: Subject
    mode: Mode
    value: str
    since: datetime
    timeout: timedelta
    how: HttpConfirmation | QueryConfirmation
    config_map: str = ""

    @property
    def word(self) -> str:
        """The value, for a sentence. Without one the key was removed, which consumers read as Shadow."""
        return self.value or "nothing"

    @property
    def query(self) -> str:
        """What Prometheus is asked; empty where the replicas themselves are."""
        if isinstance(self.how, HttpConfirmation):
            return ""
        text = render(self.how.query, self.subject)
        text = text.replace("$(wanted)", "1" if self.mode is Mode.ACTIVE else "0")
        return text.replace("$(since)", str(int(self.since.timestamp()))).replace("$(value)", self.value)

    @property
    def selector(self) -> str:
        """The Pods, as the API server is asked for them."""
        labels = self.how.selector.match_labels if isinstance(self.how, HttpConfirmation) else {}
        return ",".join(f"{name}={value}" for name, value in sorted(labels.items()))


@dataclass(frozen=True)
class Answer:
    """Of one round of asking that began at `at`. `problem` is empty if and only if all have confirmed."""

    question: Question
    at: datetime
    confirmed: int
    total: int
    problem: str

    @property
    def complete(self) -> bool:
        return self.total > 0 and self.confirmed == self.total and not self.problem

    @property
    def sentence(self) -> str:
        """`1 of 2 replicas have loaded Active: agent-b has loaded Shadow`."""
        if not self.total:
            return self.problem
        counted = f"{self.confirmed} of {self.total} replicas have loaded {self.question.word}"
        return f"{counted}: {self.problem}" if self.problem else counted


def question(component: RcaComponent) -> Question | None:
    """What is to be asked for a component as it stands; None when nothing waits for an answer."""
    asked, how = component.status.confirmation, component.spec.confirmation
    if asked is None or how is None or asked.state is ConfirmationState.CONFIRMED:
        return None
    metadata, chosen = component.metadata, how.http or how.query
    # A key that reads otherwise is another matter: an old word that is held, say, or a value that nobody knows.
    elsewhere = str(component.status.mode) != str(asked.mode)
    if chosen is None or elsewhere or metadata.deletion_timestamp:
        return None
    revision, config_map = component.status.revision or "", component.spec.target.config_map_ref.name
    subject = Subject(metadata.name, metadata.namespace, component.spec.target.key, revision)
    return Question(subject, asked.mode, asked.value, asked.since, how.timeout.delta, chosen, config_map)


def pause(asked: Question, now: datetime) -> timedelta:
    """Until the next round: soon at first, seldom for a demotion that is overdue. A wrong clock makes it neither 0 nor endless."""
    age = abs(now - asked.since)
    if asked.mode is Mode.ACTIVE or age <= asked.timeout:
        return min(max(age / 8, _SOONEST), _WAITING)
    return min(max(age / 4, _OVERDUE), _LATEST)


def nobody(asked: Question, at: datetime, why: str) -> Answer:
    """The answer of a round in which nobody could be asked."""
    return Answer(asked, at, 0, 0, why)


def judge_replicas(
    asked: Question, at: datetime, said: Mapping[Replica, str | None], ready: Sequence[Replica]
) -> Answer:
    """`said`: per replica that was asked, why it has not confirmed, or None. `ready`: who is there after that.

    Who went meanwhile does not count, whatever it said; who came has not been asked, so it has not confirmed.
    """
    if not ready:
        return nobody(asked, at, f"no ready Pod has the labels {asked.selector}")
    if len(ready) > REPLICAS_LIMIT:
        text = f"{len(ready)} Pods have the labels {asked.selector}, more than {REPLICAS_LIMIT}: confirm by a query"
        return nobody(asked, at, text)
    wrong = [
        f"{replica.name} {why}" + (f" ({replica.stuck})" if replica.stuck else "")
        for replica in ready
        if (why := said.get(replica, "came while the others were asked")) is not None
    ]
    return Answer(asked, at, len(ready) - len(wrong), len(ready), _listed(wrong))


def judge_values(asked: Question, at: datetime, values: Sequence[str]) -> Answer:
    """The series of the query: each has to be 1, and there have to be as many as `replicas` says."""
    wanted = (asked.how.replicas if isinstance(asked.how, QueryConfirmation) else None) or 0
    if not values:
        return Answer(asked, at, 0, wanted, "the query found no series")
    wrong = [value for value in values if number(value) != 1]
    problems = [f"a series says {_shown(value)}, not 1" for value in wrong]
    if len(values) < wanted:
        problems.append(f"only {len(values)} series for {wanted} replicas")
    return Answer(asked, at, len(values) - len(wrong), max(len(values), wanted), _listed(problems))


def read_modes(body: bytes, asked: Question) -> str | None:
    """What one replica answered to GET /modes: None if it has loaded the value and reads it as the mode, else why not."""
    key = asked.subject.key
    try:
        found = json.loads(body, object_pairs_hook=_each_once, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return "does not answer with JSON as the agent protocol has it"
    if not isinstance(found, list):
        return "does not answer with a list as the agent protocol has it"
    entries = [entry for entry in found if isinstance(entry, dict) and entry.get("component") == key]
    if not entries:
        return f"does not name {key}"
    if len(entries) > 1:
        return f"names {key} {len(entries)} times"
    value, mode, reason = (entries[0].get(name, "") for name in ("value", "mode", "reason"))
    if not isinstance(value, str | None) or not isinstance(mode, str):
        return f"does not tell value and mode of {key} as the agent protocol has it"
    why = f" ({_shown(reason)})" if reason and isinstance(reason, str) else ""
    if value is None and asked.value:
        return f"has loaded nothing{why}"
    if (value or "") != asked.value:
        return f"has loaded {_shown(value or '')}"
    if mode != asked.mode:
        return f"has loaded {asked.word} and reads it as {_shown(mode)}{why}"
    return None


def _listed(problems: Sequence[str]) -> str:
    more = len(problems) - _SHOWN
    return "; ".join([*problems[:_SHOWN], *([f"and {more} more"] if more > 0 else [])])


def _shown(text: str) -> str:
    """What a stranger wrote, for a status: one line, short."""
    clean = "".join(
        c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text[: _SHOWN_CHARACTERS + 1]
    )
    return clean if len(clean) <= _SHOWN_CHARACTERS else clean[: _SHOWN_CHARACTERS - 1] + "…"


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is there twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
