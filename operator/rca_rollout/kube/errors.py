"""What can go wrong between us and the API server, by what the caller has to do about it."""

from __future__ import annotations

import json

FORBIDDEN = 403


class KubeError(Exception):
    """A refused or failed request. `status` is the HTTP status (0: no answer), `message` the server's own sentence."""

    def __init__(self, status: int, message: str, *, verb: str = "", path: str = "") -> None:
        super().__init__(f"{verb} {path}: {status} {message}".strip())
        self.status = status
        self.message = message


class NotFoundError(KubeError):
    """404: the object (or its kind) is not there."""


class AlreadyExistsError(KubeError):
    """409 on create: look at what is there before doing anything else."""


class ConflictError(KubeError):
    """409 on a write, or a failed `test` of a JSON patch (422): the world moved, observe again."""


class RefusedError(KubeError):
    """400, 403 or 422: the same request will be refused again until somebody changes something."""


class GoneError(KubeError):
    """410: the server does not remember the version that was asked for: list anew."""


class TransientError(KubeError):
    """429, 5xx or no answer at all: the same request may work later."""

    def __init__(
        self, status: int, message: str, *, verb: str = "", path: str = "", retry_after: float = 0
    ) -> None:
        super().__init__(status, message, verb=verb, path=path)
        self.retry_after = retry_after


class NotLeaderError(KubeError):
    """This process may not write: it does not lead, or not for certain any more. Nothing was sent."""


def server_message(body: bytes) -> tuple[str, str]:
    """The `message` and `reason` of a Status object; the first bytes of the body when it is none."""
    try:
        status = json.loads(body)
        return str(status.get("message") or ""), str(status.get("reason") or "")
    except (ValueError, AttributeError):
        return body[:200].decode(errors="replace"), ""


def error_from(
    status: int, body: bytes, *, verb: str, path: str, is_patch: bool, retry_after: float
) -> KubeError:
    """Maps an answer to one of the classes above."""
    message, reason = server_message(body)
    if status == 410:
        return GoneError(status, message, verb=verb, path=path)
    if status == 404:
        return NotFoundError(status, message, verb=verb, path=path)
    if status == 409:
        kind = AlreadyExistsError if reason == "AlreadyExists" else ConflictError
        return kind(status, message, verb=verb, path=path)
    # A failed JSON patch `test` is answered 422 without causes; that is a race, not a refusal.
    if status == 422 and is_patch and "the server rejected our request" in message.lower():
        return ConflictError(status, message, verb=verb, path=path)
    if status == 422 and is_patch and "testing value" in message.lower():
        return ConflictError(status, message, verb=verb, path=path)
    if status in (400, 401, 403, 405, 413, 415, 422):
        return RefusedError(status, message, verb=verb, path=path)
    return TransientError(status, message, verb=verb, path=path, retry_after=retry_after)
