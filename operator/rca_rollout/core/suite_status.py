"""The status of an EvalSuite: what its dataset and baseline hold, or what keeps it from being used."""

from __future__ import annotations

from datetime import datetime

from rca_rollout.api.common import ConditionType
from rca_rollout.api.reasons import Reason
from rca_rollout.api.suite import BaselineStatus, DatasetStatus, EvalSuite, EvalSuiteStatus
from rca_rollout.core.conditions import drop_conditions, keep_times, set_condition
from rca_rollout.core.problem import Problem
from rca_rollout.core.suites import SuiteFacts
from rca_rollout.core.verdict import figure


def suite_status(suite: EvalSuite, facts: SuiteFacts | Problem, now: datetime) -> EvalSuiteStatus:
    """Pure and idempotent: the same facts give the same status, so that a steady suite is written once."""
    generation = suite.metadata.generation
    conditions = suite.status.conditions
    if isinstance(facts, Problem):
        kind = ConditionType.STALLED if facts.stalled else ConditionType.RECONCILING
        conditions = drop_conditions(conditions, ConditionType.STALLED, ConditionType.RECONCILING)
        for name, value in ((ConditionType.READY, False), (kind, True)):
            conditions = set_condition(
                conditions, name, value, facts.reason, facts.message, generation=generation, now=now
            )
        return suite.status.evolve(
            observed_generation=generation, conditions=keep_times(suite.status.conditions, conditions)
        )
    incidents = facts.dataset.incidents
    classes = len({incident.fault_class for incident in incidents})
    text = f"{len(incidents)} incidents of {classes} fault classes"
    if len(incidents) * facts.spec.tolerance.accuracy_drop.decimal < 1:
        text += f"; few: losing one of them is {1 / len(incidents):.3f} of AC@1, more than the tolerance"
    conditions = drop_conditions(conditions, ConditionType.STALLED, ConditionType.RECONCILING)
    conditions = set_condition(
        conditions, ConditionType.READY, True, Reason.AS_EXPECTED, text, generation=generation, now=now
    )
    return suite.status.evolve(
        observed_generation=generation,
        conditions=conditions,
        dataset=DatasetStatus(
            sha256=facts.dataset_sha256, incidents=len(incidents), profile=facts.dataset.profile or None
        ),
        baseline=BaselineStatus(sha256=facts.baseline_sha256, accuracy=figure(facts.accuracy)),
    )


def with_problem(
    suite: EvalSuite, status: EvalSuiteStatus, problem: Problem, now: datetime
) -> EvalSuiteStatus:
    """A part of the spec that only a person can mend, and without which the rest goes on: the schedule."""
    conditions = drop_conditions(status.conditions, ConditionType.RECONCILING)
    for name, value in ((ConditionType.READY, False), (ConditionType.STALLED, True)):
        conditions = set_condition(
            conditions,
            name,
            value,
            problem.reason,
            problem.message,
            generation=suite.metadata.generation,
            now=now,
        )
    return status.evolve(conditions=keep_times(suite.status.conditions, conditions))


def with_budget(
    suite: EvalSuite, status: EvalSuiteStatus, exceeded: Problem | None, now: datetime
) -> EvalSuiteStatus:
    """Degraded while the month's budget has no room for a run, else without that condition."""
    conditions = drop_conditions(status.conditions, ConditionType.DEGRADED)
    if exceeded:
        generation = suite.metadata.generation
        conditions = set_condition(
            conditions,
            ConditionType.DEGRADED,
            True,
            exceeded.reason,
            exceeded.message,
            generation=generation,
            now=now,
        )
    return status.evolve(conditions=keep_times(suite.status.conditions, conditions))
