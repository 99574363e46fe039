"""`decide_run(snapshot, now)`: one evaluation from its inputs to its verdict, pure and repeatable.

Pending (inputs written once, then a turn) → Running (one Job per attempt) → a verdict of the gate, or a named reason
why there is none. Nothing here can turn a missing, broken or foreign result into a pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from rca_rollout.api.common import ConditionType, EventType, ObjectRef, RunPhase
from rca_rollout.api.component import RcaComponent
from rca_rollout.api.component_status import Transition
from rca_rollout.api.reasons import Reason
from rca_rollout.api.run import EvalRun, EvalRunStatus
from rca_rollout.api.run_status import RunInputs, StoredScorecard
from rca_rollout.api.run_status import Variant as StoredVariant
from rca_rollout.core import names, verdict
from rca_rollout.core.clock import earliest
from rca_rollout.core.conditions import drop_conditions, set_condition
from rca_rollout.core.epoch import epoch_of
from rca_rollout.core.jobs import JobInputs, build_job
from rca_rollout.core.owners import owned
from rca_rollout.core.pods import Broken, Disrupted, Outcome, Running, Succeeded, diagnose
from rca_rollout.core.problem import Problem
from rca_rollout.core.readings import Reading
from rca_rollout.core.suites import SuiteFacts
from rca_rollout.core.variants import Variant, variants

MAX_ATTEMPTS = 4  # the first, and three that were disrupted from outside
KEEP_JOB = 600  # seconds that a Job stays for a look after its result is stored
_WAIT_FOR_SUITE = timedelta(seconds=30)
_MOST_KEYS = 64  # as many modes as a run's status can hold


@dataclass(frozen=True)
class RunSettings:
    """What the installation decides."""

    harness_image: str
    pull_policy: str = "IfNotPresent"


@dataclass(frozen=True)
class RunSnapshot:
    """One run and all that its next step depends on.

    `component` is None for a run without one, and a Problem when it is gone. `admitted` says that the suite's
    `maxConcurrentRuns` leaves room. `reading` is there once the Job has succeeded. `context` is of what `effective`
    was made from; None for a run without a component.
    """

    run: EvalRun
    component: RcaComponent | Problem | None
    suite: SuiteFacts | Problem
    effective: Mapping[str, str]
    job: Mapping[str, Any] | None
    pods: Sequence[Mapping[str, Any]]
    admitted: bool
    settings: RunSettings
    reading: Reading | Problem | None = None
    log_tail: str | None = None
    context: str | None = None


@dataclass(frozen=True)
class CreateJob:
    body: Mapping[str, Any]


@dataclass(frozen=True)
class DeleteJob:
    name: str
    uid: str


@dataclass(frozen=True)
class ReleaseJob:
    """Lets the Job's time to live run, now that nothing is needed of it any more."""

    name: str
    uid: str
    ttl_seconds: int


@dataclass(frozen=True)
class StoreScorecard:
    reading: Reading


type RunAction = CreateJob | DeleteJob | ReleaseJob | StoreScorecard


@dataclass(frozen=True)
class RunPlan:
    """Status first, then the actions; `wake_at` when nothing happens before."""

    status: EvalRunStatus
    actions: tuple[RunAction, ...] = ()
    wake_at: datetime | None = None
    event: Transition | None = None


def outcome_of(snapshot: RunSnapshot, now: datetime) -> Outcome | None:
    """What became of the Job, or None while there is none. Also tells the shell whether there is a log to read."""
    if snapshot.job is None or isinstance(snapshot.suite, Problem):
        return None
    timeout = snapshot.suite.spec.job.start_timeout.delta
    return diagnose(snapshot.job, snapshot.pods, start_timeout=timeout, now=now)


def decide_run(snapshot: RunSnapshot, now: datetime) -> RunPlan:
    """The next step of one run at `now` (aware, UTC)."""
    now = now.replace(microsecond=0)
    run = snapshot.run
    if run.metadata.deletion_timestamp:
        return RunPlan(run.status)
    if run.status.phase and run.status.phase.final:
        return _after(snapshot)
    if ended := _given_up(snapshot):
        return _end(snapshot, *ended, now)
    stale = _overtaken(snapshot)
    if stale:
        return _end(snapshot, RunPhase.SUPERSEDED, Reason.SUPERSEDED, stale, now)
    if isinstance(snapshot.component, Problem):
        return _end(snapshot, RunPhase.ERROR, snapshot.component.reason, snapshot.component.message, now)
    if isinstance(snapshot.suite, Problem):
        return _wait(snapshot, snapshot.suite.reason, snapshot.suite.message, now, now + _WAIT_FOR_SUITE)
    if run.status.inputs and not _same_data(run.status.inputs, snapshot.suite):
        text = "the dataset or the baseline changed while the run was under way"
        return _end(snapshot, RunPhase.SUPERSEDED, Reason.SUPERSEDED, text, now)
    if _of_another_epoch(snapshot, snapshot.suite):
        text = "what is measured changed after this run was made"
        return _end(snapshot, RunPhase.SUPERSEDED, Reason.SUPERSEDED, text, now)
    if run.status.inputs is None:
        return _take_inputs(snapshot, snapshot.suite, now)
    if run.status.job_ref is None:
        return _start(snapshot, now)
    return _watch(snapshot, snapshot.suite, now)


def refused(snapshot: RunSnapshot, action: RunAction, message: str, now: datetime) -> RunPlan | None:
    """The API server did not take it (quota, admission, Pod security): named, and tried again later.

    None where nothing follows from it: a verdict stands, whether or not its Job may be tidied away.
    """
    match action:
        case CreateJob():
            reason, what = Reason.JOB_REFUSED, "the Job"
        case StoreScorecard(reading=reading):
            reason, what = Reason.SCORECARD_REFUSED, f"ConfigMap {reading.config_map} for the scorecard"
        case _:
            return None
    text = (
        f"the API server refused {what}: {message}; change what refuses it (a quota, an admission policy, "
        "the operator's rights); the evaluation is tried again"
    )
    return _end(snapshot, RunPhase.ERROR, reason, text, now.replace(microsecond=0))


def _given_up(snapshot: RunSnapshot) -> tuple[RunPhase, str, str] | None:
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


def _overtaken(snapshot: RunSnapshot) -> str | None:
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


def _of_another_epoch(snapshot: RunSnapshot, suite: SuiteFacts) -> bool:
    """Asked of the world itself: a change that is taken back before the component looks would not be in its status."""
    epoch, component = snapshot.run.spec.epoch, snapshot.component
    return (
        epoch is not None and isinstance(component, RcaComponent) and epoch != epoch_of(component.spec, suite)
    )


def _take_inputs(snapshot: RunSnapshot, suite: SuiteFacts, now: datetime) -> RunPlan:
    run, component = snapshot.run, snapshot.component
    if len(snapshot.effective) > _MOST_KEYS:
        text = f"the suite has {len(snapshot.effective)} components, at most {_MOST_KEYS} are measured together: split it"
        return _end(snapshot, RunPhase.ERROR, Reason.SUITE_NOT_READY, text, now)
    key = component.spec.target.key if isinstance(component, RcaComponent) else None
    revision = run.spec.revision or (
        component.spec.revision if isinstance(component, RcaComponent) else "none"
    )
    measured = variants(snapshot.effective, key)
    inputs = RunInputs(
        epoch=run.spec.epoch,
        context=run.spec.context,
        revision=revision,
        variants=tuple(StoredVariant(name=v.name, modes=dict(v.modes)) for v in measured),
        image=suite.image or snapshot.settings.harness_image,
        harness_image=snapshot.settings.harness_image,
        dataset_sha256=suite.dataset_sha256,
        baseline_sha256=suite.baseline_sha256,
    )
    status = run.status.evolve(
        phase=RunPhase.PENDING, reason=Reason.RUN_PENDING, message="waits for its turn", inputs=inputs
    )
    return RunPlan(_conditions(snapshot, status, now), wake_at=now)


def _same_data(inputs: RunInputs, suite: SuiteFacts) -> bool:
    return (inputs.dataset_sha256, inputs.baseline_sha256) == (suite.dataset_sha256, suite.baseline_sha256)


def _start(snapshot: RunSnapshot, now: datetime) -> RunPlan:
    run = snapshot.run
    if not snapshot.admitted:
        text = "waits for its turn: the suite runs as many evaluations as maxConcurrentRuns allows"
        return _wait(snapshot, Reason.WAITING_FOR_TURN, text, now, None)
    attempt = run.status.attempts + 1
    name = names.job_name(run.metadata.name, run.metadata.uid, attempt)
    status = run.status.evolve(
        phase=RunPhase.RUNNING,
        reason=Reason.RUN_IN_PROGRESS,
        message=f"Job {name}",
        attempts=attempt,
        job_ref=ObjectRef(name=name, uid=""),
        started_at=run.status.started_at or now,
    )
    return RunPlan(_conditions(snapshot, status, now), wake_at=now)


def _watch(snapshot: RunSnapshot, suite: SuiteFacts, now: datetime) -> RunPlan:
    status, job = snapshot.run.status, snapshot.job
    ref = status.job_ref
    assert ref is not None  # noqa: S101 - the caller has looked
    if job is None:
        if ref.uid:
            text = f"Job {ref.name} was deleted before it ended: the evaluation is tried again"
            return _end(snapshot, RunPhase.ERROR, Reason.JOB_LOST, text, now)
        return RunPlan(status, (CreateJob(_job_body(snapshot, suite)),), wake_at=now + timedelta(seconds=10))
    uid = str(job["metadata"]["uid"])
    if not owned(job, snapshot.run.metadata.uid):
        text = f"a Job named {ref.name} exists and is not ours: delete it"
        return _end(snapshot, RunPhase.ERROR, Reason.JOB_CONFLICT, text, now)
    if ref.uid and ref.uid != uid:
        text = f"Job {ref.name} was replaced by another of that name: the evaluation is tried again"
        return _end(snapshot, RunPhase.ERROR, Reason.JOB_LOST, text, now)
    if not ref.uid:
        return RunPlan(status.evolve(job_ref=ObjectRef(name=ref.name, uid=uid)), wake_at=now)
    outcome = outcome_of(snapshot, now)
    match outcome:
        case Running(wake_at=wake, note=note):
            text = f"Job {ref.name}" + (f": {note}" if note else "")
            return _wait(snapshot, Reason.RUN_IN_PROGRESS, text, now, wake, phase=RunPhase.RUNNING)
        case Disrupted(message=message):
            return _again(snapshot, message, now)
        case Broken(reason=reason, message=message):
            return _end(snapshot, RunPhase.ERROR, reason, message, now, tail=snapshot.log_tail)
        case Succeeded(wall_seconds=walls):
            return _conclude(snapshot, suite, walls, now)
        case _:
            return RunPlan(status, wake_at=now + _WAIT_FOR_SUITE)


def _again(snapshot: RunSnapshot, message: str, now: datetime) -> RunPlan:
    """A disruption from outside is nobody's fault: the next attempt is free, within a limit."""
    status = snapshot.run.status
    if status.attempts >= MAX_ATTEMPTS:
        return _end(
            snapshot, RunPhase.ERROR, Reason.EVICTED, f"{message}; {status.attempts} attempts in all", now
        )
    ref = status.job_ref
    drop = (DeleteJob(ref.name, ref.uid),) if ref else ()
    new = status.evolve(phase=RunPhase.PENDING, reason=Reason.EVICTED, message=message, job_ref=None)
    event = Transition(
        reason=Reason.EVICTED, message=f"attempt {status.attempts}: {message}", type=EventType.WARNING, at=now
    )
    return RunPlan(_conditions(snapshot, new, now), drop, wake_at=now, event=event)


def _conclude(snapshot: RunSnapshot, suite: SuiteFacts, walls: tuple[float, ...], now: datetime) -> RunPlan:
    """The Job has succeeded: its scorecard is stored first, and judged once it is."""
    reading = snapshot.reading
    if reading is None:
        return RunPlan(snapshot.run.status, wake_at=now + timedelta(seconds=5))
    if isinstance(reading, Problem):
        return _end(snapshot, RunPhase.ERROR, reading.reason, reading.message, now)
    if not reading.stored:
        # No watch tells of this ConfigMap: it is read back, and judged, in the next look.
        return RunPlan(snapshot.run.status, (StoreScorecard(reading),), wake_at=now + timedelta(seconds=1))
    inputs = snapshot.run.status.inputs
    assert inputs is not None  # noqa: S101 - no Job without inputs
    card = reading.scorecard
    measured = {variant.name: dict(variant.modes) for variant in inputs.variants}
    told = {variant.name: dict(variant.modes) for variant in card.deterministic.variants}
    if told != measured:
        text = "the scorecard was measured under other modes than intended: is the harness image of this version?"
        return _end(snapshot, RunPhase.INCONCLUSIVE, Reason.VARIANT_MISSING, text, now)
    result = verdict.judge(
        card,
        suite,
        dataset_sha256=inputs.dataset_sha256 or "",
        revision=inputs.revision or "",
        component=snapshot.component is not None,
        wall_seconds=tuple(int(wall) for wall in walls),
    )
    with_, without = verdict.accuracy_of(card, "With"), verdict.accuracy_of(card, "Without")
    delta = with_ - without if with_ is not None and without is not None else None
    figures = snapshot.run.status.evolve(
        checks=verdict.checks_of(result),
        regression_of=verdict.blame_of(card, suite, result),
        harm=verdict.harm_of(card, suite, result) if snapshot.component is not None else None,
        fixed=verdict.fixed_of(card) if snapshot.component is not None else None,
        scorecard=StoredScorecard(
            config_map_ref=reading.config_map,
            key=reading.key,
            sha256=reading.sha256,
            deterministic_sha256=card.deterministic_sha256(),
        ),
        accuracy=verdict.figure(with_),
        delta=verdict.figure(delta, signed=True),
        mttr=verdict.seconds(verdict.mttr_of(card, "With")),
        baseline=verdict.figure(suite.accuracy),
    )
    return _end(
        snapshot, RunPhase(result.verdict), verdict.reason_of(result), result.message, now, status=figures
    )


def _after(snapshot: RunSnapshot) -> RunPlan:
    """A finished run: its Job goes when its time comes, or at once when nobody will look at its result."""
    job, status = snapshot.job, snapshot.run.status
    if job is None or not owned(job, snapshot.run.metadata.uid):
        return RunPlan(status)
    ended = any(
        c.get("type") in ("Complete", "Failed") and c.get("status") == "True"
        for c in (job.get("status") or {}).get("conditions") or []
    )
    name, uid = str(job["metadata"]["name"]), str(job["metadata"]["uid"])
    if job["metadata"].get("deletionTimestamp"):
        return RunPlan(status)
    if not ended:
        return RunPlan(status, (DeleteJob(name, uid),))
    if (job.get("spec") or {}).get("ttlSecondsAfterFinished") is None:
        return RunPlan(status, (ReleaseJob(name, uid, KEEP_JOB),))
    return RunPlan(status)


def _wait(
    snapshot: RunSnapshot,
    reason: str,
    message: str,
    now: datetime,
    wake_at: datetime | None,
    *,
    phase: RunPhase | None = None,
) -> RunPlan:
    status = snapshot.run.status
    new = status.evolve(phase=phase or status.phase or RunPhase.PENDING, reason=reason, message=message)
    return RunPlan(_conditions(snapshot, new, now), wake_at=earliest(wake_at))


def _end(
    snapshot: RunSnapshot,
    phase: RunPhase,
    reason: str,
    message: str,
    now: datetime,
    *,
    status: EvalRunStatus | None = None,
    tail: str | None = None,
) -> RunPlan:
    new = (status or snapshot.run.status).evolve(
        phase=phase, reason=str(reason), message=message, finished_at=now, log_tail=tail or None
    )
    kind = EventType.NORMAL if phase in (RunPhase.PASSED, RunPhase.SUPERSEDED) else EventType.WARNING
    event = Transition(reason=str(reason), message=message, type=kind, at=now)
    return RunPlan(_conditions(snapshot, new, now), wake_at=now, event=event)


def _conditions(snapshot: RunSnapshot, status: EvalRunStatus, now: datetime) -> EvalRunStatus:
    """Ready is True once the run has ended, whatever its verdict: the object has done what it is for."""
    generation = snapshot.run.metadata.generation
    reason, message = status.reason or Reason.INITIALIZING, status.message or ""
    final = bool(status.phase and status.phase.final)
    conditions = set_condition(
        status.conditions, ConditionType.READY, final, reason, message, generation=generation, now=now
    )
    if final:
        conditions = drop_conditions(conditions, ConditionType.RECONCILING)
    else:
        conditions = set_condition(
            conditions, ConditionType.RECONCILING, True, reason, message, generation=generation, now=now
        )
    return status.evolve(observed_generation=generation, conditions=conditions)


def _job_body(snapshot: RunSnapshot, suite: SuiteFacts) -> dict[str, Any]:
    run, inputs = snapshot.run, snapshot.run.status.inputs
    assert inputs is not None  # noqa: S101 - no Job without inputs
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
        ),
    )
