"""What the API server refuses: said where a person looks, once, and only as long as it is wanted.

Aspects: the key (towards Active), the run; the same refusal again; what is not wanted any more; a promotion that is
intended again and again is told once. (A real server refuses in the ring *node*.)
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from rca_testing import evidence
from rca_testing.lifecycle_world import World
from rca_testing.run_world import Road, reading

from rca_rollout.api import RcaComponent, RcaComponentStatus, parse
from rca_rollout.api.common import ConditionType
from rca_rollout.api.reasons import Reason
from rca_rollout.core.lifecycle.refusal import Refusal, show_refusal
from rca_rollout.core.lifecycle.snapshot import CreateRun, WriteKey
from rca_rollout.core.runs import CreateJob, DeleteJob, ReleaseJob, RunAction, StoreScorecard, refused

QUICK = {"period": "0s", "interval": "1s", "minPassingRuns": 1}
KEY = Refusal(Reason.WRITE_FAILED, 'configmaps "modes" is forbidden: not today')
RUN = Refusal(Reason.RUN_REFUSED, "exceeded quota: runs")


def _promoting() -> World:
    """A world that has decided to write the key, and not written it."""
    world = World(observation=QUICK)
    for _ in range(40):
        plan = world.decide()
        if any(isinstance(action, WriteKey) for action in plan.actions):
            return world
        current = world.status.current_run
        if current and current.name in world.runs and current.uid:
            world.end_run("Passed")
        world.step()
        world.now += timedelta(seconds=2)
    raise AssertionError(world.status)


def _shown(world: World, refusal: Refusal) -> RcaComponentStatus:
    component = parse(RcaComponent, world.component)
    assert isinstance(component, RcaComponent)
    return show_refusal(component, world.decide().status, refusal, world.now)


def _keep(world: World, status: RcaComponentStatus) -> None:
    world.component["status"] = status.to_dict()


def test_a_refused_write_of_the_key_is_a_matter_for_a_person_and_says_which_key_and_why() -> None:
    status = _shown(_promoting(), KEY)
    for kind, value in (
        (ConditionType.PROMOTED, "False"),
        (ConditionType.READY, "False"),
        (ConditionType.STALLED, "True"),
    ):
        found = status.condition(kind)
        assert found is not None
        assert (found.status, found.reason) == (value, "WriteFailed")
        assert "of ConfigMap modes to Active: " + KEY.message in found.message
        assert "change what refuses it" in found.message
    assert status.condition(ConditionType.RECONCILING) is None
    assert status.last_transition is not None
    assert (status.last_transition.reason, status.last_transition.type) == ("WriteFailed", "Warning")


def test_a_refused_run_keeps_the_component_ready_and_says_why_there_is_no_verdict() -> None:
    world = World()
    while not any(isinstance(action, CreateRun) for action in world.decide().actions):
        _keep(world, world.decide().status)
    status = _shown(world, RUN)
    evaluated, ready = status.condition(ConditionType.EVALUATED), status.condition(ConditionType.READY)
    assert evaluated is not None
    assert ready is not None
    assert (evaluated.status, evaluated.reason) == ("Unknown", "RunRefused")
    assert RUN.message in evaluated.message
    assert ready.status == "True"


def test_the_same_refusal_is_written_once() -> None:
    world = _promoting()
    _keep(world, _shown(world, KEY))
    before = world.component["status"]
    world.now += timedelta(seconds=5)
    assert _shown(world, KEY).to_dict() == before


def test_an_intention_that_is_renewed_because_of_a_refusal_is_not_told_again() -> None:
    world = _promoting()
    _keep(world, _shown(world, KEY))
    told = world.status.last_transition
    moved = world.status.condition(ConditionType.READY)
    for _ in range(5):
        world.now += timedelta(seconds=40)
        _keep(world, _shown(world, KEY))
        assert world.status.intent is not None
    assert world.status.last_transition == told
    assert world.status.condition(ConditionType.READY) == moved


def test_a_refusal_is_over_when_nobody_wants_the_thing_any_more() -> None:
    world = _promoting()
    assert KEY.wanted(world.decide().status)
    assert not RUN.wanted(world.decide().status)
    world.component["spec"]["mode"] = "Shadow"
    world.settle()
    assert not KEY.wanted(world.status)


@pytest.mark.parametrize(
    ("action", "reason", "what"),
    [
        (CreateJob({}), "JobRefused", "the API server refused the Job: exceeded quota"),
        (
            StoreScorecard(reading(evidence.scorecard(dataset_sha256="0" * 64), stored=False)),
            "ScorecardRefused",
            "for the scorecard: exceeded quota",
        ),
    ],
)
def test_an_evaluation_without_its_job_or_its_scorecard_says_which_of_them_was_refused(
    action: RunAction, reason: str, what: str
) -> None:
    road = Road().running()
    plan = refused(road.snapshot(), action, "exceeded quota", road.now)
    assert plan is not None
    assert (plan.status.phase, plan.status.reason) == ("Error", reason)
    assert what in (plan.status.message or "")
    assert "change what refuses it" in (plan.status.message or "")


@pytest.mark.parametrize("action", [DeleteJob("job", "uid"), ReleaseJob("job", "uid", 600)])
def test_a_verdict_stands_when_its_job_may_not_be_tidied_away(action: RunAction) -> None:
    road = Road().running()
    assert refused(road.snapshot(), action, "not today", road.now) is None
