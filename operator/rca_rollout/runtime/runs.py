"""Reconciles one EvalRun: observe (with the scorecard's log, once the Job is done), decide (pure), apply."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from rca_rollout.api.common import ObjectRef, Trigger
from rca_rollout.api.component import RcaComponent
from rca_rollout.api.parse import InvalidSpec
from rca_rollout.api.reasons import Reason
from rca_rollout.api.run import EvalRun, EvalRunStatus
from rca_rollout.core import budget, leftovers
from rca_rollout.core.admission import is_open
from rca_rollout.core.clock import earliest
from rca_rollout.core.epoch import Sibling, context_of, effective_modes
from rca_rollout.core.lifecycle.invalid import invalid_status
from rca_rollout.core.names import RUN_LABEL, label_value
from rca_rollout.core.owners import owned
from rca_rollout.core.parts import index_body, part_body
from rca_rollout.core.pods import Broken, Succeeded, readable_tail, termination_message
from rca_rollout.core.problem import Problem
from rca_rollout.core.readings import Reading, store_body
from rca_rollout.core.revision import Running
from rca_rollout.core.runs import (
    CreateJob,
    DeleteJob,
    ReleaseJob,
    RunAction,
    RunPlan,
    RunSettings,
    RunSnapshot,
    StoreIndex,
    StorePart,
    StoreScorecard,
    decide_run,
    outcome_of,
    refused,
)
from rca_rollout.core.runs.told import told_end
from rca_rollout.core.shards import Collected, Collecting
from rca_rollout.core.suites import SuiteFacts, for_guard
from rca_rollout.kube.errors import (
    AlreadyExistsError,
    ConflictError,
    NotFoundError,
    RefusedError,
    TransientError,
)
from rca_rollout.kube.resources import COMPONENTS, CONFIGMAPS, JOBS, PODS, RUNS
from rca_rollout.runtime.cache import slim_job
from rca_rollout.runtime.components import siblings_of
from rca_rollout.runtime.events import RECENT, emit
from rca_rollout.runtime.explain import said_about
from rca_rollout.runtime.latest import Latest
from rca_rollout.runtime.lines import Lines
from rca_rollout.runtime.opinions import Opinions
from rca_rollout.runtime.parsed import parsed
from rca_rollout.runtime.queue import Key
from rca_rollout.runtime.scorecards import Scorecards
from rca_rollout.runtime.workloads import what_runs
from rca_rollout.runtime.world import World

log = logging.getLogger("rca_rollout.runs")


_WORDS = ("reason", "message", "conditions", "jobRef", "imageDigest", "observedGeneration")
_SMALL = 256 * 1024  # bytes of a document that is judged at once
_STEPS = 8  # more than a run has
# How long a status may be silent about what is only good to know: what its Pod waits for, and the UID of its Job.
_PATIENCE = timedelta(seconds=5)
# How long a Job that was just made may be missing in what is watched.
_LATE = timedelta(seconds=10)


@dataclass
class _Sight:
    """One look at a run. `live`: read from the API server now, and not from what is watched.

    `run` has what was decided since `body` was read or written, and is not in it yet.
    """

    key: Key
    now: datetime
    body: Mapping[str, Any]
    run: EvalRun
    component: RcaComponent | Problem | None
    suite: SuiteFacts | Problem
    live: bool
    running: Running | Problem | None = None
    job: Mapping[str, Any] | None = None
    jobs: Sequence[Mapping[str, Any]] = ()
    pods: Sequence[Mapping[str, Any]] = ()
    kept: bool = False
    """The scorecard was stored in this look."""


class _DoubtError(Exception):
    """What is watched is not enough for what would follow from it."""


@dataclass
class _Made:
    """The Job of a run, as this process has made or seen it."""

    name: str
    uid: str
    at: datetime
    body: Mapping[str, Any] | None = None
    """Until the watch shows it."""

    @staticmethod
    def of(sent: Mapping[str, Any], metadata: Mapping[str, Any], at: datetime) -> _Made:
        """From what was sent, and the metadata that came back."""
        return _Made(
            str(metadata["name"]), str(metadata["uid"]), at, slim_job({**sent, "metadata": metadata})
        )


class RunReconciler:
    """Remembers nothing that matters: what it knows of its own writes only bridges the time until the watch tells of them,
    so a restart in the middle of anything goes on where it was.

    It works on what is watched, and asks the API server where that could be wrong: every write is conditional, a Job's
    name follows from its run and attempt, and nothing is ended or deleted for what the watch does not show.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._lines = Lines(world.cache)
        self._latest = Latest(world.cache)
        self._opinions = Opinions(world)
        # A scorecard may have 16 MiB, and what it was measured by decides on that: one at a time is in memory, and
        # the threads that read and judge it leave the loop to the others.
        self._scorecard = asyncio.Lock()
        self._scorecards = Scorecards(world)
        self._made: dict[str, _Made] = {}
        self._doubted: set[Key] = set()  # the world is not what the watch shows
        self._silent: dict[str, datetime] = {}  # since when a status does not tell all
        self._seen: dict[Key, str] = {}  # UIDs: whose end was told, if it was to be told

    async def reconcile(self, key: Key) -> datetime | None:
        """One step. The moment to look again, or None. Raises `KubeError` when the step could not be taken."""
        live = key in self._doubted
        body = None if live else self._latest.run(key.namespace, key.name)
        try:
            if body is None:
                self._latest.forget(key.namespace, key.name)
                body = await self._world.kube.get(RUNS, key.namespace, key.name)
                self._doubted.discard(key)
            try:
                return await self._look(key, body, live=live)
            except _DoubtError:
                live = True
                body = await self._world.kube.get(RUNS, key.namespace, key.name)
                return await self._look(key, body, live=True)
        except NotFoundError:
            if body is not None and not live:
                self._doubted.add(key)
                raise
            gone = self._seen.pop(key, "")
            self._made.pop(gone, None)
            self._silent.pop(gone, None)
            await self._sweep(key)
            return None
        except (ConflictError, TransientError):
            # Of a write without an answer nobody knows whether it was carried out.
            self._doubted.add(key)
            raise

    def _doubt(self, sight: _Sight, plan: RunPlan) -> None:
        """Raises `_DoubtError` where the world is to be looked at once more, with open eyes: a watch may be late, and what
        it does not show may well be there."""
        if not sight.live and _takes_away(sight.run, plan):
            raise _DoubtError

    async def _look(self, key: Key, body: Mapping[str, Any], *, live: bool) -> datetime | None:
        world, now = self._world, self._world.clock()
        run = parsed(EvalRun, body)
        if isinstance(run, InvalidSpec):
            if not is_open(body):
                return None  # what is watched of a run that has ended is not all of it, see `slim_run`
            await world.write_status(RUNS, body, invalid_status(run, EvalRunStatus, now).to_dict())
            return None
        sight = _Sight(
            key=key,
            now=now,
            body=body,
            run=run,
            component=await self._component(run, live=live),
            suite=await self._suite(run, live=live),
            live=live,
        )
        await self._tell_missed(sight)
        sight.running = await self._running(run, sight.component)
        for _ in range(_STEPS):
            await self._see_job(sight)
            snapshot = self._observe(sight)
            outcome = outcome_of(snapshot, now)
            if isinstance(outcome, Broken) and outcome.about:
                snapshot = _with(snapshot, said=await said_about(world, key.namespace, outcome.about))
            if isinstance(outcome, Succeeded):
                return await self._conclude(sight, snapshot, outcome)
            if isinstance(outcome, Collecting | Collected):
                async with self._scorecard:
                    read = await self._scorecards.read(snapshot, outcome)
                    read = await self._opinions.hear(read, outcome)
                    plan = await asyncio.to_thread(decide_run, read, now)
                    self._doubt(sight, plan)
                    return await self._apply(sight, read, plan)
            plan = decide_run(snapshot, now)
            self._doubt(sight, plan)
            if not _goes_on(sight.run, plan, now):
                return await self._apply(sight, snapshot, plan)
            # Several steps at once: what is written before an action is all that it needs.
            sight.run = sight.run.model_copy(update={"status": plan.status})
        raise RuntimeError(f"{key}: no end of steps")

    async def _conclude(self, sight: _Sight, snapshot: RunSnapshot, outcome: Succeeded) -> datetime | None:
        """The Job has succeeded: its scorecard is read, stored and judged."""
        async with AsyncExitStack() as turn:
            await turn.enter_async_context(self._scorecard)
            read = await self._scorecards.read(snapshot, outcome, again=sight.live)
            read = await self._opinions.hear(read, outcome)
            small = isinstance(read.reading, Reading) and 0 < len(read.reading.document or b"") < _SMALL
            if small:
                await turn.aclose()
            read, plan = await self._settle(sight, read, small=small)
            self._doubt(sight, plan)
            wake = await self._apply(sight, read, plan)
            if not any(isinstance(action, StoreScorecard) for action in plan.actions) or _ended(sight.run):
                return wake
            # What was just stored is what was read; what was there before is read, and verified.
            kept: Reading | Problem | None
            if isinstance(read.reading, Reading) and sight.kept:
                kept = dataclasses.replace(read.reading, stored=True)
            else:
                kept = await self._scorecards.stored(sight.run, outcome.pod)
            if kept is None:
                return wake
            read, plan = await self._settle(sight, _with(read, run=sight.run, reading=kept), small=small)
            return await self._apply(sight, read, plan)

    async def _settle(self, sight: _Sight, read: RunSnapshot, *, small: bool) -> tuple[RunSnapshot, RunPlan]:
        """The steps that only say something of the run, up to the first that does something; a thread takes large ones."""
        while True:
            plan = (
                decide_run(read, sight.now) if small else await asyncio.to_thread(decide_run, read, sight.now)
            )
            if not _goes_on(sight.run, plan, sight.now):
                return read, plan
            sight.run = sight.run.model_copy(update={"status": plan.status})
            read = _with(read, run=sight.run)

    async def _sweep(self, key: Key) -> None:
        """Deletes what a run left behind that was deleted without what it owns."""
        for name, uid in leftovers.orphans(self._world.cache.jobs_of_run(key.namespace, key.name)):
            await self._delete_job(key.namespace, name, uid)

    async def _delete_job(self, namespace: str, name: str, uid: str) -> None:
        with contextlib.suppress(NotFoundError, ConflictError):
            await self._world.kube.delete(JOBS, namespace, name, uid=uid)

    async def _apply(self, sight: _Sight, snapshot: RunSnapshot, plan: RunPlan) -> datetime | None:
        wake = await self._save(sight, plan)
        for action in plan.actions:
            try:
                await self._act(sight, action)
            except RefusedError as problem:
                # Quota, admission, Pod security: the same is refused again until somebody changes something.
                ended = refused(snapshot, action, problem.message, sight.now)
                if ended is None:
                    raise
                return await self._save(sight, ended)
        return wake

    async def _save(self, sight: _Sight, plan: RunPlan) -> datetime | None:
        world, run, now = self._world, sight.run, sight.now
        uid = run.metadata.uid
        if _ended(run):
            # It says all that it will ever say. Above all: what is watched of it is not all of it (`slim_run`), and what
            # is not there must never be written back.
            return plan.wake_at
        status = plan.status.to_dict()
        # An intent is written before what it is for; a scorecard is kept for a run whose intent was its Job.
        free = all(isinstance(action, StoreScorecard) for action in plan.actions)
        if free and not plan.event and _says_no_more(sight.body.get("status") or {}, status):
            since = self._silent.setdefault(uid, now)
            if now < since + _PATIENCE:
                return earliest(plan.wake_at, since + _PATIENCE)
        self._silent.pop(uid, None)
        before = sight.body
        after = await world.put_status(RUNS, before, status)
        if after is not None:
            self._latest.wrote(before, after)
            world.cache.wrote(after)
            sight.body = after
        if after is not None and plan.event:
            await emit(world, dict(before), plan.event)
        phase = plan.status.phase
        if phase and phase.final:
            self._made.pop(uid, None)
            if after is not None:
                gone = plan.status.reason == Reason.COMPONENT_NOT_FOUND  # and its series with it
                component = run.spec.component_ref.name if run.spec.component_ref and not gone else ""
                world.counters.verdicts.labels(run.metadata.namespace, component, str(phase)).inc()
        sight.run = run.model_copy(update={"status": plan.status})
        return now if after is not None and plan.wake_at == now.replace(microsecond=0) else plan.wake_at

    async def _tell_missed(self, sight: _Sight) -> None:
        """The end of a run that this process sees for the first time: who wrote it may have died before its Event."""
        uid = sight.run.metadata.uid
        unseen = self._seen.get(sight.key) != uid
        self._seen[sight.key] = uid
        end = told_end(sight.run.status) if unseen else None
        if end and end.at > sight.now - RECENT:
            await emit(self._world, dict(sight.body), end)

    async def _see_job(self, sight: _Sight) -> None:
        """The Job and its Pods, as watched or as they are. The Job's UID is known from then on, written or not."""
        world, run, ref = self._world, sight.run, sight.run.status.job_ref
        namespace, name, uid = run.metadata.namespace, run.metadata.name, run.metadata.uid
        made = self._made.get(uid)
        sight.jobs = world.cache.jobs_of_run(namespace, name)
        if ref is None:
            return
        if made and made.name != ref.name:
            made = None
        if sight.live:
            selector = f"{RUN_LABEL}={label_value(name)}"
            sight.jobs = await world.kube.list(JOBS, namespace, label_selector=selector)
            sight.pods = [
                pod
                for pod in await world.kube.list(PODS, namespace, label_selector=selector)
                if (pod["metadata"].get("labels") or {}).get("batch.kubernetes.io/job-name") == ref.name
            ]
            sight.job = next((job for job in sight.jobs if job["metadata"]["name"] == ref.name), None)
        else:
            sight.job = world.cache.job(namespace, name, ref.name)
            sight.pods = world.cache.pods(namespace, name, ref.name) if sight.job else []
            if sight.job is None and made and made.body and sight.now < made.at + _LATE:
                sight.job = made.body
        if sight.job is not None and owned(sight.job, uid) and not _ended(run):
            seen = str(sight.job["metadata"]["uid"])
            if made is None or (made.body is not None and sight.job is not made.body):
                self._made[uid] = made = made or _Made(ref.name, seen, sight.now)
                made.body = None
        if made and not ref.uid:
            ref = ObjectRef(name=ref.name, uid=made.uid)
            sight.run = run.model_copy(update={"status": run.status.evolve(job_ref=ref)})

    def _observe(self, sight: _Sight) -> RunSnapshot:
        world, run, component, suite = self._world, sight.run, sight.component, sight.suite
        metadata, pods = run.metadata, sight.pods
        name = component.metadata.name if isinstance(component, RcaComponent) else ""
        siblings = siblings_of(world, metadata.namespace, run.spec.suite_ref.name, name)
        snapshot = RunSnapshot(
            run=run,
            component=component,
            suite=suite,
            effective=_effective(component, siblings),
            job=sight.job,
            pods=pods,
            admission=self._admission(run, suite),
            settings=RunSettings(world.settings.harness_image, world.settings.pull_policy),
            context=context_of(siblings) if isinstance(component, RcaComponent) else None,
            running=sight.running,
            leftovers=leftovers.of_run(sight.jobs, run),
        )
        outcome = outcome_of(snapshot, sight.now)
        if isinstance(outcome, Broken) and outcome.pod and outcome.container:
            # The kubelet puts the end of a failed container's log into its status; no log is read for it.
            pod = next((p for p in pods if p["metadata"]["name"] == outcome.pod), None)
            words = termination_message(pod, outcome.container) if pod else ""
            return _with(snapshot, log_tail=readable_tail(words.encode()))
        return snapshot

    async def _running(
        self, run: EvalRun, component: RcaComponent | Problem | None
    ) -> Running | Problem | None:
        if isinstance(component, Problem | None) or (run.status.phase and run.status.phase.final):
            return None
        return await what_runs(self._world, component)

    async def _suite(self, run: EvalRun, *, live: bool) -> SuiteFacts | Problem:
        if run.status.phase and run.status.phase.final:
            # A finished run needs its suite no more, and is looked at only to let its Job go.
            return Problem(Reason.AS_EXPECTED, "not needed any more")
        look = self._world.suite if live else self._world.recent_suite
        suite = await look(run.metadata.namespace, run.spec.suite_ref.name)
        return for_guard(suite) if run.spec.trigger is Trigger.GUARD else suite

    async def _component(self, run: EvalRun, *, live: bool) -> RcaComponent | Problem | None:
        if run.spec.component_ref is None:
            return None
        name = run.spec.component_ref.name
        watched = None if live else self._world.cache.component(run.metadata.namespace, name)
        try:
            body = watched or await self._world.kube.get(COMPONENTS, run.metadata.namespace, name)
        except NotFoundError:
            return Problem(
                Reason.COMPONENT_NOT_FOUND, f"RcaComponent {name} does not exist: create it, then run again"
            )
        component = parsed(RcaComponent, body)
        if isinstance(component, InvalidSpec):
            return Problem(Reason.INVALID_SPEC, f"RcaComponent {name}: {component.message}")
        return component

    def _admission(self, run: EvalRun, suite: SuiteFacts | Problem) -> Problem | None:
        """What it waits for. Asked only when it is about to start: with a thousand runs this is what costs."""
        if isinstance(suite, Problem) or run.status.inputs is None or run.status.job_ref is not None:
            return None
        namespace, name, spec = run.metadata.namespace, run.spec.suite_ref.name, suite.spec
        if spec.budget is None and self._lines.room_for_all(namespace, name, spec.max_concurrent_runs):
            return None
        held = budget.reserved(suite.ledger) if spec.budget else frozenset[str]()
        # Those that this process has just started, too: the watch may not show it yet.
        held |= self._latest.started()
        line = self._lines.of(namespace, name, held)
        return line.problem(run.metadata.uid, spec.max_concurrent_runs) or budget.waits_for(
            spec, suite.ledger, run.to_dict(), self._lines.active(namespace, name)
        )

    async def _act(self, sight: _Sight, action: RunAction) -> None:
        key, run, kube = sight.key, sight.run, self._world.kube
        match action:
            case CreateJob(body=body):
                try:
                    made = await kube.make(JOBS, key.namespace, dict(body))
                    self._made[run.metadata.uid] = _Made.of(body, made["metadata"], sight.now)
                except AlreadyExistsError:
                    # Made before a crash, or somebody's: the watch shows only those with our label.
                    there = await kube.get(JOBS, key.namespace, body["metadata"]["name"])
                    if not owned(there, run.metadata.uid):
                        raise RefusedError(
                            409, "a Job of that name exists and is not ours: delete it"
                        ) from None
            case DeleteJob(name=name, uid=uid):
                await self._delete_job(key.namespace, name, uid)
            case ReleaseJob(name=name, uid=uid, ttl_seconds=ttl):
                patch: list[dict[str, Any]] = [
                    {"op": "test", "path": "/metadata/uid", "value": uid},
                    {"op": "add", "path": "/spec/ttlSecondsAfterFinished", "value": ttl},
                ]
                try:
                    await kube.json_patch(JOBS, key.namespace, name, patch)
                except NotFoundError:
                    return
            case StoreScorecard(reading=reading):
                small = 0 < len(reading.document or b"") < _SMALL
                packed = (
                    store_body(run, reading) if small else await asyncio.to_thread(store_body, run, reading)
                )
                sight.kept = await self._keep(key, packed)
            case StorePart(part=part):
                await self._keep(key, await asyncio.to_thread(part_body, run, part))
            case StoreIndex():
                await self._keep(key, index_body(run))

    async def _keep(self, key: Key, body: dict[str, Any]) -> bool:
        """False where there is one already: that is read and verified in a later look."""
        try:
            await self._world.kube.make(CONFIGMAPS, key.namespace, body)
        except AlreadyExistsError:
            return False
        return True


def _effective(component: RcaComponent | Problem | None, siblings: Sequence[Sibling]) -> Mapping[str, str]:
    if not isinstance(component, RcaComponent):
        return {sibling.key: sibling.mode for sibling in siblings}
    return effective_modes(component.spec.target.key, str(component.status.mode or "Shadow"), siblings)


def _with(snapshot: RunSnapshot, **changes: Any) -> RunSnapshot:
    return dataclasses.replace(snapshot, **changes)


def _ended(run: EvalRun) -> bool:
    return bool(run.status.phase and run.status.phase.final)


def _takes_away(run: EvalRun, plan: RunPlan) -> bool:
    """Something ends here without a verdict, or is deleted."""
    ends = plan.status.phase and plan.status.phase.final and not _ended(run) and plan.status.scorecard is None
    return bool(ends) or any(isinstance(action, DeleteJob) for action in plan.actions)


def _goes_on(run: EvalRun, plan: RunPlan, now: datetime) -> bool:
    """There is another step to take at once, and nothing that must be done before it."""
    return (
        not plan.actions
        and plan.event is None
        and plan.wake_at == now.replace(microsecond=0)
        and plan.status != run.status
        and not (plan.status.phase and plan.status.phase.final)
    )


def _says_no_more(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """The two differ in what is only good to know of a run that goes on: in words, and in the UID of its Job."""
    return (
        before.get("phase") == after.get("phase") == "Running"
        and _core(before) == _core(after)
        and (before.get("jobRef") or {}).get("name") == (after.get("jobRef") or {}).get("name")
    )


def _core(status: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in status.items() if name not in _WORDS}
