"""`decide_run`: which of the steps of a run is due."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from rca_rollout.api.common import RunPhase
from rca_rollout.api.reasons import Reason
from rca_rollout.core.problem import Problem
from rca_rollout.core.runs.after import after
from rca_rollout.core.runs.ending import WAIT_FOR_SUITE, end, wait
from rca_rollout.core.runs.inputs import of_another_epoch, same_data, take_inputs
from rca_rollout.core.runs.snapshot import (
    CreateJob,
    DeleteJob,
    RunAction,
    RunPlan,
    RunSnapshot,
    StoreIndex,
    StorePart,
    StoreScorecard,
)
from rca_rollout.core.runs.wanted import given_up, overtaken, unusable
from rca_rollout.core.runs.watch import start, watch
from rca_rollout.core.workloads import engine_conflict


def decide_run(snapshot: RunSnapshot, now: datetime) -> RunPlan:
    """The next step of one run at `now` (aware, UTC)."""
    if snapshot.run.metadata.deletion_timestamp:
        return RunPlan(snapshot.run.status)
    plan = _decide(snapshot, now.replace(microsecond=0))
    swept = tuple(DeleteJob(name, uid) for name, uid in snapshot.leftovers)
    return replace(plan, actions=(*swept, *plan.actions))


def _decide(snapshot: RunSnapshot, now: datetime) -> RunPlan:
    run = snapshot.run
    if run.status.phase and run.status.phase.final:
        return after(snapshot)
    if ended := given_up(snapshot):
        return end(snapshot, *ended, now)
    stale = overtaken(snapshot)
    if stale:
        return end(snapshot, RunPhase.SUPERSEDED, Reason.SUPERSEDED, stale, now)
    if isinstance(snapshot.component, Problem):
        return end(snapshot, RunPhase.ERROR, snapshot.component.reason, snapshot.component.message, now)
    if done_for := unusable(snapshot, now):
        return end(snapshot, RunPhase.SUPERSEDED, Reason.SUPERSEDED, done_for, now)
    if isinstance(snapshot.suite, Problem):
        return wait(snapshot, snapshot.suite.reason, snapshot.suite.message, now, now + WAIT_FOR_SUITE)
    running = snapshot.what_runs
    if running is not None:
        unclear = running if isinstance(running, Problem) else engine_conflict(snapshot.suite, running)
        if unclear:
            return wait(snapshot, unclear.reason, unclear.message, now, now + WAIT_FOR_SUITE)
    if run.status.inputs and not same_data(run.status.inputs, snapshot.suite):
        text = "the dataset or the baseline changed while the run was under way"
        return end(snapshot, RunPhase.SUPERSEDED, Reason.SUPERSEDED, text, now)
    if of_another_epoch(snapshot, snapshot.suite):
        text = "what is measured changed after this run was made"
        return end(snapshot, RunPhase.SUPERSEDED, Reason.SUPERSEDED, text, now)
    if run.status.inputs is None:
        return take_inputs(snapshot, snapshot.suite, now)
    if run.status.job_ref is None:
        return start(snapshot, now)
    return watch(snapshot, snapshot.suite, now)


def refused(snapshot: RunSnapshot, action: RunAction, message: str, now: datetime) -> RunPlan | None:
    """The API server did not take it (quota, admission, Pod security): named, and tried again later.

    None where nothing follows from it: a verdict stands, whether or not its Job may be tidied away.
    """
    match action:
        case CreateJob():
            reason, what = Reason.JOB_REFUSED, "the Job"
        case StoreScorecard(reading=reading):
            reason, what = Reason.SCORECARD_REFUSED, f"ConfigMap {reading.config_map} for the scorecard"
        case StorePart() | StoreIndex():
            reason, what = Reason.SCORECARD_REFUSED, "a ConfigMap for a part of the scorecard"
        case _:
            return None
    text = (
        f"the API server refused {what}: {message}; change what refuses it (a quota, an admission policy, "
        "the operator's rights); the evaluation is tried again"
    )
    return end(snapshot, RunPhase.ERROR, reason, text, now.replace(microsecond=0))
