"""Components of one suite, the ConfigMap with their keys, processes of the operator, Jobs, and two clocks.

`real` is the time that really passed; the wall clock, which the operator reads, may be set back.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from rca_rollout.api.values import format_time
from rca_rollout.core.lifecycle.finalizer import FINALIZER
from rca_rollout.core.names import KEYS_ANNOTATION, WATCH_LABEL
from rca_rollout.kube.client import REQUEST_TIMEOUT
from rca_rollout.kube.resources import COMPONENTS, CONFIGMAPS, JOBS, PODS, RUNS, SUITES
from rca_rollout.runtime.cache import run_of
from rca_rollout.runtime.queue import Key
from rca_testing import evidence, samples
from rca_testing.lifecycle_world import GUARD, START
from rca_testing.model import agent, jobs
from rca_testing.model.consumers import Consumers
from rca_testing.model.process import KINDS, Fate, Process, Step
from rca_testing.model.store import NAMESPACE, Body, Change, Store

TARGET, DATA, SUITE = "modes", "incidents", "suite"
KEYS: Mapping[str, str] = {"live": evidence.KEY, "memory": "RcaMemory.Mode", "cap": "RcaEvidenceCap.Mode"}
OBSERVATION = {"period": "1h", "interval": "30m", "minPassingRuns": 2}


class Installation:
    """`names` are the components that exist at first."""

    def __init__(self, names: tuple[str, ...] = ("live", "memory")) -> None:
        self.real = 0.0
        self._offset = 0.0
        self.store = Store(self.clock)
        self.logs: dict[str, bytes] = {}
        self.prometheus: dict[str, tuple[str, ...] | None] = {}
        self.outcomes: dict[str, jobs.Outcome] = {}
        self.digests: dict[str, str | None] = {}
        self.parts: dict[str, tuple[str, ...]] = {}
        """By UID of a Job in shards: the digests of its honest parts."""
        self.ran: dict[str, str | None] = {}
        """By UID of a Job: the digest of the image that its engine really ran."""
        self.tag = agent.digest("d")
        """The digest behind every tag that a suite names."""
        self.looks: dict[str, list[int]] = {}
        """By name of a component: after how many changes each look of a leader began that came to its end."""
        self.changed = 0
        """After how many changes a workload or an input was the last to change, of which no watch tells."""
        self.agent = agent.Agent(self.store)
        self.consumers = Consumers(self.store)
        self.current: Step | None = None
        self.reconciliations = 0
        self.crashes = 0
        self.processes: list[Process] = []
        self.start_process()
        self.store.watchers.append(self._spread)
        self._first(names)

    @property
    def leader(self) -> Process:
        return self.processes[0]

    # -- time

    def clock(self) -> datetime:
        return START + timedelta(seconds=self.real + self._offset)

    def pass_time(self, seconds: float) -> None:
        """Time goes on, and what the cluster tidies up by itself goes."""
        self.real += seconds
        for job in self.store.all(JOBS):
            ttl = job["spec"].get("ttlSecondsAfterFinished")
            if ttl is not None and _ended(job):
                self.store.delete(JOBS, job["metadata"]["name"])
        self.store.collect_garbage()
        for process in self.processes:
            process.asking.go_on()

    def set_back(self, seconds: float) -> None:
        self._offset -= seconds
        self.leader.dirty |= (
            self.keys()
        )  # what was planned comes later now; the periodic look comes meanwhile

    # -- processes

    def start_process(self) -> Process:
        """A new process leads; it has read everything once, and looks at every object."""
        process = Process(self.store, self.logs, self.clock, self.prometheus, self.consumers)
        process.dirty |= self.keys()
        self.processes.insert(0, process)
        return process

    def take_over(self, *, kill: bool) -> None:
        """Another process leads. The old one is dead, or goes on for a moment with what it has on its way."""
        old = self.leader
        self.start_process()
        if kill:
            old.kill()
        for process in self.processes[2:]:
            process.kill()
        del self.processes[2:]

    def keys(self) -> set[Key]:
        found = {
            Key("RcaComponent", NAMESPACE, body["metadata"]["name"]) for body in self.store.all(COMPONENTS)
        }
        suite = self.store.find(SUITES, SUITE)
        if suite and (suite["spec"].get("budget") or (suite.get("status") or {}).get("ledger")):
            # Without a budget it says only whether it can be used.
            found.add(Key("EvalSuite", NAMESPACE, SUITE))
        return found | {Key("EvalRun", NAMESPACE, body["metadata"]["name"]) for body in self.store.all(RUNS)}

    def begin(self, process: Process, key: Key) -> Step | None:
        """Starts a reconciliation, unless the key is in work: one worker at a time has it."""
        if key in process.steps:
            return None
        self.reconciliations += 1
        return process.begin(key)

    def go_on(self, step: Step, fate: Fate = Fate.DONE) -> None:
        """One request of a step is answered. One that was given up is not carried out later: the server ends it, too."""
        if step.done:
            return
        self.current = step
        try:
            step.process.go_on(step, fate if self.real - step.called_at < REQUEST_TIMEOUT else Fate.LOST)
        finally:
            self.current = None
        step.called_at = self.real
        self._looked(step)

    def _looked(self, step: Step) -> None:
        if step.done and step.process is self.leader and step.key not in step.process.failed:
            self.looks.setdefault(step.key.name, []).append(step.began)

    def seen(self, name: str) -> bool:
        """Whether a leader has looked at this component since something changed of which no watch tells."""
        return any(began >= self.changed for began in self.looks.get(name, ())[-3:])

    def polls(self) -> bool:
        """Whether there are components that are looked at again and again, whatever happens."""
        return any(
            body["spec"].get("workloadRef") or body["spec"].get("inputs")
            for body in self.store.all(COMPONENTS)
        )

    def reconcile(self, key: Key, process: Process | None = None) -> None:
        """One whole reconciliation."""
        step = self.begin(process or self.leader, key)
        if step is None:
            return
        step.called_at = self.real
        while not step.done:
            self.go_on(step)

    def crash(self, key: Key, at: int, *, heard: bool) -> None:
        """The process dies at its request number `at`, which is carried out or not."""
        step = self.begin(self.leader, key)
        if step is None:
            return
        step.called_at = self.real
        for _ in range(at):
            if step.done:
                return
            self.go_on(step)
        if step.done:
            return
        if heard:
            self.current = step
            assert step.call is not None
            try:
                step.call.act()
            except Exception:
                self.crashes += 0
            finally:
                self.current = None
        self.crashes += 1
        self.take_over(kill=True)

    def due(self) -> list[Key]:
        process, now = self.leader, self.clock()
        awake = {key for key, at in process.wakes.items() if at <= now}
        there = self.keys()
        process.dirty &= there
        for key in awake - there:
            del process.wakes[key]
        return sorted((process.dirty | awake) & there)

    def settle(self, limit: int = 400) -> None:
        """Reconciles what is due until nothing is."""
        for step in [step for process in self.processes for step in list(process.steps.values())]:
            while not step.done:
                self.go_on(step)
        if self.leader.lag:
            self.leader.lag.clear()
            self.leader.dirty |= self.keys()
        for _ in range(limit):
            due = self.due()
            if not due:
                return
            self.reconcile(due[0])
            if len(due) > 1:
                self.reconcile(due[-1])
        raise AssertionError(f"no rest after {limit} reconciliations: {self.due()}")

    def next_wake(self) -> datetime | None:
        there = self.keys()
        return min((at for key, at in self.leader.wakes.items() if key in there), default=None)

    def sleep(self) -> None:
        """Until the next moment that was planned."""
        wake = self.next_wake()
        if wake is not None and wake > self.clock():
            self.pass_time((wake - self.clock()).total_seconds())

    # -- Jobs

    def open_jobs(self) -> list[str]:
        """Names of Jobs that have not ended."""
        found = [job for job in self.store.all(JOBS) if not _ended(job) and not job.get("status")]
        return [job["metadata"]["name"] for job in found]

    def end_job(self, name: str, outcome: jobs.Outcome = jobs.Honest.PASSES) -> None:
        """The Job ends, and its Pod with it."""
        job, now = self.store.find(JOBS, name), self.clock()
        if job is None:
            return  # gone meanwhile, with its run
        if outcome is jobs.Lie.NO_IMAGE and "@" not in jobs.image_of(job):
            outcome = jobs.Honest.PASSES  # which image it was is asked of a workload's only
        if jobs.asked(job).shards > 1:
            self._end_shards(job, outcome)
            return
        told, digests = None, jobs.ran(job, outcome, self.tag)
        if not isinstance(outcome, jobs.Broken):
            data = self.store.find(CONFIGMAPS, DATA)
            text = ((data or {}).get("data") or {}).get("ground-truth.json")
            if text not in jobs.DATASETS.values():
                outcome = jobs.Broken.CRASH  # the dataset is not there, or cannot be read
            else:
                told = jobs.tell(jobs.asked(job), outcome, text)
        pod = jobs.pod_of(job, outcome, told.announced if told else None, now, digests)
        uid = job["metadata"]["uid"]
        self.outcomes[uid], self.digests[uid] = outcome, told.digest if told else None
        self.ran[uid] = digests[0]
        if pod is not None:
            if self.store.find(PODS, pod["metadata"]["name"]):
                self.store.delete(PODS, pod["metadata"]["name"])
            self.store.create(PODS, pod, "kubelet")
            self.logs[pod["metadata"]["name"]] = told.log if told else b""
        self.store.change(JOBS, name, "job-controller", status=jobs.status_of(outcome, now))

    def _end_shards(self, job: Body, outcome: jobs.Outcome) -> None:
        """All shards of an Indexed Job end; where one can fail alone, it is the second."""
        asked, now, uid = jobs.asked(job), self.clock(), job["metadata"]["uid"]
        data = self.store.find(CONFIGMAPS, DATA)
        text = ((data or {}).get("data") or {}).get("ground-truth.json")
        if not isinstance(outcome, jobs.Broken) and text not in jobs.DATASETS.values():
            outcome = jobs.Broken.CRASH
        digests = jobs.ran(job, outcome, self.tag)
        first = jobs.Honest.PASSES if isinstance(outcome, jobs.Broken) else outcome
        told = jobs.tell_shards(asked, first, text) if text in jobs.DATASETS.values() else ()
        self.outcomes[uid], self.ran[uid] = outcome, digests[0]
        self.parts[uid] = tuple(str(one.digest) for one in told)
        for index in range(asked.shards):
            mine = outcome if index == 1 or not told else first
            announced = told[index].announced if told else None
            pod = jobs.pod_of(job, mine, announced, now, digests)
            if pod is None:
                continue
            pod = jobs.shard_of(pod, index)
            if self.store.find(PODS, pod["metadata"]["name"]):
                self.store.delete(PODS, pod["metadata"]["name"])
            self.store.create(PODS, pod, "kubelet")
            self.logs[pod["metadata"]["name"]] = told[index].log if told else b""
        self.store.change(
            JOBS, job["metadata"]["name"], "job-controller", status=jobs.status_of(outcome, now)
        )

    # -- what people do

    def component(self, name: str) -> Body | None:
        return self.store.find(COMPONENTS, name)

    def edit(self, name: str, **spec: Any) -> None:
        body = self.component(name)
        if body is not None:
            self.store.change(COMPONENTS, name, "kubectl-edit", spec=_admitted(body["spec"], spec))

    def edit_suite(self, **spec: Any) -> None:
        body = self.store.find(SUITES, SUITE)
        if body is not None:
            found = {name: value for name, value in {**body["spec"], **spec}.items() if value is not None}
            self.store.change(SUITES, SUITE, "kubectl-edit", spec=found)

    def annotate(self, name: str, **annotations: str | None) -> None:
        body = self.component(name)
        if body is None:
            return
        held = dict(body["metadata"].get("annotations") or {})
        for word, value in annotations.items():
            held[f"rca.bluerobin.io/{word}"] = value
        kept = {k: v for k, v in held.items() if v is not None}
        fields = {"f:metadata": {"f:annotations": {f"f:{key}": {} for key in kept}}}
        entry = {"manager": "kubectl-annotate", "operation": "Update", "fieldsV1": fields}
        self.store.change(
            COMPONENTS, name, "kubectl-annotate", metadata={"annotations": kept, "managedFields": [entry]}
        )

    def create_component(self, name: str, **spec: Any) -> None:
        if self.component(name):
            return
        body = samples.minimal("RcaComponent", name)
        target = {"configMapRef": {"name": TARGET}, "key": KEYS[name]}
        body["spec"] |= {"target": target, "observation": dict(OBSERVATION), "guard": dict(GUARD)}
        body["spec"] = _admitted(body["spec"], spec)
        self.store.create(COMPONENTS, body, "kubectl-create")

    def delete_component(self, name: str) -> None:
        if self.component(name):
            self.store.delete(COMPONENTS, name)
            self.store.collect_garbage()

    def value(self, name: str) -> str | None:
        body = self.store.find(CONFIGMAPS, TARGET)
        value: str | None = ((body or {}).get("data") or {}).get(KEYS[name])
        return value

    def write_key(self, name: str, value: str | None, manager: str) -> None:
        body = self.store.find(CONFIGMAPS, TARGET)
        if body is None or body.get("immutable"):
            return
        data = {k: v for k, v in (body.get("data") or {}).items() if k != KEYS[name]}
        self.store.change(
            CONFIGMAPS, TARGET, manager, data=data if value is None else {**data, KEYS[name]: value}
        )

    def replace_target(self, *, there: bool = True, label: bool = True, immutable: bool = False) -> None:
        """The ConfigMap is deleted, and made anew with everything in Shadow."""
        if self.store.find(CONFIGMAPS, TARGET):
            self.store.delete(CONFIGMAPS, TARGET)
        if there:
            self.store.create(CONFIGMAPS, _target(label=label, immutable=immutable), "kubectl-create")

    def label_target(self, *, label: bool, owner: str | None = None) -> None:
        """The opt-in is taken back or given, the keys are applied from Git by `owner` or by nobody."""
        body = self.store.find(CONFIGMAPS, TARGET)
        if body is None:
            return
        labels = {WATCH_LABEL: "Enabled"} if label else {}
        fields = {f"f:{key}": {} for key in KEYS.values()}
        entry = {
            "manager": owner,
            "operation": "Apply",
            "time": format_time(self.clock()),
            "fieldsV1": {"f:data": fields},
        }
        others = [e for e in body["metadata"].get("managedFields") or [] if e["operation"] != "Apply"]
        managed = [*others, entry] if owner else others
        self.store.change(
            CONFIGMAPS,
            TARGET,
            owner or "kubectl-label",
            metadata={"labels": labels, "managedFields": managed},
        )

    def write_data(self, dataset: str | None, baseline: str | None) -> None:
        """The ConfigMap with dataset and baseline, as texts."""
        found = {"ground-truth.json": dataset, "baseline.json": baseline}
        data = {key: text for key, text in found.items() if text is not None}
        if self.store.find(CONFIGMAPS, DATA) is None:
            self.store.create(CONFIGMAPS, {"metadata": {"name": DATA}, "data": data}, "kubectl-create")
        else:
            self.store.change(CONFIGMAPS, DATA, "kubectl-apply", data=data)

    def remove(self, kind: str, name: str) -> None:
        """Somebody deletes a run, a Job or a Pod by hand."""
        if self.store.find(KINDS[kind], name):
            self.store.delete(KINDS[kind], name)
            self.store.collect_garbage()

    # -- the beginning, and the spreading of news

    def _first(self, names: tuple[str, ...]) -> None:
        text = jobs.DATASETS["as it was"]
        self.write_data(text, jobs.baseline_of(text))
        self.store.create(SUITES, samples.minimal("EvalSuite", SUITE), "kubectl-create")
        self.store.create(CONFIGMAPS, _target(), "kubectl-create")
        self.agent.prompt("one")
        self.agent.roll("r1", "a")
        for name in names:
            self.create_component(name)

    def _spread(self, change: Change) -> None:
        """Who is told of a change, generously: that no watch is missing is the matter of other tests."""
        plural, name = change.place
        body = change.after or change.before or {}
        if plural == "deployments" or name == agent.PROMPTS or (plural == "pods" and run_of(body) is None):
            self.changed = self.store.sequence
            return  # what runs is looked at, and not watched
        if plural in ("jobs", "pods"):
            keys = {Key("EvalRun", NAMESPACE, str(run_of(body)))}
        elif plural == "evalruns":
            owner = (body["spec"].get("componentRef") or {}).get("name", "")
            waiting = {key for key in self.keys() if key.kind != "RcaComponent" and not self._final(key.name)}
            keys = {Key("EvalRun", NAMESPACE, name), Key("RcaComponent", NAMESPACE, owner), *waiting}
        else:
            keys = {key for key in self.keys() if key.kind == "RcaComponent" or not self._final(key.name)}
        for process in self.processes:
            process.dirty |= keys

    def _final(self, run: str) -> bool:
        body = self.store.find(RUNS, run)
        return ((body or {}).get("status") or {}).get("phase") not in (None, "Pending", "Running")


def _target(*, label: bool = True, immutable: bool = False) -> Body:
    body: Body = {
        "metadata": {
            "name": TARGET,
            "labels": {WATCH_LABEL: "Enabled"} if label else {},
            "annotations": {KEYS_ANNOTATION: ",".join(KEYS.values())},
        },
        "data": dict.fromkeys(KEYS.values(), "Shadow"),
    }
    return {**body, "immutable": True} if immutable else body


def _admitted(spec: Mapping[str, Any], edit: Mapping[str, Any]) -> Body:
    """The spec after an edit, as far as the API server would take it: None takes a field away."""
    edit = dict(edit)
    values = edit.pop("values", None)
    if edit.get("revision"):
        edit["workloadRef"] = None
    if edit.get("workloadRef"):
        edit["revision"] = None
    found = {name: value for name, value in {**spec, **edit}.items() if value is not None}
    if values is not None:
        found["target"] = {**found["target"], "values": values}
    bound = "{revision}" in found["target"].get("values", {}).get("active", "")
    if not bound and "promotion" in found:
        found["promotion"] = {k: v for k, v in found["promotion"].items() if k != "onNewRevision"}
    return found


def _ended(job: Body) -> bool:
    return bool((job.get("status") or {}).get("conditions"))


def freeze(process: Process, kind: str, store: Store) -> None:
    """From now on this process sees an older state of one kind."""
    process.lag[kind] = copy.copy(store.all(KINDS[kind]))


__all__ = ["FINALIZER", "KEYS", "SUITE", "TARGET", "Installation", "freeze"]
