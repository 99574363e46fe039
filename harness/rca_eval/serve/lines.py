"""JSON lines on standard output: requests, decisions, and what happens to the process. No headers, queries or bodies."""

import contextlib
import json
import sys
import threading
from datetime import UTC, datetime
from typing import Any, TextIO

from rca_eval.kpis import rfc3339


class Lines:
    """One line at a time, whatever thread it comes from. Nobody reading is no reason to stop."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._lock = threading.Lock()

    def write(self, line: str) -> None:
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._stream.write(f"{line}\n")
            self._stream.flush()

    def event(self, event: str, **fields: Any) -> None:
        self.write(json.dumps({"event": event, "time": rfc3339(datetime.now(UTC)), **fields}))
