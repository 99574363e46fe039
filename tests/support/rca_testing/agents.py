"""A really running agent: the command in a process of its own, on a free loopback port, ended whatever happens."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

DEADLINE = 60.0
_COMMAND = (sys.executable, "-m", "rca_eval.cli", "serve")


class RunningAgent:
    """`url` once it listens; `lines` is what it has printed."""

    def __init__(self, process: subprocess.Popen[str], scratch: Path) -> None:
        self.process = process
        self.scratch = scratch
        self.lines: list[dict[str, Any]] = []
        self.errors: list[str] = []
        self._news = threading.Condition()
        assert process.stdout is not None
        assert process.stderr is not None
        self._readers = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=lambda: self.errors.extend(process.stderr or []), daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        self.url = f"http://{self.wait_for('started')['listen']}"
        self.http = httpx.Client(base_url=self.url, timeout=DEADLINE, trust_env=False)

    def _read(self) -> None:
        for line in self.process.stdout or ():
            with self._news:
                self.lines.append(json.loads(line))
                self._news.notify_all()
        with self._news:
            self._news.notify_all()

    def wait_for(self, event: str) -> dict[str, Any]:
        """The first line of this event."""
        ends = time.monotonic() + DEADLINE
        with self._news:
            while True:
                found = next((line for line in self.lines if line["event"] == event), None)
                if found is not None:
                    return found
                if self.process.poll() is not None or time.monotonic() > ends:
                    raise AssertionError(f"no {event}: exit {self.process.poll()}, {self.errors}")
                self._news.wait(0.1)

    def wait_until_ready(self) -> None:
        wait_until(lambda: self.http.get("/readyz").status_code == 200)

    def post(self, *alerts: dict[str, Any], **more: Any) -> httpx.Response:
        return self.http.post("/v1/alerts", json=webhook(*alerts), **more)

    def ask(self, alert: dict[str, Any]) -> dict[str, Any]:
        """What became of one alert."""
        answer = self.post(alert)
        assert answer.status_code == 200, answer.text
        (told,) = answer.json()["alerts"]
        return dict(told)

    def metric(self, name: str, **labels: str) -> float:
        wanted = f"{name}{{{','.join(f'{key}="{value}"' for key, value in sorted(labels.items()))}}}"
        text = self.http.get("/metrics").text
        return next(float(line.split()[-1]) for line in text.splitlines() if line.startswith(wanted))

    def store_pid(self) -> int:
        """The embedded graph store, the one other process that the agent started."""
        (store,) = stores(self.scratch)
        return store

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(DEADLINE)
        for reader in self._readers:
            reader.join(DEADLINE)
        return status


def stores(folder: Path) -> list[int]:
    """The embedded graph stores below this temporary folder. They are nobody's children, and hide their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").readlink().is_relative_to(folder):
                found.append(int(entry.name))
        except OSError:
            continue  # it ended meanwhile, or is somebody else's
    return found


@contextmanager
def agent(
    folder: Path, *options: str, ready: bool = True, database: str | None = None
) -> Iterator[RunningAgent]:
    """An agent with the modes in `folder`/modes."""
    command = [*_COMMAND, "--listen", "127.0.0.1:0", "--modes", str(folder / "modes")]
    command += ["--database", database or f"sqlite:///{folder}/lifecycles.db", *options]
    # Not below pytest's folder: the path of the store's socket may have 107 bytes.
    scratch = Path(tempfile.mkdtemp(prefix="rca-agent-", dir="/tmp"))
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "error", "TMPDIR": str(scratch)},
    )
    try:
        running = RunningAgent(process, scratch)
        with running.http:
            if ready:
                running.wait_until_ready()
            yield running
        if process.poll() is None:
            assert running.stop() == 0, running.errors
        assert running.errors == [], "".join(running.errors)
        assert stores(scratch) == []
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        for left in stores(scratch):
            os.kill(left, signal.SIGKILL)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        shutil.rmtree(scratch, ignore_errors=True)


def firing(
    name: str, service: str, *, fingerprint: str = "f1", starts: str | None = None, **labels: str
) -> dict[str, Any]:
    return {
        "status": "firing",
        "labels": {"alertname": name, "service": service, **labels},
        "annotations": {},
        "startsAt": starts or datetime.now(UTC).isoformat(),
        "endsAt": "0001-01-01T00:00:00Z",
        "generatorURL": "http://prometheus.example/graph",
        "fingerprint": fingerprint,
    }


def webhook(*alerts: dict[str, Any]) -> dict[str, Any]:
    return {"version": "4", "groupKey": "{}", "status": "firing", "receiver": "rca", "alerts": list(alerts)}


def wait_until(condition: Any) -> None:
    """Poll with a deadline."""
    ends = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < ends, "it did not become so in time"
        time.sleep(0.02)
