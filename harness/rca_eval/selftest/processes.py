"""Worker processes: each in its own session, with a limit of time, and all of them ended when the self-test ends."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rca_eval.contract import one_line
from rca_eval.selftest.tree import PACKAGE
from rca_eval.selftest.worker import WRONG_COPY

TAIL = 300


class EngineEndedError(Exception):
    """The mutated engine crashed, refused its input or did not end; `str` is its last line."""


class Workers:
    """Starts workers and knows those that run. `close` ends them; after that none is started any more."""

    def __init__(self, store: str, timeout_seconds: int) -> None:
        self._store = store
        self._timeout = timeout_seconds
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._closed = False

    def run(self, tree: Path, folder: Path, tasks: Mapping[str, Any], settings: Mapping[str, str]) -> None:
        """Run `tasks` with the package copy in `tree`. Raises `EngineEndedError`, and `RuntimeError` if another copy was
        imported: then nothing was tested.
        """
        file = folder / f"tasks-{settings['PYTHONHASHSEED']}.json"
        document = {"package": str(tree / PACKAGE.name), **tasks}
        file.write_text(json.dumps(document), encoding="utf-8")
        env = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("RCA_", "PYTHON"))},
            **settings,
            "PYTHONPATH": str(tree),
            "RCA_ENGINE_STORE": self._store,
        }
        log = folder / f"log-{settings['PYTHONHASHSEED']}"
        with log.open("wb") as output:
            status = self._wait(
                [sys.executable, "-P", "-m", "rca_eval.selftest.worker", str(file)], env, folder, output
            )
        if status == WRONG_COPY:
            raise RuntimeError(last_line(log))
        if status != 0:
            raise EngineEndedError(last_line(log) or f"the engine ended with status {status}")

    def _wait(self, command: list[str], env: Mapping[str, str], folder: Path, output: Any) -> int:
        with self._lock:
            if self._closed:
                raise EngineEndedError("the self-test was ended")
            process = subprocess.Popen(
                command,
                env=dict(env),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            self._running.add(process)
        try:
            return process.wait(timeout=self._timeout)
        except subprocess.TimeoutExpired:
            raise EngineEndedError(f"the engine did not end within {self._timeout} s") from None
        finally:
            _kill(process)
            with self._lock:
                self._running.discard(process)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for process in self._running:
                _kill(process)


@contextlib.contextmanager
def workers(store: str, timeout_seconds: int) -> Iterator[Workers]:
    """Workers that use the graph store at the URL `store`."""
    found = Workers(store, timeout_seconds)
    try:
        yield found
    finally:
        found.close()


def last_line(log: Path) -> str:
    """The last line that a process wrote, safe to show."""
    lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return one_line(lines[-1])[:TAIL] if lines else ""


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
