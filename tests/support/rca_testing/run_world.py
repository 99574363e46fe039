"""One EvalRun and what `decide_run` sees of the world around it; `Road` walks it step by step as the shell does."""

from __future__ import annotations

import dataclasses
from typing import Any

from rca_eval.contract import Scorecard, canonical, sha256
from rca_rollout.api import EvalRun, RcaComponent, parse
from rca_rollout.core.epoch import epoch_of
from rca_rollout.core.names import scorecard_name
from rca_rollout.core.problem import Problem
from rca_rollout.core.readings import SCORECARD_KEY, Reading
from rca_rollout.core.revision import Running
from rca_rollout.core.runs import (
    CreateJob,
    DeleteJob,
    ReleaseJob,
    RunPlan,
    RunSettings,
    RunSnapshot,
    StoreScorecard,
    decide_run,
)
from rca_rollout.core.suites import SuiteFacts
from rca_testing import evidence, job_states, samples, suites
from rca_testing.lifecycle_world import START

type Body = dict[str, Any]


def epoch(suite: SuiteFacts | None = None) -> str:
    """What the component `live` is evaluated as, on this suite."""
    body = samples.stored(samples.minimal("RcaComponent", "live"))
    parsed = parse(RcaComponent, body)
    assert isinstance(parsed, RcaComponent), parsed
    return epoch_of(parsed.spec, suite or suites.facts())


EPOCH = epoch()
SETTINGS = RunSettings(harness_image="registry.example/harness:1")


def run_body(**spec: Any) -> Body:
    body = samples.stored(samples.minimal("EvalRun", "live-abcdef-1"))
    body["metadata"]["uid"] = "run-uid"
    named = {
        "suiteRef": {"name": "suite"},
        "componentRef": {"name": "live"},
        "trigger": "Gate",
        "revision": "v1",
        "epoch": EPOCH,
        "context": "c1",
    }
    body["spec"] = {key: value for key, value in {**named, **spec}.items() if value is not None}
    return body


def typed_run(body: Body) -> EvalRun:
    run = parse(EvalRun, body)
    assert isinstance(run, EvalRun), run
    return run


def component(**status: Any) -> RcaComponent:
    body = samples.stored(samples.minimal("RcaComponent", "live"))
    body["status"] = {"epoch": EPOCH, "context": "c1", **status}
    parsed = parse(RcaComponent, body)
    assert isinstance(parsed, RcaComponent), parsed
    return parsed


def reading(card: Scorecard, *, stored: bool = True) -> Reading:
    name = scorecard_name("live-abcdef-1")
    return Reading(card, sha256(canonical(card)), name, SCORECARD_KEY, stored)


class Road:
    """Walks a run; `jobs` are those that the API server has, `done` the names of the actions taken."""

    def __init__(self, **spec: Any) -> None:
        self.body = run_body(**spec)
        self.now = START
        self.component: RcaComponent | Problem | None = component()
        self.suite: Any = suites.facts()
        self.effective = {evidence.KEY: "Shadow"}
        self.admission: Problem | None = None
        self.jobs: dict[str, Body] = {}
        self.pods: list[Body] = []
        self.reading: Reading | Problem | None = None
        self.tail: str | None = None
        self.context = "c1"
        self.what_runs: Running | Problem | None = None
        self.said: str | None = None
        self.leftovers: tuple[tuple[str, str], ...] = ()
        self.done: list[str] = []
        self.told: list[str] = []

    @property
    def run(self) -> EvalRun:
        return typed_run(self.body)

    @property
    def status(self) -> Any:
        return self.run.status

    @property
    def job(self) -> Body:
        """The Job of the present attempt."""
        return self.jobs[self.status.job_ref.name]

    def snapshot(self) -> RunSnapshot:
        ref = self.status.job_ref
        job = self.jobs.get(ref.name) if ref else None
        return RunSnapshot(
            run=self.run,
            component=self.component,
            suite=self.suite,
            effective=self.effective,
            job=job,
            pods=[job_states.of_job(pod, job["metadata"]["uid"]) for pod in self.pods] if job else [],
            admission=self.admission,
            settings=SETTINGS,
            reading=self.reading,
            log_tail=self.tail,
            context=self.context,
            running=self.what_runs,
            said=self.said,
            leftovers=self.leftovers,
        )

    def step(self) -> RunPlan:
        plan = decide_run(self.snapshot(), self.now)
        assert plan == decide_run(self.snapshot(), self.now)
        self.body = {**self.body, "status": plan.status.to_dict()}
        if plan.event:
            self.told.append(plan.event.reason)
        for action in plan.actions:
            self.done.append(type(action).__name__)
            match action:
                case CreateJob(body=body):
                    made = job_states.job(name=body["metadata"]["name"], uid=f"job-{len(self.done)}")
                    self.jobs.setdefault(body["metadata"]["name"], made)
                case DeleteJob(name=name):
                    self.jobs.pop(name, None)
                case ReleaseJob(name=name, ttl_seconds=ttl):
                    self.jobs[name]["spec"]["ttlSecondsAfterFinished"] = ttl
                case StoreScorecard(reading=read):
                    self.reading = dataclasses.replace(read, stored=True)
        return plan

    def settle(self, limit: int = 12) -> Road:
        """Steps until nothing is written or done any more."""
        for _ in range(limit):
            before, done = self.body, len(self.done)
            self.step()
            if self.body == before and len(self.done) == done:
                return self
        raise AssertionError(f"no rest: {self.status}")

    def running(self) -> Road:
        """Its Job is there and runs."""
        self.pods = [job_states.pod("Pending", {"eval-1": {"running": {}}})]
        return self.settle()

    def job_ends(self, *conditions: Body, pods: list[Body]) -> Road:
        self.job["status"]["conditions"] = list(conditions)
        self.pods = pods
        return self

    def succeeded(self, card: Scorecard | None = None, *, stored: bool = False, seconds: int = 3) -> Road:
        """Its Job has ended well, with this scorecard."""
        self.running()
        made = card or evidence.scorecard(self.suite.dataset_sha256)
        self.reading = reading(made, stored=stored)
        return self.job_ends(job_states.condition("Complete"), pods=[job_states.succeeded(seconds)])
