"""A running agent, over HTTP. Whatever is wrong with it or its answer is one `ContractError(AgentUnavailable)`."""

import json
import time
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx

from rca_eval.contract import ContractError, Reason, load_json, one_line

ANSWER_LIMIT = 16 * 1024 * 1024
POLL_SECONDS = 0.25


class AgentClient:
    """`url` is the agent's address, such as http://127.0.0.1:8080; `seconds` the limit of one request."""

    def __init__(self, url: str, *, seconds: float) -> None:
        try:
            base = httpx.URL(url)
        except (httpx.InvalidURL, ValueError):
            raise _unusable("the agent's address cannot be read; write http://HOST:PORT") from None
        if base.scheme not in {"http", "https"} or not base.host:
            raise _unusable("the agent's address must begin with http:// or https:// and name a host")
        self.name = f"{base.scheme}://{base.host}{f':{base.port}' if base.port else ''}"
        self._seconds = seconds
        # No proxies: an agent is asked where it is said to be. No redirects: it is the one that was named.
        self._client = httpx.Client(base_url=base, timeout=seconds, trust_env=False, follow_redirects=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def wait_until_ready(self, seconds: float) -> None:
        """Poll /readyz. Raises if it is not ready in time, with what it said last."""
        ends, last = time.monotonic() + seconds, "it did not answer"
        while True:
            try:
                self._send("GET", "/readyz", None, limit=max(0.1, ends - time.monotonic()))
            except ContractError as error:
                last = error.message
            else:
                return
            if time.monotonic() >= ends:
                raise _unusable(
                    f"{self.name} was not ready within {seconds:g} s ({last.rstrip('.')}); look at its log"
                )
            time.sleep(POLL_SECONDS)

    def notify(self, payload: dict[str, Any]) -> dict[str, Any]:
        """What became of the one alert in a webhook payload."""
        answer = self._send("POST", "/v1/alerts", payload)
        alerts = answer.get("alerts")
        if not isinstance(alerts, list) or len(alerts) != 1 or not isinstance(alerts[0], dict):
            raise _unusable(
                f"{self.name} answers, but not with one alert in `alerts`; is it an agent of this protocol?"
            )
        return alerts[0]

    def acknowledge(self, incident_id: str) -> dict[str, Any]:
        return self._send("POST", f"/v1/incidents/{quote(incident_id, safe='')}/acknowledged", {})

    def _send(
        self, method: str, path: str, body: dict[str, Any] | None, *, limit: float | None = None
    ) -> dict[str, Any]:
        seconds = min(self._seconds, limit or self._seconds)
        content = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        ends = time.monotonic() + seconds
        data = bytearray()
        try:
            with self._client.stream(
                method, path, content=content, headers=headers, timeout=seconds
            ) as response:
                status = response.status_code
                for part in response.iter_bytes():
                    data += part
                    if len(data) > ANSWER_LIMIT:
                        raise _unusable(f"{self.name}{path} answers with more than {ANSWER_LIMIT} bytes")
                    if time.monotonic() > ends:
                        raise _unusable(f"{self.name}{path} did not finish its answer within {seconds:g} s")
        except httpx.TimeoutException:
            raise _unusable(
                f"{self.name}{path} did not answer within {seconds:g} s; raise --timeout, or look at its log"
            ) from None
        except httpx.ConnectError as error:
            raise _unusable(
                f"{self.name} cannot be reached ({one_line(str(error))}); is the agent running there?"
            ) from None
        except httpx.HTTPError as error:
            raise _unusable(f"{self.name}{path}: {type(error).__name__}: {one_line(str(error))}") from None
        return self._read(path, status, bytes(data))

    def _read(self, path: str, status: int, data: bytes) -> dict[str, Any]:
        try:
            value = load_json(data, source="its answer", reason=Reason.AGENT_UNAVAILABLE, limit=ANSWER_LIMIT)
        except ContractError as error:
            raise _unusable(
                f"{self.name}{path} answered with status {status}, and {error.message.rstrip('.')}"
            ) from None
        if not isinstance(value, dict):
            raise _unusable(f"{self.name}{path} answered with status {status}, and not with a JSON object")
        if status // 100 != 2:
            detail = one_line(str(value.get("detail") or value.get("title") or "without a reason")).rstrip(
                "."
            )
            raise _unusable(f"{self.name}{path} answered with status {status}: {detail}")
        return value


def _unusable(text: str) -> ContractError:
    return ContractError(Reason.AGENT_UNAVAILABLE, text if text.endswith("?") else f"{text}.")
