"""Runs: starting them, waiting for them, and counting what they showed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from rca_rollout.api.common import Blame, ComponentPhase, ConditionType, Mode, RunPhase, Trigger, Verdict
from rca_rollout.api.component_status import EVIDENCE_LIMIT, CurrentRun, Evaluation, EvidenceRun
from rca_rollout.api.meta import API_VERSION
from rca_rollout.api.reasons import Reason
from rca_rollout.api.revision import EvalImage
from rca_rollout.api.run import EvalRun, EvalRunSpec
from rca_rollout.core import history, names
from rca_rollout.core.clock import stamp
from rca_rollout.core.lifecycle import approval, errors, harm
from rca_rollout.core.lifecycle.draft import Draft
from rca_rollout.core.lifecycle.snapshot import CreateRun, DeleteRun
from rca_rollout.core.owners import owner_reference
from rca_rollout.core.problem import Problem

_VERDICTS = frozenset({RunPhase.PASSED, RunPhase.FAILED})


def start(draft: Draft, trigger: Trigger) -> None:
    """Names the next run in status; it is created once that name is stored, so a crash cannot make two of it.

    A name that a run has already is passed over: what was counted in a status that got lost would be taken for new.
    """
    draft.runs_started += 1
    while (name := names.run_name(draft.name, draft.epoch or "", draft.runs_started)) in draft.snapshot.runs:
        draft.runs_started += 1
    draft.run_requested_at = None
    draft.current_run = CurrentRun(name=name, trigger=trigger, started_at=draft.now)
    _waiting(draft, draft.current_run, "")
    draft.wake_at(draft.now)


def follow(draft: Draft) -> bool:
    """Follows the current run. True while there is nothing else to do: it is created, awaited, or was just read."""
    current = draft.current_run
    if current is None:
        return False
    run = draft.snapshot.runs.get(current.name)
    if run is None and current.uid is None:
        draft.actions.append(CreateRun(current.name, _manifest(draft, current)))
        _waiting(draft, current, "")
        return True
    if run is None:
        _no_verdict(draft, current, Reason.RUN_LOST, f"EvalRun {current.name} was deleted before it ended")
        return True
    if current.uid is None:
        draft.current_run = current = current.evolve(uid=run.metadata.uid)
    if current.uid != run.metadata.uid:
        _no_verdict(
            draft, current, Reason.RUN_LOST, f"EvalRun {current.name} was replaced by another of that name"
        )
        return True
    if run.spec != EvalRunSpec.model_validate(_manifest(draft, current)["spec"]):
        text = f"EvalRun {current.name} measures something else than was asked for: somebody else made it"
        _no_verdict(draft, current, Reason.RUN_LOST, text)
        return True
    if run.status.phase is None or not run.status.phase.final:
        _waiting(draft, current, run.status.message or "")
        return True
    if run.status.phase in _VERDICTS:
        _count(draft, current, run)
    elif _image_moved(draft, run):
        draft.current_run = None
        draft.wake_at(draft.now)
    else:
        reason = run.status.reason or run.status.phase
        _no_verdict(
            draft,
            current,
            reason,
            run.status.message or f"the run ended as {run.status.phase}",
            run,
        )
    return True


def read_failure(draft: Draft) -> None:
    """Counts a failed run before anything else may let go of it: a failure blocks whatever came in between."""
    current = draft.current_run
    run = draft.snapshot.runs.get(current.name) if current else None
    if run and run.status.phase is RunPhase.FAILED:
        follow(draft)


def doubt_the_future(draft: Draft) -> None:
    """A run that was started later than now was so by a clock that was wrong: when it was started is not known. It still
    counts, and closes nothing when that moment comes after all."""
    runs = draft.evidence.runs
    if any(run.started_at and run.started_at > draft.now for run in runs):
        known = (
            run.evolve(started_at=None) if run.started_at and run.started_at > draft.now else run
            for run in runs
        )
        draft.evidence = draft.evidence.evolve(runs=tuple(known))


def not_before(draft: Draft) -> datetime | None:
    """When the next run may start after one without a verdict; None when it may start now."""
    due = draft.retry.next_at if draft.retry and not draft.run_requested_at else None
    # Later than any delay is long: by a clock that was wrong.
    return due if due and draft.now < due <= draft.now + draft.snapshot.max_retry_delay else None


def rest(draft: Draft, until: datetime) -> None:
    """Shown while a component in Shadow waits for the next try."""
    draft.wake_at(until)
    _in_shadow(draft)
    held_back(draft)


def held_back(draft: Draft) -> None:
    """Why a component in Shadow is not promoted: by its spec, for want of a verdict, or since its observation goes on."""
    waits = waits_for(draft)
    meanwhile = _meanwhile(draft, waits)
    if approval.in_the_way(draft):
        approval.hold(draft, meanwhile)
        return
    reason, text = str(Reason.NOT_PROMOTED), "waits for the gate"
    if draft.spec.mode is Mode.SHADOW:
        reason, text = Reason.HELD, "spec.mode is Shadow: evaluated, and held back"
    elif draft.retry:
        # The reason that `kubectl get -o wide` shows: what has to be mended, until a run says something.
        reason, text = draft.retry.reason or reason, f"waits for a verdict: {draft.retry.message}"
    elif draft.evidence.passing:
        text = "waits for the end of the observation"
    if meanwhile and waits and waits[0] == Reason.BUDGET_EXCEEDED and reason == Reason.NOT_PROMOTED:
        reason = Reason.BUDGET_EXCEEDED  # a month may be long
    draft.condition(ConditionType.PROMOTED, False, reason, text + meanwhile)


def _meanwhile(draft: Draft, waits: tuple[str, str] | None) -> str:
    """What is said of the current run behind a sentence; nothing where a retry is told of anyway."""
    current = draft.current_run
    if current is None or draft.retry:
        return ""
    run = f"{current.trigger} run {current.name}"
    return f"; {run}: {waits[1]}" if waits else f"; {run} is under way"


def waits_for(draft: Draft) -> tuple[str, str] | None:
    """(reason, sentence) of what the current run waits for before it begins; None where it has begun, or says nothing."""
    run = draft.snapshot.runs.get(draft.current_run.name) if draft.current_run else None
    status = run.status if run else None
    if status is None or status.phase is not RunPhase.PENDING or not status.reason or not status.message:
        return None
    return None if status.reason == Reason.RUN_PENDING else (status.reason, status.message)


def last_started(draft: Draft) -> datetime | None:
    """When the newest counted run was started. None also where that is in the future: by a clock that was wrong."""
    last = draft.evidence.runs[-1].started_at if draft.evidence.runs else None
    return last if last and last <= draft.now else None


def prune(draft: Draft) -> None:
    """Deletes finished runs that are too many and that status does not refer to; what they showed is counted already."""
    suite = draft.snapshot.suite
    if isinstance(suite, Problem):
        return
    ended = map(history.finished, draft.snapshot.runs.values())
    for run in history.surplus(ended, suite.spec.history_limits, kept=history.referred(draft.plan().status)):
        draft.actions.append(DeleteRun(run.name, run.uid))


def _image_moved(draft: Draft, run: EvalRun) -> bool:
    """The suite's tag names another image than in the runs before. From the next step on that is part of the epoch, which
    begins anew. A workload's image is so already: a run with another one is only not valid."""
    inputs, digest = run.status.inputs, run.status.image_digest
    if run.status.reason != Reason.IMAGE_CHANGED or inputs is None or inputs.image is None or digest is None:
        return False
    if inputs.image_digest is not None:
        return False
    found = EvalImage(image=inputs.image, digest=digest)
    if found == draft.eval_image:
        return False  # seen to have moved already: a run of two images, say
    draft.eval_image = found
    # Nodes that hold different images under one tag would make one run after the other.
    draft.back_off(Reason.IMAGE_CHANGED, run.status.message or "the suite's tag has moved")
    return True


def _count(draft: Draft, current: CurrentRun, run: EvalRun) -> None:
    status = run.status
    passed = status.phase is RunPhase.PASSED
    if draft.active:
        harm.verdict_at(draft, current.started_at)
    if not passed and draft.active and status.regression_of is Blame.ENGINE:
        _engine_regressed(draft, run)
        return
    if not passed and draft.active and harm.doubtful(draft, run):
        draft.current_run = None
        draft.retry = None
        draft.condition(ConditionType.EVALUATED, False, Reason.HARM_SUSPECTED, status.message or "")
        draft.wake_at(draft.now)
        return
    harm.clear(draft)
    verdict = Verdict.PASSED if passed else Verdict.FAILED
    message = status.message or str(verdict)
    entry = EvidenceRun(
        name=run.metadata.name,
        uid=run.metadata.uid,
        trigger=current.trigger,
        verdict=verdict,
        started_at=current.started_at,
        finished_at=status.finished_at or draft.now,
        scorecard_sha256=status.scorecard.sha256 if status.scorecard else None,
        deterministic_sha256=status.scorecard.deterministic_sha256 if status.scorecard else None,
        message=message,
        fixed=status.fixed,
        image_digest=status.image_digest,
    )
    draft.current_run = None
    draft.retry = None
    draft.evidence = draft.evidence.evolve(
        since=draft.evidence.since or current.started_at,
        passing=draft.evidence.passing + passed,
        failing=draft.evidence.failing + (not passed),
        runs=(*draft.evidence.runs, entry)[-EVIDENCE_LIMIT:],
    )
    draft.evaluation = Evaluation(
        accuracy=status.accuracy,
        delta=status.delta,
        mttr=status.mttr,
        baseline=status.baseline,
        verdict=verdict,
        run=run.metadata.name,
        finished_at=entry.finished_at,
    )
    reason = Reason.GATE_PASSED if passed else Reason.GATE_FAILED
    draft.condition(ConditionType.EVALUATED, passed, reason, message)
    draft.wake_at(draft.now)  # there is something to decide with the new count, at once


def _engine_regressed(draft: Draft, run: EvalRun) -> None:
    """Equally bad without the component: an alarm, and no reason to switch it. The next guard run looks again."""
    text = f"not pinned on this component, it is as bad without it: {run.status.message or 'the gate failed'}"
    draft.current_run = None
    harm.clear(draft)
    new = draft.retry is None or draft.retry.reason != Reason.ENGINE_REGRESSION
    draft.wake_at(draft.back_off(Reason.ENGINE_REGRESSION, text))
    if new:
        draft.announce(Reason.ENGINE_REGRESSION, text, warning=True)
    draft.condition(ConditionType.EVALUATED, False, Reason.ENGINE_REGRESSION, text)


def _no_verdict(
    draft: Draft, current: CurrentRun, reason: str, message: str, run: EvalRun | None = None
) -> None:
    """No data is never a pass, and never a regression either: the run is repeated, later each time."""
    draft.current_run = None
    if reason == Reason.SUPERSEDED:
        draft.retry = None
        draft.wake_at(draft.now)
        return
    new = draft.retry is None or draft.retry.reason != reason
    due = errors.back_off(draft, reason, message)
    draft.wake_at(due)
    if draft.active:
        harm.no_verdict(draft)
        if run and harm.seen_in_doubt(draft, run):
            # The second run starts at once; after that the delays are those of any run without a verdict.
            draft.retry = None
            due, new = draft.now, False
            draft.wake_at(due)
    if new:
        draft.announce(
            reason, f"{current.trigger} run {current.name} gave no verdict: {message}", warning=True
        )
    _in_shadow(draft)
    if not draft.active:
        held_back(draft)
    draft.condition(ConditionType.EVALUATED, None, reason, f"no verdict, next try at {stamp(due)}: {message}")
    errors.limit(draft, current.name)


def _waiting(draft: Draft, current: CurrentRun, note: str) -> None:
    """Shown while a run is under way. A run that says nothing keeps its reason in sight until one says something."""
    gating = not draft.active and not draft.evidence.passing
    if gating and draft.phase is not ComponentPhase.EVALUATING and draft.transition is None:
        text = f"{current.trigger} run {current.name} decides whether observation begins"
        draft.announce(Reason.RUN_IN_PROGRESS, text)
    _in_shadow(draft)
    if not draft.active:
        held_back(draft)
    if not gating:
        return
    if draft.retry is None:
        text = f"{current.trigger} run {current.name}" + (f": {note}" if note else "")
        draft.condition(ConditionType.EVALUATED, None, Reason.RUN_IN_PROGRESS, text)
    draft.condition(
        ConditionType.OBSERVED, False, Reason.NOT_OBSERVED, "observation begins when the gate has passed"
    )


def _in_shadow(draft: Draft) -> None:
    """Phase and readiness of what is looked after, and not Active."""
    if draft.active:
        return
    draft.phase = ComponentPhase.OBSERVING if draft.evidence.passing else ComponentPhase.EVALUATING
    draft.ready(Reason.AS_EXPECTED, "in Shadow; the old path governs")
    draft.in_sync()


def _manifest(draft: Draft, current: CurrentRun) -> dict[str, Any]:
    metadata, suite = draft.component.metadata, draft.spec.suite_ref.name
    return {
        "apiVersion": API_VERSION,
        "kind": "EvalRun",
        "metadata": {
            "name": current.name,
            "namespace": metadata.namespace,
            "labels": {
                **names.MANAGED_BY,
                names.COMPONENT_LABEL: names.label_value(metadata.name),
                names.SUITE_LABEL: names.label_value(suite),
            },
            "ownerReferences": [owner_reference("RcaComponent", metadata.name, metadata.uid)],
        },
        "spec": {
            "suiteRef": {"name": suite},
            "componentRef": {"name": metadata.name},
            "trigger": str(current.trigger),
            "revision": draft.revision,
            "epoch": draft.epoch,
            "context": draft.context,
        },
    }
