"""Whether anybody still waits for this run."""

from __future__ import annotations

from datetime import datetime

from rca_rollout.api.common import RunPhase
from rca_rollout.api.component import RcaComponent
from rca_rollout.api.reasons import Reason
from rca_rollout.core.pods.steps import condition, time
from rca_rollout.core.problem import Problem
from rca_rollout.core.runs.inputs import same_data
from rca_rollout.core.runs.snapshot import RunSnapshot
from rca_rollout.core.suites import StaleSuite


def given_up(snapshot: RunSnapshot) -> tuple[RunPhase, str, str] | None:
    """A run of a component that does not wait for it any more: a person stopped it, or what it was made for is over.

    The component names a run in its status before the run is made, so what it does not name is not wanted. Runs that
    people make are not owned by a component, and nobody else's to end.
    """
    component, name = snapshot.component, snapshot.run.metadata.name
    if not isinstance(component, RcaComponent) or component.metadata.uid not in {
        owner.uid for owner in snapshot.run.metadata.owner_references if owner.controller
    }:
        return None
    current, abort = component.status.current_run, component.status.verbs and component.status.verbs.abort
    if abort and abort.run == name:
        who, why = abort.by or "somebody unknown", abort.reason
        return RunPhase.ABORTED, Reason.ABORTED, f"stopped by {who}" + (f": {why}" if why else "")
    if current is None or current.name != name:
        return RunPhase.SUPERSEDED, Reason.SUPERSEDED, "the component does not wait for this run any more"
    return None


def unusable(snapshot: RunSnapshot, now: datetime) -> str | None:
    """A run whose Job holds a place, or has ended, and whose result nobody can judge any more. It gives the place free."""
    suite, running, status = snapshot.suite, snapshot.what_runs, snapshot.run.status
    if (
        isinstance(suite, StaleSuite)
        and suite.facts
        and status.inputs
        and not same_data(status.inputs, suite.facts)
    ):
        return "the dataset or the baseline changed while the run was under way"
    if isinstance(suite, Problem) or not isinstance(running, Problem) or status.job_ref is None:
        return None
    ended = _ended_at(snapshot)
    if ended is None or now < ended + suite.spec.job.start_timeout.delta:
        return None
    return f"its Job has ended, and what was evaluated cannot be told since: {running.message}"


def _ended_at(snapshot: RunSnapshot) -> datetime | None:
    """When the run's Job ended. One that is gone is as good as ended when it began."""
    status = snapshot.run.status
    if snapshot.job is None:
        return status.started_at if status.job_ref and status.job_ref.uid else None
    found = snapshot.job.get("status") or {}
    over = condition(found, "Complete") or condition(found, "Failed")
    return (time(over.get("lastTransitionTime")) or status.started_at) if over else None


def overtaken(snapshot: RunSnapshot) -> str | None:
    """A run is about one epoch and one context of its component; in another one it says nothing."""
    spec, component = snapshot.run.spec, snapshot.component
    if not isinstance(component, RcaComponent):
        return None
    if spec.epoch is not None and component.status.epoch != spec.epoch:
        return "what is measured changed after this run was made"
    # The modes are taken once, with the inputs: from then on they are what the run was made for.
    here = (component.status.context, snapshot.context if snapshot.run.status.inputs is None else None)
    if spec.context is not None and any(c not in (None, spec.context) for c in here):
        return "another component of the suite changed after this run was made"
    return None
