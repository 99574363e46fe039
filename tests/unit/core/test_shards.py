"""An evaluation in shards: the form of its Job, and what is said of it in every state of its Pods."""

from __future__ import annotations

import base64
import dataclasses
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rca_testing import evidence, run_world, suites
from rca_testing.job_states import condition, ended, job, pod, succeeded, waiting
from rca_testing.lifecycle_world import START
from rca_testing.parts import cut

from rca_eval.contract import canonical, encode_frame, pack
from rca_eval.contract.dealing import Share
from rca_rollout.api.run_status import ShardResult
from rca_rollout.core import names, parts
from rca_rollout.core.jobs import JobInputs, build_job
from rca_rollout.core.parts import (
    INDEX_KEY,
    Lost,
    PartReading,
    check_index,
    index_body,
    kept_part,
    merged,
    part_body,
    part_from_log,
    part_from_store,
    read_index,
)
from rca_rollout.core.pods import Broken, Running, Succeeded
from rca_rollout.core.problem import Problem
from rca_rollout.core.readings import SCORECARD_KEY, Reading
from rca_rollout.core.shards import INDEX_LABEL, Collected, Collecting, diagnose_shards, shard_count
from rca_rollout.core.variants import variants

COUNT = 3
INPUTS = JobInputs(
    namespace="shop",
    run="live-abcdef-1",
    run_uid="run-uid",
    attempt=1,
    component="live",
    suite="suite",
    revision="v1",
    dataset_sha256="a" * 64,
    variants=variants({evidence.KEY: "Shadow"}, evidence.KEY),
    harness_image="registry.example/harness:1",
    pull_policy="IfNotPresent",
)


def build(shards: int, **template: Any) -> dict[str, Any]:
    spec = suites.suite(job={"shards": shards, **template}).spec
    body: dict[str, Any] = build_job(spec, dataclasses.replace(INPUTS, shards=shards))
    return body


def test_one_shard_is_the_job_as_it_was() -> None:
    spec = build(1)["spec"]
    assert "completionMode" not in spec
    assert (spec["completions"], spec["backoffLimit"]) == (1, 0)
    assert not [name for name in _env(build(1), "prepare") if name in ("RCA_EVAL_SHARDS", "RCA_EVAL_RUN")]


def test_a_shard_that_is_taken_away_is_made_anew_and_one_that_fails_by_itself_ends_the_job() -> None:
    spec = build(COUNT)["spec"]
    assert spec["completionMode"] == "Indexed"
    assert (spec["completions"], spec["parallelism"], spec["maxFailedIndexes"]) == (COUNT, COUNT, 0)
    assert spec["backoffLimitPerIndex"] > 0
    assert "backoffLimit" not in spec  # it would count over all of them
    disrupted, failed = spec["podFailurePolicy"]["rules"]
    assert disrupted["action"] == "Ignore"
    assert failed["action"] == "FailIndex"
    # Killed and terminated: that is how a deleted Pod ends.
    assert failed["onExitCodes"] == {"operator": "NotIn", "values": [137, 143]}


def test_our_containers_know_their_share_and_the_evaluated_one_gets_nothing_new() -> None:
    one, many = build(1), build(COUNT)
    for step in ("prepare", "scorecard"):
        env = _env(many, step)
        assert env["RCA_EVAL_SHARDS"] == str(COUNT)
        assert env["RCA_EVAL_RUN"] == many["metadata"]["name"]
    assert _env(many, "eval-1") == _env(one, "eval-1")


@given(shards=st.integers(2, 64), parallelism=st.one_of(st.none(), st.integers(1, 64)))
def test_the_deadline_leaves_every_round_its_time_and_one_round_more(
    shards: int, parallelism: int | None
) -> None:
    template = {
        "timeout": "10m",
        "startTimeout": "2m",
        **({"parallelism": parallelism} if parallelism else {}),
    }
    spec = build(shards, **template)["spec"]
    assert 1 <= spec["parallelism"] <= shards
    rounds = -(-shards // spec["parallelism"])
    assert spec["activeDeadlineSeconds"] >= (rounds + 1) * 720


@pytest.mark.parametrize(("wanted", "incidents", "made"), [(1, 9, 1), (3, 9, 3), (64, 9, 9), (4, 0, 1)])
def test_no_shard_is_without_an_incident(wanted: int, incidents: int, made: int) -> None:
    assert shard_count(suites.suite(job={"shards": wanted}).spec.job, incidents) == made


def _env(body: dict[str, Any], container: str) -> dict[str, str]:
    spec = body["spec"]["template"]["spec"]
    found = next(c for c in [*spec["initContainers"], *spec["containers"]] if c["name"] == container)
    return {item["name"]: item.get("value", "") for item in found["env"]}


# -- what becomes of it


def of(index: int, whole: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    labels = {INDEX_LABEL: str(index)}
    return {
        **whole,
        "metadata": {**whole["metadata"], "name": f"job-1-{index}-x", "labels": labels, **metadata},
    }


RUNNING = pod("Pending", {"eval-1": {"running": {}}})
WELL = succeeded()
CRASHED = pod("Failed", {"eval-1": ended(1)})
EVICTED = pod("Failed", None, condition("DisruptionTarget", "EvictionByEvictionAPI", "drain"))
GOING = pod("Running", {"eval-1": {"running": {}}}, metadata={"deletionTimestamp": "2026-11-30T10:00:05Z"})
NO_IMAGE = pod("Pending", {"eval-1": waiting("InvalidImageName")})


def look(job_: Any, *pods: Any, recorded: tuple[int, ...] = (), after: float = 1) -> Any:
    return diagnose_shards(
        job_,
        pods,
        count=COUNT,
        recorded=recorded,
        start_timeout=timedelta(minutes=2),
        run_timeout=timedelta(minutes=10),
        now=START + timedelta(seconds=after),
    )


def test_shards_that_have_ended_are_ready_while_others_run() -> None:
    found = look(job(), of(0, RUNNING), of(1, WELL), of(2, WELL))
    assert isinstance(found, Collecting)
    assert [index for index, _ in found.ready] == [1, 2]


def test_what_is_recorded_is_not_asked_again_and_needs_no_pod() -> None:
    assert isinstance(look(job(), of(2, WELL), recorded=(0, 1)), Collecting)
    assert isinstance(look(job(condition("Complete")), recorded=(0, 1, 2)), Collected)
    assert isinstance(look(job(condition("Failed")), recorded=(0, 1, 2)), Collected)


def test_a_shard_that_was_taken_away_is_waited_for() -> None:
    for lost in (EVICTED, GOING):
        found = look(job(), of(0, lost), of(1, RUNNING), of(2, RUNNING))
        assert isinstance(found, Running), found
    assert isinstance(look(job(), of(1, RUNNING), recorded=(0,)), Running)
    # Between two rounds there may be no Pod at all; a start timeout would be wrong then.
    assert isinstance(look(job(), recorded=(0,), after=3600), Running)


def test_an_evicted_pod_does_not_hide_the_one_in_its_place() -> None:
    found = look(job(), of(0, EVICTED), of(0, WELL), of(1, RUNNING), of(2, RUNNING))
    assert isinstance(found, Collecting)
    assert [index for index, _ in found.ready] == [0]


@pytest.mark.parametrize(
    ("broken", "reason"), [(CRASHED, "EvalFailed"), (NO_IMAGE, "InvalidImage")], ids=["crashed", "image"]
)
def test_a_shard_that_fails_by_itself_ends_the_attempt_and_is_named(broken: Any, reason: str) -> None:
    found = look(job(), of(0, WELL), of(1, broken), of(2, WELL))
    assert isinstance(found, Broken)
    assert found.reason == reason
    assert found.message.startswith("shard 2 of 3 (index 1): ")
    # Its second try changes nothing: an engine that fails at times is not a sound one.
    again = look(job(), of(0, WELL), of(1, broken), of(1, WELL), of(2, WELL))
    assert isinstance(again, Broken)


def test_a_complete_job_without_the_pod_of_a_shard_is_a_missing_shard() -> None:
    complete = job(condition("Complete"))
    found = look(complete, of(0, EVICTED), recorded=(1, 2), after=120)
    assert isinstance(found, Broken)
    assert found.reason == "ShardMissing"
    assert "of 1 " in found.message
    assert isinstance(look(complete, recorded=(1, 2), after=5), Running)  # the Pod's last state may come late


def test_a_job_that_gave_up_says_what_is_missing() -> None:
    failed = condition("Failed", "MaxFailedIndexesExceeded", "too many")
    found = look(job(failed), recorded=(0,), after=120)
    assert isinstance(found, Broken)
    assert (found.reason, "2, 3" in found.message, "too many" in found.message) == (
        "ShardMissing",
        True,
        True,
    )
    late = look(job(condition("Failed", "DeadlineExceeded", "slow")), recorded=(0,), after=120)
    assert isinstance(late, Broken)
    assert late.reason == "DeadlineExceeded"


def test_nothing_at_all_is_a_job_that_did_not_start() -> None:
    found = look(job(), after=600)
    assert isinstance(found, Broken)
    assert found.reason == "StartTimeout"


def test_foreign_pods_and_pods_without_an_index_do_not_count() -> None:
    foreign = of(0, WELL, ownerReferences=[{"uid": "another"}])
    nameless = {**WELL, "metadata": {**WELL["metadata"], "labels": {}}}
    assert isinstance(look(job(), foreign, nameless, of(1, RUNNING)), Running)


@given(
    st.lists(
        st.tuples(st.integers(0, COUNT), st.sampled_from([RUNNING, WELL, CRASHED, EVICTED, GOING])),
        max_size=8,
    ),
    st.sets(st.integers(0, COUNT - 1)),
    st.sampled_from([None, "Complete", "Failed", "FailureTarget", "SuccessCriteriaMet", "Suspended"]),
    st.integers(0, 5000),
)
def test_whatever_the_pods_the_whole_is_there_only_when_every_shard_is_recorded(
    found: list[tuple[int, Any]], recorded: set[int], ending: str | None, after: int
) -> None:
    conditions = [condition(ending)] if ending else []
    said = look(job(*conditions), *(of(i, p) for i, p in found), recorded=tuple(recorded), after=after)
    assert isinstance(said, Collected) == (len(recorded) == COUNT)
    assert not isinstance(said, Succeeded)
    if isinstance(said, Collecting):
        assert {index for index, _ in said.ready} <= {i for i, p in found if p is WELL} - recorded
        assert said.done == len(recorded)


# -- the parts


def _run(*shards: ShardResult) -> Any:
    body = run_world.run_body()
    body["status"] = {
        "attempts": 1,
        "jobRef": {"name": "job-1", "uid": "job-uid"},
        "inputs": {"shards": COUNT},
        "shards": [shard.to_dict() for shard in shards],
    }
    return run_world.typed_run(body)


CARD = evidence.scorecard("a" * 64)
PARTS = [cut(CARD, Share(index, COUNT), run="job-1") for index in range(COUNT)]
FRAMES = [encode_frame(part) for part in PARTS]
RESULTS = [
    ShardResult(index=index, sha256=frame.sha256, seconds=(3, 4)) for index, frame in enumerate(FRAMES)
]


def _kept(index: int, run: Any = None) -> dict[str, Any]:
    part = part_from_log(run or _run(), index, FRAMES[index].text.encode(), FRAMES[index].sha256)
    assert isinstance(part, PartReading)
    return part_body(run or _run(), part)


def test_a_part_is_kept_as_it_was_announced_and_read_back() -> None:
    run = _run()
    body = _kept(1)
    assert body["metadata"]["name"] == names.part_name("live-abcdef-1", 1, 1) == "live-abcdef-1-scorecard-1-1"
    assert body["immutable"] is True
    assert part_from_store(run, RESULTS[1], body) == PARTS[1]
    again = kept_part(run, 1, FRAMES[1].sha256, body)
    assert isinstance(again, PartReading)
    assert again.stored


def test_all_parts_that_are_kept_make_the_whole() -> None:
    run = _run(*RESULTS)
    read: Any = [part_from_store(run, shard, _kept(shard.index)) for shard in RESULTS]
    found = merged(run, read)
    assert isinstance(found, Reading)
    assert found.scorecard.deterministic == CARD.deterministic
    assert (found.parts, found.key, found.stored) == (COUNT, INDEX_KEY, True)
    index = index_body(run)
    assert check_index(run, index) is None
    assert [row["sha256"] for row in read_index(index["data"][INDEX_KEY])] == [f.sha256 for f in FRAMES]
    missing = merged(run, read[:2])
    assert isinstance(missing, Problem)
    assert missing.reason == "ShardMissing"


def test_an_index_of_other_parts_is_not_believed() -> None:
    run = _run(*RESULTS)
    body = index_body(_run(*RESULTS[:2]))
    conflict = check_index(run, body)
    assert conflict is not None
    assert conflict.reason == "ScorecardConflict"
    foreign = index_body(run)
    foreign["metadata"]["ownerReferences"] = []
    assert check_index(run, foreign) is not None
    for text in ("{}", "[]", '{"kind": "Scorecard"}'):
        with pytest.raises(ValueError, match="no index"):
            read_index(text)


def _without_owner(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "metadata": {**body["metadata"], "ownerReferences": []}}


def _holding(content: str) -> dict[str, Any]:
    return {**_kept(1), "binaryData": {SCORECARD_KEY: content}}


@pytest.mark.parametrize(
    "body",
    [
        _without_owner(_kept(1)),
        _kept(2),
        _holding("%%%"),
        _holding(base64.b64encode(b"{}").decode()),
        _holding(base64.b64encode(pack(b"{}")).decode()),
        _holding(base64.b64encode(pack(canonical(CARD))).decode()),
        {**_kept(1), "binaryData": {}},
    ],
    ids=["foreign", "another part", "no base64", "no gzip", "no part", "a whole", "empty"],
)
def test_what_is_kept_and_is_not_the_part_that_was_announced_is_a_conflict(body: dict[str, Any]) -> None:
    found = part_from_store(_run(), RESULTS[1], body)
    assert isinstance(found, Problem)
    assert found.reason == "ScorecardConflict"
    assert isinstance(part_from_store(_run(), RESULTS[1], None), Lost)


def test_a_part_of_another_shard_or_attempt_is_refused_when_it_is_read() -> None:
    for index, part in (
        (1, PARTS[0]),
        (1, cut(CARD, Share(1, COUNT), run="job-2")),
        (1, cut(CARD, Share(1, 4), run="job-1")),
    ):
        frame = encode_frame(part)
        found = part_from_log(_run(), index, frame.text.encode(), frame.sha256)
        assert isinstance(found, Problem)
        assert found.reason == "ShardMismatch"
        assert found.message.startswith("shard 2 of 3")


def test_a_part_that_is_too_large_for_its_share_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "WHOLE_LIMIT", 3000)
    found = part_from_log(_run(), 1, FRAMES[1].text.encode(), FRAMES[1].sha256)
    assert isinstance(found, Problem)
    assert found.reason == "ScorecardTooLarge"
    assert found.message.startswith("shard 2 of 3")
