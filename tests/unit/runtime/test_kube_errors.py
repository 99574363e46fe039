"""What an answer of the API server means for the caller: look again, never again like this, or later."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rca_rollout.kube.errors import (
    AlreadyExistsError,
    ConflictError,
    KubeError,
    NotFoundError,
    RefusedError,
    TransientError,
    error_from,
)


def answer(
    status: int, reason: str = "", message: str = "no", *, patch: bool = False, after: float = 0
) -> KubeError:
    body = json.dumps({"kind": "Status", "reason": reason, "message": message}).encode()
    return error_from(status, body, verb="PUT", path="/x", is_patch=patch, retry_after=after)


REJECTED = "the server rejected our request due to an error in our request"
TESTED = "testing value /data/Mode failed: test failed"


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (answer(404, "NotFound"), NotFoundError),
        (answer(409, "AlreadyExists"), AlreadyExistsError),
        (answer(409, "Conflict"), ConflictError),
        (answer(422, "Invalid", REJECTED, patch=True), ConflictError),
        (answer(422, "Invalid", TESTED, patch=True), ConflictError),
        (answer(422, "Invalid", REJECTED), RefusedError),
        (answer(422, "Invalid", "data is immutable", patch=True), RefusedError),
        (answer(400, "BadRequest"), RefusedError),
        (answer(401, "Unauthorized"), RefusedError),
        (answer(403, "Forbidden", "exceeded quota"), RefusedError),
        (answer(413, "RequestEntityTooLarge"), RefusedError),
        (answer(429, "TooManyRequests", after=7), TransientError),
        (answer(500, "InternalError"), TransientError),
        (answer(503, "ServiceUnavailable"), TransientError),
        (answer(504, "Timeout"), TransientError),
    ],
)
def test_every_answer_has_its_class(found: KubeError, kind: type[KubeError]) -> None:
    assert type(found) is kind


def test_the_server_s_sentence_and_its_wish_to_wait_are_kept() -> None:
    found = answer(429, "TooManyRequests", "slow down", after=7)
    assert isinstance(found, TransientError)
    assert (found.status, found.message, found.retry_after) == (429, "slow down", 7)
    assert str(found) == "PUT /x: 429 slow down"


@given(st.integers(300, 599), st.binary(max_size=60), st.booleans())
def test_whatever_stands_between_us_and_the_server_may_say_anything(
    status: int, body: bytes, patch: bool
) -> None:
    found = error_from(status, body, verb="GET", path="/x", is_patch=patch, retry_after=0)
    assert found.status == status


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b'"x"', b"<html>bad gateway</html>", b"\xff\xfe", b'{"message": null}']
)
def test_a_body_that_is_no_status_is_shown_as_far_as_it_goes(body: bytes) -> None:
    found = error_from(502, body, verb="GET", path="/x", is_patch=False, retry_after=0)
    assert isinstance(found, TransientError)
    assert isinstance(found.message, str)
