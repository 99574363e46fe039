"""A real operator process, with signals, on its own wire to the API server."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

PROGRAM = Path(sys.executable).parent / "rca-rollout"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def environment(kubeconfig: Path, namespace: str, pod: str, uid: str, *, metrics_port: int) -> dict[str, str]:
    """What the chart sets, for a process outside of a Pod."""
    return {
        "PATH": os.environ["PATH"],
        "KUBECONFIG": str(kubeconfig),
        "RCA_ROLLOUT_NAMESPACES": namespace,
        "RCA_ROLLOUT_HARNESS_IMAGE": "harness:none",
        "RCA_ROLLOUT_METRICS_PORT": str(metrics_port),
        "RCA_ROLLOUT_HEALTH_PORT": "0",
        "RCA_ROLLOUT_LOG_FORMAT": "plain",
        "RCA_ROLLOUT_POD_NAME": pod,
        "RCA_ROLLOUT_POD_UID": uid,
    }


@dataclass
class OperatorProcess:
    """`name` stands for its Pod. Started by `running`, and dead afterwards, whatever became of it."""

    name: str
    kubeconfig: Path
    namespace: str
    folder: Path
    uid: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    metrics_port: int = field(default_factory=_free_port)

    @contextmanager
    def running(self) -> Iterator[OperatorProcess]:
        path = self.folder / f"{self.name}-{self.uid}.log"
        variables = environment(
            self.kubeconfig, self.namespace, self.name, self.uid, metrics_port=self.metrics_port
        )
        with path.open("wb") as log:
            self._log = path
            self._process = subprocess.Popen(
                [str(PROGRAM)], env=variables, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        try:
            yield self
        finally:
            self._process.kill()
            self._process.wait(10)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def ended(self, within: float) -> int:
        """The exit status."""
        try:
            return self._process.wait(within)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} still runs after {within} s\n{self.log()}") from None

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def get(self, path: str) -> tuple[int, str]:
        answer = httpx.get(f"http://127.0.0.1:{self.metrics_port}{path}", timeout=10, trust_env=False)
        return answer.status_code, answer.text
