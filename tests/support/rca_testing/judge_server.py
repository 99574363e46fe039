"""An OpenAI-compatible endpoint on the loopback device, which answers as a test says. A real server, in threads."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

GOOD = '{"score": 0.75, "opinion": "Supported", "reason": "The deploy precedes the errors."}'


@dataclass
class Answer:
    """`body` is sent as it is; `headers` beside it; `before` is called first (it may wait)."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    before: Callable[[], Any] | None = None


def completion(text: Any = GOOD, tokens: int | None = 600) -> Answer:
    """A response of /chat/completions with this text."""
    value: dict[str, Any] = {"choices": [{"message": {"role": "assistant", "content": text}}]}
    if tokens is not None:
        value["usage"] = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": tokens}
    return Answer(body=json.dumps(value).encode())


@dataclass
class JudgeServer:
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    answer: Callable[[int, dict[str, Any]], Answer] = lambda number, request: completion()


@contextmanager
def judge_server(answer: Callable[[int, dict[str, Any]], Answer] | None = None) -> Iterator[JudgeServer]:
    """`answer(number, request)` answers the request with this number, from 0."""
    found = JudgeServer()
    if answer:
        found.answer = answer
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                number = len(found.requests)
                found.requests.append(request)
                found.keys.append(self.headers.get("Authorization"))
                found.paths.append(self.path)
            said = found.answer(number, request)
            if said.before:
                said.before()
            try:
                self.send_response(said.status)
                self.send_header("Content-Length", str(len(said.body)))
                for name, value in said.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(said.body)
            except OSError:
                return  # whoever asked has gone

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
