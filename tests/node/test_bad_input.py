"""What users and the world get wrong, on a real node: a named reason, a sentence that says what to do, never a pass,
and back on the road as soon as the cause is mended.

Each case has a component of its own; many are looked after side by side by one operator, which is what it is for.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rca_testing.node import (
    DATA,
    ROOT,
    Api,
    Body,
    Operator,
    Place,
    baseline,
    component,
    condition,
    config_map,
    dataset,
    eventually,
    modes,
    plain_engine,
    restricted_namespace,
    suite,
)

pytestmark = [pytest.mark.node, pytest.mark.timeout(420)]

SIDE_BY_SIDE = 7
CASE_SECONDS = 400
# Longer than the longest wait in here: an image that is not there, and then its retry.
PATIENCE = 150


@dataclass
class Case:
    """One component with everything that belongs to it, under one name."""

    place: Place
    name: str

    def suite(self, truth: str = "incidents", floor: str = "baseline", **job: Any) -> None:
        self.place.create(suite(self.name, truth=truth, floor=floor, **job))

    def engine(self, program: str, **job: Any) -> None:
        """A suite whose engine is a shell program; `python3 /engine.py` in it is the good one."""
        self.suite(command=["sh", "-c"], args=[program], **job)

    def target(self) -> None:
        self.place.create(modes(self.name, Mode="Shadow"))

    def component(self, **spec: Any) -> None:
        self.place.create(component(self.name, suite=self.name, target=self.name, **spec))

    def go(self) -> None:
        self.target()
        self.component()

    def job(self, **change: Any) -> None:
        """Mends the suite's Job."""
        self.place.spec("EvalSuite", self.name, job=change)

    def says(self, reason: str, *words: str, about: str = "Ready", kind: str = "RcaComponent") -> str:
        """Waits for the reason, then holds the sentence against `words`; nothing may have passed on the way."""

        def look() -> Body:
            body = self.place.get(kind, self.name)
            found = condition(body, about)
            assert found.get("reason") == reason, (body.get("status") or {}).get("conditions")
            return body

        body = eventually(look, seconds=PATIENCE)
        status = body["status"]
        message = str(condition(body, about)["message"])
        for word in words:
            assert word in message, message
        if kind == "RcaComponent":
            assert status["phase"] in ("Pending", "Evaluating")
            assert "evaluation" not in status
            assert not (status.get("evidence") or {}).get("passing")
        for text in (json.dumps(status), *map(json.dumps, self.runs())):
            assert "Traceback" not in text
            assert 'File "' not in text.replace('\\"', '"')
        return message

    def no_verdict(self, reason: str, *words: str) -> str:
        """The run said nothing; the component says so, and when it is tried again."""
        message = self.says(reason, *words, about="Evaluated")
        assert re.match(r"no verdict, next try at \S+Z: ", message)
        run = self.ended(reason)
        assert run["status"]["phase"] in ("Error", "Inconclusive")
        assert run["status"]["message"] in message
        promoted = condition(self.place.get("RcaComponent", self.name), "Promoted")
        assert (promoted["status"], promoted["reason"]) == ("False", reason)
        return message

    def runs(self) -> list[Body]:
        found = self.place.list("EvalRun", f"rca.bluerobin.io/component={self.name}")
        return sorted(found, key=lambda run: int(run["metadata"]["name"].rpartition("-")[2]))

    def ended(self, reason: str) -> Body:
        return next(run for run in self.runs() if (run.get("status") or {}).get("reason") == reason)

    def running(self) -> Body:
        """The Job of the first run, once its engine is at work."""

        def look() -> Body:
            jobs = self.place.list("Job", f"rca.bluerobin.io/component={self.name}")
            assert jobs
            pods = self.place.list("Pod", f"batch.kubernetes.io/job-name={jobs[0]['metadata']['name']}")
            states = pods[0]["status"].get("initContainerStatuses") or [] if pods else []
            assert any(s["name"] == "eval-1" and s["state"].get("running") for s in states)
            return jobs[0]

        return eventually(look, seconds=PATIENCE)

    def goes_on(self) -> None:
        """Mended: the gate has passed, and all is in order again."""

        def look() -> None:
            body = self.place.get("RcaComponent", self.name)
            status = body.get("status") or {}
            assert (status.get("evaluation") or {}).get("verdict") == "Passed", status.get("conditions")
            assert status["phase"] == "Observing", status
            assert condition(body, "Ready")["status"] == "True"
            assert not condition(body, "Stalled")
            assert "retry" not in status

        eventually(look, seconds=PATIENCE)

    def rest(self) -> None:
        """Nothing was written, and nothing more shall be tried."""
        target = self.place.find("ConfigMap", self.name)
        assert target is None or target.get("data", {}).get("Mode", "Shadow") != "Active"
        if self.place.find("RcaComponent", self.name):
            self.place.spec("RcaComponent", self.name, suspend=True)


# -- what is measured


def malformed_ground_truth(case: Case) -> None:
    case.place.create(config_map(f"{case.name}-data", {"ground-truth.json": '{"incidents": ['}))
    case.suite(truth=f"{case.name}-data")
    case.go()
    case.says("DatasetInvalid", "ground-truth.json of ConfigMap", "JSON")
    case.says("DatasetInvalid", "JSON", kind="EvalSuite")
    case.place.patch("ConfigMap", f"{case.name}-data", {"data": dataset()["data"]})
    case.goes_on()


def unknown_field_in_the_ground_truth(case: Case) -> None:
    truth = json.loads((DATA / "ground-truth.graded.json").read_text())
    truth["incidents"][0]["severityy"] = "high"
    case.place.create(config_map(f"{case.name}-data", {"ground-truth.json": json.dumps(truth)}))
    case.suite(truth=f"{case.name}-data")
    case.go()
    case.says("DatasetInvalid", "severityy")
    case.place.patch("ConfigMap", f"{case.name}-data", {"data": dataset()["data"]})
    case.goes_on()


def malformed_baseline(case: Case) -> None:
    case.place.create(config_map(f"{case.name}-floor", {"baseline.json": '{"kind": "Baseline"}'}))
    case.suite(floor=f"{case.name}-floor")
    case.go()
    case.says("BaselineInvalid", "baseline.json of ConfigMap")
    case.place.patch("ConfigMap", f"{case.name}-floor", {"data": baseline()["data"]})
    case.goes_on()


def baseline_of_another_dataset(case: Case) -> None:
    case.place.create(baseline(f"{case.name}-floor", DATA / "baseline.seed.json"))
    case.suite(floor=f"{case.name}-floor")
    case.go()
    case.says("BaselineStale", "rca-eval baseline write")
    case.place.patch("ConfigMap", f"{case.name}-floor", {"data": baseline()["data"]})
    case.goes_on()


def missing_suite(case: Case) -> None:
    case.go()
    case.says("SuiteNotFound", f"EvalSuite {case.name} does not exist", "create it")
    case.suite()
    case.goes_on()


def missing_config_maps(case: Case) -> None:
    case.suite(truth=f"{case.name}-data", floor=f"{case.name}-floor")
    case.go()
    case.says("DatasetNotFound", f"ConfigMap {case.name}-data does not exist: create it", "ground-truth.json")
    case.place.create(dataset(f"{case.name}-data"))
    case.says("BaselineNotFound", f"ConfigMap {case.name}-floor does not exist: create it", "baseline.json")
    case.place.create(baseline(f"{case.name}-floor"))
    case.goes_on()


def missing_keys(case: Case) -> None:
    case.suite()
    case.place.spec("EvalSuite", case.name, dataset={"key": "truth.json"}, baseline={"key": "floor.json"})
    case.go()
    case.says("DatasetKeyMissing", "has no key truth.json", "it has ground-truth.json")
    case.place.spec("EvalSuite", case.name, dataset={"key": "ground-truth.json"})
    case.says("BaselineKeyMissing", "has no key floor.json", "it has baseline.json")
    case.place.spec("EvalSuite", case.name, baseline={"key": "baseline.json"})
    case.goes_on()


def dataset_with_another_digest(case: Case) -> None:
    case.suite()
    case.place.spec("EvalSuite", case.name, dataset={"sha256": "0" * 64})
    case.go()
    case.says("DatasetChanged", "set dataset.sha256 to the new digest")
    case.place.spec("EvalSuite", case.name, dataset={"sha256": None})
    case.goes_on()


# -- what is switched


def missing_target(case: Case) -> None:
    case.suite()
    case.component()
    case.says("TargetNotFound", f"ConfigMap {case.name} does not exist: create it", "Mode")
    case.target()
    case.goes_on()


def target_that_did_not_opt_in(case: Case) -> None:
    case.suite()
    case.place.create(config_map(case.name, {"Mode": "Shadow"}))
    case.component()
    case.says("TargetNotOptedIn", "label it rca.bluerobin.io/watch=Enabled", about="Stalled")
    case.place.kubectl("label", "configmap", case.name, "rca.bluerobin.io/watch=Enabled")

    def annotation_is_asked_for() -> None:
        case.says("TargetNotOptedIn", "add it to the annotation rca.bluerobin.io/keys", about="Stalled")

    eventually(annotation_is_asked_for, seconds=30)
    case.place.kubectl("annotate", "configmap", case.name, "rca.bluerobin.io/keys=Mode")
    case.goes_on()


def target_with_an_unknown_value(case: Case) -> None:
    case.suite()
    case.place.create(modes(case.name, Mode="Maybe"))
    case.component()
    case.says("UnknownValue", "holds neither Shadow nor Active: set it to Shadow", about="Stalled")
    assert case.place.get("ConfigMap", case.name)["data"] == {"Mode": "Maybe"}
    case.place.patch("ConfigMap", case.name, {"data": {"Mode": "Shadow"}})
    case.goes_on()


def key_that_an_older_component_holds(case: Case) -> None:
    case.suite()
    case.target()
    case.place.create(
        component(f"{case.name}-first", suite=case.name, target=case.name, suspend=True, mode="Shadow")
    )

    def older() -> None:
        assert (
            case.place.get("RcaComponent", f"{case.name}-first").get("status", {}).get("phase") == "Suspended"
        )

    eventually(older, seconds=30)
    # The API server's creation times are whole seconds; within one, the UID decides, and it is random.
    time.sleep(1.1)
    case.component()
    case.says("TargetClaimed", f"{case.name}-first", "a key of its own", about="Stalled")
    case.place.delete("RcaComponent", f"{case.name}-first")
    case.goes_on()


# -- the evaluation


def image_that_cannot_be_pulled(case: Case) -> None:
    case.suite(image="rca-rollout/there-is-no-such-image:1")
    case.go()
    case.no_verdict(
        "ImagePullFailed",
        "container eval-1: the image rca-rollout/there-is-no-such-image:1 cannot be pulled",
        "check its name, tag and pull secret",
    )
    case.job(image=plain_engine())
    case.goes_on()


def program_that_is_not_in_the_image(case: Case) -> None:
    case.suite(command=["/opt/no-such-engine"])
    case.go()
    case.no_verdict(
        "ContainerConfigError",
        "container eval-1 cannot start",
        "/opt/no-such-engine",
        "check job.image, job.command",
    )
    case.job(command=None)
    case.goes_on()


def crash(case: Case) -> None:
    program = "import sys\ndef work():\n  raise RuntimeError('no model at hand')\ntry:\n  work()\nexcept RuntimeError:\n  import traceback; traceback.print_exc(); sys.exit(3)"
    case.suite(command=["python3", "-c"], args=[program])
    case.go()
    case.no_verdict("EvalFailed", "container eval-1 ended with status 3", "kubectl logs", "-c eval-1")
    run = case.ended("EvalFailed")
    assert run["status"]["logTail"] == "RuntimeError: no model at hand"
    case.job(args=["exec(open('/engine.py').read())"])
    case.goes_on()


def hang(case: Case) -> None:
    case.engine("sleep 1000", timeout="12s")
    case.go()
    case.no_verdict("DeadlineExceeded", "container eval-1", "raise job.timeout in the EvalSuite")
    case.job(args=["exec python3 /engine.py"], timeout="2m")
    case.goes_on()


def junk_on_stdout_beside_an_answer(case: Case) -> None:
    case.engine(
        "echo RCA-SCORECARD-BEGIN v1 sha256=0 bytes=1 lines=1; head -c 20000 /dev/urandom; exec python3 /engine.py"
    )
    case.go()
    case.goes_on()


def junk_and_nothing_else(case: Case) -> None:
    case.engine("head -c 20000 /dev/urandom")
    case.go()
    case.no_verdict("PredictionsMissing", "predictions.json", "RCA_EVAL_OUTPUT")
    case.job(args=["exec python3 /engine.py"])
    case.goes_on()


def predictions_that_are_junk(case: Case) -> None:
    case.engine('head -c 20000 /dev/urandom > "$RCA_EVAL_OUTPUT/predictions.json"')
    case.go()
    case.no_verdict("PredictionsInvalid", "predictions.json of repeat 1")
    case.job(args=["exec python3 /engine.py"])
    case.goes_on()


def predictions_of_100_mb(case: Case) -> None:
    case.engine('head -c 100000000 /dev/zero > "$RCA_EVAL_OUTPUT/predictions.json"')
    case.go()
    case.no_verdict("PredictionsTooLarge", "8")
    case.job(args=["exec python3 /engine.py"])
    case.goes_on()


def predictions_that_are_a_link_to_somewhere_else(case: Case) -> None:
    case.engine('ln -s /rca/dataset/ground-truth.json "$RCA_EVAL_OUTPUT/predictions.json"')
    case.go()
    case.no_verdict("PredictionsInvalid", "it must be a regular file, not a link")


def answer_beside_100_mb_of_output(case: Case) -> None:
    case.engine("head -c 100000000 /dev/zero | tr '\\0' x | fold -w 4000; exec python3 /engine.py")
    case.go()
    case.goes_on()


def crash_after_100_mb_of_output(case: Case) -> None:
    case.engine("head -c 100000000 /dev/zero | tr '\\0' x | fold -w 4000; echo out of luck; exit 7")
    case.go()
    case.no_verdict("EvalFailed", "status 7")
    run = case.ended("EvalFailed")
    assert run["status"]["logTail"].endswith("out of luck")
    assert len(json.dumps(run)) < 20000


def repeats_that_differ(case: Case) -> None:
    drop = (
        "import json, os; path = os.environ['RCA_EVAL_OUTPUT'] + '/predictions.json'; "
        "said = json.load(open(path)); said['predictions'].sort(key=str); "
        "said['predictions'][0]['candidates'].pop() if os.environ['RCA_EVAL_REPEAT'] == '2' else None; "
        "json.dump(said, open(path, 'w'))"
    )
    case.engine(f'python3 /engine.py && exec python3 -c "{drop}"')
    case.go()
    case.no_verdict("RepeatsDiffer")
    case.job(args=["exec python3 /engine.py"])
    case.goes_on()


def out_of_memory(case: Case) -> None:
    case.engine(
        "python3 -c \"b'x' * 300000000\" && exec python3 /engine.py",
        resources={"limits": {"memory": "64Mi"}, "requests": {"memory": "32Mi"}},
    )
    case.go()
    case.no_verdict("OutOfMemory", "container eval-1", "raise job.resources.limits.memory in the EvalSuite")
    # Not part of what is measured: the next try takes it up.
    case.job(resources={"limits": {"memory": "1Gi"}})
    case.goes_on()


def no_node_for_the_pod(case: Case) -> None:
    case.suite(nodeSelector={"example.com/pool": "nowhere"}, startTimeout="5s")
    case.go()
    case.no_verdict("Unschedulable", "job.nodeSelector")
    case.job(nodeSelector=None, startTimeout="2m")
    case.goes_on()


def job_deleted_by_hand(case: Case) -> None:
    case.engine("sleep 5; exec python3 /engine.py")
    case.go()
    case.place.delete("Job", case.running()["metadata"]["name"])
    case.no_verdict("JobLost", "was deleted before it ended", "tried again")
    case.goes_on()


def run_deleted_by_hand(case: Case) -> None:
    case.engine("sleep 5; exec python3 /engine.py")
    case.go()
    run = case.running()["metadata"]["labels"]["rca.bluerobin.io/run"]
    case.place.delete("EvalRun", run)
    message = case.says("RunLost", f"EvalRun {run} was deleted before it ended", about="Evaluated")
    assert "next try at" in message
    case.goes_on()
    assert run not in {run["metadata"]["name"] for run in case.runs()}


def scorecard_of_somebody_else(case: Case) -> None:
    case.engine("sleep 5; exec python3 /engine.py")
    case.go()
    run = case.running()["metadata"]["labels"]["rca.bluerobin.io/run"]
    case.place.create(config_map(f"{run}-scorecard", {"scorecard.json.gz": "all is well"}))
    case.no_verdict(
        "ScorecardConflict", f"ConfigMap {run}-scorecard exists and is not of this run", "delete it"
    )
    assert case.place.get("ConfigMap", f"{run}-scorecard")["data"] == {"scorecard.json.gz": "all is well"}
    case.goes_on()


# -- what the API server refuses: these need a namespace of their own


def _quota(case: Case, **hard: str) -> None:
    """Made anew until it is counted: the controller learns of new kinds twice a minute, and looks at a quota when it is
    made, then only every few minutes."""
    body = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "quota"},
        "spec": {"hard": {key.replace("_", "/", 1): value for key, value in hard.items()}},
    }

    def counted() -> None:
        assert "used" in (case.place.get("ResourceQuota", "quota").get("status") or {})

    for tries_left in reversed(range(12)):
        case.place.create(body)
        try:
            eventually(counted, seconds=8)
        except AssertionError:
            if not tries_left:
                raise
            case.place.delete("ResourceQuota", "quota")
        else:
            return


def _needs(case: Case) -> None:
    case.place.create(dataset(), baseline())
    case.suite()
    case.target()


def quota_that_refuses_the_job(case: Case) -> None:
    _needs(case)
    _quota(case, **{"count_jobs.batch": "0"})
    case.component()
    case.no_verdict("JobRefused", "exceeded quota", "change what refuses it")
    case.place.delete("ResourceQuota", "quota")
    case.goes_on()


def quota_that_refuses_the_pod(case: Case) -> None:
    _needs(case)
    case.job(startTimeout="6s")
    _quota(case, pods="0")
    case.component()
    case.no_verdict("PodRefused", "no Pod of Job", "kubectl describe job", "exceeded quota")
    case.job(startTimeout="2m")
    case.place.delete("ResourceQuota", "quota")
    case.goes_on()


def quota_that_refuses_the_scorecard(case: Case) -> None:
    _needs(case)
    held = len(case.place.list("ConfigMap"))
    _quota(case, **{"count_configmaps": str(held)})
    case.component()
    case.no_verdict(
        "ScorecardRefused", "ConfigMap", "for the scorecard", "exceeded quota", "change what refuses it"
    )
    case.place.delete("ResourceQuota", "quota")
    case.goes_on()


def quota_that_refuses_the_run(case: Case) -> None:
    _needs(case)
    _quota(case, **{"count_evalruns.rca.bluerobin.io": "0"})
    case.component()
    case.says("RunRefused", "exceeded quota", "change what refuses it", about="Evaluated")
    case.place.delete("ResourceQuota", "quota")
    case.goes_on()


# -- a harness that lies: an image that only pretends to be ours, told by the revision what to pretend

LIAR = """\
#!/usr/bin/env python3
import base64, gzip, hashlib, json, os, sys

def end(said):
    open("/dev/termination-log", "w").write(json.dumps(said))

def frame(document, announced=None, cut=False):
    packed = gzip.compress(document, mtime=0)
    text = base64.b64encode(packed).decode()
    lines = [text[at : at + 1024] for at in range(0, len(text), 1024)]
    digest = announced or hashlib.sha256(document).hexdigest()
    print(f"RCA-SCORECARD-BEGIN v1 sha256={digest} bytes={len(packed)} lines={len(lines)}")
    print("\\n".join(lines[:-1] if cut else [*lines, "RCA-SCORECARD-END"]))
    return digest

if sys.argv[2] == "prepare":
    sys.exit(0)
lie = os.environ["RCA_EVAL_REVISION"]
document = json.dumps({"kind": "Scorecard", "noise": base64.b64encode(os.urandom(5000)).decode()}).encode()
if lie == "other-digest":
    frame(document)
    end({"sha256": "0" * 64})
elif lie == "damaged":
    digest = hashlib.sha256(document).hexdigest()
    frame(document.replace(b"Scorecard", b"Scorecart"), announced=digest)
    end({"sha256": digest})
elif lie == "cut":
    end({"sha256": frame(document, cut=True)})
elif lie == "no-digest":
    frame(document)
elif lie == "no-scorecard":
    end({"sha256": "0" * 64})
elif lie == "not-a-scorecard":
    end({"sha256": frame(document)})
elif lie == "100-mb":
    for _ in range(100):
        sys.stdout.write("x" * 999999 + "\\n")
    end({"sha256": frame(document)})
elif lie == "bomb":
    end({"sha256": frame(b"0" * 200_000_000)})
elif lie == "no-json":
    sys.stderr.write("Traceback (most recent call last):\\n  File \\"x\\", line 1\\nKeyError: 1\\n")
    sys.exit(1)
"""


def _lie(reason: str, *words: str, wanted: str) -> Callable[[Case], None]:
    def tell(case: Case) -> None:
        case.suite(command=["true"])
        case.target()
        case.component(revision=wanted)
        case.no_verdict(reason, *words)

    tell.__name__ = "harness_image_that_" + wanted.replace("-", "_")
    return tell


PLAIN_CASES = (
    image_that_cannot_be_pulled,
    out_of_memory,
    answer_beside_100_mb_of_output,
    crash_after_100_mb_of_output,
    hang,
    job_deleted_by_hand,
    run_deleted_by_hand,
    scorecard_of_somebody_else,
    repeats_that_differ,
    predictions_of_100_mb,
    predictions_that_are_junk,
    predictions_that_are_a_link_to_somewhere_else,
    junk_on_stdout_beside_an_answer,
    junk_and_nothing_else,
    crash,
    program_that_is_not_in_the_image,
    no_node_for_the_pod,
    malformed_ground_truth,
    unknown_field_in_the_ground_truth,
    malformed_baseline,
    baseline_of_another_dataset,
    missing_suite,
    missing_config_maps,
    missing_keys,
    dataset_with_another_digest,
    missing_target,
    target_that_did_not_opt_in,
    target_with_an_unknown_value,
    key_that_an_older_component_holds,
)
REFUSALS = (
    quota_that_refuses_the_pod,
    quota_that_refuses_the_job,
    quota_that_refuses_the_scorecard,
    quota_that_refuses_the_run,
)
LIES = (
    _lie("DigestMismatch", "announced", wanted="other-digest"),
    _lie("DigestMismatch", "run it again", wanted="damaged"),
    _lie("ScorecardTruncated", "cut off", wanted="cut"),
    _lie("ScorecardMissing", "announced no digest", "harness image", wanted="no-digest"),
    _lie("ScorecardMissing", wanted="no-scorecard"),
    _lie("ScorecardInvalid", wanted="not-a-scorecard"),
    _lie("ScorecardMissing", wanted="100-mb"),
    _lie("ScorecardTooLarge", wanted="bomb"),
    _lie("ScorecardFailed", "did not say why", "kubectl logs", wanted="no-json"),
)


@dataclass
class Cases:
    futures: dict[str, Future[None]]
    operators: list[Operator]


@pytest.fixture(scope="module")
def cases(api: Api, kinds: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cases]:
    with ExitStack() as stack:
        common, lies = (stack.enter_context(restricted_namespace(api)) for _ in range(2))
        own = [stack.enter_context(restricted_namespace(api)) for _ in REFUSALS]
        for place in (common, lies):
            place.create(dataset(), baseline())
        watched = ",".join(place.name for place in (common, *own))
        operator = Operator(common, f"watch.namespaces={{{watched}}}", "maxRetryDelay=30s")
        pool = stack.enter_context(ThreadPoolExecutor(SIDE_BY_SIDE))
        futures: dict[str, Future[None]] = {}

        def submit(tell: Callable[[Case], None], place: Place) -> None:
            name = tell.__name__
            # Names of components have at most 40 characters.
            futures[name] = pool.submit(_tell, tell, Case(place, name.replace("_", "-")[:40].strip("-")))

        for tell, place in zip(REFUSALS, own, strict=True):
            submit(tell, place)
        for tell in PLAIN_CASES:
            submit(tell, common)
        image = _build_the_liar(tmp_path_factory.mktemp("liar"))
        repository, _, tag = image.rpartition(":")
        deceived = Operator(
            lies, f"harness.image.repository={repository}", f"harness.image.tag={tag}", "maxRetryDelay=15m"
        )
        for tell in LIES:
            submit(tell, lies)
        yield Cases(futures, [operator, deceived])
        pool.shutdown(cancel_futures=True)


def _tell(tell: Callable[[Case], None], case: Case) -> None:
    try:
        tell(case)
    finally:
        case.rest()


def _build_the_liar(folder: Path) -> str:
    name = "rca-rollout/test-liar:dev"
    (folder / "Dockerfile").write_text(
        "ARG BASE=python:3.13-slim\nFROM ${BASE}\nCOPY --chmod=0755 rca-eval /usr/local/bin/rca-eval\n"
        "USER 65532:65532\n"
    )
    (folder / "rca-eval").write_text(LIAR)
    tool = [sys.executable, "-m", "hack.cluster", "image"]
    build = ["build", name, "--file", str(folder / "Dockerfile"), "--context", str(folder)]
    for command in ([*tool, *build], [*tool, "load", name, "--name", os.environ["RCA_TEST_CLUSTER"]]):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return name


@pytest.mark.parametrize("name", [tell.__name__ for tell in (*REFUSALS, *PLAIN_CASES, *LIES)])
def test_bad_input_is_named_and_mends_itself(cases: Cases, name: str) -> None:
    cases.futures[name].result(timeout=CASE_SECONDS)


def test_the_operator_came_through_all_of_it_small_and_in_one_piece(
    cases: Cases, figure: Callable[[str], None]
) -> None:
    for operator in cases.operators:
        assert operator.restarts() == 0
        log = operator.log()
        assert "unexpected" not in log
        assert "Traceback" not in log
        figure(f"bad input: operator's resident memory {operator.resident_mib():.1f} MiB")
        assert operator.resident_mib() <= 256
