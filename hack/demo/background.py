"""The long part, started first: tools, cluster and images come into being while the replay is read."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from hack.cluster.paths import cache_root
from hack.demo.shell import ROOT, DemoError, tail

# Compiling Kubernetes once takes eight minutes on two idle cores; slower machines get four times that.
LIMIT = 2400.0
PLACES = ("tools", "cluster", "images")


def _steps(cluster: str) -> dict[str, list[str]]:
    """What is done, in order. Only the compiler is asked to be nice: what `up` starts would inherit it."""
    python = [sys.executable, "-m"]
    nice = ["nice", "-n", "10"] if Path("/usr/bin/nice").exists() else []
    return {
        "tools": [*nice, *python, "hack.cluster", "ensure-tools", "kubectl", "helm"],
        "cluster": [*python, "hack.cluster", "up", "--name", cluster],
        "images": [*python, "hack.images", "load", "--name", cluster],
    }


def perform(cluster: str) -> int:
    """The background process itself: the steps one after the other, each announced in the log."""
    for name, command in _steps(cluster).items():
        print(f"== {name}", flush=True)
        status = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, check=False).returncode
        if status != 0:
            return status
    print("== done", flush=True)
    return 0


class Preparation:
    """A process of its own with its own log, so that nothing it says disturbs what is being read."""

    def __init__(self, cluster: str) -> None:
        self.log = cache_root() / "logs" / f"demo-{cluster}.log"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self._stream = self.log.open("w", encoding="utf-8")
        self._began = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "hack.demo", "prepare", "--name", cluster],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=self._stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._began

    def finished(self) -> bool:
        """Whether everything is there; raises when it failed or takes too long."""
        status = self._process.poll()
        if status is None:
            if self.elapsed > LIMIT:
                self.stop()
                raise DemoError(
                    f"the cluster was not ready after {LIMIT / 60:.0f} minutes; its log is {self.log}"
                )
            return False
        if status != 0:
            raise DemoError(
                f"the cluster could not be prepared; the log is {self.log}, it ends:\n{tail(self._text())}",
                "Mend what it names and run `make demo` again: it goes on where it was.",
            )
        return True

    def stage(self) -> str:
        """Which step runs: one of PLACES, or done."""
        names = [line.removeprefix("== ") for line in self._text().splitlines() if line.startswith("== ")]
        return names[-1] if names else PLACES[0]

    def last_line(self) -> str:
        lines = [line for line in self._text().splitlines() if line.strip()]
        return lines[-1].removeprefix("cluster: ")[:100] if lines else ""

    def digest(self, image: str) -> str:
        """The digest of an image that was built."""
        lines = [line.split() for line in self._text().splitlines() if line.startswith(f"{image} ")]
        return lines[-1][-1] if lines else "unknown"

    def stop(self) -> None:
        """End it with everything it started; a half-built cache heals itself the next time."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGINT)
            try:
                self._process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
        self._stream.close()

    def _text(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")
