"""A real Prometheus for tests: a plain process on loopback that scrapes one address, its data in a temporary folder.

The binary is that of Debian's package `prometheus` (or any on PATH). `python -m hack.prometheus` installs it, as root on Debian or Ubuntu.
"""

from __future__ import annotations

import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from hack.cluster.packages import Need
from hack.cluster.packages import ensure as ensure_packages

NEED = Need("prometheus", "prometheus")
INSTALL = "install it, on Debian and Ubuntu with `apt-get install prometheus`"
START_SECONDS = 60
_TRIES = 3
_CONFIG = """\
global: {{scrape_interval: {interval}, scrape_timeout: {interval}}}
scrape_configs:
  - job_name: test
    honor_labels: true
    static_configs: [{{targets: ["{target}"]}}]
"""
# A user whom nobody can be: every request without its password gets 401.
_LOCKED = f'basic_auth_users: {{nobody: "$2b$10${"a" * 53}"}}\n'


class PrometheusError(Exception):
    """Prometheus is not there or does not start; the text says what to do."""


@dataclass(frozen=True)
class Server:
    """A running one. Signals to `process` stop it, and let it go on."""

    url: str
    process: subprocess.Popen[bytes]


def binary() -> str | None:
    """The program's path, or None."""
    return NEED.path()


def ensure() -> str:
    """The program's path; installed where that is possible."""
    return ensure_packages([NEED], purpose="tests with a real Prometheus")[NEED.command]


@contextmanager
def running(target: str, *, interval: str = "200ms", locked: bool = False) -> Iterator[Server]:
    """A fresh server that scrapes `target` (host:port). `locked`: it refuses everybody. Raises `PrometheusError`."""
    program = binary()
    if program is None:
        raise PrometheusError(f"Prometheus is not installed; {INSTALL}.")
    with tempfile.TemporaryDirectory(prefix="rca-prom-", ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch)
        (folder / "prometheus.yml").write_text(_CONFIG.format(interval=interval, target=target))
        (folder / "web.yml").write_text(_LOCKED if locked else "")
        server = _start(program, folder)
        try:
            yield server
        finally:
            # Nothing in it outlives the tests, and a stopped process hears of nothing but this.
            server.process.kill()
            server.process.wait()


def _start(program: str, folder: Path) -> Server:
    text = ""
    for _ in range(_TRIES):
        # Somebody may take the port in between; then another one is tried.
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        command = [
            program,
            f"--config.file={folder}/prometheus.yml",
            f"--web.config.file={folder}/web.yml",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{port}",
        ]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder)
        if _answers(process, f"http://127.0.0.1:{port}"):
            return Server(f"http://127.0.0.1:{port}", process)
        process.kill()
        process.wait()
        text = (folder / "log").read_text(encoding="utf-8", errors="replace")[-2000:]
    raise PrometheusError(f"Prometheus did not start: {text}")


def _answers(process: subprocess.Popen[bytes], url: str) -> bool:
    ends = time.monotonic() + START_SECONDS
    while time.monotonic() < ends and process.poll() is None:
        try:
            with urlopen(f"{url}/-/ready", timeout=2) as answer:
                if answer.status == 200:
                    return True
        except HTTPError as refusal:
            if refusal.code == 401:
                return True
        except (URLError, TimeoutError, ConnectionError):
            pass
        time.sleep(0.05)
    return False


if __name__ == "__main__":
    print(ensure())
