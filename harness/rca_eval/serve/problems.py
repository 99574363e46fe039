"""Errors as RFC 9457 problem details: what is wrong, and what to do. Never a traceback."""

import json
from typing import Any

from starlette.responses import Response

from rca_eval.contract import ContractError, Reason

RETRY_SECONDS = 5
_STATUS = {
    Reason.STORE_UNAVAILABLE: 503,
    Reason.DATABASE_UNAVAILABLE: 503,
    Reason.LIFECYCLE_REFUSED: 409,
}
_TITLE = {
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    409: "Conflict",
    413: "Content Too Large",
    429: "Too Many Requests",
    500: "Internal Server Error",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}


class ProblemError(Exception):
    """A request that gets no other answer. `detail` is one sentence for a person, `reason` a word for a program."""

    def __init__(self, status: int, reason: str, detail: str, *, close: bool = False) -> None:
        super().__init__(detail)
        self.status = status
        self.reason = reason
        self.detail = detail if detail.endswith(("?", ".")) else f"{detail}."
        self.close = close

    def plain(self, request_id: str) -> dict[str, Any]:
        return {
            "type": "about:blank",
            "title": _TITLE.get(self.status, "Error"),
            "status": self.status,
            "reason": self.reason,
            "detail": self.detail,
            "requestId": request_id,
        }

    def response(self, request_id: str) -> Response:
        headers = {"Cache-Control": "no-store"}
        if self.status in {429, 503}:
            headers["Retry-After"] = str(RETRY_SECONDS)
        if self.close:
            headers["Connection"] = "close"
        return Response(
            json.dumps(self.plain(request_id)),
            status_code=self.status,
            media_type="application/problem+json",
            headers=headers,
        )


def of_contract(error: ContractError) -> ProblemError:
    """A document or a store that cannot be used, as a problem of the request or of the agent."""
    return ProblemError(_STATUS.get(error.reason, 400), error.reason.value, error.message)
