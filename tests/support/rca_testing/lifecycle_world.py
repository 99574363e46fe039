"""One component, and a world in memory that treats its plans exactly as the operator's shell does.

Status first, to exactly the version that was read; then the actions, each of which may find that it was done already.
A crash is a step that ends early. The caches may be behind. Everything that was ever done is on record.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any

from rca_eval.modes.value import Found
from rca_eval.modes.value import decide as mode_of
from rca_rollout.api import EvalRun, InvalidSpec, RcaComponent, RcaComponentStatus, parse
from rca_rollout.api.common import ComponentPhase, ConditionType
from rca_rollout.api.component_status import Transition
from rca_rollout.api.decisions import HandledVerb
from rca_rollout.api.values import format_time
from rca_rollout.core.confirming import Answer, judge_replicas, question, read_modes
from rca_rollout.core.epoch import Sibling
from rca_rollout.core.lifecycle import verbs
from rca_rollout.core.lifecycle.conditions import Reading
from rca_rollout.core.lifecycle.decide import decide
from rca_rollout.core.lifecycle.snapshot import (
    CreateRun,
    DeleteRun,
    Plan,
    SetFinalizers,
    Snapshot,
    WriteKey,
)
from rca_rollout.core.names import PREFIX
from rca_rollout.core.problem import Problem
from rca_rollout.core.replicas import Replica
from rca_rollout.core.revision import Running
from rca_rollout.core.suites import SuiteFacts
from rca_rollout.core.target import view_target
from rca_rollout.kube.client import REQUEST_TIMEOUT
from rca_testing import samples, suites
from rca_testing.config_maps import Body, PatchRefusedError, apply_patch
from rca_testing.config_maps import target as config_map
from rca_testing.evidence import KEY

START = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)
OBSERVATION = {"period": "2h", "interval": "30m", "minPassingRuns": 3}
GUARD = {"interval": "1h", "onRegression": "Demote"}


class Crash(Enum):
    """Where a step ends early."""

    BEFORE_STATUS = "the status is not written"
    BEFORE_ACTIONS = "the status is written, no action is taken"


@dataclass(frozen=True)
class Write:
    """One write of ours to the key, with what was decided on."""

    at: datetime
    value: str
    snapshot: Snapshot


class World:
    """`step` is one reconciliation; the other verbs are what people, Jobs and time do."""

    def __init__(self, **spec: Any) -> None:
        self.now = START
        body = samples.stored(samples.minimal("RcaComponent", "live"))
        body["spec"] |= {"observation": dict(OBSERVATION), "guard": dict(GUARD)} | spec
        self.component: Body = body
        self.suite: SuiteFacts | Problem = suites.facts()
        self.config_map: Body | None = config_map()
        self.runs: dict[str, Body] = {}
        self.cached: dict[str, Body] | None = None  # None: the cache is up to date
        self.siblings: tuple[Sibling, ...] = ()
        self.claimed_by: str | None = None
        self.written = False
        self.readings: dict[str, Reading] | None = None
        self.loaded: dict[str, str | None] | None = (
            None  # by replica of the consumer; None: nobody has answered yet
        )
        self.running: Running | Problem | None = None  # None: what the spec says
        self.gone = False
        self.wake: datetime | None = START
        # On record
        self.created: list[str] = []
        self.writes: list[Write] = []
        self.told: list[Transition] = []
        self.status_writes = 0

    # -- what the operator does

    def snapshot(self) -> Snapshot:
        component = parse(RcaComponent, self.component)
        assert isinstance(component, RcaComponent), component
        held = self.runs if self.cached is None else self.cached
        return Snapshot(
            component=component,
            suite=self.suite,
            target=view_target(self.config_map, "modes", KEY),
            runs={name: _run(body) for name, body in held.items()},
            siblings=self.siblings,
            claimed_by=self.claimed_by,
            written=self.written,
            readings=self.readings,
            running=self.running,
            confirmation=self._confirmation(component),
        )

    def _confirmation(self, component: RcaComponent) -> Answer | None:
        """What the replicas of the consumer say at this moment, each in the words of the agent protocol."""
        asked = question(component)
        if asked is None or self.loaded is None:
            return None
        ready = [Replica(name, f"uid-{name}", "10.0.0.1") for name in sorted(self.loaded)]
        said = {each: read_modes(modes_of(KEY, self.loaded[each.name]), asked) for each in ready}
        return judge_replicas(asked, self.now, said, ready)

    def load(self) -> None:
        """Every replica loads what the key holds."""
        self.loaded = dict.fromkeys(self.loaded or ("agent-a", "agent-b"), self.value)

    def decide(self) -> Plan:
        return decide(self.snapshot(), self.now)

    def step(self, crash: Crash | None = None) -> Plan:
        """One reconciliation, as `runtime.components` does it."""
        snapshot = self.snapshot()
        if self.gone:
            self.wake = None
            return Plan(self.status)
        plan = decide(snapshot, self.now)
        if crash is Crash.BEFORE_STATUS:
            return plan
        changed = self._save(plan.status)
        if crash is Crash.BEFORE_ACTIONS:
            return plan
        wake = plan.wake_at
        for action in plan.actions:
            wake = self._apply(action, snapshot) or wake
        self.wake = self.now if changed and plan.wake_at == self.now.replace(microsecond=0) else wake
        return plan

    def settle(self, limit: int = 20) -> Plan:
        """Steps until nothing is due at this moment. What the watch would tell at once counts as due."""
        for _ in range(limit):
            before = (self.status_writes, len(self.created), len(self.writes))
            plan = self.step()
            idle = before == (self.status_writes, len(self.created), len(self.writes))
            if idle and (self.wake is None or self.wake > self.now):
                return plan
        raise AssertionError(f"no rest after {limit} steps at {self.now}: {self.status.last_transition}")

    def _save(self, status: RcaComponentStatus) -> bool:
        new = status.to_dict()
        if new == (self.component.get("status") or {}):
            return False
        before = self.status
        old = before.last_transition
        metadata = self.component["metadata"]
        version = str(int(metadata["resourceVersion"]) + 1)
        self.component = {
            **self.component,
            "metadata": {**metadata, "resourceVersion": version},
            "status": new,
        }
        self.status_writes += 1
        self.told.extend(verbs.told(before, status))
        if status.last_transition and status.last_transition != old:
            self.told.append(status.last_transition)
        return True

    def _apply(self, action: Any, snapshot: Snapshot) -> datetime | None:
        match action:
            case CreateRun(name=name, body=body):
                if name in self.runs:
                    return self.now + timedelta(seconds=2)
                self.created.append(name)
                stored = samples.stored(copy.deepcopy(dict(body)))
                stored["metadata"] |= {
                    "uid": f"uid-{len(self.created)}",
                    "creationTimestamp": format_time(self.now),
                }
                self.runs[name] = stored
            case DeleteRun(name=name, uid=uid):
                if name in self.runs and self.runs[name]["metadata"]["uid"] == uid:
                    del self.runs[name]
            case WriteKey(patch=patch, not_after=not_after):
                if self.now + timedelta(seconds=REQUEST_TIMEOUT) > not_after:
                    return not_after
                if self.config_map is not None:
                    self._patch(patch, snapshot)
                return self.now
            case SetFinalizers(patch=patch):
                if self.gone:
                    return None
                try:
                    self.component = apply_patch(self.component, patch)
                except PatchRefusedError:
                    return self.now + timedelta(seconds=1)
                self.gone = self.deleting and not self.component["metadata"].get("finalizers")
                return self.now
        return None

    def _patch(self, patch: Any, snapshot: Snapshot) -> None:
        assert self.config_map is not None
        try:
            self.config_map = apply_patch(self.config_map, patch)
        except PatchRefusedError:
            return
        self.writes.append(Write(self.now, self.config_map["data"][KEY], snapshot))

    # -- what others do

    def edit(self, **spec: Any) -> None:
        """Somebody changes the spec."""
        metadata = self.component["metadata"]
        self.component = {
            **self.component,
            "metadata": {**metadata, "generation": metadata["generation"] + 1},
            "spec": {**self.component["spec"], **spec},
        }

    def annotate(self, manager: str = "kubectl-annotate", **annotations: str | None) -> None:
        """Somebody sets (None: removes) annotations of ours, by their short names."""
        metadata = self.component["metadata"]
        held = {
            **(metadata.get("annotations") or {}),
            **{f"{PREFIX}/{k}": v for k, v in annotations.items()},
        }
        fields = {"f:metadata": {"f:annotations": {f"f:{PREFIX}/{name}": {} for name in annotations}}}
        entry = {
            "manager": manager,
            "operation": "Update",
            "time": format_time(self.now),
            "fieldsV1": fields,
        }
        entries = [*(metadata.get("managedFields") or []), entry]
        kept = {name: value for name, value in held.items() if value is not None}
        self.component = {
            **self.component,
            "metadata": {**metadata, "annotations": kept, "managedFields": entries},
        }

    def ask(self, verb: str, unique: str = "1", *, epoch: str | None = None, **beside: str) -> None:
        """Somebody asks for a verb, about the present epoch if no other is named."""
        self.annotate(**{verb: f"{epoch or self.status.epoch}/{unique}"}, **beside)

    def answer(self, verb: str) -> HandledVerb:
        """What was made of the last token of a verb."""
        found = getattr(self.status.verbs, verb)
        assert isinstance(found, HandledVerb), f"{verb} was not handled"
        return found

    @property
    def deleting(self) -> bool:
        return "deletionTimestamp" in self.component["metadata"]

    @property
    def finalizers(self) -> list[str]:
        found: list[str] = self.component["metadata"].get("finalizers") or []
        return found

    def delete(self) -> None:
        """Somebody deletes the component: it is gone when no finalizer holds it."""
        stamp = {"deletionTimestamp": format_time(self.now)}
        self.component = {**self.component, "metadata": {**self.component["metadata"], **stamp}}
        self.gone = not self.finalizers

    def write(self, value: str | None) -> None:
        """Somebody else sets the key (None: removes it)."""
        assert self.config_map is not None
        data = {k: v for k, v in self.config_map["data"].items() if k != KEY}
        metadata = self.config_map["metadata"]
        version = str(int(metadata["resourceVersion"]) + 1)
        self.config_map = {
            **self.config_map,
            "metadata": {**metadata, "resourceVersion": version},
            "data": data if value is None else {**data, KEY: value},
        }

    def end_run(self, phase: str = "Passed", name: str | None = None, **status: Any) -> str:
        """The run that is under way (or `name`) ends."""
        chosen = name or (self.status.current_run and self.status.current_run.name)
        assert chosen in self.runs, f"no run {chosen} is under way"
        ended = {"phase": phase, "message": f"it {phase}", "finishedAt": format_time(self.now), **status}
        self.runs = {**self.runs, chosen: {**self.runs[chosen], "status": ended}}
        return chosen

    def pass_time(self, **span: float) -> None:
        self.now += timedelta(**span)

    # -- whole roads

    def run_and_pass(self) -> None:
        """The run under way takes a minute and passes."""
        self.settle()
        self.pass_time(minutes=1)
        self.end_run("Passed")
        self.settle()

    def go_on(self) -> None:
        """One leg: the run under way passes, or time goes on to the moment that was planned."""
        self.settle()
        current = self.status.current_run
        if current and current.name in self.runs:
            self.run_and_pass()
        elif self.wake:
            self.now = max(self.now, self.wake)
            self.settle()

    def observe_to_the_end(self) -> None:
        """Until the component is Active, or nothing more is due."""
        for _ in range(60):
            self.go_on()
            if self.phase is ComponentPhase.ACTIVE or not (self.wake or self.status.current_run):
                return

    def promoted(self) -> World:
        """The whole road to Active."""
        self.observe_to_the_end()
        assert self.value == "Active", self.status.last_transition
        return self

    # -- what there is to see

    @property
    def status(self) -> RcaComponentStatus:
        return self.snapshot().component.status

    @property
    def phase(self) -> ComponentPhase | None:
        return self.status.phase

    @property
    def value(self) -> str | None:
        return None if self.config_map is None else self.config_map["data"].get(KEY)

    @property
    def reasons(self) -> list[str]:
        """What was told so far, one word per transition."""
        return [transition.reason for transition in self.told]

    def why(self, kind: ConditionType) -> tuple[str, str] | None:
        """Status and reason of one condition."""
        found = self.status.condition(kind)
        return (str(found.status), found.reason) if found else None


def sibling(mode: str = "Active", *, name: str = "memory", revision: str = "m1", **more: Any) -> Sibling:
    return Sibling(name=name, key=f"{name}.Mode", mode=mode, revision=revision, **more)


def modes_of(key: str, value: str | None, revision: str = "v1") -> bytes:
    """GET /modes of the reference agent that has loaded `value`."""
    mode, cause = mode_of(Found(value), revision)
    entry = {"component": key, "value": value, "mode": str(mode), "revision": revision, "reason": str(cause)}
    return json.dumps([{**entry, "source": "/etc/rca/modes", "loadedAt": "2026-11-30T10:00:00.0Z"}]).encode()


def _run(body: Mapping[str, Any]) -> EvalRun:
    run = parse(EvalRun, body)
    assert not isinstance(run, InvalidSpec), run
    return run
