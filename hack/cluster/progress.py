"""Showing that long work is alive: one live line on a terminal, a line now and then everywhere else.

All of it goes to standard error, so that standard output holds only what a script wants to read.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from hack.cluster.errors import ClusterError

QUIET_INTERVAL = 15.0
LIVE_INTERVAL = 0.2
TAIL_LINES = 25


def note(message: str) -> None:
    """One line for a person."""
    print(f"cluster: {message}", file=sys.stderr, flush=True)


def tail(path: Path, lines: int = TAIL_LINES) -> str:
    """The last lines of a log, indented, or a word on why there are none."""
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            last = deque(stream, maxlen=lines)
    except OSError as error:
        return f"    (no log: {error.strerror})"
    return "".join(f"    {line.rstrip()[:300]}\n" for line in last).rstrip("\n") or "    (the log is empty)"


class Progress:
    """Tells what is being done and for how long, from a thread, while the caller works."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._detail = ""
        self._live = sys.stderr.isatty()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()
        outcome = "done" if error is None else "failed"
        self._print(f"{self._title}: {outcome} after {self.elapsed:.1f} s", final=True)

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._began

    def detail(self, text: str) -> None:
        """What is being worked on right now."""
        self._detail = text

    def _run(self) -> None:
        if not self._live:
            self._print(f"{self._title} …")
        while not self._done.wait(LIVE_INTERVAL if self._live else QUIET_INTERVAL):
            self._print(f"{self._title}: {self.elapsed:.0f} s  {self._detail}".rstrip())

    def _print(self, text: str, *, final: bool = False) -> None:
        if self._live:
            sys.stderr.write(f"\r\033[K{text[:110]}" + ("\n" if final else ""))
            sys.stderr.flush()
        else:
            note(text)


def run_logged(
    command: Sequence[str],
    *,
    title: str,
    log: Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> None:
    """Run a long command with its output in a log file; show progress, and the log's tail when it fails."""
    log.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with Progress(title) as progress, log.open("a", encoding="utf-8") as stream:
        stream.write(f"$ {' '.join(command)}\n")
        stream.flush()
        with subprocess.Popen(
            command,
            cwd=cwd,
            env=None if env is None else dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                stream.write(line)
                stream.flush()
                count += 1
                progress.detail(f"[{count}] {line.strip()}")
        if process.returncode != 0:
            raise ClusterError(
                f"{title} failed with exit status {process.returncode}; the whole log is {log}, it ends:\n"
                f"{tail(log)}"
            )
