"""One evaluation: inputs once, its turn, one Job per attempt, and a verdict or a named reason why there is none."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from rca_testing import evidence, samples, suites
from rca_testing.job_states import condition, ended, job, pod
from rca_testing.run_world import EPOCH, Road, component, reading

from rca_rollout.api.common import ConditionType, RunPhase
from rca_rollout.api.values import format_time
from rca_rollout.core.problem import Problem
from rca_rollout.core.readings import Reading
from rca_rollout.core.runs import KEEP_JOB, MAX_ATTEMPTS

FAILED = condition("Failed", "BackoffLimitExceeded")
DRAINED = condition("DisruptionTarget", "EvictionByEvictionAPI", "drained")


def crashed(**more: Any) -> list[Any]:
    return [pod("Failed", {"eval-1": ended(3)}, **more)]


# -- Pending


def test_inputs_are_taken_once_before_anything_is_created() -> None:
    road = Road()
    assert road.step().actions == ()
    inputs = road.status.inputs
    assert road.status.phase is RunPhase.PENDING
    assert (inputs.epoch, inputs.context, inputs.revision) == (EPOCH, "c1", "v1")
    assert inputs.dataset_sha256 == road.suite.dataset_sha256
    assert {v.name: dict(v.modes) for v in inputs.variants} == evidence.MODES
    road.effective = {**road.effective, "Memory.Mode": "Active"}
    road.settle()
    assert road.status.inputs == inputs


def test_the_modes_of_the_others_are_measured_as_they_are_and_unknown_ones_as_shadow() -> None:
    road = Road()
    road.effective = {evidence.KEY: "Active", "Memory.Mode": "Active", "Other.Mode": "Unknown"}
    road.step()
    modes = {v.name: dict(v.modes) for v in road.status.inputs.variants}
    assert modes["AllShadow"] == {evidence.KEY: "Shadow", "Memory.Mode": "Shadow", "Other.Mode": "Shadow"}
    assert modes["Without"] == {evidence.KEY: "Shadow", "Memory.Mode": "Active", "Other.Mode": "Shadow"}
    assert modes["With"] == {evidence.KEY: "Active", "Memory.Mode": "Active", "Other.Mode": "Shadow"}


def test_without_a_component_the_modes_are_measured_as_they_are() -> None:
    road = Road(componentRef=None, epoch=None, context=None, trigger="Manual")
    road.component, road.effective = None, {evidence.KEY: "Active"}
    road.step()
    modes = {v.name: dict(v.modes) for v in road.status.inputs.variants}
    assert modes["Without"] == modes["With"] == {evidence.KEY: "Active"}
    assert modes["AllShadow"] == {evidence.KEY: "Shadow"}


def test_a_run_waits_for_its_turn_without_writing_and_takes_it() -> None:
    road = Road()
    road.admission = Problem("WaitingForTurn", "waits for its turn")
    road.settle()
    assert (road.status.phase, road.status.reason) == (RunPhase.PENDING, "WaitingForTurn")
    assert road.done == []
    road.admission = None
    road.settle()
    assert road.done == ["CreateJob"]


def test_a_missing_suite_is_waited_for() -> None:
    road = Road()
    road.suite = Problem("SuiteNotFound", "EvalSuite suite does not exist: create it")
    plan = road.step()
    assert (road.status.phase, road.status.reason) == (RunPhase.PENDING, "SuiteNotFound")
    assert plan.wake_at
    assert plan.wake_at - road.now <= timedelta(seconds=30)
    road.suite = suites.facts()
    road.running()
    assert road.status.phase is RunPhase.RUNNING


def test_a_missing_component_ends_the_run_with_its_reason() -> None:
    road = Road()
    road.component = Problem(
        "ComponentNotFound", "RcaComponent live does not exist: create it, then run again"
    )
    road.settle()
    assert (road.status.phase, road.status.reason) == (RunPhase.ERROR, "ComponentNotFound")


def test_more_components_than_a_status_can_hold_is_a_named_reason() -> None:
    road = Road()
    road.effective = {f"Component{n}.Mode": "Shadow" for n in range(65)}
    road.settle()
    assert (road.status.phase, road.status.reason) == (RunPhase.ERROR, "SuiteNotReady")
    assert "split it" in road.status.message


# -- Running


def test_the_job_is_named_in_status_before_it_is_created_and_belongs_to_the_run() -> None:
    road = Road()
    road.step()
    assert road.step().actions == ()
    assert road.status.attempts == 1
    (action,) = road.step().actions
    assert action.body["metadata"]["name"] == road.status.job_ref.name  # type: ignore[union-attr]
    assert action.body["metadata"]["ownerReferences"][0]["uid"] == "run-uid"  # type: ignore[union-attr]


def test_a_job_that_the_cache_does_not_show_yet_is_asked_for_again_under_the_same_name() -> None:
    road = Road()
    road.step()
    road.step()
    names = set()
    for _ in range(3):
        plan = road.step()
        names.add(road.status.job_ref.name)
        assert len(plan.actions) <= 1
        road.jobs = {}
    assert len(names) == 1
    assert road.status.attempts == 1


def test_a_running_job_is_left_alone_and_written_about_once() -> None:
    road = Road().running()
    assert (road.status.phase, road.done) == (RunPhase.RUNNING, ["CreateJob"])
    before = road.body
    road.now += timedelta(seconds=45)
    plan = road.step()
    assert road.body == before
    assert plan.wake_at
    assert plan.wake_at > road.now


def test_a_job_deleted_by_hand_is_an_error_and_never_a_pass() -> None:
    road = Road().running()
    road.jobs = {}
    road.settle()
    assert (road.status.phase, road.status.reason) == (RunPhase.ERROR, "JobLost")


def test_a_job_of_somebody_else_is_a_conflict_and_is_not_touched() -> None:
    road = Road()
    road.step()
    road.step()
    name = road.status.job_ref.name
    road.jobs[name] = job(name=name, owner="somebody")
    road.settle()
    assert (road.status.phase, road.status.reason) == (RunPhase.ERROR, "JobConflict")
    assert (road.done, name in road.jobs) == ([], True)


def test_a_job_replaced_by_another_is_not_believed() -> None:
    road = Road().succeeded(stored=True)
    road.job["metadata"]["uid"] = "another"
    road.step()
    assert (road.status.phase, road.status.reason) == (RunPhase.ERROR, "JobLost")


def test_a_failure_ends_the_run_with_its_reason_and_the_log_s_end() -> None:
    road = Road().running()
    road.job_ends(FAILED, pods=crashed())
    road.tail = "ValueError: no incidents"
    road.step()
    assert (road.status.phase, road.status.reason) == (RunPhase.ERROR, "EvalFailed")
    assert road.status.log_tail == "ValueError: no incidents"
    assert road.status.finished_at == road.now
    assert road.told == ["EvalFailed"]


# -- Disruptions


def test_a_disruption_is_free_and_bounded() -> None:
    road = Road()
    jobs = set()
    for attempt in range(1, MAX_ATTEMPTS + 1):
        road.running()
        assert road.status.attempts == attempt
        jobs.add(road.status.job_ref.name)
        road.job_ends(pods=[pod("Failed", {"eval-1": ended(137)}, DRAINED)])
        road.step()
        road.pods = []
    assert len(jobs) == MAX_ATTEMPTS
    assert (road.status.phase, road.status.reason) == (RunPhase.ERROR, "Evicted")
    assert f"{MAX_ATTEMPTS} attempts" in road.status.message


def test_a_disrupted_attempt_s_job_goes_and_the_next_one_waits_for_its_turn() -> None:
    road = Road().running()
    road.job_ends(pods=[pod("Failed", {"eval-1": ended(137)}, DRAINED)])
    road.admission = Problem("WaitingForTurn", "waits for its turn")
    road.settle()
    assert (road.status.phase, road.jobs) == (RunPhase.PENDING, {})
    assert road.status.job_ref is None


def test_the_reason_of_a_disruption_is_shown_while_it_is_tried_again_and_at_the_end() -> None:
    road = Road()
    gone = pod("Failed", {"eval-1": ended(137)}, reason="OutOfcpu")
    for _ in range(MAX_ATTEMPTS):
        road.running()
        road.job_ends(FAILED, pods=[gone])
        road.step()
        assert road.status.reason == "PodRejected"
        road.pods = []
    assert road.told == ["PodRejected"] * MAX_ATTEMPTS
    assert road.status.phase is RunPhase.ERROR


def test_what_the_cluster_says_of_a_pod_that_it_refused_is_told() -> None:
    road = Road().running()
    road.pods, road.job["status"] = [], {"startTime": format_time(road.now), "uncountedTerminatedPods": {}}
    road.step()
    assert (road.status.phase, road.status.reason) == (RunPhase.RUNNING, "PodRefused")
    road.now += timedelta(seconds=61)
    road.said = 'pods "x" is forbidden: exceeded quota: none'
    road.step()
    assert (road.status.phase, road.status.reason) == (RunPhase.ERROR, "PodRefused")
    assert "The cluster says" in road.status.message
    assert "exceeded quota: none" in road.status.message


def test_a_job_in_a_queue_is_waited_for_without_an_end_and_without_writing() -> None:
    road = Road().running()
    road.pods = []
    road.job["spec"] = {"suspend": True}
    road.job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "evals"}
    road.settle()
    assert (road.status.phase, road.status.reason) == (RunPhase.RUNNING, "Queued")
    assert "waits in queue evals" in road.status.message
    before = road.body
    road.now += timedelta(days=3)
    road.settle()
    assert road.body == before


def test_what_an_older_attempt_left_behind_goes_and_the_present_one_stays() -> None:
    road = Road().running()
    mine = road.status.job_ref.name
    road.jobs["left-over"] = job(name="left-over", uid="old-uid")
    road.leftovers = (("left-over", "old-uid"),)
    road.step()
    assert set(road.jobs) == {mine}
    assert road.status.phase is RunPhase.RUNNING


# -- the verdict


def test_a_scorecard_is_stored_first_and_judged_when_it_is() -> None:
    road = Road().succeeded()
    plan = road.step()
    assert [type(action).__name__ for action in plan.actions] == ["StoreScorecard"]
    assert road.status.phase is RunPhase.RUNNING
    road.step()
    assert (road.status.phase, road.status.reason) == (RunPhase.PASSED, "GatePassed")


def test_a_pass_carries_figures_checks_and_where_the_scorecard_is() -> None:
    road = Road().succeeded().settle()
    status = road.status
    assert (status.accuracy, status.delta, status.mttr, status.baseline) == (
        "1.000",
        "+0.000",
        "0.003s",
        "1.000",
    )
    assert status.scorecard.config_map_ref == "live-abcdef-1-scorecard"
    assert isinstance(road.reading, Reading)
    assert status.scorecard.sha256 == road.reading.sha256
    assert status.scorecard.deterministic_sha256 == road.reading.scorecard.deterministic_sha256()
    assert {"AC@1", "MTTR", "ProtectedIncidents"} <= {check.name for check in status.checks}
    ready = status.condition(ConditionType.READY)
    assert ready.status == "True"
    assert status.condition(ConditionType.RECONCILING) is None


def test_a_regression_fails_and_names_what_was_lost() -> None:
    card = evidence.scorecard(suites.facts().dataset_sha256, lost=("GT-01-incident", "GT-02-incident"))
    road = Road().succeeded(card).settle()
    assert (road.status.phase, road.status.reason) == (RunPhase.FAILED, "AccuracyRegressed")
    assert "GT-01" in road.status.message
    assert (road.status.accuracy, road.status.delta) == ("0.778", "-0.222")
    assert road.status.condition(ConditionType.READY).status == "True"


def test_slower_by_more_than_the_tolerance_fails_as_mttr() -> None:
    whole = evidence.scorecard(suites.facts().dataset_sha256, with_seconds="40")
    totals = whole.measured.model_copy(update={"total_seconds": ("800.000000000",) * 2})
    road = Road().succeeded(whole.model_copy(update={"measured": totals}), seconds=900).settle()
    assert (road.status.phase, road.status.reason) == (RunPhase.FAILED, "MttrRegressed")


def _self_made(card: Any) -> Any:
    return card.model_copy(update={"provenance": "SelfReported"})


def _no_control(card: Any) -> Any:
    return card.model_copy(update={"deterministic": card.deterministic.model_copy(update={"control": None})})


def _other_revision(card: Any) -> Any:
    return evidence.scorecard(card.deterministic.dataset.sha256, revision="v2")


def _other_dataset(card: Any) -> Any:
    return evidence.scorecard("b" * 64)


def _other_modes(card: Any) -> Any:
    return evidence.scorecard(
        card.deterministic.dataset.sha256, modes={**evidence.MODES, "With": {evidence.KEY: "Shadow"}}
    )


def _repeats_differ(card: Any) -> Any:
    repeats = card.measured.repeats.model_copy(update={"identical": False})
    return card.model_copy(update={"measured": card.measured.model_copy(update={"repeats": repeats})})


@pytest.mark.parametrize(
    "damage", [_self_made, _no_control, _other_revision, _other_dataset, _other_modes, _repeats_differ]
)
def test_a_scorecard_that_proves_nothing_is_neither_a_pass_nor_a_failure(damage: Any) -> None:
    card = damage(evidence.scorecard(suites.facts().dataset_sha256))
    road = Road().succeeded(card).settle()
    assert road.status.phase in (RunPhase.INCONCLUSIVE, RunPhase.ERROR)
    assert road.status.reason
    assert road.status.message


@pytest.mark.parametrize(
    "reason", ["DigestMismatch", "ScorecardTruncated", "ScorecardMissing", "ScorecardConflict"]
)
def test_what_cannot_be_read_or_verified_is_an_error_with_its_reason(reason: str) -> None:
    road = Road().succeeded()
    road.reading = Problem(reason, "it is not what it should be")
    road.settle()
    assert (road.status.phase, road.status.reason) == (RunPhase.ERROR, reason)


def test_a_scorecard_measured_beside_other_modes_than_intended_is_inconclusive() -> None:
    beside = {name: {**modes, "Memory.Mode": "Active"} for name, modes in evidence.MODES.items()}
    road = Road().succeeded(evidence.scorecard(suites.facts().dataset_sha256, modes=beside)).settle()
    assert (road.status.phase, road.status.reason) == (RunPhase.INCONCLUSIVE, "VariantMissing")
    assert "other modes than intended" in road.status.message


def test_a_succeeded_job_whose_scorecard_was_not_read_yet_is_no_verdict() -> None:
    road = Road().succeeded()
    road.reading = None
    plan = road.step()
    assert road.status.phase is RunPhase.RUNNING
    assert plan.wake_at


# -- overtaken


@pytest.mark.parametrize("moved", [{"epoch": "e2"}, {"context": "c2"}])
@pytest.mark.parametrize("when", ["new", "running", "succeeded"])
def test_a_run_of_another_epoch_or_context_says_nothing_any_more(moved: dict[str, str], when: str) -> None:
    road = {"new": Road, "running": Road().running, "succeeded": Road().succeeded}[when]()
    road.component = component(**moved)
    road.step()
    assert (road.status.phase, road.status.reason) == (RunPhase.SUPERSEDED, "Superseded")
    road.settle()
    assert road.done[-1:] != ["StoreScorecard"]


def test_a_dataset_that_changes_under_way_supersedes_the_run() -> None:
    road = Road().running()
    road.suite = suites.other_dataset()
    road.settle()
    assert road.status.phase is RunPhase.SUPERSEDED


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
@pytest.mark.parametrize(
    "changed", [{"tolerance": {"accuracyDrop": "0.5"}}, {"job": {"image": "another:1"}}], ids=str
)
def test_what_the_suite_was_only_for_a_moment_is_not_measured_or_judged(
    changed: dict[str, Any], steps: int
) -> None:
    """The component may look only after the change was taken back, and would take the run for one of its own."""
    road = Road()
    for _ in range(steps):
        road.step()
    road.suite = suites.facts(**changed)
    done = list(road.done)
    road.step()
    assert (road.status.phase, road.status.reason, road.done) == (RunPhase.SUPERSEDED, "Superseded", done)


def test_modes_that_were_other_than_those_that_the_run_was_made_for_are_not_measured() -> None:
    road = Road()
    road.context = "c2"
    road.step()
    assert (road.status.phase, road.status.reason) == (RunPhase.SUPERSEDED, "Superseded")


def test_modes_that_change_after_they_were_taken_do_not_touch_what_is_measured() -> None:
    road = Road().succeeded()
    road.context = "c2"  # and the component has not seen it yet
    assert road.settle().status.phase is RunPhase.PASSED


def test_a_run_made_by_hand_without_an_epoch_is_not_overtaken() -> None:
    road = Road(epoch=None, context=None, trigger="Manual")
    road.component = component(epoch="e9", context="c9")
    road.succeeded().settle()
    assert road.status.phase is RunPhase.PASSED


# -- after the end


def test_a_finished_run_lets_its_job_s_time_to_live_run_once() -> None:
    road = Road().succeeded().settle()
    assert road.job["spec"]["ttlSecondsAfterFinished"] == KEEP_JOB
    assert road.done == ["CreateJob", "StoreScorecard", "ReleaseJob"]


def test_a_run_that_ended_before_its_job_deletes_it() -> None:
    road = Road().running()
    road.component = component(epoch="e2")
    road.settle()
    assert (road.done, road.jobs) == (["CreateJob", "DeleteJob"], {})


def test_a_job_that_is_going_already_is_not_deleted_again() -> None:
    road = Road().running()
    road.job["metadata"]["deletionTimestamp"] = samples.TIME
    road.component = component(epoch="e2")
    road.settle()
    assert road.done == ["CreateJob"]


def test_a_verdict_never_changes() -> None:
    road = Road().succeeded().settle()
    before = road.body
    road.jobs, road.pods, road.reading = {}, [], Problem("ScorecardMissing", "gone")
    road.suite, road.component = suites.other_dataset(), component(epoch="e7")
    road.settle()
    assert road.body == before


def test_a_run_that_is_being_deleted_is_left_alone() -> None:
    road = Road().running()
    road.body["metadata"]["deletionTimestamp"] = samples.TIME
    before = road.body["status"]
    plan = road.step()
    assert (plan.actions, road.body["status"]) == ((), before)


def test_only_a_stored_scorecard_passes() -> None:
    """Whatever is read, without the ConfigMap there is no verdict."""
    road = Road().succeeded()
    for _ in range(5):
        road.reading = reading(evidence.scorecard(road.suite.dataset_sha256), stored=False)
        road.step()
        assert road.status.phase is RunPhase.RUNNING


# -- runs that nobody waits for

OWNED = [
    {
        "apiVersion": "rca.bluerobin.io/v1alpha1",
        "kind": "RcaComponent",
        "name": "live",
        "uid": "11111111-2222-3333-4444-555555555555",
        "controller": True,
    }
]


def owned_run(**status: Any) -> Road:
    """Running, and owned by a component with this status."""
    road = Road()
    road.body["metadata"]["ownerReferences"] = OWNED
    current = {"name": "live-abcdef-1", "trigger": "Gate", "startedAt": "2026-11-30T10:00:00Z"}
    road.component = component(currentRun=current)
    road.running()
    assert road.status.phase == "Running"
    road.component = component(**status)
    return road


def test_a_run_that_a_person_stopped_is_aborted_never_a_pass_and_its_job_goes() -> None:
    said = {"token": "e/1", "at": "2026-11-30T10:00:00Z", "result": "Accepted", "message": "ok"}
    abort = {**said, "by": "alice", "reason": "wrong image", "run": "live-abcdef-1"}
    road = owned_run(verbs={"abort": abort}).settle()
    assert (road.status.phase, road.status.reason) == ("Aborted", "Aborted")
    assert road.status.message == "stopped by alice: wrong image"
    assert road.done[-1] == "DeleteJob"
    assert road.jobs == {}


def test_a_run_that_its_component_does_not_name_any_more_is_superseded() -> None:
    road = owned_run().settle()
    assert (road.status.phase, road.status.reason) == ("Superseded", "Superseded")
    assert road.jobs == {}


def test_a_run_that_a_person_made_is_ended_by_no_component() -> None:
    road = Road(trigger="Manual", epoch=None, context=None, dryRun=True)
    road.component = component()
    road.running()
    assert road.status.phase == "Running"


def test_a_dry_run_gets_its_verdict_and_scorecard_as_any_other() -> None:
    road = Road(trigger="Manual", epoch=None, context=None, dryRun=True).succeeded(stored=True).settle()
    assert (road.status.phase, road.status.reason) == ("Passed", "GatePassed")
    assert road.status.scorecard
