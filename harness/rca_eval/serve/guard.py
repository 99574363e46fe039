"""Around all routes: a request id, one line per request, bodies with an end in size and time, and no traceback."""

import asyncio
import os
import re
import time

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rca_eval.contract import ContractError, one_line
from rca_eval.serve.lines import Lines
from rca_eval.serve.problems import ProblemError, of_contract
from rca_eval.serve.settings import Limits

_GIVEN_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
WITH_BODY = {"POST", "PUT", "PATCH", "DELETE"}


class Guard:
    """The outermost application; `around` says what is inside."""

    def __init__(self, limits: Limits, lines: Lines) -> None:
        self._app: ASGIApp = _nothing
        self._limits = limits
        self._lines = lines

    def around(self, app: ASGIApp) -> "Guard":
        self._app = app
        return self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0
        request_id = _request_id(scope)
        scope.setdefault("state", {})["request_id"] = request_id

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), (b"x-request-id", request_id.encode())]
            await send(message)

        try:
            inner = await self._with_body(scope, receive) if scope["method"] in WITH_BODY else receive
            await self._app(scope, inner, answer)
        except ClientDisconnect:
            status = 499  # nobody is there to be answered; the usual number for it in logs
        except Exception as error:
            if not status:  # else it was answered below, and is only passed on
                await self.problem(error, request_id).response(request_id)(scope, receive, answer)
        finally:
            self._lines.event(
                "request",
                requestId=request_id,
                method=scope["method"],
                path=one_line(scope["path"])[:200],
                status=status,
                seconds=round(time.perf_counter() - began, 6),
            )

    def problem(self, error: Exception, request_id: str) -> ProblemError:
        """The answer to an exception. What nobody expected is told in the log, and only there."""
        if isinstance(error, ProblemError):
            return error
        if isinstance(error, ContractError):
            return of_contract(error)
        where = error.__traceback__
        while where is not None and where.tb_next is not None:
            where = where.tb_next
        place = f"{where.tb_frame.f_code.co_filename}:{where.tb_lineno}" if where else ""
        text = f"{type(error).__name__}: {one_line(str(error))[:300]}"
        self._lines.event("error", requestId=request_id, error=text, at=place)
        return ProblemError(
            500, "InternalError", f"the agent failed; its log tells more under the request id {request_id}."
        )

    async def _with_body(self, scope: Scope, receive: Receive) -> Receive:
        """The whole body, read before anything else is done, and given on in one piece."""
        limit, announced = self._limits.body_bytes, dict(scope["headers"]).get(b"content-length", b"")
        if announced.isdigit() and int(announced) > limit:
            raise self._too_large()
        body = bytearray()
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ClientDisconnect
                    body += message.get("body", b"")
                    if len(body) > limit:
                        raise self._too_large()
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            raise ProblemError(
                408,
                "BodyTimeout",
                f"the body did not arrive within {self._limits.body_seconds:g} s; send it faster.",
                close=True,
            ) from None
        whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def once() -> Message:
            return whole.pop() if whole else await receive()

        return once

    def _too_large(self) -> ProblemError:
        return ProblemError(
            413,
            "BodyTooLarge",
            f"the body has more than the {self._limits.body_bytes} bytes that are read; send less.",
            close=True,
        )


async def _nothing(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise RuntimeError("the guard was put around nothing")


def _request_id(scope: Scope) -> str:
    given = dict(scope["headers"]).get(b"x-request-id", b"")
    return given.decode() if _GIVEN_ID.fullmatch(given) else os.urandom(8).hex()
