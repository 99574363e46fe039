"""A consumer of the key: a Pod on the scripted machine, ready, whose address answers `GET /modes` as an agent does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rca_testing.api_world import KEY, ApiWorld

LABELS = {"app": "agent"}


def consumer_pod(world: ApiWorld) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "agent", "labels": dict(LABELS)},
        "spec": {
            "containers": [{"name": "agent", "image": "agent:1"}],
            "nodeSelector": world.machine.selector(),
            "tolerations": world.machine.tolerations(),
        },
    }


def confirmation(port: int) -> dict[str, Any]:
    """What a component says to be confirmed by it."""
    return {"timeout": "1h", "http": {"selector": {"matchLabels": dict(LABELS)}, "port": port}}


@contextmanager
def answering(world: ApiWorld) -> Iterator[int]:
    """The port on which the agent says what the key reads, as a mount without delay would show it."""

    class Agent(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            value = world.mode()
            mode = "Active" if value == "Active" else "Shadow"
            body = json.dumps([{"component": KEY, "value": value, "mode": mode, "revision": "r1"}]).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Agent)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()
