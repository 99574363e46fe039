"""Whatever happens, in whatever order: the promises that the lifecycle makes to production.

Hypothesis plays people, Jobs, other controllers, crashes, slow caches and a clock that jumps. The promises are checked
against what was really done in the world (`Ledger`), not against what the status says of itself.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from rca_testing import samples, suites
from rca_testing.config_maps import target
from rca_testing.lifecycle_world import Crash, World, Write, sibling

from rca_rollout.api.common import ApprovalPolicy, ComponentPhase, DeletionPolicy, Mode
from rca_rollout.api.confirmation import ConfirmationState
from rca_rollout.api.reasons import Reason
from rca_rollout.core.epoch import context_of, epoch_of
from rca_rollout.core.lifecycle.decide import decide
from rca_rollout.core.lifecycle.finalizer import FINALIZER
from rca_rollout.core.lifecycle.snapshot import CreateRun, Plan
from rca_rollout.core.problem import Problem

SUITES = {
    "as it was": suites.facts(),
    "another tolerance": suites.facts(tolerance={"accuracyDrop": "0.05"}),
    "another dataset": suites.other_dataset(),
    "gone": Problem("SuiteNotFound", "EvalSuite suite does not exist: create it"),
}
SIBLINGS = {
    "alone": (),
    "one in Shadow": (sibling("Shadow"),),
    "one Active": (sibling("Active"),),
    "a new revision": (sibling("Active", revision="m2"),),
}
CONFIRMATION = {"http": {"selector": {"matchLabels": {"app": "agent"}}, "port": 8080}, "timeout": "10m"}
VERBS = ("approve", "retry", "retry", "abort", "run", "demote")
# What a run says beside its verdict.
SHOWN: tuple[dict[str, str], ...] = (
    {},
    {},
    {"harm": "Time", "regressionOf": "Component"},
    {"harm": "Accuracy", "regressionOf": "Component"},
    {"regressionOf": "Engine"},
)
VERDICTS = ("Passed", "Passed", "Passed", "Failed", "Inconclusive", "Error", "Superseded")


class Ledger:
    """What really happened: for which epoch and context each run was made, how often those changed, what failed.

    An epoch or context that comes back is another one, as far as the operator saw it go: its evidence is gone. So is an
    epoch that a person had tried again.
    """

    def __init__(self) -> None:
        self.epoch: tuple[tuple[str | None, int], int] = ((None, 0), 0)
        self.context: tuple[str | None, int] = (None, 0)
        self.made_for: dict[str, tuple[Any, Any]] = {}
        self.failed: set[int] = set()

    def record(self, world: World) -> None:
        """Called after each step of the operator."""
        status = world.status
        if (status.epoch, status.attempts) != self.epoch[0]:
            self.epoch = ((status.epoch, status.attempts), self.epoch[1] + 1)
        if status.context != self.context[0]:
            self.context = (status.context, self.context[1] + 1)
        for name in world.created:
            self.made_for.setdefault(name, self.present())
        for run in status.evidence.runs if status.evidence else ():
            if run.verdict == "Failed":
                self.failed.add(self.made_for[run.name][0][1])

    def present(self) -> tuple[Any, Any]:
        return self.epoch, self.context


def _observation(minimum: int, period: str) -> dict[str, Any]:
    return {"observation": {"period": period, "interval": "30m", "minPassingRuns": minimum}}


def _guard(what: str) -> dict[str, Any]:
    return {"guard": {"interval": "1h", "onRegression": what}}


def _values(active: str) -> dict[str, Any]:
    target = samples.minimal("RcaComponent")["spec"]["target"]
    return {"target": {**target, "values": {"shadow": "Shadow", "active": active}}}


class Lifecycle(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.ledger = Ledger()
        self.ended: dict[str, str] = {}
        self.checked = 0
        self.uids = 1

    # -- the operator

    @initialize(minimum=st.integers(1, 3), period=st.sampled_from(["0s", "30m", "2h"]))
    def begin(self, minimum: int, period: str) -> None:
        self.world.edit(**_observation(minimum, period))

    @rule(times=st.integers(1, 6))
    def reconcile(self, times: int) -> None:
        for _ in range(times):
            self._step(None)

    @rule(crash=st.sampled_from(Crash))
    def reconcile_and_crash(self, crash: Crash) -> None:
        before = self.world.status.evidence
        self._step(crash)
        if crash is Crash.BEFORE_STATUS:
            assert self.world.status.evidence == before

    def _step(self, crash: Crash | None) -> None:
        told = self.world.reasons.count(Reason.PROMOTED)
        self.world.step(crash)
        if self.world.reasons.count(Reason.PROMOTED) > told:
            self._every_replica_has_loaded_it()
        self.ledger.record(self.world)

    def _every_replica_has_loaded_it(self) -> None:
        world = self.world
        if world.component["spec"].get("confirmation"):
            assert world.loaded, "nobody was asked"
            assert set(world.loaded.values()) == {"Active"}

    # -- runs

    @precondition(lambda self: self._open_runs())
    @rule(data=st.data(), phase=st.sampled_from(VERDICTS), shown=st.sampled_from(SHOWN))
    def a_run_ends(self, data: st.DataObject, phase: str, shown: dict[str, str]) -> None:
        shown = {} if phase == "Passed" else shown
        self._end(data.draw(st.sampled_from(self._open_runs())), phase, **shown)

    @rule(data=st.data(), behind=st.booleans())
    def a_run_vanishes_or_the_cache_is_behind(self, data: st.DataObject, behind: bool) -> None:
        world = self.world
        world.cached = dict(world.runs) if behind else None
        if world.runs and not behind:
            gone = data.draw(st.sampled_from(sorted(world.runs)))
            world.runs = {name: run for name, run in world.runs.items() if name != gone}

    def _end(self, name: str, phase: str, **shown: str) -> None:
        self.ended[name] = phase
        self.world.end_run(phase, name, **shown)

    def _open_runs(self) -> list[str]:
        runs = self.world.runs
        return sorted((n for n in runs if "status" not in runs[n]), key=lambda n: int(n.rsplit("-", 1)[1]))

    # -- people and other controllers (one rule each, so that the operator has its turn as often as they)

    @rule(
        spec=st.one_of(
            st.fixed_dictionaries(
                {
                    "mode": st.sampled_from(["Active", "Active", "Shadow"]),
                    "suspend": st.sampled_from([False, False, True]),
                }
            ),
            st.fixed_dictionaries({"revision": st.sampled_from(["v1", "v2"])}),
            st.builds(_observation, st.integers(1, 4), st.sampled_from(["0s", "1h", "3h"])),
            st.builds(_guard, st.sampled_from(["Demote", "Alert"])),
            st.fixed_dictionaries(
                {"promotion": st.fixed_dictionaries({"approval": st.sampled_from(["Automatic", "Manual"])})}
            ),
            st.fixed_dictionaries(
                {
                    "driftPolicy": st.sampled_from(["Report", "Revert"]),
                    "deletionPolicy": st.sampled_from(["Retain", "RevertToShadow"]),
                }
            ),
            st.builds(_values, st.sampled_from(["Active", "Active", "On"])),
        )
    )
    def somebody_edits_the_spec(self, spec: dict[str, Any]) -> None:
        self.world.edit(**spec)

    @rule(
        verb=st.sampled_from(VERBS),
        unique=st.integers(1, 3),
        present=st.sampled_from([True, True, True, False]),
        why=st.sampled_from(["because", "because", None]),
        stays=st.booleans(),
    )
    def somebody_asks(self, verb: str, unique: int, present: bool, why: str | None, stays: bool) -> None:
        epoch = self.world.status.epoch if present else "0123456789abcdef"
        self.world.annotate(**{verb: f"{epoch}/{unique}", "reason": why})
        self._step(None)
        if not stays:
            self.world.annotate(**{verb: None, "reason": None})

    @rule(
        suite=st.sampled_from(["as it was", "as it was", *SUITES]),
        siblings=st.sampled_from(["alone", "alone", *SIBLINGS]),
        promoting=st.booleans(),
        older=st.sampled_from([None, None, None, "older"]),
    )
    def what_is_around_it_changes(
        self, suite: str, siblings: str, promoting: bool, older: str | None
    ) -> None:
        world = self.world
        world.suite, world.claimed_by = SUITES[suite], older
        since = world.now if promoting else None
        world.siblings = tuple(
            sibling(s.mode, revision=s.revision, promoting_since=since) for s in SIBLINGS[siblings]
        )

    @rule(
        value=st.sampled_from(["Shadow", "Active", "Off", "On", None]),
        how=st.sampled_from(["written", "written", "replaced", "deleted"]),
    )
    def somebody_else_writes_the_key(self, value: str | None, how: str) -> None:
        if how == "written" and self.world.config_map:
            self.world.write(value)
        else:
            self.uids += 1
            self.world.config_map = None if how == "deleted" else target(value, uid=f"cm-{self.uids}")

    @rule(
        how=st.sampled_from(
            ["all load it", "all load it", "one loads it", "one comes", "all go", "nobody says anything"]
        ),
        asked=st.sampled_from([CONFIRMATION, CONFIRMATION, None]),
    )
    def the_replicas_of_the_consumer_do_something(self, how: str, asked: Any) -> None:
        world = self.world
        if world.component["spec"].get("confirmation") != asked:
            world.edit(confirmation=asked)
        match how:
            case "all load it":
                world.load()
            case "one loads it":
                world.loaded = {**(world.loaded or {"agent-b": "Shadow"}), "agent-a": world.value}
            case "one comes":
                world.loaded = {**(world.loaded or {}), f"agent-{self.uids}": "Shadow"}
            case "all go":
                world.loaded = {}
            case "nobody says anything":
                world.loaded = None

    # -- time

    @rule(times=st.integers(1, 8))
    def time_goes_on_and_runs_pass(self, times: int) -> None:
        for _ in range(times):
            self._step(None)
            if self._open_runs():
                self._end(self._open_runs()[-1], "Passed")
            elif self.world.wake:
                self.world.now = max(self.world.now, self.world.wake)
            self.active_by_our_hand_only_on_evidence()

    @rule(span=st.sampled_from([-90, -1, 60, 1200, 2700, 14400]))
    def the_clock_jumps(self, span: int) -> None:
        self.world.pass_time(seconds=span)

    # -- the promises

    @invariant()
    def active_by_our_hand_only_on_evidence(self) -> None:
        writes, self.checked = self.world.writes[self.checked :], len(self.world.writes)
        for write in writes:
            if write.value != "Shadow":
                self._justified(write)

    def _justified(self, write: Write) -> None:
        spec, status = write.snapshot.component.spec, write.snapshot.component.status
        assert spec.mode is Mode.ACTIVE
        assert not spec.suspend
        assert not isinstance(write.snapshot.suite, Problem)
        assert write.snapshot.claimed_by is None
        assert status.evidence is not None
        assert status.epoch == epoch_of(spec, write.snapshot.suite)
        assert status.context == context_of(write.snapshot.siblings)
        assert self.ledger.epoch[1] not in self.ledger.failed
        assert status.block is None or status.block.epoch != status.epoch
        asked = status.confirmation
        if spec.confirmation is not None and asked is not None and asked.mode is Mode.SHADOW:
            assert asked.state is ConfirmationState.CONFIRMED
        if spec.promotion.approval is ApprovalPolicy.MANUAL:
            assert status.approval is not None
            assert status.approval.approved_at is not None
            assert (status.approval.epoch, status.approval.context) == (status.epoch, status.context)
            assert status.verbs is not None
            assert status.verbs.approve is not None
        if spec.deletion_policy is DeletionPolicy.REVERT_TO_SHADOW:
            assert FINALIZER in write.snapshot.component.metadata.finalizers
        passed = {
            name
            for name, made_for in self.ledger.made_for.items()
            if made_for == self.ledger.present() and self.ended.get(name) == "Passed"
        }
        assert len(passed) >= spec.observation.min_passing_runs
        assert status.observation is not None
        assert status.observation.started_at is not None
        end = status.observation.started_at + spec.observation.period.delta
        assert any(
            run.name in passed and run.started_at and run.started_at >= end for run in status.evidence.runs
        )

    @invariant()
    def no_number_is_used_for_two_runs(self) -> None:
        counted = self.world.status.evidence.runs if self.world.status.evidence else ()
        assert len({run.uid for run in counted}) == len({run.name for run in counted}) == len(counted)
        numbers = [int(name.rsplit("-", 1)[1]) for name in self.world.runs]
        assert len(set(numbers)) == len(numbers)

    @invariant()
    def deciding_again_decides_the_same_and_comes_to_rest(self) -> None:
        world = self.world
        first, again = world.decide(), world.decide()
        assert first == again
        kept = world.component
        try:
            for _ in range(8):
                plan = world.decide()
                if plan.status.to_dict() == (world.component.get("status") or {}):
                    assert (
                        plan.actions
                        or plan.wake_at is None
                        or plan.wake_at > world.now.replace(microsecond=0)
                    )
                    self._a_second_later_nothing_is_written(plan)
                    return
                world.component = {**world.component, "status": plan.status.to_dict()}
            raise AssertionError("the status does not come to rest")
        finally:
            world.component = kept

    def _a_second_later_nothing_is_written(self, plan: Plan) -> None:
        later = self.world.now + timedelta(seconds=1)
        if plan.wake_at is None or plan.wake_at > later:
            assert decide(self.world.snapshot(), later).status == plan.status

    @invariant()
    def a_token_is_handled_once(self) -> None:
        verbs = self.world.status.verbs
        handled = verbs.handled if verbs else ()
        assert len(set(handled)) == len(handled)
        answers = [(t.at, t.message) for t in self.world.told if t.reason in ("VerbAccepted", "VerbRefused")]
        assert len(answers) <= len(handled)

    @invariant()
    def what_was_retried_stays_on_record(self) -> None:
        status = self.world.status
        assert len(status.past_failures) >= min(status.attempts, 10)

    @invariant()
    def only_the_run_that_status_names_is_created(self) -> None:
        plan = self.world.decide()
        named = plan.status.current_run.name if plan.status.current_run else None
        assert all(action.name == named for action in plan.actions if isinstance(action, CreateRun))

    # -- liveness

    def teardown(self) -> None:
        """After that, quiet, and a revision that passes: it ends Active, by our hand and for our reason."""
        world = self.world
        world.cached, world.suite, world.siblings, world.claimed_by = None, SUITES["as it was"], (), None
        if (
            world.config_map is None
            or world.status.promotion is None
            or world.value not in ("Shadow", "Active")
        ):
            world.config_map = target("Shadow", uid="cm-last")
        world.edit(
            revision="healthy",
            mode="Active",
            suspend=False,
            promotion={"approval": "Automatic"},
            **_values("Active"),
        )
        for _ in range(120):
            self._step(None)
            self.active_by_our_hand_only_on_evidence()
            world.load()
            for name in self._open_runs():
                self._end(name, "Passed")
                world.wake = world.now
            promotion = world.status.promotion
            if world.phase is ComponentPhase.ACTIVE and promotion and promotion.revision == "healthy":
                assert promotion.cause == Reason.PROMOTED, "adopted"
                assert world.value == "Active"
                return
            if world.wake is None:
                break
            world.now = max(world.now, world.wake)
        raise AssertionError(f"a healthy component is {world.phase}: {world.status.last_transition}")


Lifecycle.TestCase.settings = settings(
    max_examples=int(os.environ.get("RCA_LIFECYCLE_EXAMPLES", "25")),
    stateful_step_count=30,
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    database=None,
    report_multiple_bugs=False,
    phases=[Phase.generate, Phase.shrink] if os.environ.get("RCA_SHRINK") else [Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestLifecycle = Lifecycle.TestCase
