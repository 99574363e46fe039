"""Reconciles one EvalRun: observe (with the scorecard's log, once the Job is done), decide (pure), apply."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from rca_rollout.api.common import Trigger
from rca_rollout.api.component import RcaComponent
from rca_rollout.api.component_status import Transition
from rca_rollout.api.parse import InvalidSpec, parse
from rca_rollout.api.reasons import Reason
from rca_rollout.api.run import EvalRun, EvalRunStatus
from rca_rollout.core import budget, leftovers
from rca_rollout.core.epoch import Sibling, context_of, effective_modes
from rca_rollout.core.lifecycle.invalid import invalid_status
from rca_rollout.core.owners import owned
from rca_rollout.core.parts import index_body, part_body
from rca_rollout.core.pods import Broken, Succeeded, readable_tail, termination_message
from rca_rollout.core.problem import Problem
from rca_rollout.core.readings import store_body
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
)
from rca_rollout.kube.resources import COMPONENTS, CONFIGMAPS, JOBS, RUNS
from rca_rollout.runtime.components import siblings_of
from rca_rollout.runtime.events import RECENT, emit
from rca_rollout.runtime.explain import said_about
from rca_rollout.runtime.lines import Lines
from rca_rollout.runtime.opinions import Opinions
from rca_rollout.runtime.queue import Key
from rca_rollout.runtime.scorecards import Scorecards
from rca_rollout.runtime.workloads import what_runs
from rca_rollout.runtime.world import World

log = logging.getLogger("rca_rollout.runs")


class RunReconciler:
    """Remembers nothing that matters: everything is read anew, so a restart in the middle of anything goes on where it was."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._lines = Lines(world.cache)
        self._opinions = Opinions(world)
        # A scorecard may have 16 MiB, and what it was measured by decides on that: one at a time is in memory, and
        # the threads that read and judge it leave the loop to the others.
        self._scorecard = asyncio.Lock()
        self._scorecards = Scorecards(world)
        self._seen: dict[Key, str] = {}

    async def reconcile(self, key: Key) -> datetime | None:
        """One step. The moment to look again, or None. Raises `KubeError` when the step could not be taken."""
        world = self._world
        try:
            body = await world.kube.get(RUNS, key.namespace, key.name)
        except NotFoundError:
            self._seen.pop(key, None)
            await self._sweep(key)
            return None
        now = world.clock()
        run = parse(EvalRun, body)
        if isinstance(run, InvalidSpec):
            await world.write_status(RUNS, body, invalid_status(run, EvalRunStatus, now).to_dict())
            return None
        component = await self._component(run)
        snapshot = self._observe(run, component, await self._suite(run), now)
        snapshot = _with(snapshot, running=await self._running(run, component))
        outcome = outcome_of(snapshot, now)
        if isinstance(outcome, Broken) and outcome.about:
            snapshot = _with(snapshot, said=await said_about(world, key.namespace, outcome.about))
        if isinstance(outcome, Succeeded | Collecting | Collected):
            async with self._scorecard:
                read = await self._scorecards.read(snapshot, outcome)
                read = await self._opinions.hear(read, outcome)
                plan = await asyncio.to_thread(decide_run, read, now)
                return await self._apply(key, body, read, plan, now)
        return await self._apply(key, body, snapshot, decide_run(snapshot, now), now)

    async def _sweep(self, key: Key) -> None:
        """Deletes what a run left behind that was deleted without what it owns."""
        for name, uid in leftovers.orphans(self._world.cache.jobs_of_run(key.namespace, key.name)):
            await self._delete_job(key.namespace, name, uid)

    async def _delete_job(self, namespace: str, name: str, uid: str) -> None:
        with contextlib.suppress(NotFoundError, ConflictError):
            await self._world.kube.delete(JOBS, namespace, name, uid=uid)

    async def _apply(
        self, key: Key, body: dict[str, Any], snapshot: RunSnapshot, plan: RunPlan, now: datetime
    ) -> datetime | None:
        run = snapshot.run
        wake = await self._save(body, run, plan, now)
        for action in plan.actions:
            try:
                await self._act(key, run, action)
            except RefusedError as problem:
                # Quota, admission, Pod security: the same is refused again until somebody changes something.
                ended = refused(snapshot, action, problem.message, now)
                if ended is None:
                    raise
                return await self._save(body, run, ended, now)
        return wake

    async def _save(
        self, body: dict[str, Any], run: EvalRun, plan: RunPlan, now: datetime
    ) -> datetime | None:
        world = self._world
        missed = self._missed(run, now)
        written = await world.write_status(RUNS, body, plan.status.to_dict())
        if event := plan.event if written else missed:
            await emit(world, body, event)
        phase = plan.status.phase
        if written and phase and phase.final and not (run.status.phase and run.status.phase.final):
            gone = plan.status.reason == Reason.COMPONENT_NOT_FOUND  # and its series with it
            component = run.spec.component_ref.name if run.spec.component_ref and not gone else ""
            world.counters.verdicts.labels(run.metadata.namespace, component, str(phase)).inc()
        return now if written and plan.wake_at == now.replace(microsecond=0) else plan.wake_at

    def _missed(self, run: EvalRun, now: datetime) -> Transition | None:
        """The end of a run that this process sees for the first time: who wrote it may have died before its Event."""
        key = Key("EvalRun", run.metadata.namespace, run.metadata.name)
        unseen = self._seen.get(key) != run.metadata.uid
        self._seen[key] = run.metadata.uid
        end = told_end(run.status) if unseen else None
        return end if end and end.at > now - RECENT else None

    def _observe(
        self,
        run: EvalRun,
        component: RcaComponent | Problem | None,
        suite: SuiteFacts | Problem,
        now: datetime,
    ) -> RunSnapshot:
        world, metadata = self._world, run.metadata
        name = component.metadata.name if isinstance(component, RcaComponent) else ""
        siblings = siblings_of(world, metadata.namespace, run.spec.suite_ref.name, name)
        ref = run.status.job_ref
        job = world.cache.job(metadata.namespace, metadata.name, ref.name) if ref else None
        pods = world.cache.pods(metadata.namespace, metadata.name, ref.name) if ref and job else []
        snapshot = RunSnapshot(
            run=run,
            component=component,
            suite=suite,
            effective=_effective(component, siblings),
            job=job,
            pods=pods,
            admission=self._admission(run, suite),
            settings=RunSettings(world.settings.harness_image, world.settings.pull_policy),
            context=context_of(siblings) if isinstance(component, RcaComponent) else None,
            leftovers=leftovers.of_run(
                world.cache.jobs_of_run(metadata.namespace, metadata.name),
                run_uid=metadata.uid,
                current=[ref.name] if ref else [],
            ),
        )
        outcome = outcome_of(snapshot, now)
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

    async def _suite(self, run: EvalRun) -> SuiteFacts | Problem:
        if run.status.phase and run.status.phase.final:
            # A finished run needs its suite no more, and is looked at only to let its Job go.
            return Problem(Reason.AS_EXPECTED, "not needed any more")
        suite = await self._world.suite(run.metadata.namespace, run.spec.suite_ref.name)
        return for_guard(suite) if run.spec.trigger is Trigger.GUARD else suite

    async def _component(self, run: EvalRun) -> RcaComponent | Problem | None:
        if run.spec.component_ref is None:
            return None
        name = run.spec.component_ref.name
        try:
            body = await self._world.kube.get(COMPONENTS, run.metadata.namespace, name)
        except NotFoundError:
            return Problem(
                Reason.COMPONENT_NOT_FOUND, f"RcaComponent {name} does not exist: create it, then run again"
            )
        component = parse(RcaComponent, body)
        if isinstance(component, InvalidSpec):
            return Problem(Reason.INVALID_SPEC, f"RcaComponent {name}: {component.message}")
        return component

    def _admission(self, run: EvalRun, suite: SuiteFacts | Problem) -> Problem | None:
        """What it waits for. Asked only when it is about to start: with a thousand runs this is what costs."""
        if isinstance(suite, Problem) or run.status.inputs is None or run.status.job_ref is not None:
            return None
        namespace, name, spec = run.metadata.namespace, run.spec.suite_ref.name, suite.spec
        held = budget.reserved(suite.ledger) if spec.budget else frozenset[str]()
        line = self._lines.of(namespace, name, held)
        return line.problem(run.metadata.uid, spec.max_concurrent_runs) or budget.waits_for(
            spec, suite.ledger, run.to_dict(), self._lines.active(namespace, name)
        )

    async def _act(self, key: Key, run: EvalRun, action: RunAction) -> None:
        kube = self._world.kube
        match action:
            case CreateJob(body=body):
                try:
                    await kube.create(JOBS, key.namespace, dict(body))
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
                await self._keep(key, await asyncio.to_thread(store_body, run, reading))
            case StorePart(part=part):
                await self._keep(key, await asyncio.to_thread(part_body, run, part))
            case StoreIndex():
                await self._keep(key, index_body(run))

    async def _keep(self, key: Key, body: dict[str, Any]) -> None:
        with contextlib.suppress(AlreadyExistsError):  # what is stored is read and verified in a later look
            await self._world.kube.create(CONFIGMAPS, key.namespace, body)


def _effective(component: RcaComponent | Problem | None, siblings: Sequence[Sibling]) -> Mapping[str, str]:
    if not isinstance(component, RcaComponent):
        return {sibling.key: sibling.mode for sibling in siblings}
    return effective_modes(component.spec.target.key, str(component.status.mode or "Shadow"), siblings)


def _with(snapshot: RunSnapshot, **changes: Any) -> RunSnapshot:
    return RunSnapshot(**{**snapshot.__dict__, **changes})
