"""One OpenAI-compatible endpoint over HTTP. No redirect and no proxy is followed: the key goes where it was meant to go."""

import email.utils
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

import httpx

from rca_eval.contract import ContractError, Reason, load_json, one_line

_ANSWER_LIMIT = 256 * 1024
_TOO_MANY, _SERVER = 429, 500
_LONGEST_MODEL = 253


@dataclass(frozen=True)
class Endpoint:
    """`url` is what /chat/completions is below. The key is shown nowhere."""

    url: str
    model: str
    key: str = field(default="", repr=False)


@dataclass(frozen=True)
class Reply:
    """A response: its JSON value, or what was wrong. `again_after` is there where it is worth another try (seconds).
    `spent` says whether the endpoint may have worked on it.
    """

    value: Any = None
    problem: str | None = None
    again_after: float | None = None
    spent: bool = True
    fatal: bool = False


class Client:
    def __init__(
        self, endpoint: Endpoint, *, wall: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        try:
            url = httpx.URL(endpoint.url)
        except (httpx.InvalidURL, ValueError):
            url = httpx.URL("")
        if url.scheme not in {"http", "https"} or not url.host or url.userinfo:
            raise ContractError(
                Reason.USAGE,
                "the judge's endpoint must be an address such as https://llm.example/v1, without a user in it.",
            )
        if not endpoint.model or len(endpoint.model) > _LONGEST_MODEL or not endpoint.model.isprintable():
            raise ContractError(Reason.USAGE, "the judge's model must be named, in printable characters.")
        if any(c <= " " or c > "~" for c in endpoint.key):
            raise ContractError(Reason.USAGE, "the judge's key holds a character that no header can carry.")
        self._endpoint, self._wall = endpoint, wall
        self._url = url.copy_with(path=url.path.rstrip("/") + "/chat/completions", query=None, fragment=None)
        self._client = httpx.Client(trust_env=False, follow_redirects=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def body(self, messages: list[dict[str, str]], answer_tokens: int) -> bytes:
        """The request as it is sent."""
        return json.dumps(
            {
                "model": self._endpoint.model,
                "messages": messages,
                "temperature": 0,
                "max_tokens": answer_tokens,
                "response_format": {"type": "json_object"},
            }
        ).encode()

    def ask(self, body: bytes, *, seconds: float) -> Reply:
        """Sends it once; the whole exchange has `seconds`. Raises nothing: an opinion that does not come is none."""
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._endpoint.key:
            headers["Authorization"] = f"Bearer {self._endpoint.key}"
        ends, data = time.monotonic() + seconds, bytearray()
        try:
            with self._client.stream(
                "POST", self._url, content=body, headers=headers, timeout=max(0.1, seconds)
            ) as response:
                for chunk in response.iter_bytes():
                    data += chunk
                    if len(data) > _ANSWER_LIMIT:
                        return Reply(problem=f"it answers with more than {_ANSWER_LIMIT} bytes")
                    if time.monotonic() > ends:
                        return Reply(problem="it does not answer in time")
        except httpx.TimeoutException:
            return Reply(problem="it does not answer in time")
        except httpx.ConnectError as error:
            return Reply(problem=f"it cannot be reached ({_why(error)})", again_after=1.0, spent=False)
        except httpx.HTTPError as error:
            return Reply(problem=f"the connection breaks ({_why(error)})", again_after=1.0)
        return self._reply(response, bytes(data))

    def _reply(self, response: httpx.Response, data: bytes) -> Reply:
        status = response.status_code
        if status == _TOO_MANY:
            wait = self._retry_after(response.headers.get("Retry-After"))
            return Reply(problem="it is asked too often (429)", again_after=wait, spent=False)
        if status >= _SERVER:
            return Reply(problem=f"it answers with status {status}", again_after=1.0)
        if status in (401, 403, 404):
            # The next question would be answered alike.
            text = f"it answers with status {status}: check its address, the model and the key"
            return Reply(problem=text, spent=False, fatal=True)
        if not response.is_success:
            return Reply(problem=f"it answers with status {status}", spent=False)
        try:
            return Reply(
                load_json(data, source="the response", reason=Reason.JUDGEMENT_INVALID, limit=_ANSWER_LIMIT)
            )
        except ContractError as error:
            return Reply(problem=error.message)

    def _retry_after(self, header: str | None) -> float:
        """Seconds, or a date; what cannot be read is a second."""
        text = (header or "").strip()
        if text.isascii() and text.isdigit():
            return float(text[:9])
        try:
            at = email.utils.parsedate_to_datetime(text)
        except (TypeError, ValueError):
            return 1.0
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        return max(0.0, (at - self._wall()).total_seconds())


def _why(error: Exception) -> str:
    return one_line(str(error))[:100] or type(error).__name__
