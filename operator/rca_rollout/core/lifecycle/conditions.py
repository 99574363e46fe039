"""Live conditions, purely: what to ask, what an answer means, and what it comes to for a component.

A reading is one query's answer, held in memory. What a status remembers of it (state, since when) bridges restarts: between
two readings the older one's state stands. A promotion wants more than that: a fresh reading of every condition.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from rca_rollout.api.live import (
    PLACEHOLDERS,
    ConditionReading,
    LiveCondition,
    OnNoData,
    Operator,
    ReadingState,
    Role,
)
from rca_rollout.core.clock import earliest, stamp
from rca_rollout.core.lifecycle.comparison import CONTRARY, SIGN, holds, misleading, number, show

# A query may take 10 s, and wait for its turn; a reading that is older than this beyond its interval is not fresh.
SLACK = timedelta(seconds=60)
# Asked for, and no answer yet: looked at again without it. The answer itself wakes the component up.
_PATIENCE = timedelta(seconds=15)
# How often a value that only moves is written anew. Nobody reads a status more often, and a write costs all watchers.
_REFRESH = timedelta(minutes=10)


@dataclass(frozen=True)
class Reading:
    """The answer to `query`: the values of its series as Prometheus writes them, or why there is none."""

    query: str
    at: datetime
    values: tuple[str, ...] = ()
    problem: str | None = None
    warnings: tuple[str, ...] = ()


type Readings = Mapping[str, Reading]


@dataclass(frozen=True)
class Subject:
    """Whom a query is about; the values of its placeholders."""

    component: str
    namespace: str
    key: str
    revision: str


@dataclass(frozen=True)
class Judged:
    """One condition as it stands. `fresh`: by a reading, not from memory. `again`: by a later reading than the first of
    this state. `at` is None when it was never read."""

    condition: LiveCondition
    state: ReadingState
    since: datetime
    at: datetime | None
    value: str | None
    message: str
    fresh: bool
    again: bool
    reported_at: datetime | None
    digest: str

    @property
    def lets_pass(self) -> bool:
        """Whether it may hold nothing back."""
        ignored = self.state is ReadingState.NO_DATA and self.condition.on_no_data is OnNoData.IGNORE
        return self.condition.role is Role.INFO or self.state is ReadingState.HOLDS or ignored

    def silent(self, now: datetime) -> bool:
        """Whether there has been no data for longer than the grace."""
        return (
            self.state is ReadingState.NO_DATA
            and self.at is not None
            and now >= self.since + self.condition.no_data_grace.delta
        )

    @property
    def sentence(self) -> str:
        """`latency-p95 0.31 > 0.25 (Signal)`, or `errors no data since …Z`."""
        return f"{self.condition.name} {self.message}"


@dataclass(frozen=True)
class ConditionsVerdict:
    """All conditions of one list."""

    judged: tuple[Judged, ...]

    @property
    def counts(self) -> bool:
        """Whether time counts: every condition let pass when it was last read."""
        return all(one.lets_pass for one in self.judged)

    @property
    def fresh(self) -> bool:
        """Whether every condition that could hold back was read just now."""
        return all(one.fresh or one.condition.role is Role.INFO for one in self.judged)

    @property
    def missing(self) -> tuple[str, ...]:
        """What does not let pass, one phrase each."""
        return tuple(one.sentence for one in self.judged if not one.lets_pass)

    @property
    def violated(self) -> Judged | None:
        """A violated Guardrail: it blocks."""
        return next(self._guardrails(again=False), None)

    @property
    def harmful(self) -> Judged | None:
        """A Guardrail that two readings in a row found violated: it demotes."""
        return next(self._guardrails(again=True), None)

    def _guardrails(self, *, again: bool) -> Iterator[Judged]:
        return (
            one
            for one in self.judged
            if one.condition.role is Role.GUARDRAIL
            and one.state is ReadingState.VIOLATED
            and one.fresh
            and (one.again or not again)
        )

    def unreported(self, now: datetime) -> tuple[Judged, ...]:
        """What is worth a Warning and had none: a violated Signal, and no data for longer than its grace."""
        return tuple(one for one in self.judged if one.reported_at is None and _reportable(one, now))

    def due(self, now: datetime) -> datetime | None:
        """When there is something to look at again: a query, or the end of a grace."""
        queries = (_due(one, now) for one in self.judged)
        graces = (
            end
            for one in self.judged
            if one.state is ReadingState.NO_DATA
            and one.reported_at is None
            and (end := one.since + one.condition.no_data_grace.delta) > now
        )
        return earliest(*queries, *graces)

    def remembered(self, old: Sequence[ConditionReading], now: datetime) -> tuple[ConditionReading, ...]:
        """For the status: what stands there already stays as it is, unless state or, now and then, value has changed."""
        before = {entry.name: entry for entry in old}
        return tuple(
            _entry(one, before.get(one.condition.name), now) for one in self.judged if one.at is not None
        )


def render(query: str, subject: Subject) -> str:
    """The query with its placeholders replaced, each value escaped as in a PromQL string in quotes."""
    for name in PLACEHOLDERS:
        query = query.replace(f"$({name})", _escaped(getattr(subject, name)))
    return query


def judge(
    readings: Readings,
    conditions: Sequence[LiveCondition],
    since: Sequence[ConditionReading],
    now: datetime,
    subject: Subject,
) -> ConditionsVerdict:
    """How the conditions stand at `now`. `since` is what the status remembers; total, for every input."""
    before = {entry.name: entry for entry in since}
    return ConditionsVerdict(
        tuple(
            _judge(one, readings.get(one.name), before.get(one.name), now, render(one.query, subject))
            for one in conditions
        )
    )


def _judge(
    condition: LiveCondition, reading: Reading | None, old: ConditionReading | None, now: datetime, query: str
) -> Judged:
    digest = _digest(query, condition)
    if old is not None and old.digest != digest:
        old = None
    reported = old.reported_at if old else None
    # From the future: by a clock that was wrong.
    if reading is None or reading.query != query or not _young(reading.at, condition, now):
        if old is None:
            return Judged(
                condition,
                ReadingState.NO_DATA,
                now,
                None,
                None,
                "was not read yet",
                False,
                False,
                None,
                digest,
            )
        return Judged(
            condition, old.state, old.since, old.at, old.value, old.message, False, False, reported, digest
        )
    at = reading.at.replace(microsecond=0)
    state, value, text = _read(condition, reading)
    same = old is not None and old.state is state
    since = min(old.since, at) if old is not None and same else at
    again = old is not None and same and old.since < at
    if state is ReadingState.NO_DATA:
        text = f"no data since {stamp(since)}: {text}"
    if reading.warnings and state is not ReadingState.NO_DATA:
        text += f"; Prometheus warns: {reading.warnings[0][:200]}"
    return Judged(condition, state, since, at, value, text, True, again, reported if same else None, digest)


def _due(one: Judged, now: datetime) -> datetime:
    """An answer that is overdue wakes the component up itself: looking for it all the time would help nobody."""
    late = now + _PATIENCE
    due = one.at + one.condition.interval.delta if one.at and one.fresh else late
    return due if due > now else late


def _young(at: datetime, condition: LiveCondition, now: datetime) -> bool:
    return at - SLACK <= now <= at + condition.interval.delta + SLACK


def _read(condition: LiveCondition, reading: Reading) -> tuple[ReadingState, str | None, str]:
    """State, value shown, and the words for it. Harm comes before validity: a series that is violated is so, whatever the
    others say."""
    if reading.problem is not None:
        return ReadingState.NO_DATA, None, reading.problem
    if not reading.values:
        return ReadingState.NO_DATA, None, "the query found no series"
    numbers = [number(text) for text in reading.values]
    finite = [each for each in numbers if each is not None]
    bad = [each for each in finite if not holds(each, condition)]
    pick = max if condition.operator in (Operator.LESS_THAN, Operator.LESS_THAN_OR_EQUAL) else min
    if bad:
        worst = pick(bad)
        several = f", {len(bad)} of {len(numbers)} series" if len(numbers) > 1 else ""
        text = (
            f"{show(worst)} {CONTRARY[condition.operator]} {condition.threshold} ({condition.role}{several})"
        )
        if misleading(worst, condition):
            text = text.replace(show(worst), str(worst)[:40], 1)
        return ReadingState.VIOLATED, show(worst), text
    if len(finite) < len(numbers):
        wrong = next(text for text, each in zip(reading.values, numbers, strict=True) if each is None)
        return ReadingState.NO_DATA, wrong[:16], f"the value is {wrong[:16]}"
    worst = pick(finite)
    return (
        ReadingState.HOLDS,
        show(worst),
        f"{show(worst)} {SIGN[condition.operator]} {condition.threshold} ({condition.role})",
    )


def _reportable(one: Judged, now: datetime) -> bool:
    if one.condition.role is Role.INFO or one.at is None:
        return False
    if one.state is ReadingState.NO_DATA:
        return one.condition.on_no_data is OnNoData.HOLD and one.silent(now)
    return one.state is ReadingState.VIOLATED and one.condition.role is Role.SIGNAL


def _entry(one: Judged, old: ConditionReading | None, now: datetime) -> ConditionReading:
    at = one.at or now
    new = ConditionReading(
        name=one.condition.name,
        role=one.condition.role,
        state=one.state,
        value=one.value,
        since=one.since,
        at=at,
        message=one.message,
        digest=one.digest,
        reported_at=one.reported_at,
    )
    known = old is not None and _identity(old) == _identity(new)
    if old is not None and known and (not one.fresh or now - old.at < _REFRESH or old.message == new.message):
        return old
    return new


def _identity(entry: ConditionReading) -> tuple[object, ...]:
    return (entry.digest, entry.state, entry.role, entry.since, entry.reported_at)


def _digest(query: str, condition: LiveCondition) -> str:
    parts = "\0".join((query, condition.operator, condition.threshold))
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def _escaped(value: str) -> str:
    for char, escape in (("\\", "\\\\"), ('"', '\\"'), ("'", "\\'"), ("\n", "\\n"), ("\r", "\\r")):
        value = value.replace(char, escape)
    return value
