"""An evaluation in shards on a real node: one Indexed Job, whose parts make the very evidence of one piece.

The engine waits some seconds before it answers, so that there is a middle in which a Pod can be taken away.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest
from rca_testing.node import (
    Api,
    Body,
    Operator,
    Place,
    baseline,
    component,
    condition,
    dataset,
    eventually,
    modes,
    restricted_namespace,
    suite,
)

from rca_eval.contract import sha256, unpack
from rca_eval.contract.merge import merge
from rca_eval.contract.part import parse_part

pytestmark = [pytest.mark.node, pytest.mark.timeout(420)]

SHARDS = 3
SECONDS = 240
INDEX = "batch.kubernetes.io/job-completion-index"
QUICK = {"period": "1h", "interval": "1h", "minPassingRuns": 1}
SLOW = "sleep 8; exec python3 /engine.py"
FAILS_IN_ONE = 'test "$JOB_COMPLETION_INDEX" != 1 || exit 3; exec python3 /engine.py'


@pytest.fixture(scope="module")
def place(api: Api, kinds: None) -> Iterator[Place]:
    with restricted_namespace(api) as made:
        made.create(dataset(), baseline())
        operator = Operator(made, f"watch.namespaces={{{made.name}}}")
        operator.ready()
        yield made


def _evaluate(place: Place, name: str, program: str, **job: object) -> None:
    """A component that is evaluated once, and then observed for longer than the tests take."""
    place.create(
        suite(name, command=["sh", "-c"], args=[program], **job),
        modes(name, Mode="Shadow"),
        component(name, suite=name, target=name, observation=QUICK),
    )


def _run(place: Place, name: str) -> Body:
    """Its first run, once it has ended."""

    def look() -> Body:
        runs = [run for run in place.list("EvalRun") if run["spec"]["componentRef"]["name"] == name]
        ended = [run for run in runs if (run.get("status") or {}).get("finishedAt")]
        assert ended, [run.get("status") for run in runs]
        return min(ended, key=lambda run: str(run["metadata"]["creationTimestamp"]))

    return eventually(look, seconds=SECONDS)


def _pods(place: Place, name: str) -> dict[str, Body]:
    """The living Pods of the component's evaluation, by index."""
    pods = place.list("Pod", f"rca.bluerobin.io/component={name}")
    return {
        pod["metadata"]["labels"].get(INDEX, ""): pod
        for pod in pods
        if not pod["metadata"].get("deletionTimestamp")
    }


def _measures(pod: Body) -> bool:
    """Its first repeat is under way."""
    states = (pod.get("status") or {}).get("initContainerStatuses") or []
    return any(state["name"] == "eval-1" and "running" in state["state"] for state in states)


def test_three_shards_one_of_them_deleted_in_the_middle_give_the_verdict_of_one_piece(place: Place) -> None:
    _evaluate(place, "whole", SLOW)
    _evaluate(place, "parts", SLOW, shards=SHARDS)

    def middle() -> str:
        pods = _pods(place, "parts")
        assert set(pods) == {"0", "1", "2"}
        assert _measures(pods["1"])
        return str(pods["1"]["metadata"]["name"])

    lost = eventually(middle, seconds=120)
    others = {index: pod["metadata"]["uid"] for index, pod in _pods(place, "parts").items() if index != "1"}
    place.delete("Pod", lost)

    whole, parts = _run(place, "whole")["status"], _run(place, "parts")["status"]
    assert whole["phase"] == "Passed", whole
    assert (parts["phase"], parts["reason"]) == (whole["phase"], whole["reason"]), parts
    assert parts["attempts"] == 1
    assert parts["scorecard"]["parts"] == SHARDS
    assert "parts" not in whole["scorecard"]
    assert parts["scorecard"]["deterministicSha256"] == whole["scorecard"]["deterministicSha256"]
    assert (parts["accuracy"], parts["delta"]) == (whole["accuracy"], whole["delta"])
    assert [shard["index"] for shard in parts["shards"]] == [0, 1, 2]

    pods = place.list("Pod", "rca.bluerobin.io/component=parts")
    by_index = {pod["metadata"]["labels"][INDEX]: pod["metadata"] for pod in pods}
    assert by_index["1"]["name"] != lost
    # The others went on: what they had done was not done again.
    assert {index: by_index[index]["uid"] for index in others} == others


def test_what_is_kept_of_the_parts_makes_the_scorecard_that_was_judged(place: Place) -> None:
    run = _run(place, "parts")
    stored = run["status"]["scorecard"]
    index = place.get("ConfigMap", stored["configMapRef"])
    assert index["immutable"] is True
    assert sha256(index["data"][stored["key"]].encode()) == stored["sha256"]
    kept = [
        place.get("ConfigMap", f"{run['metadata']['name']}-scorecard-1-{number}") for number in range(SHARDS)
    ]
    documents = [unpack(base64.b64decode(each["binaryData"]["scorecard.json.gz"])) for each in kept]
    assert [sha256(one) for one in documents] == [shard["sha256"] for shard in run["status"]["shards"]]
    merged = merge([parse_part(one) for one in documents])
    assert merged.deterministic_sha256() == stored["deterministicSha256"]
    for each in kept:
        assert each["immutable"] is True
        assert each["metadata"]["ownerReferences"][0]["uid"] == run["metadata"]["uid"]


def test_a_shard_that_crashes_ends_the_evaluation_and_is_named(place: Place) -> None:
    _evaluate(place, "crash", FAILS_IN_ONE, shards=SHARDS)
    status = _run(place, "crash")["status"]
    assert (status["phase"], status["reason"]) == ("Error", "EvalFailed"), status
    assert "shard 2 of 3 (index 1)" in status["message"]
    assert place.get("ConfigMap", "crash")["data"] == {"Mode": "Shadow"}

    def said() -> None:
        evaluated = condition(place.get("RcaComponent", "crash"), "Evaluated")
        assert "shard 2 of 3" in evaluated["message"], evaluated

    eventually(said, seconds=60)
    place.spec("EvalSuite", "crash", job={"args": [SLOW.replace("sleep 8", "sleep 0")]})

    def mended() -> None:
        runs = [run for run in place.list("EvalRun") if run["spec"]["componentRef"]["name"] == "crash"]
        assert any((run.get("status") or {}).get("phase") == "Passed" for run in runs), runs

    eventually(mended, seconds=SECONDS)
