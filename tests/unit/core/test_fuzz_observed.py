"""What the operator reads of the cluster, damaged: Pods, Jobs, last words, stored scorecards, ConfigMaps. Nothing crashes or passes.

The other half of the hundred thousand inputs is in `tests/unit/harness/test_fuzz_documents.py`. `RCA_FUZZ` multiplies them.
"""

from __future__ import annotations

import base64
import json
import os
import random
import sys
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from rca_testing import evidence, job_states, mutations, suites
from rca_testing.config_maps import target
from rca_testing.lifecycle_world import START
from rca_testing.run_world import run_body, typed_run

from rca_eval.contract import canonical, encode_frame, sha256
from rca_rollout.core.names import scorecard_name
from rca_rollout.core.pods import (
    Broken,
    Disrupted,
    Running,
    Succeeded,
    diagnose,
    readable_tail,
    termination_message,
)
from rca_rollout.core.problem import Problem
from rca_rollout.core.readings import SCORECARD_KEY, announced_digest, from_log, from_store, store_body
from rca_rollout.core.suites import SuiteFacts, resolve_suite
from rca_rollout.core.target import TargetView, view_target, write_conflict, write_patch

TIMES = int(os.environ.get("RCA_FUZZ", "1"))
TIMEOUT = timedelta(minutes=2)
RUN = typed_run(run_body())
CARD = evidence.scorecard(suites.facts().dataset_sha256)
FRAME = encode_frame(CARD)


def shown(what: str, outcomes: Counter[str], capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        sys.stdout.write(f"\n{outcomes.total()} x {what}: {dict(outcomes.most_common(8))}\n")


def a_sentence(text: str) -> None:
    """Named, and short enough for a condition once it is clipped."""
    assert text.strip()
    assert "Traceback" not in text


def ended_well(pod: Any) -> set[str]:
    """Names of the containers that ended with status 0; none, where a step of ours did not."""
    status = pod["status"]
    states = [*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())]
    codes = {one["name"]: one.get("state", {}).get("terminated", {}).get("exitCode") for one in states}
    bad = [name for name, code in codes.items() if code != 0 and name in job_states.CONTAINERS]
    return set() if bad else {name for name, code in codes.items() if code == 0}


def test_no_state_of_a_job_and_its_pods_is_taken_for_a_success(capsys: pytest.CaptureFixture[str]) -> None:
    complete, failed = (
        job_states.condition("Complete"),
        job_states.condition("Failed", "BackoffLimitExceeded", "it failed"),
    )
    pods = (
        job_states.pod("Pending"),
        job_states.pod("Pending", {"eval-1": job_states.waiting("ImagePullBackOff")}),
        job_states.pod("Failed", {"eval-1": job_states.ended(137, "OOMKilled")}),
        job_states.pod(
            "Failed", {"prepare": job_states.ended(2, message='{"error": {"reason": "X", "message": "m"}}')}
        ),
        job_states.pod("Running", {"scorecard": {"running": {}}}),
        job_states.succeeded(3, json.dumps({"sha256": FRAME.sha256})),
    )
    jobs = (job_states.job(), job_states.job(failed), job_states.job(complete))
    chance, outcomes = random.Random(5), Counter[str]()
    for _ in range(20_000 * TIMES):
        job, pod = chance.choice(jobs), chance.choice(pods)
        seen = {**job, "status": mutations.text_only(chance, job["status"])}
        observed = [
            {**pod, "status": mutations.text_only(chance, pod["status"])} for _ in range(chance.randint(0, 2))
        ]
        now = START + timedelta(seconds=chance.choice((0, 30, 121, 90_000)))
        found = diagnose(seen, observed, start_timeout=TIMEOUT, now=now)
        outcomes[type(found).__name__] += 1
        match found:
            case Succeeded(pod=which):
                ended = ended_well(which)
                assert ended >= {"prepare", "scorecard"}
                assert any(name.startswith("eval-") for name in ended)
            case Broken(reason=reason, message=message):
                assert reason.isalnum()
                a_sentence(message)
            case Disrupted(message=message):
                a_sentence(message)
            case Running(wake_at=wake):
                assert wake > now
    shown("states of Jobs and Pods", outcomes, capsys)


def test_last_words_name_the_scorecard_or_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Only the digest that was announced opens a log; what is no digest opens none."""
    words = json.dumps({"sha256": FRAME.sha256, "bytes": FRAME.compressed_bytes})
    chance, outcomes = random.Random(6), Counter[str]()
    for at in range(12_000 * TIMES):
        if at % 2:
            damaged = mutations.bytes_of(chance, words.encode())
        else:
            damaged = mutations.text_of(chance, json.loads(words))
        text = damaged.decode(errors="replace")[:4096]  # as much as the kubelet keeps
        pod = job_states.succeeded(3, text)
        assert termination_message(pod, "scorecard") == text
        announced = announced_digest(pod)
        if isinstance(announced, Problem):
            a_sentence(announced.message)
            outcomes[announced.reason] += 1
            continue
        read = from_log(RUN, FRAME.text.encode(), announced)
        if isinstance(read, Problem):
            outcomes[read.reason] += 1
        else:
            assert read.sha256 == announced == FRAME.sha256
            outcomes["read"] += 1
    shown("last words", outcomes, capsys)


@pytest.mark.parametrize("container", ["prepare", "scorecard"])
@pytest.mark.parametrize("opening", ["[", '{"error":', '{"error":{"reason":'])
def test_last_words_nested_as_deep_as_the_kubelet_keeps_them_are_no_traceback(
    container: str, opening: str
) -> None:
    words = (opening * 4096)[:4096]
    pod = job_states.pod("Failed", {container: job_states.ended(2, message=words)})
    found = diagnose(job_states.job(job_states.condition("Failed")), [pod], start_timeout=TIMEOUT, now=START)
    assert isinstance(found, Broken)
    assert isinstance(announced_digest(job_states.succeeded(3, words)), Problem)


def test_a_damaged_stored_scorecard_is_a_conflict_and_no_result(capsys: pytest.CaptureFixture[str]) -> None:
    reading = from_log(RUN, FRAME.text.encode(), FRAME.sha256)
    assert not isinstance(reading, Problem)
    body = store_body(RUN, reading)
    packed = base64.b64decode(body["binaryData"][SCORECARD_KEY])
    chance, outcomes = random.Random(7), Counter[str]()
    for at in range(6_000 * TIMES):
        stored = dict(body)
        if at % 3 == 0:
            stored = mutations.text_only(chance, body)
        elif at % 3 == 1:
            stored["binaryData"] = {
                SCORECARD_KEY: base64.b64encode(mutations.bytes_of(chance, packed)).decode()
            }
        else:
            garbage = mutations.bytes_of(chance, body["binaryData"][SCORECARD_KEY].encode())
            stored["binaryData"] = {SCORECARD_KEY: garbage.decode("ascii", "replace")}
        found = from_store(RUN, stored, FRAME.sha256)
        if isinstance(found, Problem):
            a_sentence(found.message)
            assert scorecard_name(RUN.metadata.name) in found.message
            outcomes[found.reason] += 1
        else:
            assert found.sha256 == FRAME.sha256 == sha256(canonical(found.scorecard))
            outcomes["read"] += 1
    shown("stored scorecards", outcomes, capsys)


def test_damaged_datasets_and_baselines_are_named_problems(capsys: pytest.CaptureFixture[str]) -> None:
    truth, floor = json.loads(suites.DATASET), json.loads(suites.BASELINE)
    spec, chance, outcomes = suites.suite().spec, random.Random(8), Counter[str]()
    for at in range(5_000 * TIMES):
        which = ("ground-truth.json", "baseline.json")[at % 2]
        value = truth if at % 2 == 0 else floor
        data: dict[str, Any] = {"ground-truth.json": suites.DATASET, "baseline.json": suites.BASELINE}
        damage = chance.random()
        if damage < 0.5:
            data[which] = json.dumps(mutations.value_of(chance, value))
        elif damage < 0.8:
            data[which] = mutations.text_of(chance, value).decode(errors="replace")
        else:
            data[which] = mutations.bytes_of(chance, data[which].encode()).decode(errors="replace")
        held: dict[str, Any] = {"data": data}
        if damage > 0.95:
            held = {
                "binaryData": {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}
            }
        found = resolve_suite("suite", spec, held, held)
        if isinstance(found, Problem):
            a_sentence(found.message)
            outcomes[found.reason] += 1
        else:
            assert isinstance(found, SuiteFacts)
            assert found.dataset_sha256 == sha256(data["ground-truth.json"].encode())
            outcomes["usable"] += 1
    shown("datasets and baselines", outcomes, capsys)


def test_a_strange_config_map_is_a_named_problem_or_safe_to_write(capsys: pytest.CaptureFixture[str]) -> None:
    owned = {"manager": "argocd-controller", "operation": "Apply", "time": "2026-11-30T10:00:00Z"}
    fields = {"fieldsV1": {"f:data": {f"f:{evidence.KEY}": {}, "f:Other.Mode": {}}}}
    mine = {"manager": "rca-rollout", "operation": "Update", "time": "2026-11-30T10:01:00Z"}
    whole = target("Shadow", immutable=False)
    whole["metadata"]["managedFields"] = [{**owned, **fields}, {**mine, **fields}]
    chance, outcomes = random.Random(9), Counter[str]()
    for _ in range(12_000 * TIMES):
        body = mutations.text_only(chance, whole)
        found = view_target(body, "modes", evidence.KEY)
        if isinstance(found, Problem):
            a_sentence(found.message)
            assert "modes" in found.message
            outcomes[found.reason] += 1
            continue
        assert isinstance(found, TargetView)
        assert evidence.KEY in body["metadata"]["annotations"]["rca.bluerobin.io/keys"]
        conflict = write_conflict(found, "modes", evidence.KEY, towards_active=True)
        outcomes[conflict.reason if conflict else "writable"] += 1
        patch = write_patch(found, evidence.KEY, "Active")
        assert patch[0] == {"op": "test", "path": "/metadata/uid", "value": found.uid}
        assert [one["op"] for one in patch] in (["test", "test", "replace"], ["test", "test", "add"])
    shown("ConfigMaps", outcomes, capsys)


def test_the_end_of_any_log_is_readable(capsys: pytest.CaptureFixture[str]) -> None:
    log = (
        b'Traceback (most recent call last):\n  File "/engine.py", line 3, in <module>\n    boom()\nKeyError: "x"\n'
        * 3
    )
    chance, outcomes = random.Random(10), Counter[str]()
    for _ in range(6_000 * TIMES):
        found = readable_tail(mutations.bytes_of(chance, log))
        assert len(found.encode()) <= 2048
        assert all(c.isprintable() or c == "\n" for c in found)
        outcomes["readable"] += 1
    shown("ends of logs", outcomes, capsys)
