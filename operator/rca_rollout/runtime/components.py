"""Reconciles one RcaComponent: observe, decide (pure), apply."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from rca_rollout.api.common import EffectiveMode
from rca_rollout.api.component import RcaComponent
from rca_rollout.api.component_status import RcaComponentStatus
from rca_rollout.api.parse import InvalidSpec, parse
from rca_rollout.api.reasons import Reason
from rca_rollout.api.run import EvalRun
from rca_rollout.core import confirming
from rca_rollout.core.epoch import Sibling
from rca_rollout.core.lifecycle import finalizer, verbs
from rca_rollout.core.lifecycle.conditions import Readings
from rca_rollout.core.lifecycle.decide import decide
from rca_rollout.core.lifecycle.invalid import invalid_status
from rca_rollout.core.lifecycle.live import questions
from rca_rollout.core.lifecycle.refusal import Refusal, show_refusal
from rca_rollout.core.lifecycle.snapshot import (
    CreateRun,
    DeleteRun,
    Plan,
    SetFinalizers,
    Snapshot,
    WriteKey,
)
from rca_rollout.core.owners import owned
from rca_rollout.core.problem import Problem
from rca_rollout.core.revision import Running, declared, effective_mode
from rca_rollout.core.target import TargetView, view_target
from rca_rollout.kube.client import REQUEST_TIMEOUT
from rca_rollout.kube.errors import FORBIDDEN, AlreadyExistsError, ConflictError, NotFoundError, RefusedError
from rca_rollout.kube.resources import COMPONENTS, CONFIGMAPS, RUNS
from rca_rollout.runtime.cache import Body
from rca_rollout.runtime.confirmations import Confirmer
from rca_rollout.runtime.events import RECENT, emit
from rca_rollout.runtime.parsed import parsed
from rca_rollout.runtime.queue import Key
from rca_rollout.runtime.readings import Gatherer
from rca_rollout.runtime.workloads import what_runs
from rca_rollout.runtime.world import World

log = logging.getLogger("rca_rollout.components")


class ComponentReconciler:
    """Holds nothing that matters: which components this process has already seen (to tell a lost Event again, once),
    what the API server refused last (to keep it in sight until it is done or not wanted any more), and which intent it
    has carried out (not to do it again where somebody takes it back at once)."""

    def __init__(
        self, world: World, gatherer: Gatherer | None = None, confirmer: Confirmer | None = None
    ) -> None:
        self._world = world
        self._gatherer = gatherer
        self._confirmer = confirmer
        self._seen: dict[Key, str] = {}
        self._refused: dict[str, Refusal] = {}
        self._written: dict[Key, datetime] = {}

    async def reconcile(self, key: Key) -> datetime | None:
        """One step. The moment to look again, or None. Raises `KubeError` when the step could not be taken."""
        world = self._world
        try:
            body = await world.kube.get(COMPONENTS, key.namespace, key.name)
        except NotFoundError:
            self._refused.pop(self._seen.pop(key, ""), None)
            self._written.pop(key, None)
            if self._gatherer:
                self._gatherer.forget(key)
            if self._confirmer:
                self._confirmer.forget(key)
            world.counters.forget(key.namespace, key.name)
            return None
        world.counters.meet(key.namespace, key.name)
        now = world.clock()
        component = parse(RcaComponent, body)
        if isinstance(component, InvalidSpec):
            if component.metadata.deletion_timestamp and finalizer.held(component.metadata):
                # What was to be put back cannot be read any more; the object must not stay for ever.
                await self._set_finalizers(key, finalizer.finalizers_patch(component.metadata, wanted=False))
                return None
            old = (
                component.status if isinstance(component.status, RcaComponentStatus) else RcaComponentStatus()
            )
            await self._save(key, body, old, invalid_status(component, RcaComponentStatus, now))
            return None
        plan = decide(await self._observe(key, component), now)
        changed = await self._save(key, body, component.status, self._shown(component, plan, now))
        try:
            return await self._apply(key, component, plan, now, changed=changed)
        except RefusedError:
            await self._save(key, body, component.status, self._shown(component, plan, now))
            raise

    def _shown(self, component: RcaComponent, plan: Plan, now: datetime) -> RcaComponentStatus:
        """The status as decided on, with what is still refused in it."""
        refusal = self._refused.get(component.metadata.uid)
        if refusal is None:
            return plan.status
        if not refusal.wanted(plan.status):
            del self._refused[component.metadata.uid]
            return plan.status
        return show_refusal(component, plan.status, refusal, now)

    async def _observe(self, key: Key, component: RcaComponent) -> Snapshot:
        world, spec = self._world, component.spec
        namespace = component.metadata.namespace
        intent = component.status.intent
        if intent is None:
            self._written.pop(key, None)
        if component.metadata.deletion_timestamp:
            self._confirmation(key, component)  # nobody is asked any more
            return await self._observe_last(key, component)
        target = await self._target(component)
        running = await what_runs(world, component)
        runs: dict[str, EvalRun] = {}
        for raw in world.cache.runs_of_component(namespace, component.metadata.uid):
            run = parsed(EvalRun, raw)
            if not isinstance(run, InvalidSpec):
                runs[run.metadata.name] = run
        return Snapshot(
            component=component,
            suite=await world.suite(namespace, spec.suite_ref.name),
            target=target,
            runs=runs,
            siblings=await self._siblings(component),
            claimed_by=self._older_claim(component),
            max_retry_delay=world.settings.max_retry_delay,
            written=intent is not None and self._written.get(key) == intent.issued_at,
            readings=self._readings(key, component, running),
            running=running,
            confirmation=self._confirmation(key, component),
        )

    async def _target(self, component: RcaComponent) -> TargetView | Problem:
        name, world = component.spec.target.config_map_ref.name, self._world
        try:
            config_map = await world.config_map(component.metadata.namespace, name)
        except RefusedError as refused:
            if refused.status != FORBIDDEN:
                raise
            text = f"ConfigMap {name} may not be read: {refused.message}; the chart's role has the rights"
            return Problem(Reason.TARGET_UNREADABLE, text, stalled=True)
        return view_target(config_map, name, component.spec.target.key, world.settings.gitops_managers)

    def _readings(self, key: Key, component: RcaComponent, running: Running | Problem) -> Readings | None:
        """What Prometheus answered last. What is due is asked meanwhile; nothing here waits for it."""
        if self._gatherer is None:
            return None
        return self._gatherer.look(key, component.metadata.uid, questions(component, running))

    def _confirmation(self, key: Key, component: RcaComponent) -> confirming.Answer | None:
        """What the replicas of the consumer said last. They are asked meanwhile; nothing here waits for them."""
        if self._confirmer is None:
            return None
        return self._confirmer.look(key, component.metadata.uid, confirming.question(component))

    async def _observe_last(self, key: Key, component: RcaComponent) -> Snapshot:
        """Only what putting the key back depends on. What may not be read (rights go first when a namespace goes) is a
        problem like any other, and does not keep the object."""
        intent = component.status.intent
        return Snapshot(
            component=component,
            suite=Problem(Reason.DELETED, "not needed any more"),
            target=await self._target(component),
            claimed_by=self._older_claim(component),
            written=intent is not None and self._written.get(key) == intent.issued_at,
        )

    async def _siblings(self, component: RcaComponent) -> tuple[Sibling, ...]:
        """As watched; before a write towards Active as they are. The intent is stored by then: of two components that
        come to this point at once, at least one sees the other."""
        world, namespace, name = self._world, component.metadata.namespace, component.metadata.name
        suite, intent = component.spec.suite_ref.name, component.status.intent
        if intent is None or intent.cause != Reason.PROMOTED:
            return siblings_of(world, namespace, suite, name)
        bodies = [
            body
            for body in await world.kube.list(COMPONENTS, namespace)
            if ((body.get("spec") or {}).get("suiteRef") or {}).get("name") == suite
        ]
        modes: dict[str, EffectiveMode] = {}
        for other in (parse(RcaComponent, body) for body in bodies):
            if isinstance(other, InvalidSpec) or other.metadata.name == name:
                continue
            target = other.spec.target
            config_map = await world.config_map(namespace, target.config_map_ref.name)
            view = view_target(config_map, target.config_map_ref.name, target.key)
            if not isinstance(view, Problem):
                # Its key may have been written, and its status not yet, by a process that died in between.
                runs = other.status.revision or declared(other.spec).revision
                modes[other.metadata.name] = effective_mode(view.value, target.values, now=runs)
        return _siblings(bodies, name, modes)

    def _older_claim(self, component: RcaComponent) -> str | None:
        """The older component (by creation, then by UID) with the same key in the same ConfigMap, or in the same suite."""
        target = component.spec.target
        mine = (component.metadata.creation_timestamp, component.metadata.uid)
        for raw in self._world.cache.components(component.metadata.namespace):
            other = parsed(RcaComponent, raw)
            if isinstance(other, InvalidSpec) or other.metadata.uid == component.metadata.uid:
                continue
            theirs = other.spec.target
            # In a suite, the modes of an evaluation are told apart by their keys alone.
            same = theirs.key == target.key and (
                theirs.config_map_ref.name == target.config_map_ref.name
                or other.spec.suite_ref.name == component.spec.suite_ref.name
            )
            created = other.metadata.creation_timestamp
            if (
                same
                and created
                and mine[0]
                and (created, other.metadata.uid) < mine
                and (not other.metadata.deletion_timestamp or finalizer.held(other.metadata))
            ):
                return other.metadata.name
        return None

    async def _save(self, key: Key, body: Body, old: RcaComponentStatus, new: RcaComponentStatus) -> bool:
        world, raw = self._world, dict(body)
        written = await world.write_status(COMPONENTS, raw, new.to_dict())
        uid = raw["metadata"]["uid"]
        unseen = self._seen.get(key) != uid
        self._seen[key] = uid
        for answer in verbs.told(RcaComponentStatus() if unseen else old, new):
            if answer.at > world.clock() - RECENT:
                await emit(world, raw, answer)
        last, before = new.last_transition, old.last_transition
        if unseen and before and world.clock() - before.at < RECENT:
            # Also where this look has come to the next one: who wrote it may have died before its Event.
            await emit(world, raw, before)
        if last is None:
            return written
        fresh = last != before
        if fresh:
            await emit(world, raw, last)
        if fresh and last.reason in (Reason.PROMOTED, Reason.DEMOTED):
            cause = new.demotion.cause if last.reason == Reason.DEMOTED and new.demotion else "Evidence"
            counter = (
                world.counters.promotions if last.reason == Reason.PROMOTED else world.counters.demotions
            )
            counter.labels(raw["metadata"]["namespace"], raw["metadata"]["name"], cause).inc()
        return written

    async def _apply(
        self, key: Key, component: RcaComponent, plan: Plan, now: datetime, *, changed: bool
    ) -> datetime | None:
        world, uid = self._world, component.metadata.uid
        wake = plan.wake_at
        for action in plan.actions:
            try:
                match action:
                    case CreateRun():
                        wake = await self._create(key, uid, action, now) or wake
                    case DeleteRun():
                        with contextlib.suppress(NotFoundError, ConflictError):
                            await world.kube.delete(RUNS, key.namespace, action.name, uid=action.uid)
                    case SetFinalizers(patch=patch):
                        wake = await self._set_finalizers(key, patch) or wake
                    case WriteKey():
                        wake = await self._write(key, component, action)
            except RefusedError as problem:
                if isinstance(action, SetFinalizers):
                    text = f"the finalizer {finalizer.FINALIZER} before it: {problem.message}"
                    self._refused[uid] = Refusal(Reason.WRITE_FAILED, text)
                elif not isinstance(action, DeleteRun):
                    reason = Reason.WRITE_FAILED if isinstance(action, WriteKey) else Reason.RUN_REFUSED
                    self._refused[uid] = Refusal(reason, problem.message)
                raise
            if not isinstance(action, DeleteRun | SetFinalizers):
                self._refused.pop(uid, None)
        # A change of status may have planned an action for the next look: look at once, the watch may be slower.
        return now if changed and plan.wake_at == now.replace(microsecond=0) else wake

    async def _create(self, key: Key, uid: str, action: CreateRun, now: datetime) -> datetime | None:
        try:
            await self._world.kube.create(RUNS, key.namespace, dict(action.body))
        except AlreadyExistsError:
            # Ours from before a crash, or somebody's: the cache shows only those that this component owns.
            there = await self._world.kube.get(RUNS, key.namespace, action.name)
            if not owned(there, uid):
                raise RefusedError(409, "an EvalRun of that name exists and is not ours: delete it") from None
            return now + timedelta(seconds=2)
        return None

    async def _set_finalizers(self, key: Key, patch: Sequence[Mapping[str, Any]]) -> datetime | None:
        """The conditional patch. Where the object has moved on, it is looked at again soon; where it is gone, all is done."""
        try:
            await self._world.kube.json_patch(COMPONENTS, key.namespace, key.name, patch)
        except ConflictError:
            return self._world.clock() + timedelta(seconds=1)
        except NotFoundError:
            return None
        return None

    async def _write(self, key: Key, component: RcaComponent, action: WriteKey) -> datetime:
        """The compare-and-set, unless its answer could come after the intent's end."""
        world = self._world
        now = world.clock()
        if now + timedelta(seconds=REQUEST_TIMEOUT) > action.not_after:
            return action.not_after
        operations: list[dict[str, Any]] = [dict(operation) for operation in action.patch]
        try:
            await world.kube.json_patch(CONFIGMAPS, key.namespace, action.config_map, operations)
            if component.status.intent:
                self._written[key] = component.status.intent.issued_at
        except (ConflictError, NotFoundError) as moved:
            world.counters.conflicts.labels(key.namespace, "target").inc()
            log.info("%s: the target moved before the write: %s", key, moved)
        return now


def siblings_of(world: World, namespace: str, suite: str, name: str) -> tuple[Sibling, ...]:
    """The other components of the suite, as far as they matter to the evidence of `name`."""
    return _siblings(world.cache.components_of_suite(namespace, suite), name, {})


def _siblings(bodies: Iterable[Body], name: str, modes: Mapping[str, EffectiveMode]) -> tuple[Sibling, ...]:
    """`modes` is what is known of their keys beyond their status."""
    found: list[Sibling] = []
    for raw in bodies:
        other = parsed(RcaComponent, raw)
        if isinstance(other, InvalidSpec) or other.metadata.name == name or other.metadata.deletion_timestamp:
            continue
        status = other.status
        intent = status.intent
        promoting = intent.issued_at if intent and intent.cause == Reason.PROMOTED else None
        known = modes.get(other.metadata.name, status.mode)
        mode = EffectiveMode.ACTIVE if known is EffectiveMode.ACTIVE else EffectiveMode.SHADOW
        promoted = status.promotion.revision if status.promotion else None
        revision = promoted or status.revision or declared(other.spec).revision
        found.append(Sibling(other.metadata.name, other.spec.target.key, str(mode), revision, promoting))
    return tuple(sorted(found, key=lambda sibling: sibling.name))
