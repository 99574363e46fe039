"""What comes out of a Job is believed only after it was verified. Each way to be wrong has a name, and none passes."""

from collections.abc import Callable
from typing import Any

import pytest
from rca_testing.emulator.kubelet import environment
from rca_testing.emulator.lab import Lab, succeed
from rca_testing.emulator.server import Fault, refuse
from rca_testing.emulator.store import Body

from rca_eval.contract import encode_frame

pytestmark = pytest.mark.emulated


def _truncated(lab: Lab, job: Body) -> None:
    frame = encode_frame(lab.kubelet.measure(job)).text.splitlines(keepends=True)
    lab.kubelet.succeed(job, log="".join(frame[:2]).encode())


def _another_digest(lab: Lab, job: Body) -> None:
    """A whole, valid scorecard, but not the one that the container announced."""
    lab.kubelet.succeed(job, log=encode_frame(lab.kubelet.measure(job, revision="r0")).text.encode())


def _header_lies(lab: Lab, job: Body) -> None:
    """The announced digest over another document."""
    mine, other = (
        encode_frame(lab.kubelet.measure(job)),
        encode_frame(lab.kubelet.measure(job, revision="r0")),
    )
    text = other.text.replace(other.sha256, mine.sha256)
    lab.kubelet.succeed(job, log=text.encode())


def _oversize(lab: Lab, job: Body) -> None:
    """100 MB of noise before the scorecard; only the first MiB is ever asked for."""
    lab.kubelet.succeed(job, log=b"noise\n" * 400_000 + encode_frame(lab.kubelet.measure(job)).text.encode())


def _junk(lab: Lab, job: Body) -> None:
    lab.kubelet.succeed(job, log=bytes(range(256)) * 64)


def _other_modes(lab: Lab, job: Body) -> None:
    """Everything measured in Shadow, and called With."""
    shadow = [(name, {"RcaLiveActivation.Mode": "Shadow"}) for name in ("AllShadow", "Without", "With")]
    lab.kubelet.succeed(job, lab.kubelet.measure(job, variants=shadow))


def _self_made(lab: Lab, job: Body) -> None:
    lab.kubelet.succeed(job, lab.kubelet.measure(job).model_copy(update={"provenance": "SelfReported"}))


def _better_figures(lab: Lab, job: Body) -> None:
    """AC@1 claimed, not earned."""
    card = lab.kubelet.measure(job, lost={"With": ("GT-01", "GT-03")})
    document = card.model_dump()
    for arm in document["deterministic"]["variants"][-1]["arms"]:
        arm["metrics"]["AC@1"] = "1.000000000"
    lab.kubelet.succeed(job, type(card).model_validate(document))


WAYS: dict[str, tuple[Callable[[Lab, Body], Any], set[str]]] = {
    "a truncated log": (_truncated, {"ScorecardTruncated"}),
    "another scorecard than announced": (_another_digest, {"DigestMismatch"}),
    "a header that lies": (_header_lies, {"DigestMismatch"}),
    "a log of 100 MB": (_oversize, {"ScorecardMissing"}),
    "junk": (_junk, {"ScorecardMissing"}),
    "an empty log": (lambda lab, job: lab.kubelet.succeed(job, log=b""), {"ScorecardMissing"}),
    "no last words": (lambda lab, job: lab.kubelet.succeed(job, message=""), {"ScorecardMissing"}),
    "last words that are no JSON": (
        lambda lab, job: lab.kubelet.succeed(job, message="ok"),
        {"ScorecardMissing"},
    ),
    "last words of another form": (
        lambda lab, job: lab.kubelet.succeed(job, message='["a"]'),
        {"ScorecardMissing"},
    ),
    "the wrong revision": (
        lambda lab, job: lab.kubelet.succeed(job, lab.kubelet.measure(job, revision="r0")),
        {"RevisionMismatch"},
    ),
    "the wrong dataset": (
        lambda lab, job: lab.kubelet.succeed(job, lab.kubelet.measure(job, sha256="0" * 64)),
        {"DatasetMismatch"},
    ),
    "other modes": (_other_modes, {"VariantMissing", "ModesMismatch"}),
    "a missing variant": (
        lambda lab, job: lab.kubelet.succeed(
            job, lab.kubelet.measure(job, variants=[("AllShadow", {"RcaLiveActivation.Mode": "Shadow"})])
        ),
        {"VariantMissing", "ModesMismatch"},
    ),
    "a scorecard of somebody else's making": (_self_made, {"SelfReported"}),
    "figures that do not follow from the rows": (_better_figures, {"AggregateMismatch"}),
    "an engine that crashes": (lambda lab, job: lab.kubelet.fail(job, "eval-1", 1, "Boom"), {"EvalFailed"}),
    "an engine that eats all memory": (
        lambda lab, job: lab.kubelet.fail(job, "eval-2", 137, reason="OOMKilled"),
        {"OutOfMemory"},
    ),
    "no predictions": (
        lambda lab, job: lab.kubelet.fail(
            job,
            "scorecard",
            2,
            '{"error": {"reason": "PredictionsMissing", "message": "eval-1 wrote nothing."}}',
        ),
        {"PredictionsMissing"},
    ),
    "a dataset that changed on its way": (
        lambda lab, job: lab.kubelet.fail(
            job, "prepare", 2, '{"error": {"reason": "DatasetChanged", "message": "other digest"}}'
        ),
        {"DatasetChanged"},
    ),
}


BAD = 3
"""Runs that are wrong in the same way, one after the other: fewer than block."""


@pytest.mark.parametrize("way", WAYS)
async def test_no_bad_result_passes_and_the_next_good_run_mends_it(lab: Lab, way: str) -> None:
    """Each run is tried again, later each time, until one can be believed."""
    spoil, reasons = WAYS[way]
    lab.on_job = lambda lab, job: (spoil if int(_number(job)) <= BAD else succeed)(lab, job)
    lab.everything(observation={"period": "0s", "interval": "1s", "minPassingRuns": 1})
    lab.start(MAX_RETRY_DELAY="10s")
    await lab.phase("Active", within=1800)
    runs = {int(run["metadata"]["name"].rpartition("-")[2]): run["status"] for run in lab.list("evalruns")}
    for number in range(1, BAD + 1):
        status = runs[number]
        assert status["phase"] in ("Error", "Inconclusive"), status
        assert status["reason"] in reasons, status
        assert status["message"]
        assert "Traceback" not in str(status)
    assert {status["phase"] for number, status in runs.items() if number > BAD} == {"Passed"}
    assert all(int(entry["name"].rpartition("-")[2]) > BAD for entry in lab.status()["evidence"]["runs"])
    assert len(lab.key_writes()) == 1
    # Told once, by the component too, not once per attempt of the same kind.
    told = [event["reason"] for event in lab.events("RcaComponent")]
    assert sum(reason in reasons for reason in told) <= len(reasons)


async def test_while_runs_say_nothing_the_component_says_why(lab: Lab) -> None:
    lab.on_job = _truncated
    lab.everything()
    lab.start()
    condition = await lab.reason("Evaluated", "ScorecardTruncated")
    assert condition["status"] == "Unknown"
    assert "next try at" in condition["message"]
    await lab.until(lambda: len(lab.list("evalruns")) > 3, within=600)
    assert lab.mode() == "Shadow"
    assert lab.status()["retry"]["consecutive"] >= 3
    lab.on_job = succeed
    await lab.phase("Active", within=1200)
    assert "retry" not in lab.status()


def _number(job: Body) -> str:
    """Of the run that the Job belongs to."""
    run: str = job["metadata"]["ownerReferences"][0]["name"]
    return run.rpartition("-")[2]


async def test_at_most_a_mebibyte_of_a_log_is_ever_asked_for(lab: Lab) -> None:
    lab.everything()
    lab.start()
    await lab.phase("Active")
    reads = [call for call in lab.server.calls if call.subresource == "log"]
    assert reads
    assert all(int(call.query["limitBytes"]) <= 1024 * 1024 for call in reads)


async def test_a_foreign_config_map_under_the_scorecards_name_is_not_believed(lab: Lab) -> None:
    """Not even when it holds a perfect scorecard; it is never overwritten, and the run after it has another name."""
    squat = Fault(
        lambda call: (call.verb, call.plural) == ("create", "jobs"), lambda call: _squat(lab, call.body)
    )
    lab.server.faults.append(squat)
    lab.everything()
    lab.start()
    run = await lab.until(
        lambda: next((r for r in lab.list("evalruns") if r["status"].get("finishedAt")), None)
    )
    assert (run["status"]["phase"], run["status"]["reason"]) == ("Error", "ScorecardConflict")
    name = run["metadata"]["name"] + "-scorecard"
    assert name in run["status"]["message"]
    await lab.phase("Active")
    assert lab.get("configmaps", name)["data"] == {"scorecard.json": "{}"}


def _squat(lab: Lab, job: Body) -> None:
    run = job["metadata"]["ownerReferences"][0]["name"]
    lab.create("configmaps", f"{run}-scorecard", data={"scorecard.json": "{}"})


async def test_a_refused_job_is_named_and_mends_itself(lab: Lab) -> None:
    quota = (
        "jobs.batch is forbidden: exceeded quota: evals, requested: count/jobs.batch=1, used: 1, limited: 1"
    )
    refusal = Fault(
        lambda call: (call.verb, call.plural) == ("create", "jobs"), refuse(403, "Forbidden", quota), times=3
    )
    lab.server.faults.append(refusal)
    lab.everything()
    lab.start()
    condition = await lab.reason("Evaluated", "JobRefused")
    assert "exceeded quota" in condition["message"]
    await lab.phase("Active", within=600)
    refused = [run for run in lab.list("evalruns") if run["status"]["reason"] == "JobRefused"]
    assert len(refused) == refusal.hits == 3


async def test_a_job_deleted_by_hand_is_made_again_as_a_new_run(lab: Lab) -> None:
    lab.on_job = lambda lab, job: lab.kubelet.start(job)
    lab.everything()
    lab.start()
    await lab.until(lambda: lab.list("pods"))
    await lab.quiet(5)
    lab.on_job = lambda lab, job: lab.kubelet.succeed(job)
    [job] = lab.list("jobs")
    lab.store.delete("jobs", "shop", job["metadata"]["name"])
    await lab.phase("Active")
    assert lab.list("evalruns")[0]["status"]["reason"] == "JobLost"


async def test_an_evicted_pod_is_tried_again_for_free(lab: Lab) -> None:
    def evict_first(lab: Lab, job: Body) -> None:
        if not job["metadata"]["name"].endswith("-1"):
            lab.kubelet.succeed(job)
            return
        pod = lab.kubelet.start(job)

        def evict(body: Body) -> None:
            condition = {
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "EvictionByEvictionAPI",
                "message": "drain",
            }
            body["status"] = {"phase": "Failed", "conditions": [condition]}

        lab.store.edit("pods", "shop", pod["metadata"]["name"], evict)
        failed = {"type": "Failed", "status": "True", "reason": "PodFailurePolicy", "message": "drain"}
        lab.store.edit(
            "jobs", "shop", job["metadata"]["name"], lambda body: body.update(status={"conditions": [failed]})
        )

    lab.on_job = evict_first
    lab.everything(observation={"period": "0s", "interval": "1s", "minPassingRuns": 1})
    lab.start()
    await lab.phase("Active")
    runs = lab.list("evalruns")
    assert [run["status"]["phase"] for run in runs] == ["Passed"] * len(runs)
    assert {run["status"]["attempts"] for run in runs} == {2}


async def test_the_evaluated_code_gets_no_labels_and_no_token(lab: Lab) -> None:
    lab.on_job = lambda lab, job: None
    lab.everything()
    lab.start()
    [job] = await lab.until(lambda: lab.list("jobs"))
    pod = job["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    for container in pod["initContainers"]:
        if container["name"].startswith("eval-"):
            assert not any(mount["name"] == "dataset" for mount in container["volumeMounts"])
            assert "RCA_EVAL_DATASET" not in environment(job, container["name"])
