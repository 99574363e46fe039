"""Live conditions in the life of a component: what is asked when, what is remembered, and what follows from it.

While it observes, they let its time count or not; once it is Active they guard it. A question is asked by `runtime`, beside
the decisions, which never wait for an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from rca_rollout.api.base import ApiError
from rca_rollout.api.common import ComponentPhase, EffectiveMode
from rca_rollout.api.component import RcaComponent
from rca_rollout.api.component_status import ObservationStatus
from rca_rollout.api.live import Decisions, LiveCondition, ReadingState
from rca_rollout.api.reasons import Reason
from rca_rollout.api.values import Duration
from rca_rollout.core.clock import stamp
from rca_rollout.core.lifecycle import block
from rca_rollout.core.lifecycle.comparison import number
from rca_rollout.core.lifecycle.conditions import ConditionsVerdict, Judged, Reading, Subject, judge, render
from rca_rollout.core.lifecycle.draft import Draft
from rca_rollout.core.problem import Problem
from rca_rollout.core.revision import Running, declared

# No condition can have this name.
DECISIONS = "ShadowDecisions"
WINDOW = "$(window)"
# Asked every minute where a promotion waits for them, and else for show.
_OFTEN, _SELDOM = timedelta(minutes=1), timedelta(minutes=10)
_PATIENCE = timedelta(seconds=15)
# A count that only grows is written now and then; the one that is enough at once.
_REFRESH = timedelta(minutes=10)
NO_PROMETHEUS = "no Prometheus is configured: set the chart's prometheus.url"


@dataclass(frozen=True)
class Question:
    """A query to ask every `interval`. In `query`, `$(window)` stands for the seconds since `since`."""

    name: str
    query: str
    interval: timedelta
    since: datetime | None = None

    def text(self, now: datetime) -> str:
        """What is sent at `now`."""
        if self.since is None:
            return self.query
        seconds = max(1, int((now - self.since).total_seconds()))
        return self.query.replace(WINDOW, str(seconds))


def questions(component: RcaComponent, running: Running | Problem | None = None) -> tuple[Question, ...]:
    """What is to be asked of Prometheus for a component as it stands, of which `running` runs now."""
    spec, status = component.spec, component.status
    quiet = status.phase in (ComponentPhase.BLOCKED, ComponentPhase.SUSPENDED)
    if spec.suspend or quiet or component.metadata.deletion_timestamp:
        return ()
    active = status.mode is EffectiveMode.ACTIVE
    subject, observed = subject_of(component, running), status.observation
    found = [
        Question(one.name, render(one.query, subject), one.interval.delta)
        for one in _conditions(component, active=active, observing=observed is not None)
    ]
    if observed and observed.began_at and not active:
        query = _decisions_query(subject, observed.began_at)
        found.append(Question(DECISIONS, query, _decisions_interval(component), observed.began_at))
    return tuple(found)


def subject_of(component: RcaComponent, running: Running | Problem | None = None) -> Subject:
    """While what runs cannot be told, the conditions are about what ran last."""
    metadata, spec = component.metadata, component.spec
    running = declared(spec) if running is None else running
    revision = component.status.revision if isinstance(running, Problem) else running.revision
    return Subject(metadata.name, metadata.namespace, spec.target.key, revision or "")


def verdict(draft: Draft) -> ConditionsVerdict:
    """How the conditions of the present mode stand."""
    conditions = _conditions(draft.component, active=draft.active, observing=draft.observation is not None)
    readings, subject = draft.snapshot.readings, subject_of(draft.component, draft.snapshot.running)
    if readings is None:
        readings = {
            one.name: Reading(render(one.query, subject), draft.now, problem=NO_PROMETHEUS)
            for one in conditions
        }
    return judge(readings, conditions, draft.condition_readings, draft.now, subject)


def watch(draft: Draft) -> None:
    """Takes in what was read: to status, to the clock of the observation, and as a block."""
    if draft.spec.suspend or not (draft.active or draft.observation):
        return
    if not draft.active and block.standing(draft):
        return
    found = verdict(draft)
    if found.judged:
        draft.wake_at(found.due(draft.now))
    draft.condition_readings = found.remembered(draft.condition_readings, draft.now)
    if draft.active:
        return
    if violated := found.violated:
        block.put(draft, Reason.CONDITION_VIOLATED, violated.sentence, epoch=draft.epoch)
        return
    settle_clock(draft)
    _count_decisions(draft)


def harm(draft: Draft) -> str | None:
    """What an Active component is put back for: a Guardrail that two readings in a row found violated."""
    if not draft.active or draft.spec.suspend:
        return None
    found = verdict(draft).harmful
    return found.sentence if found else None


def fresh(draft: Draft) -> bool:
    """Whether every condition was read just now and lets pass. Asked at the moment of the write."""
    found = verdict(draft)
    return found.counts and found.fresh


def settle_clock(draft: Draft) -> None:
    """Time counts while all conditions let pass, and it is known what runs. What had counted before a hold is kept as a span: no step of the clock and
    no pause meanwhile changes it."""
    observed = draft.observation
    if observed is None or observed.started_at is None:
        return
    if not verdict(draft).counts or isinstance(draft.snapshot.what_runs, Problem):
        if observed.held_since is None:
            counted = Duration.of(max(timedelta(0), draft.now - observed.started_at))
            draft.observation = observed.evolve(held_since=draft.now, counted=counted)
    elif observed.held_since is not None:
        started = draft.now - counted_of(observed)
        draft.observation = observed.evolve(started_at=started, held_since=None, counted=None)


def counted_of(observed: ObservationStatus) -> timedelta:
    """What of the period had counted when the hold began."""
    try:
        return Duration.parse(observed.counted or "0s").delta
    except ApiError:
        return timedelta(0)


def decided(draft: Draft) -> bool:
    """Whether enough decisions were seen in Shadow."""
    return _count(draft) >= draft.spec.observation.min_shadow_decisions


def decisions_missing(draft: Draft) -> str | None:
    """`decisions 12 of 20`; without a minimum `decisions 12`, where they are counted."""
    wanted, observed = draft.spec.observation.min_shadow_decisions, draft.observation
    if not wanted:
        return f"decisions {_count(draft)}" if observed and observed.decisions else None
    reading = _decisions_reading(draft)
    if draft.snapshot.readings is None:
        trouble = NO_PROMETHEUS
    else:
        trouble = (reading and reading.problem) or ("" if not reading or reading.values else "no data")
    return f"decisions {_count(draft)} of {wanted}" + (f" ({trouble})" if trouble else "")


def missing(draft: Draft) -> tuple[str, ...]:
    """The conditions that do not let pass, in the words that the status remembers: they do not change with every reading."""
    words = {entry.name: entry.message for entry in draft.condition_readings}
    return tuple(
        f"{one.condition.name} {words.get(one.condition.name, one.message)}"
        for one in verdict(draft).judged
        if not one.lets_pass
    )


def alarm(draft: Draft) -> tuple[str, str] | None:
    """Reason and words for what is wrong with the conditions of an Active component: violated, or without data for too long.
    Its Event is told by `tell`."""
    words = {entry.name: entry.message for entry in draft.condition_readings}
    judged = [one for one in verdict(draft).judged if not one.lets_pass]
    violated = [one for one in judged if one.state is ReadingState.VIOLATED]
    silent = [one for one in judged if one.silent(draft.now)]
    for reason, found in ((Reason.CONDITION_VIOLATED, violated), (Reason.CONDITION_NO_DATA, silent)):
        if found:
            names = (one.condition.name for one in found)
            return reason, ", ".join(f"{name} {words.get(name, '')}".strip() for name in names)
    return None


def tell(draft: Draft) -> None:
    """The Warning that a state deserves, once; at the end of a step in which nothing else was said."""
    if draft.spec.suspend or draft.transition is not None or not (draft.active or draft.observation):
        return
    if not draft.active and block.standing(draft):
        return
    todo = verdict(draft).unreported(draft.now)
    if not todo:
        return
    first = todo[0]
    reason = Reason.CONDITION_VIOLATED if first.state is ReadingState.VIOLATED else Reason.CONDITION_NO_DATA
    draft.announce(reason, _warning(draft, first), warning=True)
    draft.condition_readings = tuple(
        entry.evolve(reported_at=draft.now) if entry.name == first.condition.name else entry
        for entry in draft.condition_readings
    )
    if todo[1:]:
        draft.wake_at(draft.now)


def _warning(draft: Draft, one: Judged) -> str:
    if draft.active:
        return f"{one.sentence}: nothing is switched"
    return f"{one.sentence}: the time of the observation does not count meanwhile"


def _conditions(component: RcaComponent, *, active: bool, observing: bool) -> Sequence[LiveCondition]:
    if active:
        return component.spec.guard.conditions
    return component.spec.observation.conditions if observing else ()


def _decisions_interval(component: RcaComponent) -> timedelta:
    return _OFTEN if component.spec.observation.min_shadow_decisions else _SELDOM


def _decisions_query(subject: Subject, since: datetime) -> str:
    """Counters begin at 0 and at 0 again with each process: `increase` adds up over resets. Series of other namespaces do
    not count; those without a namespace do. The comment tells one observation's answers from another's."""
    selector = render(
        'component="$(key)",outcome=~"agree|disagree",namespace=~"|$(namespace)"',
        subject,
    )
    return f"sum(increase(rca_shadow_decisions_total{{{selector}}}[{WINDOW}s])) # since {stamp(since)}"


def _decisions_reading(draft: Draft) -> Reading | None:
    observed, readings = draft.observation, draft.snapshot.readings
    if readings is None or observed is None or observed.began_at is None:
        return None
    reading = readings.get(DECISIONS)
    wanted = _decisions_query(subject_of(draft.component, draft.snapshot.running), observed.began_at)
    return reading if reading and reading.query == wanted else None


def _count_decisions(draft: Draft) -> None:
    observed = draft.observation
    if draft.snapshot.readings is None or observed is None:
        return
    reading = _decisions_reading(draft)
    due = reading.at + _decisions_interval(draft.component) if reading else draft.now
    draft.wake_at(due if due > draft.now else draft.now + _PATIENCE)
    value = number(reading.values[0]) if reading and reading.values else None
    if reading is None or value is None:
        return
    # Retention may forget what was seen once; what was counted stays counted. Half a decision is none.
    old = observed.decisions or Decisions(at=reading.at)
    count = max(old.count, min(10**9, int(value)))
    wanted = draft.spec.observation.min_shadow_decisions
    enough_now = old.count < wanted <= count
    later = count > old.count and draft.now - old.at >= _REFRESH
    if observed.decisions is None or enough_now or later:
        draft.observation = observed.evolve(decisions=Decisions(count=count, at=draft.now))


def _count(draft: Draft) -> int:
    observed = draft.observation
    return observed.decisions.count if observed and observed.decisions else 0
