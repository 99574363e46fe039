"""The judge decides nothing: whatever it says, and however it ends, outcome and verdict are the same.

And it is asked only where a suite wants it, by a container that alone has the key.
"""

from __future__ import annotations

import dataclasses
import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rca_testing import evidence, job_states, suites
from rca_testing.lifecycle_world import START
from rca_testing.run_world import Road, component, run_body, typed_run

from rca_eval.contract import canonical
from rca_eval.contract.judgement import JudgedIncident, Judgement
from rca_rollout.api.common import RunPhase
from rca_rollout.core import judging
from rca_rollout.core.budget import asks_judge
from rca_rollout.core.epoch import epoch_of
from rca_rollout.core.pods import Running, Succeeded, diagnose
from rca_rollout.core.runs import decide_run
from rca_rollout.core.runs.watch import job_body

JUDGE = {
    "endpoint": "https://llm.example/v1",
    "model": "m",
    "secretRef": {"name": "judge"},
    "tokensPerRun": 9000,
}
WANTED = {"schedule": {"cron": "0 2 * * *", "judge": True}, "judge": JUDGE}


def scheduled(**spec: Any) -> Road:
    road = Road(trigger="Scheduled", componentRef=None, epoch=None, context=None)
    road.component = None
    road.suite = suites.facts(**spec)
    return road


def pod(words: str = "", state: dict[str, Any] | None = None) -> dict[str, Any]:
    """A Pod whose steps have ended well, with the judge's container in this state."""
    made = job_states.succeeded()
    said = {"terminated": {"exitCode": 0, "message": words}} if state is None else state
    made["status"]["containerStatuses"].append({"name": "judge", "image": "i", "state": said})
    return made


def says(**summary: Any) -> str:
    return json.dumps({"judge": {"model": "m", "judged": 0, "skipped": 0, "tokens": 0, **summary}})


_WORDS = st.one_of(
    st.text(max_size=200),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
        max_leaves=8,
    ).map(lambda value: json.dumps({"judge": value})),
    st.fixed_dictionaries(
        {
            "judged": st.integers(0, 9),
            "skipped": st.integers(0, 9),
            "tokens": st.integers(0, 10**9) | st.none(),
            "meanScore": st.sampled_from(["0.000000000", "1.000000000", None, 5]),
            "message": st.text(max_size=50) | st.none(),
            "verdict": st.sampled_from(["Passed", "Failed"]),
        }
    ).map(lambda value: json.dumps({"judge": value})),
)


@settings(max_examples=25, deadline=None)
@given(_WORDS, st.booleans())
def test_no_word_of_the_judge_changes_a_verdict(words: str, regressed: bool) -> None:
    """Everything but `status.judge` is, byte for byte, what it is without a judge: of a pass, and of a regression."""
    road = Road()
    lost = evidence.IDS[:3] if regressed else ()
    road.succeeded(evidence.scorecard(road.suite.dataset_sha256, lost=lost), stored=True)
    alone = decide_run(road.snapshot(), road.now)
    said = judging.opinion(pod(words), None)
    assert said is not None
    heard = decide_run(dataclasses.replace(road.snapshot(), judge=said), road.now)
    assert heard.status.judge == said
    assert heard.status.evolve(judge=None) == alone.status
    assert (heard.event, heard.actions, heard.wake_at) == (alone.event, alone.actions, alone.wake_at)
    assert alone.status.phase == (RunPhase.FAILED if regressed else RunPhase.PASSED)


@pytest.mark.parametrize(
    "end",
    [
        {"terminated": {"exitCode": 0}},
        {"terminated": {"exitCode": 1, "reason": "Error"}},
        {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
        {"terminated": {"exitCode": 128, "reason": "StartError"}},
    ],
)
@pytest.mark.parametrize("kind", ["Complete", "Failed"])
def test_however_the_judge_ends_the_evaluation_has_succeeded(end: dict[str, Any], kind: str) -> None:
    judged = pod(state=end)
    judged["status"]["phase"] = "Succeeded" if kind == "Complete" else "Failed"
    timeout = suites.facts().spec.job.start_timeout.delta
    found = diagnose(job_states.job(job_states.condition(kind)), [judged], start_timeout=timeout, now=START)
    assert isinstance(found, Succeeded)


@pytest.mark.parametrize("state", [{"running": {}}, {"waiting": {"reason": "ImagePullBackOff"}}])
def test_a_judge_at_work_is_waited_for_until_the_pod_s_deadline_and_no_longer(state: dict[str, Any]) -> None:
    judged = pod(state=state)
    judged["status"] |= {"phase": "Running", "startTime": job_states.format_time(START)}
    common: dict[str, Any] = {"start_timeout": timedelta(minutes=2), "run_timeout": timedelta(minutes=10)}
    busy = diagnose(job_states.job(), [judged], now=START + timedelta(minutes=5), **common)
    assert isinstance(busy, Running)
    gone = diagnose(job_states.job(), [judged], now=START + timedelta(minutes=20), **common)
    assert isinstance(gone, Succeeded)


def test_the_judge_is_asked_of_scheduled_runs_of_suites_that_want_it() -> None:
    wanted = suites.facts(**WANTED).spec
    assert asks_judge("Scheduled", wanted)
    for trigger in ("Gate", "Observation", "Closing", "Guard", "Manual"):
        assert not asks_judge(trigger, wanted)
    for spec in (
        {},
        {"judge": JUDGE},
        {**WANTED, "schedule": {"cron": "0 2 * * *"}},
        {**WANTED, "job": {"shards": 2}},
    ):
        assert not asks_judge("Scheduled", suites.facts(**spec).spec)


def test_off_by_default_the_job_is_what_it_is_without_a_judge() -> None:
    plain, off = scheduled(), scheduled(judge=JUDGE)
    for road in (plain, off):
        road.settle()
    assert job_body(plain.snapshot(), plain.suite) == job_body(off.snapshot(), off.suite)


def test_only_the_judge_s_container_has_the_key_and_it_has_no_labels() -> None:
    road = scheduled(**WANTED).settle()
    made = job_body(road.snapshot(), road.suite)["spec"]["template"]["spec"]
    steps = [container["name"] for container in made["initContainers"]]
    assert steps == ["prepare", "eval-1", "eval-2", "scorecard"]
    (judge,) = made["containers"]
    key = next(item for item in judge["env"] if item["name"] == "RCA_JUDGE_KEY")
    assert key["valueFrom"] == {"secretKeyRef": {"name": "judge", "key": "api-key", "optional": True}}
    assert "secretKeyRef" not in json.dumps(made["initContainers"])
    assert judge["volumeMounts"] == [{"name": "judge", "mountPath": "/rca/judge", "readOnly": True}]
    others = [c["name"] for c in made["initContainers"] if "/rca/judge" in json.dumps(c["volumeMounts"])]
    assert others == ["scorecard"]
    assert judge["securityContext"]["readOnlyRootFilesystem"]
    assert judge["resources"]["limits"]["memory"]
    assert "secret" not in json.dumps(made["volumes"])


def test_a_run_of_a_component_never_has_a_judge() -> None:
    road = Road()
    road.suite = suites.facts(**WANTED)
    road.settle()
    assert "judge" not in json.dumps(job_body(road.snapshot(), road.suite))


def test_what_the_judge_says_is_shown_and_what_it_does_not_say_is_counted_in_full() -> None:
    limit = suites.facts(**WANTED).spec.judge
    said = judging.opinion(pod(says(judged=8, skipped=1, meanScore="0.750000000", tokens=600)), limit)
    assert said is not None
    assert (said.judged, said.skipped, said.mean_score, said.tokens) == (8, 1, "0.750", 600)
    for words in ("", "killed", "[]", '{"judge": {"judged": -1}}', says(tokens=None)):
        unknown = judging.opinion(pod(words), limit)
        assert unknown is not None
        assert unknown.tokens == 9000
    assert judging.opinion(job_states.succeeded(), limit) is None


def test_the_judgement_is_kept_beside_the_scorecard_if_it_is_about_it() -> None:
    run = typed_run(run_body())
    found = Judgement(
        model="m",
        scorecard_sha256="a" * 64,
        variant="With",
        arm="LivePath",
        incidents=(JudgedIncident(incident="GT-01", skipped="NoAnswer"),),
        tokens=0,
        token_limit=1,
    )
    log = b"some words\n" + canonical(found) + b"\n"
    kept = judging.stored(run, log, "a" * 64)
    assert kept is not None
    assert kept["metadata"]["name"] == "live-abcdef-1-judge"
    assert kept["metadata"]["ownerReferences"][0]["uid"] == "run-uid"
    assert json.loads(kept["data"]["judge.json"])["advisory"] is True
    assert judging.stored(run, log, "b" * 64) is None
    for other in (b"", b"{}", b"{" * 9999, b'{"verdict": "Passed"}', b"\xff\xfe{"):
        assert judging.stored(run, other, "a" * 64) is None


def test_schedule_budget_and_judge_are_no_part_of_the_epoch() -> None:
    live, more = component(), suites.facts(**WANTED, budget={"runsPerMonth": 5})
    assert epoch_of(live.spec, suites.facts()) == epoch_of(live.spec, more)
