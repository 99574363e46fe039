"""JSON lines on standard output: requests, decisions, and what happens to the process. No headers, queries or bodies."""

import contextlib
import json
import logging
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, TextIO

from rca_eval.contract import one_line
from rca_eval.kpis import rfc3339

MESSAGE_LIMIT = 500


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


class _Handler(logging.Handler):
    """What libraries log, as lines too: the exception's last line, no traceback."""

    def __init__(self, lines: Lines) -> None:
        super().__init__(logging.WARNING)
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = record.getMessage()
            if record.exc_info and record.exc_info[1] is not None:
                text = f"{text} ({type(record.exc_info[1]).__name__}: {record.exc_info[1]})"
        except Exception:
            text = "a message that cannot be formatted"
        self._lines.event(
            "log", level=record.levelname, logger=record.name, message=one_line(text)[:MESSAGE_LIMIT]
        )


@contextlib.contextmanager
def capturing(lines: Lines) -> Iterator[None]:
    """Warnings and errors of all loggers go to `lines` inside."""
    root, handler = logging.getLogger(), _Handler(lines)
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
