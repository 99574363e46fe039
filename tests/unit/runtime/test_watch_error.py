"""What is said when a watch dies: one sentence with the resource and the cause, whatever kopf raised."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest
from yarl import URL

from rca_rollout.runtime.watch_error import watch_error


class RefusedError(Exception):
    """As kopf's errors: a status and a message, and the HTTP error behind it."""

    status = 403
    message = 'pods is forbidden: User "x" cannot watch resource "pods"'


def _refused() -> RefusedError:
    url = URL("https://10.0.0.1/api/v1/namespaces/shop/pods?watch=true")
    information: Any = aiohttp.RequestInfo(url, "GET", {}, url)  # type: ignore[arg-type]
    error = RefusedError()
    error.__cause__ = aiohttp.ClientResponseError(information, (), status=403)
    return error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            _refused(),
            ("of /api/v1/namespaces/shop/pods failed", "answered 403", 'cannot watch resource "pods"'),
        ),
        (ValueError("Expecting value: line 1"), ("no JSON", "Expecting value")),
        (asyncio.IncompleteReadError(b"", 3), ("IncompleteReadError",)),
        (RuntimeError("Error in the watch-stream: {'code': 500}"), ("RuntimeError", "'code': 500")),
    ],
)
def test_every_error_becomes_a_sentence(error: BaseException, words: tuple[str, ...]) -> None:
    said = str(watch_error(error))
    assert said.startswith("the watch")
    assert "\n" not in said
    assert all(word in said for word in words), said
