"""Whatever is rolled, moved, edited and written, in whatever order: what governs was shown, or is known not to have been.

The oracle is a consumer: it knows its own revision and reads the key. It is Active when the word says so; then the status
must say on what, and evidence must be evidence for exactly the image and the inputs that run.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rca_testing import samples
from rca_testing.lifecycle_world import Crash, World

from rca_rollout.api.reasons import Reason
from rca_rollout.core.problem import Problem
from rca_rollout.core.revision import Running, Unsettled

TARGET = samples.minimal("RcaComponent")["spec"]["target"]
WORD = "Active@{revision}"
PROMPT = "input system.txt of ConfigMap prompts"
UNPROVEN = {Reason.ADOPTED, Reason.ACTIVE_WITHOUT_EVIDENCE}

runnings = st.builds(
    lambda revision, digest, prompt: Running(
        revision, f"agent@sha256:{digest * 64}", f"sha256:{digest * 64}", ((PROMPT, prompt),)
    ),
    st.sampled_from(["r6", "r7"]),
    st.sampled_from("ab"),
    st.sampled_from(["one", "two"]),
)
problems = st.one_of(
    st.builds(
        lambda coming, seen: Unsettled(
            Reason.ROLLOUT_IN_PROGRESS, "being rolled", seen=tuple(seen), coming=coming
        ),
        st.sampled_from(["r6", "r7"]),
        st.lists(runnings, max_size=2),
    ),
    st.just(Problem(Reason.INPUT_NOT_FOUND, "gone")),
)
events = st.one_of(
    st.tuples(st.just("runs"), runnings),
    st.tuples(st.just("unclear"), problems),
    st.tuples(
        st.just("writes"), st.sampled_from(["Shadow", "Active", "Active@r6", "Active@r7", "Active@r5"])
    ),
    st.tuples(st.just("edits"), st.sampled_from([{"mode": "Shadow"}, {"mode": "Active"}])),
    st.tuples(st.just("passes"), st.integers(1, 12)),
    st.tuples(st.just("passes"), st.integers(6, 12)),
    st.tuples(st.just("crashes"), st.sampled_from(list(Crash))),
)


class Ledger:
    """How many runs passed for what ran when each was made."""

    def __init__(self, world: World) -> None:
        self.world, self.made_for, self.passed, self.writes = world, dict[str, Any](), Counter[str](), 0

    def note(self) -> None:
        now = self.world.running
        for name in self.world.created:
            self.made_for.setdefault(name, now.identity if isinstance(now, Running) else None)

    def passes(self, times: int) -> None:
        world = self.world
        for _ in range(times):
            world.settle()
            self.note()
            current = world.status.current_run
            if current and current.name in world.runs:
                world.pass_time(minutes=1)
                world.end_run("Passed")
                self.passed[str(self.made_for[current.name])] += 1
                world.settle()
                self.note()
            elif world.wake:
                world.now = max(world.now, world.wake)
            self.check()

    def check(self) -> None:
        world = self.world
        for write in world.writes[self.writes :]:
            running = write.snapshot.running
            if write.value != "Shadow":
                assert isinstance(running, Running), "written while nobody knew what runs"
                assert write.value == write.snapshot.active_value
                assert self.passed[running.identity] >= 3, "written without evidence for what runs"
        self.writes = len(world.writes)


def active_at_the_consumer(world: World, running: Running) -> bool:
    values = world.snapshot().component.spec.target.values
    return world.value == values.active.replace("{revision}", running.revision)


@settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    database=None,
)
@given(
    story=st.lists(events, min_size=3, max_size=10),
    bound=st.booleans(),
    hold=st.booleans(),
    revert=st.booleans(),
    promoted=st.sampled_from([True, True, False]),
)
def test_what_governs_was_shown_or_is_known_not_to_have_been(
    story: list[tuple[str, Any]], bound: bool, hold: bool, revert: bool, promoted: bool
) -> None:
    values = {"shadow": "Shadow", "active": WORD if bound else "Active"}
    policy = {"onNewRevision": "Hold"} if hold and bound else {}
    observation = {"period": "30m", "interval": "10m", "minPassingRuns": 3}
    world = World(
        target={**TARGET, "values": values},
        promotion=policy,
        observation=observation,
        driftPolicy="Revert" if revert else "Report",
    )
    world.running = Running("r6", "agent@sha256:a", "sha256:" + "a" * 64, ((PROMPT, "one"),))
    ledger = Ledger(world)
    ledger.passes(14 if promoted else 0)
    for what, detail in story:
        match what:
            case "runs" | "unclear":
                world.running = detail
            case "writes":
                world.write(detail)
            case "edits":
                world.edit(**detail)
            case "crashes":
                world.step(detail)
            case "passes":
                ledger.passes(detail)
        ledger.note()
        world.settle(40)
        ledger.note()
        ledger.check()
        _what_stands(world, ledger)


def _what_stands(world: World, ledger: Ledger) -> None:
    status, running = world.status, world.running
    for record in (status.promotion, status.held):
        if record and record.cause not in UNPROVEN:
            assert ledger.passed[str(record.running)] >= 3
    if any(condition.reason == Reason.CONFIG_CONFLICT for condition in status.conditions):
        return  # somebody keeps writing it: told, and tried again
    promoted = status.promotion
    if isinstance(running, Unsettled) and promoted and promoted.cause not in UNPROVEN:
        for pod in running.seen:
            if active_at_the_consumer(world, pod):
                assert (pod.revision, pod.digest) == (promoted.revision, promoted.image_digest)
    if not isinstance(running, Running) or not active_at_the_consumer(world, running):
        return
    assert status.mode == "Active"
    assert status.promotion is not None, status.last_transition
    assert status.promotion.running == running.identity
