"""Operator processes that start quickly: forked from one that has imported everything and done nothing.

Each is a process of its own, with its own memory, and dies by SIGKILL as any other; only the second of CPU time for the
imports is saved, without which a thousand deaths would take an hour.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kubernetes.aio.config import kube_config

from rca_rollout.runtime.main import main
from rca_testing.process import environment

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["rca_testing.quick_process", "pytest"])


def _run(variables: Mapping[str, str], log: str) -> None:
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    os.environ.clear()
    os.environ.update(variables)
    kube_config.KUBE_CONFIG_DEFAULT_LOCATION = variables["KUBECONFIG"]  # read at import
    sys.exit(main())


@dataclass
class QuickProcess:
    """`name` and `uid` stand for its Pod: with the same ones it is a container that starts anew, and leads at once."""

    name: str
    kubeconfig: Path
    namespace: str
    folder: Path
    uid: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    variables: Mapping[str, str] = field(default_factory=dict)

    def start(self) -> QuickProcess:
        variables = environment(self.kubeconfig, self.namespace, self.name, self.uid, metrics_port=0)
        arguments = ({**variables, **self.variables}, str(self.log_path))
        self._process = _FORKS.Process(target=_run, args=arguments, daemon=True)
        self._process.start()
        return self

    @property
    def log_path(self) -> Path:
        return self.folder / f"{self.name}-{self.uid}.log"

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    def shoot(self) -> None:
        """SIGKILL, from any thread; who started it sees it end."""
        assert self._process.pid
        os.kill(self._process.pid, signal.SIGKILL)

    def kill(self) -> None:
        """SIGKILL; returns when it is dead."""
        self._process.kill()
        self._process.join(30)

    def terminate(self, within: float = 30) -> int | None:
        """SIGTERM; the exit status."""
        self._process.terminate()
        self._process.join(within)
        return self._process.exitcode

    def ended(self, within: float) -> int:
        """The exit status."""
        self._process.join(within)
        assert self._process.exitcode is not None, f"{self.name} still runs after {within} s\n{self.log()}"
        return self._process.exitcode

    def log(self) -> str:
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""
