"""Worker processes: one for each copy and hash seed, with a limit of time, and all of them ended when the self-test ends."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, cast

from rca_eval.contract import one_line
from rca_eval.selftest import zygote
from rca_eval.selftest.tree import PACKAGE, edited
from rca_eval.selftest.worker import WRONG_COPY

TAIL = 300
FROM_OUTSIDE = ("RCA_", "PYTHON")
"""Settings of the caller that no engine under test may see."""


class EngineEndedError(Exception):
    """The mutated engine crashed, refused its input or did not end; `str` is its last line."""


class _Zygote:
    """`selftest.zygote`, seen from outside."""

    def __init__(self, base: Path, env: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(Path(zygote.__file__)), str(base)],
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            bufsize=0,
        )
        self._requests = cast("IO[bytes]", self.process.stdin)
        self._replies = cast("IO[bytes]", self.process.stdout)

    def run(self, request: Mapping[str, Any], timeout_seconds: int) -> int | None:
        """The exit status of one worker, or None if it had to be killed."""
        deadline = time.monotonic() + timeout_seconds
        try:
            self._requests.write(json.dumps(request).encode() + b"\n")
        except OSError:
            raise EngineEndedError("the process that starts engines has ended") from None
        child = self._number(deadline)
        if child is None:
            return None
        status = self._number(deadline)
        if status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            self._number(time.monotonic() + timeout_seconds)
        return status

    def _number(self, deadline: float) -> int | None:
        line = b""
        while not line.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._replies], [], [], left)[0]:
                return None
            part = self._replies.read(1)
            if not part:
                raise EngineEndedError("the process that starts engines has ended")
            line += part
        return int(line)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)  # with the worker that runs: they are one group

    def end(self) -> None:
        self.kill()
        self.process.wait()
        self._requests.close()
        self._replies.close()


class Workers:
    """Runs workers. `stop` ends those that run, from any thread; after it none is started any more."""

    def __init__(self, base: Path, store: str, timeout_seconds: int) -> None:
        self._base = base
        self._store = store
        self.timeout_seconds = timeout_seconds
        self._idle: dict[str, list[_Zygote]] = {}
        self._all: list[_Zygote] = []
        self._lock = threading.Lock()
        self._stopped = False

    def run(self, tree: Path, folder: Path, tasks: Mapping[str, Any], settings: Mapping[str, str]) -> None:
        """Run `tasks` with the package copy in `tree`. Raises `EngineEndedError`, and `RuntimeError` if another copy was
        imported: then nothing was tested.
        """
        log = folder / f"log-{settings['PYTHONHASHSEED']}"
        document = {"package": str(tree / PACKAGE.name), **tasks}
        request = {
            "tree": str(tree),
            "folder": str(folder),
            "log": str(log),
            "tasks": json.dumps(document),
            "edited": edited(tree),
        }
        name = json.dumps(settings, sort_keys=True)
        starter = self._starter(name, settings)
        status = starter.run(request, self.timeout_seconds)
        with self._lock:
            self._idle.setdefault(name, []).append(starter)
        if status is None:
            raise EngineEndedError(f"the engine did not end within {self.timeout_seconds} s")
        if status == WRONG_COPY:
            raise RuntimeError(last_line(log))
        if status != 0:
            raise EngineEndedError(last_line(log) or f"the engine ended with status {status}")

    def _starter(self, name: str, settings: Mapping[str, str]) -> _Zygote:
        with self._lock:
            if self._stopped:
                raise EngineEndedError("the self-test was ended")
            if idle := self._idle.get(name):
                return idle.pop()
            outside = {key: value for key, value in os.environ.items() if not key.startswith(FROM_OUTSIDE)}
            started = _Zygote(self._base, {**outside, **settings, "RCA_ENGINE_STORE": self._store})
            self._all.append(started)
            return started

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for one in self._all:
                one.kill()

    def close(self) -> None:
        """After all threads that run workers have ended."""
        self.stop()
        for one in self._all:
            one.end()


@contextlib.contextmanager
def workers(base: Path, store: str, timeout_seconds: int) -> Iterator[Workers]:
    """Workers that use the graph store at the URL `store`; `base` holds the copy without a fault."""
    found = Workers(base, store, timeout_seconds)
    try:
        yield found
    finally:
        found.close()


def last_line(log: Path) -> str:
    """The last line that a process wrote, safe to show."""
    if not log.exists():
        return ""
    lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return one_line(lines[-1])[:TAIL] if lines else ""
