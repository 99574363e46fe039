"""One attempt: its Job is named, made, looked at, and tried again when the cluster took it away."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from rca_rollout.api.common import EventType, ObjectRef, RunPhase
from rca_rollout.api.component_status import Transition
from rca_rollout.api.reasons import Reason
from rca_rollout.core import budget, names
from rca_rollout.core.jobs import JobInputs, build_job
from rca_rollout.core.owners import owned
from rca_rollout.core.pods import Broken, Disrupted, Running, Succeeded, diagnose
from rca_rollout.core.problem import Problem
from rca_rollout.core.revision import Running as What
from rca_rollout.core.runs.collect import collect, conclude_parts
from rca_rollout.core.runs.conclude import conclude
from rca_rollout.core.runs.ending import WAIT_FOR_SUITE, conditions_of, end, wait
from rca_rollout.core.runs.image import mismatch, with_digest
from rca_rollout.core.runs.snapshot import CreateJob, DeleteJob, RunPlan, RunSnapshot
from rca_rollout.core.shards import Collected, Collecting, ShardsOutcome, diagnose_shards
from rca_rollout.core.suites import SuiteFacts
from rca_rollout.core.variants import Variant

_WAIT_FOR_TURN = timedelta(minutes=15)  # who ends wakes the next one; this is for an end that nobody heard of
MAX_ATTEMPTS = 4  # the first, and three that were disrupted from outside


def outcome_of(snapshot: RunSnapshot, now: datetime) -> ShardsOutcome | None:
    """What became of the Job, or None while there is none. Also tells the shell whether there is a log to read."""
    if snapshot.job is None or isinstance(snapshot.suite, Problem):
        return None
    job, status = snapshot.suite.spec.job, snapshot.run.status
    if status.inputs and status.inputs.shards:
        return diagnose_shards(
            snapshot.job,
            snapshot.pods,
            count=status.inputs.shards,
            recorded={shard.index for shard in status.shards},
            start_timeout=job.start_timeout.delta,
            run_timeout=job.timeout.delta,
            now=now,
        )
    return diagnose(
        snapshot.job,
        snapshot.pods,
        start_timeout=job.start_timeout.delta,
        run_timeout=job.timeout.delta,
        now=now,
    )


def start(snapshot: RunSnapshot, now: datetime) -> RunPlan:
    run = snapshot.run
    if held := snapshot.admission:
        return wait(snapshot, held.reason, held.message, now, now + _WAIT_FOR_TURN)
    attempt = run.status.attempts + 1
    name = names.job_name(run.metadata.name, run.metadata.uid, attempt)
    status = run.status.evolve(
        phase=RunPhase.RUNNING,
        reason=Reason.RUN_IN_PROGRESS,
        message=f"Job {name}",
        attempts=attempt,
        job_ref=ObjectRef(name=name, uid=""),
        shards=(),
        image_digest=None,
        started_at=run.status.started_at or now,
    )
    return RunPlan(conditions_of(snapshot, status, now), wake_at=now)


def watch(snapshot: RunSnapshot, suite: SuiteFacts, now: datetime) -> RunPlan:
    ref = snapshot.run.status.job_ref
    assert ref is not None  # noqa: S101 - the caller has looked
    if plan := _without_our_job(snapshot, suite, ref, now):
        return plan
    before, snapshot = snapshot, with_digest(snapshot)
    if wrong := mismatch(before, snapshot):
        text = f"{wrong}; the evaluation is done again"
        return end(snapshot, RunPhase.INCONCLUSIVE, Reason.IMAGE_CHANGED, text, now)
    outcome = outcome_of(snapshot, now)
    match outcome:
        case Running(wake_at=wake, note=note, reason=reason):
            text = f"Job {ref.name}" + (f": {note}" if note else "")
            return wait(snapshot, reason, text, now, wake, phase=RunPhase.RUNNING)
        case Disrupted(message=message, reason=reason):
            return _again(snapshot, reason, message, now)
        case Broken(reason=reason, message=message):
            message += f". The cluster says: {snapshot.said}" if snapshot.said else ""
            return end(snapshot, RunPhase.ERROR, reason, message, now, tail=snapshot.log_tail)
        case Succeeded(wall_seconds=walls):
            return conclude(snapshot, suite, walls, now)
        case Collecting():
            return collect(snapshot, outcome, now)
        case Collected():
            return conclude_parts(snapshot, suite, now)
        case _:
            return RunPlan(snapshot.run.status, wake_at=now + WAIT_FOR_SUITE)


def _without_our_job(
    snapshot: RunSnapshot, suite: SuiteFacts, ref: ObjectRef, now: datetime
) -> RunPlan | None:
    """What to do while the Job that status names is not there as ours; None where it is."""
    status, job = snapshot.run.status, snapshot.job
    if job is None:
        if ref.uid:
            text = f"Job {ref.name} was deleted before it ended: the evaluation is tried again"
            return end(snapshot, RunPhase.ERROR, Reason.JOB_LOST, text, now)
        return RunPlan(status, (CreateJob(job_body(snapshot, suite)),), wake_at=now + timedelta(seconds=10))
    uid = str(job["metadata"]["uid"])
    if not owned(job, snapshot.run.metadata.uid):
        text = f"a Job named {ref.name} exists and is not ours: delete it"
        return end(snapshot, RunPhase.ERROR, Reason.JOB_CONFLICT, text, now)
    if ref.uid and ref.uid != uid:
        text = f"Job {ref.name} was replaced by another of that name: the evaluation is tried again"
        return end(snapshot, RunPhase.ERROR, Reason.JOB_LOST, text, now)
    if not ref.uid:
        return RunPlan(status.evolve(job_ref=ObjectRef(name=ref.name, uid=uid)), wake_at=now)
    return None


def _again(snapshot: RunSnapshot, reason: str, message: str, now: datetime) -> RunPlan:
    """A disruption from outside is nobody's fault: the next attempt is free, within a limit."""
    status = snapshot.run.status
    if status.attempts >= MAX_ATTEMPTS:
        return end(snapshot, RunPhase.ERROR, reason, f"{message}; {status.attempts} attempts in all", now)
    ref = status.job_ref
    drop = (DeleteJob(ref.name, ref.uid),) if ref else ()
    new = status.evolve(phase=RunPhase.PENDING, reason=str(reason), message=message, job_ref=None)
    event = Transition(
        reason=str(reason), message=f"attempt {status.attempts}: {message}", type=EventType.WARNING, at=now
    )
    return RunPlan(conditions_of(snapshot, new, now), drop, wake_at=now, event=event)


def job_body(snapshot: RunSnapshot, suite: SuiteFacts) -> dict[str, Any]:
    run, inputs = snapshot.run, snapshot.run.status.inputs
    assert inputs is not None  # noqa: S101 - no Job without inputs
    running = snapshot.what_runs
    return build_job(
        suite.spec,
        JobInputs(
            namespace=run.metadata.namespace,
            run=run.metadata.name,
            run_uid=run.metadata.uid,
            attempt=run.status.attempts,
            component=run.spec.component_ref.name if run.spec.component_ref else None,
            suite=run.spec.suite_ref.name,
            revision=inputs.revision or "none",
            dataset_sha256=inputs.dataset_sha256 or "",
            variants=tuple(Variant(v.name, dict(v.modes)) for v in inputs.variants),
            harness_image=inputs.harness_image or snapshot.settings.harness_image,
            pull_policy=snapshot.settings.pull_policy,
            shards=inputs.shards or 1,
            image=inputs.image if inputs.image_digest else None,
            pull_secrets=running.pull_secrets if isinstance(running, What) else (),
            judge=suite.spec.judge
            if budget.asks_judge(run.spec.trigger, suite.spec, inputs.shards or 1)
            else None,
        ),
    )
