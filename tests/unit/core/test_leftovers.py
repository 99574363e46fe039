"""Jobs that nobody waits for: those of attempts that were let go of, and those whose run is gone. No others."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from rca_testing.job_states import job
from rca_testing.run_world import run_body, typed_run

from rca_rollout.api.run import EvalRun
from rca_rollout.core.leftovers import of_run, orphans
from rca_rollout.core.names import job_name

type Body = dict[str, Any]


def name(attempt: int) -> str:
    return job_name("live-abcdef-1", "run-uid", attempt)


def run(attempts: int, *, at_work: bool) -> EvalRun:
    body = run_body()
    ref = {"jobRef": {"name": name(attempts), "uid": f"uid-{attempts}"}} if at_work else {}
    body["status"] = {"phase": "Running", "attempts": attempts, **ref}
    return typed_run(body)


def made(attempt: int, owner: str = "run-uid", **more: Any) -> Body:
    body: Body = job(name=name(attempt), uid=f"uid-{attempt}", owner=owner, **more)
    return body


def without_owner(attempt: int) -> Body:
    body = made(attempt)
    del body["metadata"]["ownerReferences"]
    return body


def test_the_attempts_before_the_present_one_are_left_over() -> None:
    jobs = [made(n) for n in (1, 2, 3)]
    assert of_run(jobs, run(3, at_work=True)) == ((name(1), "uid-1"), (name(2), "uid-2"))


def test_an_attempt_that_was_let_go_of_is_left_over_before_there_is_another() -> None:
    assert of_run([made(1)], run(1, at_work=False)) == ((name(1), "uid-1"),)


def test_what_somebody_owns_or_is_deleting_already_is_left_alone() -> None:
    going = made(
        1, metadata={"deletionTimestamp": "2026-11-30T10:00:00Z", "ownerReferences": [{"uid": "run-uid"}]}
    )
    assert of_run([going, made(1, owner="another-run")], run(2, at_work=True)) == ()


def test_what_a_deleted_run_left_without_an_owner_goes_and_what_has_one_is_the_garbage_collector_s() -> None:
    assert orphans([without_owner(1), made(2), made(3, owner="gone")]) == ((name(1), "uid-1"),)
    assert of_run([without_owner(7)], run(1, at_work=True)) == ((name(7), "uid-7"),)
    # The present Job is never deleted for what somebody did to its owners: the run ends with JobConflict, and says so.
    assert of_run([without_owner(1)], run(1, at_work=True)) == ()


@settings(deadline=None)
@given(st.sets(st.integers(1, 8)), st.integers(0, 8), st.booleans())
def test_no_view_of_a_run_however_old_deletes_the_job_of_a_later_attempt_or_the_present_one(
    there: set[int], attempts: int, at_work: bool
) -> None:
    seen = run(attempts, at_work=at_work and attempts > 0)
    gone = {found for found, _ in of_run([made(n) for n in there], seen)}
    kept = {name(n) for n in there if n > attempts or (n == attempts and seen.status.job_ref)}
    assert not gone & kept
    assert gone == {name(n) for n in there} - kept
