"""The real operator as a process of its own, with the settings that the chart gives it, and what it costs."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hack.cluster.paths import repository

PROGRAM = Path(sys.executable).parent / "rca-rollout"
_DOCKERFILE = repository() / "images" / "operator" / "Dockerfile"
_SETTING = re.compile(r"^(?:ENV|\s+) ?(MALLOC_\w+|PYTHON\w+)=(\S+?)(?: \\)?$", re.MULTILINE)
_REQUEST = re.compile(r"^rca_api_requests_total\{(.*)\} (\S+)$", re.MULTILINE)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@dataclass
class Operator:
    """`name` stands for its Pod."""

    name: str
    kubeconfig: Path
    namespace: str
    folder: Path
    port: int = field(default_factory=free_port)

    @contextmanager
    def running(self) -> Iterator[Operator]:
        """Dead afterwards, whatever became of it."""
        environment = {
            **{name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ},
            **dict(_SETTING.findall(_DOCKERFILE.read_text(encoding="utf-8"))),
            "KUBECONFIG": str(self.kubeconfig),
            "RCA_ROLLOUT_NAMESPACES": self.namespace,
            "RCA_ROLLOUT_LEASE_NAMESPACE": self.namespace,
            "RCA_ROLLOUT_HARNESS_IMAGE": "rca-rollout/harness:bench",
            "RCA_ROLLOUT_IMAGE_PULL_POLICY": "IfNotPresent",
            "RCA_ROLLOUT_METRICS_PORT": str(self.port),
            "RCA_ROLLOUT_HEALTH_PORT": str(free_port()),
            "RCA_ROLLOUT_LOG_LEVEL": "info",
            "RCA_ROLLOUT_LOG_FORMAT": "json",
            "RCA_ROLLOUT_MAX_RETRY_DELAY": "15m",
            "RCA_ROLLOUT_POD_NAME": self.name,
            "RCA_ROLLOUT_POD_UID": uuid.uuid4().hex[:8],
            **{name: value for name, value in os.environ.items() if name.startswith("RCA_BENCH_")},
        }
        path = self.folder / f"{self.name}.log"
        command = [*os.environ.get("RCA_BENCH_UNDER", "").split(), str(PROGRAM)]
        with path.open("wb") as log:
            self._process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        try:
            yield self
        finally:
            if self._process.poll() is None:
                self._process.send_signal(signal.SIGTERM)
                try:
                    self._process.wait(15)
                except subprocess.TimeoutExpired:
                    self._process.kill()
            self._process.wait(10)

    def kill(self) -> None:
        """As `kill -9`."""
        self._process.kill()
        self._process.wait(10)

    def check(self) -> None:
        if self._process.poll() is not None:
            raise RuntimeError(
                f"the operator ended with status {self._process.returncode}:\n{self.log()[-3000:]}"
            )

    def log(self) -> str:
        return (self.folder / f"{self.name}.log").read_text(encoding="utf-8", errors="replace")

    def ready(self, within: float = 60.0) -> None:
        deadline = time.monotonic() + within
        while True:
            self.check()
            try:
                self._get("/readyz")
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
            else:
                return

    def leads(self) -> bool:
        return "rca_leader 1.0" in self._get("/metrics")

    def requests(self) -> Mapping[str, float]:
        """What it has sent so far, by verb and resource; watches and the Lease are told apart."""
        return {labels: float(value) for labels, value in _REQUEST.findall(self._get("/metrics"))}

    def cpu_seconds(self) -> float:
        fields = (
            Path(f"/proc/{self._process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        )
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_mib(self, field: str = "VmHWM") -> float:
        """VmHWM: the most that it ever had. VmRSS: now."""
        for line in Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) / 1024
        raise OSError(f"/proc names no {field}")

    def _get(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as answer:
            text: str = answer.read().decode()
            return text
