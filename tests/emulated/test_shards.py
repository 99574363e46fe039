"""An evaluation in shards, in the whole operator: the verdict is the one of all parts, or there is none."""

import asyncio
import base64
from collections.abc import Callable
from typing import Any

import pytest
from rca_testing.emulator.indexed import Indexed
from rca_testing.emulator.lab import Lab
from rca_testing.emulator.server import Fault, refuse
from rca_testing.emulator.store import Body

from rca_eval.contract import sha256, unpack
from rca_eval.contract.merge import merge
from rca_eval.contract.part import parse_part
from rca_rollout.core.parts import read_index

pytestmark = pytest.mark.emulated

SHARDS = 3


def _sharded(lab: Lab, play: Callable[[Indexed], Any], **job: Any) -> list[Indexed]:
    """Every Job is played by `play`; returns those that were made, as they come."""
    jobs: list[Indexed] = []

    def on_job(lab: Lab, job: Body) -> None:
        jobs.append(Indexed(lab, job))
        play(jobs[-1])

    lab.on_job = on_job
    lab.modes()
    lab.data()
    lab.suite(job={"shards": SHARDS, **job})
    lab.component()
    return jobs


def _all_well(job: Indexed) -> None:
    job.start_all()
    for index in range(job.count):
        job.succeed(index)


def _later(seconds: float, do: Callable[[], Any]) -> None:
    asyncio.get_running_loop().call_later(seconds, do)


async def _first_run(lab: Lab, within: float = 600) -> Body:
    run: Body = await lab.until(
        lambda: next((r for r in lab.list("evalruns") if (r.get("status") or {}).get("finishedAt")), None),
        within,
    )
    return run


async def test_a_component_is_promoted_on_shards_as_on_one_piece(lab: Lab) -> None:
    jobs = _sharded(lab, _all_well)
    lab.start()
    await lab.phase("Active")
    spec = jobs[0].job["spec"]
    assert (spec["completions"], spec["parallelism"]) == (SHARDS, SHARDS)
    for run in lab.list("evalruns"):
        status = run["status"]
        assert status["phase"] == "Passed"
        assert [shard["index"] for shard in status["shards"]] == [0, 1, 2]
        assert status["scorecard"]["parts"] == SHARDS
        card = _read_back(lab, run)
        whole = lab.kubelet.measure(jobs[0].job)
        assert card.deterministic_sha256() == whole.deterministic_sha256()
        assert status["scorecard"]["deterministicSha256"] == whole.deterministic_sha256()


def _read_back(lab: Lab, run: Body) -> Any:
    """As a person does it: the index, and every part that it names, verified by its digest."""
    stored = run["status"]["scorecard"]
    index = lab.get("configmaps", stored["configMapRef"])
    assert index["immutable"] is True
    text = index["data"][stored["key"]]
    assert sha256(text.encode()) == stored["sha256"]
    parts = []
    for row in read_index(text):
        kept = lab.get("configmaps", row["configMap"])
        assert kept["immutable"] is True
        assert kept["metadata"]["ownerReferences"][0]["uid"] == run["metadata"]["uid"]
        document = unpack(base64.b64decode(kept["binaryData"][row["key"]]))
        assert sha256(document) == row["sha256"]
        parts.append(parse_part(document))
    return merge(parts)


async def test_a_shard_that_is_lost_runs_again_and_the_others_do_not(lab: Lab) -> None:
    def play(job: Indexed) -> None:
        job.start_all()
        job.succeed(0)
        job.take_away(1)
        job.succeed(2)
        _later(30, lambda: (job.start(1), job.succeed(1)))

    jobs = _sharded(lab, play)
    lab.start()
    run = await _first_run(lab)
    assert (run["status"]["phase"], run["status"]["attempts"]) == ("Passed", 1)
    assert len(jobs) == 1
    whole = lab.kubelet.measure(jobs[0].job)
    assert run["status"]["scorecard"]["deterministicSha256"] == whole.deterministic_sha256()


async def test_an_evicted_shard_is_no_failure(lab: Lab) -> None:
    def play(job: Indexed) -> None:
        job.start_all()
        job.disrupt(1)
        _later(20, lambda: [job.succeed(index) for index in range(SHARDS)])

    _sharded(lab, play)
    lab.start()
    run = await _first_run(lab)
    assert (run["status"]["phase"], run["status"]["attempts"]) == ("Passed", 1)


async def test_parts_are_kept_while_others_run_so_that_their_pods_may_go(lab: Lab) -> None:
    """The first two end, are read, and lose their Pods and logs; the operator starts anew; the last one comes late."""
    jobs = _sharded(lab, lambda job: (job.start_all(), job.succeed(0), job.succeed(1)))
    token = lab.start()
    await lab.until(
        lambda: any(len(r["status"].get("shards") or ()) == 2 for r in lab.list("evalruns") if "status" in r)
    )
    await lab.quiet(5)
    [job] = jobs
    for index in (0, 1):
        job.take_away(index)
    lab.server.logs.clear()
    await lab.kill(token)
    lab.start()
    await lab.quiet(20)
    assert "finishedAt" not in lab.list("evalruns")[0]["status"]
    job.succeed(2)
    run = await _first_run(lab)
    assert run["status"]["phase"] == "Passed"
    assert _read_back(lab, run).deterministic_sha256() == run["status"]["scorecard"]["deterministicSha256"]


async def test_steady_state_of_a_half_done_evaluation_writes_nothing(lab: Lab) -> None:
    _sharded(lab, lambda job: (job.start_all(), job.succeed(0)), startTimeout="1h", timeout="1h")
    lab.start()
    await lab.until(lambda: any((r.get("status") or {}).get("shards") for r in lab.list("evalruns")))
    await lab.quiet(40)
    before = len(lab.writes())
    await asyncio.sleep(70)
    assert len(lab.writes()) == before


def _lost_for_good(job: Indexed) -> None:
    """Its Pod ended well, and was gone before its log was read: for the Job the shard is done."""
    job.start_all()
    job.succeed(0)
    job.succeed(1)
    job.succeed(2)
    job.take_away(1)


def _job_gave_up(job: Indexed) -> None:
    job.start_all()
    job.succeed(0)
    job.take_away(1)
    job.take_away(2)
    job.condition(
        "Failed",
        "MaxFailedIndexesExceeded",
        "Job has exceeded the specified maximal number of failed indexes",
    )


def _crashed(job: Indexed) -> None:
    job.start_all()
    job.succeed(0)
    job.fail(1, "eval-1", 3)


def _crashed_then_well(job: Indexed) -> None:
    """A flaky engine: what failed by itself is not forgotten because another try went well."""
    job.start_all()
    job.fail(1, "eval-2", 137, reason="OOMKilled")
    job.start(1)
    for index in range(SHARDS):
        job.succeed(index)


def _past_its_deadline(job: Indexed) -> None:
    job.start_all()
    job.succeed(0)
    job.take_away(1)
    job.take_away(2)
    job.condition("Failed", "DeadlineExceeded", "Job was active longer than specified deadline")


def _lying_index(job: Indexed) -> None:
    """Shard 2 prints the part of shard 1: a set with an incident twice, and others not at all."""
    job.start_all()
    for index in range(SHARDS):
        job.succeed(index, job.part(0) if index == 1 else None)


def _of_another_run(job: Indexed) -> None:
    job.start_all()
    for index in range(SHARDS):
        part = job.part(index)
        other = part.shard.model_copy(update={"run": "another-run-1"})
        job.succeed(index, part.model_copy(update={"shard": other}) if index == 1 else part)


def _of_another_dataset(job: Indexed) -> None:
    job.start_all()
    for index in range(SHARDS):
        job.succeed(index, job.part(index, sha256="0" * 64) if index == 1 else None)


def _fewer_incidents(job: Indexed) -> None:
    """All shards agree on a dataset that lacks an incident."""
    card = job.lab.kubelet.measure(job.job)
    ids = card.deterministic.dataset.incidents[:-1]
    document = card.model_dump()
    document["deterministic"]["dataset"]["incidents"] = ids
    for ranker in (*document["deterministic"]["variants"], document["deterministic"]["control"]):
        for arm in ranker["arms"]:
            arm["incidents"] = tuple(row for row in arm["incidents"] if row["id"] in ids)
    for rows in ("seconds", "would_be"):
        document["measured"][rows] = tuple(
            row for row in document["measured"][rows] if row["incident"] in ids
        )
    smaller = type(card).model_validate(document)
    job.start_all()
    for index in range(SHARDS):
        job.succeed(index, job.part(index, smaller))


def _whole_among_parts(job: Indexed) -> None:
    job.start_all()
    whole: Any = job.lab.kubelet.measure(job.job)
    for index in range(SHARDS):
        job.succeed(index, whole if index == 1 else None)


def _cut_off(job: Indexed) -> None:
    job.start_all()
    for index in range(SHARDS):
        job.succeed(index, log=b"noise\n" if index == 1 else None)


WAYS: dict[str, tuple[Callable[[Indexed], None], str, str]] = {
    "gone before it was read": (_lost_for_good, "ShardMissing", "2"),
    "given up by the Job": (_job_gave_up, "ShardMissing", "2, 3"),
    "crashed": (_crashed, "EvalFailed", "shard 2 of 3"),
    "crashed, and well at its second try": (_crashed_then_well, "OutOfMemory", "shard 2 of 3"),
    "past its deadline": (_past_its_deadline, "DeadlineExceeded", "of 3 shards"),
    "with the part of another shard": (_lying_index, "ShardMismatch", "shard 2 of 3"),
    "with a part of another run": (_of_another_run, "ShardMismatch", "shard 2 of 3"),
    "with a part of another dataset": (_of_another_dataset, "ShardMismatch", "another dataset"),
    "with fewer incidents in all parts": (_fewer_incidents, "IncidentSetMismatch", "incidents"),
    "with a whole scorecard for a part": (_whole_among_parts, "ShardMismatch", "whole scorecard"),
    "with a log that was cut off": (_cut_off, "ScorecardMissing", "shard 2 of 3"),
}


@pytest.mark.parametrize("way", WAYS)
async def test_what_is_not_the_whole_is_no_verdict(lab: Lab, way: str) -> None:
    play, reason, words = WAYS[way]
    _sharded(lab, play)
    lab.start()
    run = await _first_run(lab, within=1800)
    status = run["status"]
    assert status["phase"] in ("Error", "Inconclusive"), status
    assert status["reason"] == reason, status
    assert words in status["message"], status["message"]
    assert "Traceback" not in str(status)
    assert lab.mode() == "Shadow"
    assert not lab.key_writes()
    lab.on_job = lambda lab, job: _all_well(Indexed(lab, job))
    await lab.phase("Active", within=1800)


async def test_no_more_shards_are_made_than_there_are_incidents(lab: Lab) -> None:
    jobs = _sharded(lab, _all_well, shards=64, parallelism=2)
    lab.start()
    await lab.phase("Active")
    count = len(lab.kubelet.truth.incidents)
    assert (jobs[0].job["spec"]["completions"], jobs[0].job["spec"]["parallelism"]) == (count, 2)


async def test_a_part_that_may_not_be_kept_is_named(lab: Lab) -> None:
    refusal = Fault(
        lambda call: (
            (call.verb, call.plural) == ("create", "configmaps")
            and "-scorecard-" in call.body["metadata"]["name"]
        ),
        refuse(403, "Forbidden", "exceeded quota: count/configmaps"),
        times=1,
    )
    lab.server.faults.append(refusal)
    _sharded(lab, _all_well)
    lab.start()
    run = await _first_run(lab)
    assert run["status"]["reason"] == "ScorecardRefused"
    await lab.phase("Active", within=900)


async def test_a_foreign_config_map_under_a_parts_name_is_not_believed(lab: Lab) -> None:
    def play(job: Indexed) -> None:
        run = job.job["metadata"]["ownerReferences"][0]["name"]
        if not any(c["metadata"]["name"].endswith("-scorecard-1-1") for c in lab.list("configmaps")):
            lab.create("configmaps", f"{run}-scorecard-1-1", data={"x": "{}"})
        _all_well(job)

    _sharded(lab, play)
    lab.start()
    run = await _first_run(lab)
    assert (run["status"]["phase"], run["status"]["reason"]) == ("Error", "ScorecardConflict")


async def test_a_part_that_somebody_deletes_is_read_again_or_missing(lab: Lab) -> None:
    """Before the last shard has ended: its Pod is still there, so it can be read once more."""
    jobs = _sharded(lab, lambda job: (job.start_all(), job.succeed(0), job.succeed(1)))
    lab.start()
    await lab.until(
        lambda: any(len((r.get("status") or {}).get("shards") or ()) == 2 for r in lab.list("evalruns"))
    )
    await lab.quiet(5)
    run = lab.list("evalruns")[0]["metadata"]["name"]
    lab.store.delete("configmaps", "shop", f"{run}-scorecard-1-0")
    jobs[0].succeed(2)
    assert (await _first_run(lab))["status"]["phase"] == "Passed"


async def test_an_operator_that_dies_between_any_two_writes_goes_on_where_it_was(lab: Lab) -> None:
    """Killed as soon as something was written, again and again; what was read is never lost."""
    jobs = _sharded(lab, _all_well)
    for _ in range(14):
        before = len(lab.writes())
        token = lab.start()
        await lab.until(
            lambda before=before: len(lab.writes()) > before or lab.status().get("phase") == "Active"  # type: ignore[misc]
        )
        await lab.kill(token)
    lab.start()
    await lab.phase("Active", within=900)
    assert {run["status"]["phase"] for run in lab.list("evalruns")} == {"Passed"}
    assert len(jobs) == len(lab.list("evalruns"))
