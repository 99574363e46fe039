"""What runs is not what was promoted: another revision, another image under one name, another input.

Aspects: words that name no revision and words that do, Demote and Hold, rolled forth and back, rollouts under way, moved
tags, inputs that change and come back, somebody else's words, verbs and deletion while a word is held.
"""

from __future__ import annotations

from typing import Any

import pytest
from rca_testing import samples, suites
from rca_testing.lifecycle_world import World

from rca_rollout.api.common import ComponentPhase, ConditionType
from rca_rollout.api.reasons import Reason
from rca_rollout.core.lifecycle.finalizer import FINALIZER
from rca_rollout.core.problem import Problem
from rca_rollout.core.revision import Running, Unsettled

A, B, C = ("sha256:" + letter * 64 for letter in "abc")
WORKLOAD = {"kind": "Deployment", "name": "agent"}
TARGET = samples.minimal("RcaComponent")["spec"]["target"]
BOUND = {**TARGET, "values": {"shadow": "Shadow", "active": "Active@{revision}"}}
HOLD = {"onNewRevision": "Hold"}


def runs(revision: str, digest: str | None = None, prompt: str | None = None) -> Running:
    inputs = (("input system.txt of ConfigMap prompts", prompt),) if prompt else ()
    return Running(revision, f"agent@{digest}" if digest else None, digest, inputs)


def rolling(coming: str, *seen: Running) -> Unsettled:
    return Unsettled(Reason.ROLLOUT_IN_PROGRESS, "Deployment agent is being rolled", seen=seen, coming=coming)


def world(running: Running, *, bound: bool = True, **spec: Any) -> World:
    """Promoted with what runs. Its spec names the revision, so that it is not polled: the roads are as long as others."""
    made = World(**({"target": BOUND} if bound else {}), **spec)
    made.edit(revision=running.revision)
    made.running = running
    made.observe_to_the_end()
    assert made.phase is ComponentPhase.ACTIVE, made.status.last_transition
    assert made.value == (f"Active@{running.revision}" if bound else "Active")
    return made


def roll(live: World, running: Running | Problem) -> World:
    live.running = running
    if isinstance(running, Running) and "revision" in live.component["spec"]:
        live.edit(revision=running.revision)
    live.pass_time(seconds=10)
    live.settle()
    return live


def why(live: World) -> str:
    return str(live.status.condition(ConditionType.PROMOTED).reason)  # type: ignore[union-attr]


R6, R7 = runs("r6", A), runs("r7", B)


# -- promoted under a word that names the revision


def test_the_word_that_is_written_names_the_revision_that_was_shown() -> None:
    live = world(R6)
    promotion = live.status.promotion
    assert promotion is not None
    assert (promotion.revision, promotion.image_digest, promotion.running) == ("r6", A, R6.identity)
    assert [write.value for write in live.writes] == ["Active@r6"]


def test_another_revision_reads_the_word_as_shadow_and_the_key_is_set_to_shadow() -> None:
    live = roll(world(R6), R7)
    assert live.value == "Shadow"
    assert live.status.demotion is not None
    assert live.status.demotion.cause == Reason.REVISION_CHANGED
    assert live.phase is ComponentPhase.EVALUATING
    live.observe_to_the_end()
    assert live.value == "Active@r7"
    assert live.status.promotion is not None
    assert live.status.promotion.revision == "r7"


def test_held_the_old_word_stays_while_the_new_revision_is_evaluated_and_governs_nothing() -> None:
    live = roll(world(R6, promotion=HOLD), R7)
    assert live.value == "Active@r6"
    assert live.status.mode == "Shadow"
    assert live.status.promotion is None
    assert live.status.held is not None
    assert live.status.held.revision == "r6"
    assert live.phase is ComponentPhase.EVALUATING
    assert why(live) == Reason.REVISION_HELD
    message = live.status.condition(ConditionType.PROMOTED).message  # type: ignore[union-attr]
    assert "holds Active@r6, which r7 reads as Shadow" in message
    assert live.status.evidence is None
    live.observe_to_the_end()
    assert live.value == "Active@r7"
    live.settle()
    assert live.status.held is None


def test_rolled_back_the_promoted_revision_governs_again_and_is_guarded_at_once() -> None:
    live = world(R6, promotion=HOLD)
    promoted = live.status.promotion
    roll(live, R7)
    live.run_and_pass()
    made, writes = len(live.created), len(live.writes)
    roll(live, R6)
    assert live.phase is ComponentPhase.ACTIVE
    assert live.status.promotion == promoted
    assert live.status.held is None
    assert Reason.GOVERNS_AGAIN in live.reasons
    assert len(live.writes) == writes
    assert live.status.current_run is not None
    assert live.status.current_run.trigger == "Guard"
    assert len(live.created) == made + 1


def test_rolled_back_to_other_data_the_held_word_is_active_without_evidence() -> None:
    live = world(R6, promotion=HOLD)
    roll(live, R7)
    live.suite = suites.other_dataset()
    live.settle()
    roll(live, R6)
    assert live.status.promotion is not None
    assert live.status.promotion.cause == Reason.ACTIVE_WITHOUT_EVIDENCE


def test_rolled_back_to_the_name_with_another_image_the_word_is_put_back() -> None:
    live = roll(roll(world(R6, promotion=HOLD), R7), runs("r6", C))
    assert live.value == "Shadow"
    assert live.status.promotion is None
    assert live.status.held is None


@pytest.mark.parametrize("policy", [HOLD, {}])
def test_another_image_under_the_promoted_name_is_put_back_whatever_the_policy(
    policy: dict[str, str],
) -> None:
    live = roll(world(R6, promotion=policy), runs("r6", B))
    assert live.value == "Shadow"
    assert "another image" in live.status.demotion.message  # type: ignore[union-attr,operator]


@pytest.mark.parametrize("policy", [HOLD, {}])
@pytest.mark.parametrize("digest", [A, None])
def test_another_input_under_the_promoted_name_is_put_back_whatever_the_policy(
    policy: dict[str, str], digest: str | None
) -> None:
    live = roll(world(runs("r6", digest, "one"), promotion=policy), runs("r6", digest, "two"))
    assert live.value == "Shadow"
    demotion = live.status.demotion
    assert demotion is not None
    assert demotion.cause == Reason.INPUT_CHANGED
    assert "system.txt of ConfigMap prompts" in str(demotion.message)


# -- a word that names none


def test_a_word_without_a_revision_is_put_back_while_the_rollout_is_under_way() -> None:
    live = roll(world(R6, bound=False), rolling("r7", R6))
    assert live.value == "Shadow"
    assert live.status.demotion is not None
    assert live.status.demotion.cause == Reason.REVISION_CHANGED


def test_a_restart_of_what_was_promoted_changes_nothing_but_is_waited_for() -> None:
    live = roll(world(R6, bound=False), rolling("r6", R6))
    assert live.value == "Active"
    assert live.phase is ComponentPhase.ACTIVE
    assert live.why(ConditionType.RECONCILING) == ("True", "RolloutInProgress")
    roll(live, R6)
    assert live.why(ConditionType.RECONCILING) is None
    assert live.status.promotion is not None


def test_one_pod_with_a_moved_tag_beside_the_promoted_ones_is_enough() -> None:
    differ = Unsettled(
        Reason.IMAGES_DIFFER, "Pods differ", stalled=True, seen=(R6, runs("r6", B)), coming="r6"
    )
    assert roll(world(R6, bound=False), differ).value == "Shadow"
    assert roll(world(R6, promotion=HOLD), differ).value == "Shadow"


def test_held_words_are_left_alone_while_a_rollout_is_under_way() -> None:
    live = roll(world(R6, promotion=HOLD), rolling("r7", R6, R7))
    assert live.value == "Active@r6"
    assert live.status.mode == "Active"
    assert roll(live, R7).value == "Active@r6"
    assert live.status.mode == "Shadow"


@pytest.mark.parametrize("bound", [True, False])
def test_nothing_that_runs_is_no_reason_to_switch_and_no_evidence(bound: bool) -> None:
    nothing = Unsettled(Reason.WORKLOAD_NOT_RUNNING, "scaled to 0", stalled=True)
    live = roll(world(R6, bound=bound), nothing)
    assert live.phase is ComponentPhase.ACTIVE
    assert live.why(ConditionType.STALLED) == ("True", "WorkloadNotRunning")


# -- before a promotion


@pytest.mark.parametrize(
    "problem",
    [
        rolling("r6", R6),
        Problem(
            Reason.INPUT_NOT_FOUND, "input system.txt of ConfigMap prompts: ConfigMap prompts does not exist"
        ),
        Problem(Reason.REVISION_UNNAMED, "no annotation", stalled=True),
    ],
)
def test_what_is_not_known_to_run_is_never_evaluated_and_its_time_does_not_count(problem: Problem) -> None:
    live = World(target=BOUND)
    live.running = runs("v1", None, "one")
    live.run_and_pass()
    live.pass_time(minutes=10)
    live.settle()
    live.running = problem
    live.pass_time(minutes=1)
    live.settle()
    made = len(live.created)
    held = live.status.observation
    live.pass_time(hours=5)
    live.settle()
    assert live.phase is ComponentPhase.PENDING
    assert live.why(ConditionType.READY) == ("False", problem.reason)
    assert len(live.created) == made
    assert live.value == "Shadow"
    live.running = runs("v1", None, "one")
    live.settle()
    assert live.status.evidence is not None
    assert live.status.evidence.passing >= 1
    assert live.status.observation is not None
    assert held is not None
    assert live.phase is ComponentPhase.OBSERVING
    ends = live.status.observation.ends_at
    assert ends is not None
    assert ends > live.now, "five hours in which nobody knew what ran are no observation"


def test_a_changed_input_begins_anew_and_is_named_without_its_value() -> None:
    live = World()
    live.running = runs("v1", None, "digest-of-one")
    live.run_and_pass()
    assert live.status.evidence is not None
    old = live.status.epoch
    live.running = runs("v1", None, "digest-of-two")
    live.settle()
    said = [told for told in live.told if told.reason == Reason.OBSERVATION_RESET]
    assert [told.message for told in said] == [
        "input system.txt of ConfigMap prompts changed: all evidence starts anew"
    ]
    assert live.status.epoch != old
    assert live.status.evidence is None


def test_an_input_that_comes_back_brings_no_evidence_back() -> None:
    live = World()
    live.running = runs("v1", None, "one")
    live.run_and_pass()
    first = live.status.epoch
    live.running = runs("v1", None, "two")
    live.settle()
    live.running = runs("v1", None, "one")
    live.settle()
    assert live.status.epoch == first
    assert live.status.evidence is None
    assert live.phase is ComponentPhase.EVALUATING
    live.observe_to_the_end()
    assert live.phase is ComponentPhase.ACTIVE


def test_a_run_of_before_the_input_came_back_is_not_counted() -> None:
    live = World()
    live.running = runs("v1", None, "one")
    live.settle()
    (before,) = live.created
    live.running = runs("v1", None, "two")
    live.settle()
    live.running = runs("v1", None, "one")
    live.settle()
    live.end_run("Passed", before)
    live.settle()
    assert live.status.evidence is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (runs("r7", A), "the revision (now r7) changed"),
        (runs("r6", B), "the workload's image changed"),
        (
            runs("r7", B, "one"),
            "input system.txt of ConfigMap prompts, the revision (now r7), the workload's image",
        ),
    ],
)
def test_a_new_epoch_says_which_part_of_it_changed(change: Running, words: str) -> None:
    live = world(R6, mode="Active")
    live.edit(mode="Shadow")
    live.settle()
    live.edit(mode="Active")
    live.settle()
    roll(live, change)
    assert live.status.last_transition is not None
    assert words in " ".join(told.message for told in live.told if told.reason == Reason.OBSERVATION_RESET)


# -- other people's words


def test_the_candidates_word_set_by_somebody_is_active_without_evidence() -> None:
    live = roll(world(R6, promotion=HOLD), R7)
    live.write("Active@r7")
    live.settle()
    assert live.status.mode == "Active"
    assert live.status.promotion is not None
    assert live.status.promotion.cause == Reason.ACTIVE_WITHOUT_EVIDENCE
    assert live.status.held is None


def test_the_candidates_word_is_taken_back_where_the_policy_says_so() -> None:
    live = roll(world(R6, promotion=HOLD, driftPolicy="Revert"), R7)
    live.write("Active@r7")
    live.settle()
    assert live.value == "Shadow"
    assert live.status.promotion is None


def test_another_revisions_word_over_the_promoted_one_is_a_switch_to_shadow() -> None:
    live = world(R6)
    live.write("Active@r5")
    live.settle()
    assert live.status.mode == "Shadow"
    assert live.phase is ComponentPhase.BLOCKED
    assert why(live) == Reason.EXTERNAL
    assert "Active@r5, which r6 reads as Shadow" in live.status.demotion.message  # type: ignore[union-attr,operator]
    assert live.value == "Active@r5"


@pytest.mark.parametrize("value", ["Active@", "Active@r 6", "Active", "active@r6"])
def test_a_word_that_is_none_is_unknown_and_nothing_is_written(value: str) -> None:
    live = World(target=BOUND)
    live.write(value)
    live.settle()
    assert live.status.mode == "Unknown"
    assert not live.writes


def test_a_promotion_that_landed_when_the_next_revision_was_there_is_put_back() -> None:
    """The write was sent, the process died, the image was rolled: the key holds the word of what runs no more."""
    live = World(target=BOUND)
    live.edit(revision="r6")
    live.running = R6
    for _ in range(400):
        live.step()
        if live.status.intent:
            break
        if live.status.current_run and live.status.current_run.name in live.runs:
            live.end_run("Passed")
        elif live.wake:
            live.now = max(live.now, live.wake)
    assert live.status.intent is not None
    live.write(live.status.intent.value)
    roll(live, R7)
    assert live.value == "Shadow"
    assert live.status.demotion is not None
    assert live.status.demotion.cause == Reason.REVISION_CHANGED
    assert live.status.promotion is None


# -- what people ask for while a word is held


def test_a_demotion_asks_for_the_held_word_to_go() -> None:
    live = roll(world(R6, promotion=HOLD), R7)
    live.ask("demote", reason="not this one either")
    live.settle()
    assert live.value == "Shadow"
    assert live.phase is ComponentPhase.BLOCKED


def test_the_wish_for_shadow_is_the_wish_that_the_held_word_goes() -> None:
    live = roll(world(R6, promotion=HOLD), R7)
    live.edit(mode="Shadow")
    live.settle()
    assert live.value == "Shadow"


def test_a_held_word_that_goes_is_held_against_nobody() -> None:
    """It was our own: it must not count as one more write of somebody that keeps setting the key."""
    live = roll(world(R6, promotion=HOLD), R7)
    live.edit(mode="Shadow")
    live.settle()
    assert live.value == "Shadow"
    assert not (live.status.drift and (live.status.drift.put_back or live.status.drift.manager))
    demotion = live.status.demotion
    assert demotion is not None
    assert demotion.promotion is not None
    assert demotion.promotion.revision == "r6"


def test_demote_in_place_of_hold_lets_the_held_word_go() -> None:
    live = roll(world(R6, promotion=HOLD), R7)
    live.edit(promotion={"onNewRevision": "Demote"})
    live.settle()
    assert live.value == "Shadow"


def test_a_held_word_is_put_back_before_its_component_is_deleted() -> None:
    live = roll(world(R6, promotion=HOLD, deletionPolicy="RevertToShadow"), R7)
    assert live.finalizers == [FINALIZER]
    live.delete()
    live.running = None
    for _ in range(10):
        live.step()
    assert live.gone
    assert live.value == "Shadow"


def test_a_workload_in_place_of_a_revision_is_a_new_revision() -> None:
    live = world(runs("r6"))
    named = {name: value for name, value in live.component["spec"].items() if name != "revision"}
    live.component = {**live.component, "spec": {**named, "workloadRef": WORKLOAD}}
    roll(live, R6)
    assert live.value == "Shadow"
    assert live.phase is ComponentPhase.EVALUATING


def test_two_images_for_one_evaluation_are_refused() -> None:
    live = World()
    live.suite = suites.facts(job={"image": "registry.example/e:1"})
    live.running = R6
    live.settle()
    assert live.why(ConditionType.STALLED) == ("True", "ImageNamedTwice")
    assert not live.created


def test_steady_state_writes_nothing_while_a_word_is_held() -> None:
    live = roll(world(R6, promotion=HOLD), R7)
    before = live.status_writes
    for _ in range(5):
        live.pass_time(seconds=3)
        live.step()
    assert live.status_writes == before
