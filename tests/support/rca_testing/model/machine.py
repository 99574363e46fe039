"""The rules: what the operator, people, Jobs, other controllers, networks and clocks may do, in any order."""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from rca_rollout.kube.resources import COMPONENTS, CONFIGMAPS, RUNS, SUITES
from rca_testing import samples
from rca_testing.lifecycle_world import GUARD
from rca_testing.model import agent, jobs, resting
from rca_testing.model.consumers import CONFIRMATION, Says
from rca_testing.model.installation import DATA, KEYS, OBSERVATION, SUITE, Installation, freeze
from rca_testing.model.ledger import Ledger
from rca_testing.model.process import KINDS, Fate

LONG = 600.0  # seconds
NAMES = ("live", "memory", "cap")
name = st.sampled_from(("live", "live", "memory", "memory", "cap"))
# Of three Jobs that do not simply pass, one is a failure, one a lie, one broken.
outcome: st.SearchStrategy[jobs.Outcome] = st.one_of(
    st.just(jobs.Honest.PASSES),
    st.sampled_from([jobs.Honest.LOSES, *jobs.Honest]),
    st.sampled_from(list(jobs.Lie)),
    st.sampled_from(list(jobs.Broken)),
)
CONDITION = {
    "name": "errors",
    "query": 'errors{component="$(key)"}',
    "operator": "LessThan",
    "threshold": "0.5",
    "interval": "1m",
}
SPECS: tuple[dict[str, Any], ...] = (
    {"mode": "Active"},
    {"mode": "Active", "suspend": False},
    {"mode": "Shadow"},
    {"suspend": True},
    {"suspend": False},
    {"revision": "v1"},
    {"revision": "v2"},
    {"observation": OBSERVATION},
    {"observation": {**OBSERVATION, "period": "0s", "minPassingRuns": 1}},
    {"observation": {**OBSERVATION, "period": "5h"}},
    {"observation": {**OBSERVATION, "minPassingRuns": 4}},
    {"observation": {**OBSERVATION, "maxEvidenceAge": "1h"}},
    {"observation": {**OBSERVATION, "conditions": [{**CONDITION, "role": "Guardrail"}]}},
    {"observation": {**OBSERVATION, "conditions": [{**CONDITION, "role": "Signal"}]}},
    {"observation": {**OBSERVATION, "conditions": [{**CONDITION, "role": "Signal", "onNoData": "Ignore"}]}},
    {"observation": {**OBSERVATION, "minShadowDecisions": 5}},
    {"guard": {**GUARD, "onRegression": "Alert"}},
    {"guard": {**GUARD, "conditions": [{**CONDITION, "role": "Guardrail"}]}},
    {"guard": GUARD},
    {"promotion": {"approval": "Manual"}},
    {"promotion": {"approval": "Automatic"}},
    {"promotion": {"requireBenefit": True}},
    {"driftPolicy": "Revert"},
    {"driftPolicy": "Report"},
    {"deletionPolicy": "RevertToShadow"},
    {"deletionPolicy": "Retain"},
)
BOUND = {"shadow": "Shadow", "active": agent.BOUND}
WHAT_RUNS: tuple[dict[str, Any], ...] = (
    {"workloadRef": agent.WORKLOAD},
    {"workloadRef": agent.WORKLOAD, "inputs": agent.INPUTS},
    {"inputs": agent.INPUTS},
    {"inputs": None},
    {"workloadRef": agent.WORKLOAD, "values": BOUND, "promotion": {"onNewRevision": "Hold"}},
    {"values": BOUND, "promotion": {"onNewRevision": "Hold"}},
    {"values": BOUND, "promotion": {"onNewRevision": "Demote"}},
    {"values": {}},
    {"confirmation": CONFIRMATION},
    {"confirmation": None},
)
"""What runs, and whether the word names it."""
# Short roads, so that a search of a few steps gets to their end, and what the end depends on.
BEGINNINGS: tuple[dict[str, Any], ...] = (
    {"observation": {**OBSERVATION, "minPassingRuns": 1}},
    {"observation": {**OBSERVATION, "period": "0s", "conditions": [{**CONDITION, "role": "Signal"}]}},
    {"promotion": {"approval": "Manual"}},
    {"deletionPolicy": "RevertToShadow"},
    {"driftPolicy": "Revert"},
    {"guard": {**GUARD, "conditions": [{**CONDITION, "role": "Guardrail"}]}},
    WHAT_RUNS[1],
    WHAT_RUNS[4],
    WHAT_RUNS[5],
    {**WHAT_RUNS[4], "inputs": agent.INPUTS},
    {"confirmation": CONFIRMATION},
    {**WHAT_RUNS[4], "confirmation": CONFIRMATION},
)
SUITES_SPECS: tuple[dict[str, Any], ...] = (
    {},
    {"tolerance": {"accuracyDrop": "0.5"}},
    {"maxConcurrentRuns": 2},
    {"job": {"args": ["--fast"]}},
    {"job": {"timeout": "5m"}},
    {"minIncidents": 50},
    {"protectedIncidents": ["GT-03-incident"]},
    {"job": {"shards": 3}},
    {"job": {"shards": 3}},
    {"budget": {"runsPerMonth": 2}},
    {"budget": {"runsPerMonth": 9}},
    {"budget": None},
)
VERBS = ("approve", "retry", "abort", "run", "demote")
MANAGERS = ("kubectl-edit", "argocd-controller", "kustomize-controller", "helm", "somebody")


class Everything(RuleBasedStateMachine):
    """Every rule ends with the promises held against what really happened."""

    steps = 0
    reconciliations = 0
    promotions = 0
    crashes = 0
    of_workloads = 0
    confirmations = 0
    windows = 0
    most_looks = 0
    states: ClassVar[set[tuple[str, str]]] = set()

    def __init__(self) -> None:
        super().__init__()
        logging.disable(logging.CRITICAL)
        self.world = Installation()
        self.ledger = Ledger(self.world)

    @initialize(
        first=st.lists(st.sampled_from(BEGINNINGS), max_size=3),
        second=st.lists(st.sampled_from(BEGINNINGS), max_size=3),
        alone=st.sampled_from([True, True, False]),
        quick=st.sampled_from([True, True, False]),
    )
    def it_begins(
        self, first: list[dict[str, Any]], second: list[dict[str, Any]], alone: bool, quick: bool
    ) -> None:
        if alone:
            self.world.delete_component("memory")
        for who in NAMES[:2] if quick else ():
            self.world.edit(who, observation={**OBSERVATION, "period": "0s", "minPassingRuns": 1})
        for who, specs in (("live", first), ("memory", second)):
            for spec in specs:
                self.world.edit(who, **spec)
        self.world.prometheus |= {"errors": ("0.1",), "ShadowDecisions": ("9",)}

    # -- the operator

    @rule(times=st.integers(1, 6))
    def time_goes_on_and_jobs_pass(self, times: int) -> None:
        self._road(times)

    @rule(times=st.integers(8, 16))
    def it_goes_on_for_long(self, times: int) -> None:
        self._road(times)

    @rule(times=st.integers(1, 9), verb=st.sampled_from(VERBS), who=name)
    def it_goes_on_and_somebody_asks(self, times: int, verb: str, who: str) -> None:
        self._road(times)
        self.somebody_asks(who, verb, times, present=True, why="because", stays=True)
        self._road(3)

    @rule(outcomes=st.lists(outcome, min_size=1, max_size=4))
    def time_goes_on_and_jobs_end(self, outcomes: list[jobs.Outcome]) -> None:
        self._road(2 * len(outcomes), outcomes)

    @rule(who=st.lists(name, min_size=1, max_size=4), kind=st.sampled_from(["RcaComponent", "EvalRun"]))
    def something_is_reconciled(self, who: list[str], kind: str) -> None:
        for one in who:
            for key in sorted(self.world.keys()):
                if key.kind == kind and key.name.startswith(one):
                    self.world.reconcile(key)

    @rule()
    def it_comes_to_rest_and_writes_nothing_more(self) -> None:
        self._rest()

    @rule(which=st.integers(0, 9), at=st.integers(0, 9), heard=st.booleans(), again=st.integers(0, 3))
    def the_process_dies_between_two_requests(self, which: int, at: int, heard: bool, again: int) -> None:
        for _ in range(again + 1):
            keys = self.world.due() or sorted(self.world.keys())
            if keys:
                self.world.crash(keys[which % len(keys)], at, heard=heard)

    @rule(which=st.integers(0, 9), fates=st.lists(st.sampled_from([Fate.DONE, *Fate]), max_size=10))
    def answers_are_lost(self, which: int, fates: list[Fate]) -> None:
        keys = self.world.due() or sorted(self.world.keys())
        step = keys and self.world.begin(self.world.leader, keys[which % len(keys)])
        if step:
            step.called_at = self.world.real
            for fate in fates:
                self.world.go_on(step, fate)
            while not step.done:
                self.world.go_on(step)

    @rule(
        seed=st.integers(0, 2**16),
        steps=st.integers(2, 5),
        takeover=st.booleans(),
        beside=st.sampled_from(["nothing", "nothing", "edit", "foreign", "suite", "time"]),
    )
    def several_things_are_under_way_at_once(
        self, seed: int, steps: int, takeover: bool, beside: str
    ) -> None:
        """Steps of one process, or of two that both believe to lead, go on in turns; something happens in between."""
        world, chance = self.world, random.Random(seed)
        if takeover:
            world.take_over(kill=False)
        begun = []
        for _ in range(steps):
            process = chance.choice(world.processes)
            keys = sorted(world.keys())
            step = keys and world.begin(process, chance.choice(keys))
            if step:
                step.called_at = world.real
                begun.append(step)
        halfway = chance.randint(1, 12)
        for at in range(60):
            if at == halfway:
                self._beside(beside, chance)
            open_steps = [step for step in begun if not step.done]
            if not open_steps:
                break
            world.go_on(chance.choice(open_steps))
        for step in begun:
            while not step.done:
                world.go_on(step)

    def _beside(self, beside: str, chance: random.Random) -> None:
        who = chance.choice(NAMES[:2])
        match beside:
            case "edit":
                self.world.edit(who, **chance.choice(SPECS[:7]))
            case "foreign":
                self.world.write_key(who, chance.choice(["Shadow", "Active"]), chance.choice(MANAGERS))
            case "suite":
                self.world.edit_suite(**chance.choice(SUITES_SPECS))
            case "time":
                self._time(chance.choice([1.0, 5.0, 9.0, 12.0]))
            case _:
                pass

    @rule(kind=st.sampled_from(["take over", "kill", *KINDS]))
    def another_process_leads_or_the_watch_falls_behind(self, kind: str) -> None:
        if kind in KINDS:
            freeze(self.world.leader, kind, self.world.store)
        else:
            self.world.take_over(kill=kind == "kill")

    # -- Jobs, runs

    @precondition(lambda self: self.world.open_jobs())
    @rule(which=st.integers(0, 3), end=outcome, settle=st.booleans())
    def a_job_ends(self, which: int, end: jobs.Outcome, settle: bool) -> None:
        found = self.world.open_jobs()
        self.world.end_job(found[which % len(found)], end)
        if settle:
            self.world.settle()

    @rule(kind=st.sampled_from(["runs", "jobs", "pods", "a new run"]), which=st.integers(0, 5))
    def somebody_deletes_or_makes_a_run_by_hand(self, kind: str, which: int) -> None:
        if kind == "a new run":
            self._by_hand(NAMES[which % 2], ("Manual", "Scheduled")[which // 2 % 2], which % 2)
            return
        found = sorted(body["metadata"]["name"] for body in self.world.store.all(KINDS[kind]))
        if found:
            self.world.remove(kind, found[which % len(found)])

    def _by_hand(self, who: str, trigger: str, number: int) -> None:
        body = samples.minimal("EvalRun", f"by-hand-{number}")
        body["spec"] |= {"componentRef": {"name": who}, "trigger": trigger}
        if self.world.store.find(RUNS, body["metadata"]["name"]) is None:
            self.world.store.create(RUNS, body, "kubectl-create")

    # -- people and other controllers

    @rule(who=name, specs=st.lists(st.sampled_from(SPECS), min_size=1, max_size=2))
    def somebody_edits_a_spec(self, who: str, specs: list[dict[str, Any]]) -> None:
        for spec in specs:
            self.world.edit(who, **spec)

    @rule(who=name, spec=st.sampled_from(WHAT_RUNS))
    def another_thing_runs(self, who: str, spec: dict[str, Any]) -> None:
        self.world.edit(who, **spec)

    @rule(
        how=st.sampled_from(["rolled", "begun", "ended", "begun and ended", "half moved", "moved", "gone"]),
        revision=st.sampled_from(["r1", "r1", "r2"]),
        letter=st.sampled_from("aab"),
        times=st.integers(0, 4),
    )
    def the_workload_changes(self, how: str, revision: str, letter: str, times: int) -> None:
        """Often back to what it was."""
        workload = self.world.agent
        match how:
            case "rolled":
                workload.roll(revision, letter)
            case "begun":
                workload.begin(revision, letter)
            case "ended":
                workload.end()
            case "begun and ended":
                workload.begin(revision, letter)
                self.ledger.govern()
                self._road(times)
                workload.end()
            case "half moved" | "moved":
                workload.move_tag(letter, half=how == "half moved")
            case _:
                workload.scale_away()
        self.ledger.govern()
        self._road(times)

    @rule(text=st.sampled_from(["one", "one", "two", None]), times=st.integers(0, 3))
    def the_prompt_changes(self, text: str | None, times: int) -> None:
        self.world.agent.prompt(text)
        self.ledger.govern()
        self._road(times)

    @rule(says=st.sampled_from([Says.TRUTH, *Says]), times=st.integers(0, 6))
    def the_consumers_say(self, says: Says, times: int) -> None:
        self.world.consumers.says = says
        self._road(times)

    @rule(letter=st.sampled_from("de"))
    def the_suites_tag_is_moved(self, letter: str) -> None:
        self.world.tag = agent.digest(letter)

    @rule(
        who=name,
        verb=st.sampled_from((*VERBS, "approve", "retry")),
        unique=st.integers(1, 3),
        present=st.sampled_from([True, True, True, False]),
        why=st.sampled_from(["because", "because", None]),
        stays=st.booleans(),
    )
    def somebody_asks(
        self, who: str, verb: str, unique: int, present: bool, why: str | None, stays: bool
    ) -> None:
        """GitOps tools take annotations away again, and bring old ones back."""
        body = self.world.component(who)
        epoch = (body or {}).get("status", {}).get("epoch") if present else "0123456789abcdef"
        self.world.annotate(who, **{verb: f"{epoch}/{unique}", "reason": why})
        if not stays:
            self.world.settle()
            self.world.annotate(who, **{verb: None, "reason": None})

    @rule(
        who=name,
        value=st.sampled_from(["Shadow", "Active", "Active", "Active@r1", "Active@r2", "Off", None]),
        manager=st.sampled_from(MANAGERS),
        times=st.integers(1, 3),
    )
    def somebody_else_writes_the_key(self, who: str, value: str | None, manager: str, times: int) -> None:
        for _ in range(times):
            self.world.write_key(who, value, manager)
            if times > 1:
                self.world.settle()

    @rule(
        how=st.sampled_from(
            ["deleted", "replaced", "immutable", "unlabelled", "labelled", "labelled", "owned", "free"]
        ),
        manager=st.sampled_from(MANAGERS[1:4]),
    )
    def the_target_changes(self, how: str, manager: str) -> None:
        match how:
            case "deleted" | "replaced" | "immutable":
                self.world.replace_target(there=how != "deleted", immutable=how == "immutable")
            case "unlabelled" | "labelled":
                self.world.label_target(label=how == "labelled")
            case _:
                self.world.label_target(label=True, owner=manager if how == "owned" else None)

    @rule(
        what=st.sampled_from(
            [
                "suite",
                "suite",
                "suite gone",
                "dataset",
                "baseline",
                "broken",
                "gone",
                "as it was",
                "as it was",
            ]
        ),
        spec=st.sampled_from(SUITES_SPECS),
    )
    def the_suite_or_its_data_change(self, what: str, spec: dict[str, Any]) -> None:
        world = self.world
        old, new = jobs.DATASETS.values()
        if what == "suite gone":
            if world.store.find(SUITES, SUITE):
                world.store.delete(SUITES, SUITE)
        elif what == "suite":
            world.edit_suite(**spec)
        elif what == "gone":
            if world.store.find(CONFIGMAPS, DATA):
                world.store.delete(CONFIGMAPS, DATA)
        elif what == "broken":
            world.write_data('{"incidents": [', jobs.baseline_of(old))
        elif what == "dataset":
            world.write_data(new, jobs.baseline_of(old))
        elif what == "baseline":
            world.write_data(new, jobs.baseline_of(new))
        else:
            self._mend()

    def _mend(self) -> None:
        world, old = self.world, jobs.DATASETS["as it was"]
        world.consumers.says = Says.TRUTH
        world.write_data(old, jobs.baseline_of(old))
        if world.store.find(SUITES, SUITE) is None:
            world.store.create(SUITES, samples.minimal("EvalSuite", SUITE), "kubectl-create")
        elif "minIncidents" in world.store.get(SUITES, SUITE)["spec"]:
            world.edit_suite(minIncidents=5)

    @rule(who=name, again=st.booleans())
    def a_component_is_deleted_or_made(self, who: str, again: bool) -> None:
        if self.world.component(who):
            self.world.delete_component(who)
        if again:
            self.world.create_component(who)

    @rule(value=st.sampled_from([("0.1",), ("0.9",), ("0.9",), ("0.1", "0.9"), ("NaN",), (), None]))
    def prometheus_says(self, value: tuple[str, ...] | None) -> None:
        self.world.prometheus["errors"] = value
        self.world.prometheus["ShadowDecisions"] = value and ("9",)

    # -- time

    @rule(span=st.sampled_from([1.0, 9.0, 31.0, 300.0, 1900.0, 7300.0, 90000.0]))
    def time_goes_on(self, span: float) -> None:
        """While the operator does nothing: it is down, or slow."""
        self._time(span)

    @rule(span=st.sampled_from([1.0, 45.0, 1800.0, 86400.0]))
    def the_clock_is_set_back(self, span: float) -> None:
        self.world.set_back(span)

    def _time(self, span: float) -> None:
        self.ledger.pass_time(span)
        self.world.pass_time(span)

    # -- promises

    @invariant()
    def nothing_was_broken(self) -> None:
        type(self).steps += 1
        self.ledger.govern()
        self.ledger.verify()

    def _rest(self) -> None:
        """Nothing is due; then nothing is written, whatever is looked at again."""
        world = self.world
        world.leader.dirty |= {key for key in sorted(world.keys()) if not world.seen(key.name)}
        world.settle()
        type(self).states |= resting.check(world)
        before = world.store.sequence
        for key in sorted(world.keys()):
            world.reconcile(key)
        changed = [change.place for change in world.store.changes[before:]]
        assert not changed, f"at rest, and written: {changed}"

    def _road(self, times: int, outcomes: Sequence[jobs.Outcome] = ()) -> None:
        ends = iter(outcomes)
        for _ in range(times):
            self.world.settle()
            self.ledger.govern()
            self.ledger.verify()
            type(self).states |= resting.check(self.world)
            open_jobs = self.world.open_jobs()
            if open_jobs:
                self._time(20.0)
                self.world.end_job(open_jobs[0], next(ends, jobs.Honest.PASSES))
            else:
                wake = self.world.next_wake()
                if wake is None:
                    return
                # Between two looks at what runs nothing happens: one of many is enough.
                least = LONG if self.world.polls() else 0.0
                self._time(max(least, (wake - self.world.clock()).total_seconds()))

    def teardown(self) -> None:
        """After all that, quiet, and a healthy revision: it becomes Active, by our hand."""
        try:
            self._recover()
        finally:
            kind = type(self)
            kind.reconciliations += self.world.reconciliations
            kind.promotions += self.ledger.promotions
            kind.crashes += self.world.crashes
            kind.of_workloads += self.ledger.of_workloads
            kind.confirmations += len(self.world.consumers.heard)
            kind.windows += self.ledger.windows
            kind.most_looks = max(kind.most_looks, self.ledger.most_looks)

    def _recover(self) -> None:
        world = self.world
        self._mend()
        world.edit_suite(tolerance={"accuracyDrop": "0.02"}, job={}, maxConcurrentRuns=1, budget=None)
        self.prometheus_says(("0.1",))
        world.replace_target()
        for other in NAMES[1:]:
            if world.component(other):
                world.edit(other, suspend=False, deletionPolicy="Retain")
                world.settle()
                world.delete_component(other)
        world.create_component("live")
        world.agent.roll("healthy", "c")
        world.agent.prompt("one")
        spec = (world.component("live") or {})["spec"]
        workload = "workloadRef" in spec
        active = (spec["target"].get("values") or {}).get("active", "Active")
        world.edit(
            "live",
            mode="Active",
            suspend=False,
            **({} if workload else {"revision": "healthy"}),
            observation=OBSERVATION,
            promotion={"approval": "Automatic"},
        )
        for _ in range(60):
            self._road(1)
            status = (world.component("live") or {}).get("status") or {}
            promotion = status.get("promotion") or {}
            if status.get("phase") == "Active" and promotion.get("revision") == "healthy":
                assert promotion["cause"] == "Promoted", promotion
                assert world.value("live") == active.replace("{revision}", "healthy")
                return
        status = (world.store.find(COMPONENTS, "live") or {}).get("status") or {}
        raise AssertionError(
            f"a healthy component is {status.get('phase')}: {status.get('lastTransition')}, {status.get('conditions')}"
        )


__all__ = ["KEYS", "Everything"]
