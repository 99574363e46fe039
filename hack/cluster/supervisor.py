"""Starting what is not running, waiting for what was started, and saying which part failed and why."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from hack.cluster import process
from hack.cluster.errors import ClusterError
from hack.cluster.paths import ClusterPaths
from hack.cluster.process import Identity
from hack.cluster.progress import Progress, tail


@dataclass(frozen=True)
class Component:
    """One daemon of a cluster."""

    name: str
    command: tuple[str, ...]
    cgroup_files: tuple[Path, ...] = ()
    path: str = ""
    """A PATH of its own, where the daemon itself starts others (containerd its shims)."""


def running(paths: ClusterPaths, name: str) -> Identity | None:
    """The recorded process of a component, if it lives."""
    identity = process.recorded(paths.pids, name)
    return identity if identity is not None and process.alive(identity) else None


def ensure_running(paths: ClusterPaths, component: Component) -> bool:
    """Start a component unless it runs already; True when it was started now."""
    if running(paths, component.name) is not None:
        return False
    _kill_strays(paths, component.name)
    env = dict(os.environ)
    if component.path:
        env["PATH"] = component.path
    identity = process.spawn(
        component.command,
        log=log_of(paths, component.name),
        marker=str(paths.root),
        cgroup_files=component.cgroup_files,
        env=env,
    )
    process.record(paths.pids, component.name, identity)
    return True


def log_of(paths: ClusterPaths, name: str) -> Path:
    return paths.logs / f"{name}.log"


def _kill_strays(paths: ClusterPaths, name: str) -> None:
    """A component whose record was lost, or whose nsenter was killed, would hold the new one's port."""
    strays = []
    for identity in process.marked(str(paths.root)):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{identity.pid}/exe").readlink().name == name:
                strays.append(identity)
    for identity in strays:
        process.kill(identity)
    process.wait_until_dead(strays, seconds=5)


def complain_if_dead(paths: ClusterPaths, names: Iterable[str]) -> None:
    """Raise, with the end of its log, when one of these components no longer runs."""
    for name in names:
        if running(paths, name) is None:
            log = log_of(paths, name)
            raise ClusterError(f"{name} has died; its log is {log}, it ends:\n{tail(log)}")


def wait_for(
    condition: Callable[[], bool],
    *,
    what: str,
    seconds: float,
    paths: ClusterPaths,
    needs: Iterable[str] = (),
) -> None:
    """Wait for a condition, as long as the components it needs live and the deadline has not passed."""
    names = tuple(needs)
    deadline = time.monotonic() + seconds
    with Progress(what):
        while not condition():
            complain_if_dead(paths, names)
            if time.monotonic() > deadline:
                logs = "\n".join(f"{name}:\n{tail(log_of(paths, name), 8)}" for name in names)
                raise ClusterError(f"{what}: not within {seconds:.0f} s. The logs end:\n{logs}")
            time.sleep(0.1)
