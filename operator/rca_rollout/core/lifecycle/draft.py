"""The status under construction. Lives for one call of `decide`; what goes in and comes out is immutable."""

from __future__ import annotations

from datetime import datetime, timedelta

from rca_rollout.api.common import ComponentPhase, ConditionType, EffectiveMode, EventType
from rca_rollout.api.component_status import (
    CurrentRun,
    Evaluation,
    Evidence,
    Intent,
    ObservationStatus,
    RcaComponentStatus,
    Retry,
    Transition,
)
from rca_rollout.core.clock import earliest
from rca_rollout.core.conditions import drop_conditions, keep_times, set_condition
from rca_rollout.core.lifecycle.snapshot import Action, Plan, Snapshot
from rca_rollout.core.problem import Problem
from rca_rollout.core.revision import effective_mode, revision_in

_FIRST_RETRY = timedelta(seconds=10)


class Draft:
    """Small verbs over the status; the rules that choose among them are in the modules beside this one."""

    def __init__(self, snapshot: Snapshot, now: datetime) -> None:
        self.snapshot = snapshot
        self.component = snapshot.component
        self.spec = snapshot.component.spec
        self.name = snapshot.component.metadata.name
        self.key = snapshot.component.spec.target.key
        self.config_map = snapshot.component.spec.target.config_map_ref.name
        # Status holds whole seconds; a decision must not depend on what it cannot remember.
        self.now = now.replace(microsecond=0)
        self.old = old = snapshot.component.status
        self.actions: list[Action] = []
        self.wake: datetime | None = None
        self.phase: ComponentPhase = old.phase or ComponentPhase.PENDING
        self.mode: EffectiveMode = old.mode or EffectiveMode.UNKNOWN
        self.epoch = old.epoch
        self.context = old.context
        self.revision = old.revision
        self.running = old.running
        self.image_digest = old.image_digest
        self.epoch_parts = old.epoch_parts
        self.eval_image = old.eval_image
        self.evaluation: Evaluation | None = old.evaluation
        self.current_run: CurrentRun | None = old.current_run
        self.runs_started = old.runs_started
        self.evidence = old.evidence or Evidence()
        self.observation: ObservationStatus | None = old.observation
        self.condition_readings = old.condition_readings
        self.retry: Retry | None = old.retry
        self.intent: Intent | None = old.intent
        self.promotion = old.promotion
        self.held = old.held
        self.demotion = old.demotion
        self.confirmation = old.confirmation
        self.verbs = old.verbs
        self.block = old.block
        self.attempts = old.attempts
        self.past_failures = old.past_failures
        self.run_requested_at = old.run_requested_at
        self.approval = old.approval
        self.guard = old.guard
        self.drift = old.drift
        self.deletion = old.deletion
        self.suspended_at = old.suspended_at
        self.conditions = old.conditions
        self.transition: Transition | None = None

    @property
    def active(self) -> bool:
        return self.mode is EffectiveMode.ACTIVE

    def read_mode(self, value: str | None) -> EffectiveMode:
        """What a consumer of what runs now makes of the key's value."""
        promoted = self.promotion.revision if self.promotion else None
        return effective_mode(value, self.spec.target.values, promoted, self.snapshot.revision)

    # -- time

    def wake_at(self, *moments: datetime | None) -> None:
        """Look again at the earliest of these, if nothing happens before."""
        self.wake = earliest(self.wake, *moments)

    # -- conditions and Events

    def condition(self, kind: ConditionType, status: bool | None, reason: str, message: str) -> None:
        generation = self.component.metadata.generation
        self.conditions = set_condition(
            self.conditions, kind, status, reason, message, generation=generation, now=self.now
        )

    def ready(self, reason: str, message: str) -> None:
        """Nothing keeps the component from being looked after; Blocked and Shadow are ready, too: Argo CD waves and
        Flux waits would hang for days on anything else."""
        self.condition(ConditionType.READY, True, reason, message)
        self.conditions = drop_conditions(self.conditions, ConditionType.RECONCILING, ConditionType.STALLED)

    def not_ready(self, problem: Problem) -> None:
        """Stalled only for what a person must mend, Reconciling for what may come by itself."""
        kinds = [ConditionType.RECONCILING, ConditionType.STALLED]
        set_, unset = reversed(kinds) if problem.stalled else kinds
        self.condition(ConditionType.READY, False, problem.reason, problem.message)
        self.conditions = drop_conditions(self.conditions, unset)
        self.condition(set_, True, problem.reason, problem.message)

    def in_sync(self) -> None:
        target = self.snapshot.target
        value = None if isinstance(target, Problem) else target.value
        other = self.mode is EffectiveMode.SHADOW and revision_in(value, self.spec.target.values)
        text = f"{self.key} of ConfigMap {self.config_map} is {self.mode}"
        if other:
            text = f"{self.key} of ConfigMap {self.config_map} is {value}, which what runs reads as Shadow"
        self.condition(ConditionType.TARGET_IN_SYNC, True, "InSync", text)

    def announce(self, reason: str, message: str, *, warning: bool = False) -> None:
        """The Event of this step. One step has at most one: the last one said."""
        kind = EventType.WARNING if warning else EventType.NORMAL
        self.transition = Transition(reason=str(reason), message=message, type=kind, at=self.now)

    # -- retries

    def back_off(self, reason: str, message: str) -> datetime:
        """Plans the next try after a run that ended without a verdict: 10 s, doubled each time, bounded."""
        count = (self.retry.consecutive if self.retry else 0) + 1
        factor = int(2 ** min(count - 1, 16))
        due = self.now + min(self.snapshot.max_retry_delay, _FIRST_RETRY * factor)
        self.retry = Retry(consecutive=count, next_at=due, reason=reason, message=message)
        return due

    # -- resets

    def restart(self) -> None:
        """Throws away all evidence: what it was about is no more."""
        self.evidence = Evidence()
        self.observation = None
        self.condition_readings = ()
        self.evaluation = None
        self.current_run = None
        self.retry = None
        self.approval = None
        self.run_requested_at = None
        self.guard = self.guard and self.guard.evolve(suspicion=None)

    # -- the end

    def plan(self) -> Plan:
        status = RcaComponentStatus(
            observed_generation=self.component.metadata.generation,
            conditions=keep_times(self.old.conditions, self.conditions),
            phase=self.phase,
            mode=self.mode,
            revision=self.revision,
            running=self.running,
            image_digest=self.image_digest,
            epoch=self.epoch,
            epoch_parts=self.epoch_parts,
            eval_image=self.eval_image,
            context=self.context,
            evaluation=self.evaluation,
            current_run=self.current_run,
            runs_started=self.runs_started,
            evidence=self.evidence if self.evidence != Evidence() else None,
            observation=self.observation,
            condition_readings=self.condition_readings,
            retry=self.retry,
            intent=self.intent,
            promotion=self.promotion,
            held=self.held,
            demotion=self.demotion,
            confirmation=self.confirmation,
            verbs=self.verbs,
            block=self.block,
            attempts=self.attempts,
            past_failures=self.past_failures,
            run_requested_at=self.run_requested_at,
            approval=self.approval,
            guard=self.guard,
            drift=self.drift,
            deletion=self.deletion,
            suspended_at=self.suspended_at,
            last_transition=self.transition or self.old.last_transition,
        )
        return Plan(status, tuple(self.actions), self.wake)
