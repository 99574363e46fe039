"""A scorecard is believed only when its digest is the one that its container announced, wherever it is read."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from rca_testing import evidence
from rca_testing.job_states import succeeded
from rca_testing.run_world import run_body, typed_run

from rca_eval.contract import encode_frame
from rca_rollout.core.problem import Problem
from rca_rollout.core.readings import Reading, announced_digest, from_log, from_store, store_body

CARD = evidence.scorecard("a" * 64)
OTHER = evidence.scorecard("a" * 64, lost=("GT-01-incident",))
FRAME = encode_frame(CARD)
RUN = typed_run(run_body())


def stored(card: Any = CARD, **changes: Any) -> dict[str, Any]:
    read = from_log(RUN, encode_frame(card).text.encode(), encode_frame(card).sha256)
    assert isinstance(read, Reading)
    return {**copy.deepcopy(store_body(RUN, read)), **changes}


def test_a_log_with_the_announced_digest_is_read() -> None:
    read = from_log(RUN, b"a warning\n" + FRAME.text.encode(), FRAME.sha256)
    assert isinstance(read, Reading)
    assert (read.scorecard, read.sha256, read.stored) == (CARD, FRAME.sha256, False)


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (b"", "ScorecardMissing"),
        (b"junk\n" * 1000, "ScorecardMissing"),
        (FRAME.text.encode()[:600], "ScorecardTruncated"),
        (encode_frame(OTHER).text.encode(), "DigestMismatch"),
    ],
)
def test_a_log_that_cannot_be_verified_is_a_named_problem(log: bytes, reason: str) -> None:
    found = from_log(RUN, log, FRAME.sha256)
    assert isinstance(found, Problem)
    assert found.reason == reason
    assert found.message


def test_what_is_stored_is_read_back_the_same() -> None:
    read = from_store(RUN, stored(), FRAME.sha256)
    assert isinstance(read, Reading)
    assert (read.scorecard, read.sha256, read.stored) == (CARD, FRAME.sha256, True)


def test_it_is_stored_immutable_and_owned_by_its_run() -> None:
    body = stored()
    assert body["immutable"] is True
    assert body["metadata"]["ownerReferences"][0]["uid"] == RUN.metadata.uid
    assert body["metadata"]["name"] == "live-abcdef-1-scorecard"


@pytest.mark.parametrize(
    "forged",
    [
        stored(OTHER),
        stored(binaryData={}),
        stored(binaryData={"scorecard.json.gz": "%%%"}),
        stored(binaryData={"scorecard.json.gz": "AAAA"}),
        {"metadata": {"name": "live-abcdef-1-scorecard"}},
        stored(metadata={"ownerReferences": [{"uid": "another run"}]}),
    ],
)
def test_a_config_map_that_somebody_else_made_is_a_conflict(forged: dict[str, Any]) -> None:
    found = from_store(RUN, forged, FRAME.sha256)
    assert isinstance(found, Problem)
    assert found.reason == "ScorecardConflict"
    assert "delete it" in found.message


@pytest.mark.parametrize("words", ["", "junk", "[]", "7", '{"bytes": 3}'])
def test_a_container_that_announced_nothing_proves_nothing(words: str) -> None:
    found = announced_digest(succeeded(words=words))
    assert isinstance(found, Problem)
    assert found.reason == "ScorecardMissing"


def test_the_announced_digest_is_in_the_last_words() -> None:
    assert announced_digest(succeeded(words='{"sha256": "abc"}')) == "abc"
