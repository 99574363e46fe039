"""A small exporter that a test controls, and a real Prometheus that scrapes it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hack import prometheus


class Exporter:
    """Serves `text` at /metrics, and `odd` answers (status, headers, body) at everything else. `gone`: it answers 503."""

    def __init__(self) -> None:
        self.text = ""
        self.gone = False
        self.odd: tuple[int, dict[str, str], bytes] = (404, {}, b"404 page not found")
        self.asked: list[dict[str, str]] = []
        exporter = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status = 503 if exporter.gone else 200
                self._answer(status, {"Content-Type": "text/plain; version=0.0.4"}, exporter.text.encode())

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", "0")))
                exporter.asked.append(dict(self.headers))
                self._answer(*exporter.odd)

            def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server.server_address[1]}"

    @contextmanager
    def serving(self) -> Iterator[Exporter]:
        thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.server.shutdown()
            self.server.server_close()
            thread.join()


@contextmanager
def scraped(*, locked: bool = False) -> Iterator[tuple[Exporter, prometheus.Server]]:
    """Both, running. Without Prometheus the tests that need it are skipped, but in CI they fail: green must mean that
    they ran."""
    if prometheus.binary() is None:
        text = f"Prometheus is not installed; {prometheus.INSTALL}"
        if os.environ.get("CI", "").lower() in {"1", "true"}:
            pytest.fail(text)
        pytest.skip(text)
    with Exporter().serving() as exporter, prometheus.running(exporter.address, locked=locked) as server:
        yield exporter, server
