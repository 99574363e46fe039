"""Short orders of events, each of which a fault of `broken.py` would turn into a broken promise. On the core as it is none does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rca_rollout.runtime.queue import Key
from rca_testing.lifecycle_world import GUARD
from rca_testing.model import agent
from rca_testing.model.consumers import CONFIRMATION, Says
from rca_testing.model.installation import OBSERVATION
from rca_testing.model.jobs import Broken, Honest, Lie
from rca_testing.model.machine import BOUND, CONDITION, Everything
from rca_testing.model.store import NAMESPACE

LIVE = Key("RcaComponent", NAMESPACE, "live")


def begun(*specs: Mapping[str, Any], alone: bool = True, quick: bool = True) -> Everything:
    machine = Everything()
    machine.it_begins(first=[dict(spec) for spec in specs], second=[], alone=alone, quick=quick)
    return machine


def _to_active(machine: Everything) -> None:
    for _ in range(12):
        machine._road(1)
        if machine.world.value("live") == "Active":
            machine.world.settle()
            return


def plain() -> Everything:
    machine = begun(quick=False)
    machine._road(14)
    machine._rest()
    machine._recover()
    return machine


def a_new_revision() -> Everything:
    machine = begun(quick=False)
    machine._road(4)
    machine.world.edit("live", revision="v2")
    machine._road(12)
    return machine


def a_failure_on_the_way() -> Everything:
    machine = begun()
    machine._road(12, [Honest.LOSES])
    return machine


def beside_another() -> Everything:
    machine = begun(alone=False)
    machine._road(24)
    return machine


def without_an_approval() -> Everything:
    machine = begun({"promotion": {"approval": "Manual"}})
    machine._road(10)
    return machine


def overtaken_at_the_last_moment(**spec: Any) -> Everything:
    """Somebody changes the spec when the write is decided on, and not done yet."""
    machine = begun()
    world = machine.world
    for _ in range(200):
        due = world.due()
        for key in due:
            world.reconcile(key)
            if (world.component("live") or {}).get("status", {}).get("intent"):
                world.edit("live", **spec)
                world.settle()
                return machine
        if not due and world.open_jobs():
            world.end_job(world.open_jobs()[0])
        elif not due:
            world.sleep()
    raise AssertionError("nothing was decided on")


def a_pause_in_the_observation() -> Everything:
    machine = begun(quick=False)
    machine._road(3)
    machine.world.edit("live", suspend=True)
    machine.world.settle()
    machine._time(7200.0)
    machine.world.edit("live", suspend=False)
    machine._road(6)
    return machine


def demoted_by_hand() -> Everything:
    machine = begun()
    _to_active(machine)
    machine.somebody_asks("live", "demote", 1, present=True, why="because", stays=True)
    machine._road(12)
    return machine


def two_verbs_that_stay() -> Everything:
    machine = begun()
    machine._road(2)
    for verb in ("run", "abort"):
        machine.somebody_asks("live", verb, 1, present=True, why="because", stays=True)
        machine.world.settle()
    machine._road(6)
    return machine


def with_a_finalizer() -> Everything:
    machine = begun({"deletionPolicy": "RevertToShadow"})
    machine._road(10)
    return machine


def against_a_condition() -> Everything:
    watched = {**OBSERVATION, "period": "0s", "conditions": [{**CONDITION, "role": "Signal"}]}
    machine = begun({"observation": watched})
    machine.prometheus_says(("0.9",))
    machine._road(16)
    return machine


def a_failure_that_was_only_reported() -> Everything:
    machine = begun({"guard": {**GUARD, "onRegression": "Alert"}})
    _to_active(machine)
    machine._road(4, [Honest.LOSES, Honest.LOSES])
    machine.world.edit("live", mode="Shadow")
    machine._road(2)
    return machine


def _watch(machine: Everything, times: int = 4) -> None:
    """Looks follow, and each time the consumers are asked."""
    machine.ledger.govern()
    for _ in range(times):
        machine._time(31.0)
        machine._rest()
        machine.ledger.govern()


def jobs_that_run_another_image() -> Everything:
    machine = begun({"workloadRef": agent.WORKLOAD})
    machine._road(8, [Lie.OTHER_IMAGE, Lie.NO_IMAGE] * 4)
    return machine


def another_prompt_in_the_observation() -> Everything:
    machine = begun({"workloadRef": agent.WORKLOAD, "inputs": agent.INPUTS}, quick=False)
    machine._road(8)
    machine.world.agent.prompt("two")
    machine._road(8)
    return machine


def rolled_out(*, hold: bool, half: bool = False, letter: str = "b", **spec: Any) -> Everything:
    policy = {"values": BOUND, "promotion": {"onNewRevision": "Hold"}} if hold else {}
    machine = begun({"workloadRef": agent.WORKLOAD, **policy, **spec})
    _to_active_word(machine)
    machine.world.agent.begin("r2", "b")
    if not half:
        machine.world.agent.end()
    _watch(machine)
    machine.world.agent.roll("r1", letter)
    _watch(machine)
    return machine


def _to_active_word(machine: Everything) -> None:
    for _ in range(12):
        machine._road(1)
        if str(machine.world.value("live")).startswith("Active"):
            machine.world.settle()
            return
    raise AssertionError("it never became Active")


def another_prompt_while_active() -> Everything:
    machine = begun({"workloadRef": agent.WORKLOAD, "inputs": agent.INPUTS})
    _to_active_word(machine)
    machine.world.agent.prompt("two")
    _watch(machine)
    machine.world.agent.prompt(None)
    _watch(machine)
    return machine


def promoted_and_not_confirmed(says: Says) -> Everything:
    machine = begun({"confirmation": CONFIRMATION})
    machine.world.consumers.says = says
    machine._road(12)
    return machine


def demoted_and_not_confirmed() -> Everything:
    machine = begun({"confirmation": CONFIRMATION})
    _to_active_word(machine)
    machine._road(2)
    machine.world.consumers.says = Says.NOTHING
    machine.world.edit("live", mode="Shadow")
    machine._road(2)
    machine.world.edit("live", mode="Active")
    machine._road(8)
    return machine


def beyond_the_budget() -> Everything:
    machine = begun(quick=False)
    machine.world.edit_suite(budget={"runsPerMonth": 2})
    machine._road(8, [Honest.PASSES, Broken.CRASH, Broken.CRASH])
    return machine


def in_shards(*outcomes: Any) -> Everything:
    machine = begun(quick=False)
    machine.world.edit_suite(job={"shards": 3})
    machine._road(20, outcomes)
    return machine


def another_prompt_in_the_middle_of_a_restart() -> Everything:
    machine = begun({"workloadRef": agent.WORKLOAD, "inputs": agent.INPUTS})
    _to_active_word(machine)
    machine.world.agent.begin("r1", "a")
    _watch(machine)
    machine.world.agent.prompt("two")
    _watch(machine)
    return machine


SCRIPTS: Mapping[str, Callable[[], Everything]] = {
    "plain": plain,
    "a new revision": a_new_revision,
    "a failure on the way": a_failure_on_the_way,
    "beside another": beside_another,
    "without an approval": without_an_approval,
    "held at the last moment": lambda: overtaken_at_the_last_moment(mode="Shadow"),
    "suspended at the last moment": lambda: overtaken_at_the_last_moment(suspend=True),
    "a pause in the observation": a_pause_in_the_observation,
    "demoted by hand": demoted_by_hand,
    "two verbs that stay": two_verbs_that_stay,
    "with a finalizer": with_a_finalizer,
    "against a condition": against_a_condition,
    "a failure that was only reported": a_failure_that_was_only_reported,
    "promoted, and a replica keeps the old value": lambda: promoted_and_not_confirmed(Says.OLD),
    "promoted, and a replica does not answer": lambda: promoted_and_not_confirmed(Says.NOTHING),
    "demoted, and not confirmed": demoted_and_not_confirmed,
    "in shards": in_shards,
    "in shards, all of another run": lambda: in_shards(Lie.OTHER_RUN),
    "in shards, one twice": lambda: in_shards(Lie.OTHER_SHARD),
    "beyond the budget": beyond_the_budget,
    "Jobs that run another image": jobs_that_run_another_image,
    "another prompt in the observation": another_prompt_in_the_observation,
    "another prompt in the middle of a restart": another_prompt_in_the_middle_of_a_restart,
    "another prompt while Active": another_prompt_while_active,
    "rolled out": lambda: rolled_out(hold=False),
    "half rolled out": lambda: rolled_out(hold=False, half=True),
    "held, and rolled back": lambda: rolled_out(hold=True, letter="a"),
    "held, and another image came under its name": lambda: rolled_out(hold=True),
}
