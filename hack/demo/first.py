"""The demo's first step, with any Python: the compilers start at once, beside the installation of `.venv`.

On a fresh machine both take minutes, and the longer one needs nothing of the other. The compilers are asked to be
nice, so that the replay, which can be read meanwhile, comes first.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from hack import venv
from hack.cluster.paths import cache_root

ROOT = Path(__file__).resolve().parents[2]
CHILD = "RCA_DEMO_COMPILER"


def start_compilers() -> subprocess.Popen[bytes]:
    """`ensure-tools` in a session of its own; the demo itself asks for the same tools later, and waits for its lock."""
    log = cache_root() / "logs" / "demo-tools.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    nice = ["nice", "-n", "10"] if Path("/usr/bin/nice").exists() else []
    with log.open("wb") as stream:
        return subprocess.Popen(
            [*nice, sys.executable, "-m", "hack.cluster", "ensure-tools", "kubectl", "helm"],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def stop_compilers() -> None:
    """Ends what `start_compilers` began, if it still runs. The process that calls this is its parent: it was replaced
    by `exec`, which keeps the process id, and so no other process can have taken the child's."""
    child = os.environ.pop(CHILD, "")
    if not child.isdecimal():
        return
    pid = int(child)
    try:
        ended, _ = os.waitpid(pid, os.WNOHANG)
        if ended == 0:
            os.killpg(pid, signal.SIGINT)
            os.waitpid(pid, 0)
    except (ChildProcessError, ProcessLookupError):
        return


def main() -> int:
    compilers = start_compilers()
    os.environ[CHILD] = str(compilers.pid)
    try:
        status = venv.main()
    except KeyboardInterrupt:
        status = 130
    if status != 0:
        stop_compilers()
        return status
    python = str(venv.VENV / "bin" / "python")
    os.chdir(ROOT)
    return os.execv(python, [python, "-m", "hack.demo", "up", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
