"""Processes that outlive the command that started them, and are never confused with somebody else's.

A pid alone says nothing: the kernel hands it out again. A process is known here by its pid, its start time
and the boot it belongs to, and every process of a cluster carries a marker in its environment. The marker
also finds those whose record was lost, for example when the starter was killed between the start and the
writing of the record.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

MARKER = "RCA_CLUSTER_STATE"
_JOIN_AND_EXEC = 'for f in $RCA_CGROUPS; do echo $$ > "$f"; done; exec "$@"'


@dataclass(frozen=True)
class Identity:
    """What tells one process from every other one, before and after it."""

    pid: int
    started: int
    boot: str


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def identity_of(pid: int) -> Identity | None:
    """The identity of a living process; a zombie counts as dead once its last thread has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    if fields[0] in "ZX" and int(fields[17]) <= 1:
        return None
    return Identity(pid=pid, started=int(fields[19]), boot=boot_id())


def alive(identity: Identity) -> bool:
    """Whether this very process runs, not another one under the same number."""
    return identity_of(identity.pid) == identity


def kill(identity: Identity, number: int = signal.SIGKILL) -> bool:
    """Signal this very process: the pidfd pins it, so that the check still holds when the signal is sent."""
    try:
        descriptor = os.pidfd_open(identity.pid)
    except OSError:
        return False
    try:
        if not alive(identity):
            return False
        signal.pidfd_send_signal(descriptor, number)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def spawn(
    command: Sequence[str],
    *,
    log: Path,
    marker: str,
    cgroup_files: Iterable[Path] = (),
    env: Mapping[str, str] | None = None,
) -> Identity:
    """Start a daemon: own session, output to a log, marked, and in the given cgroups from the start."""
    environment = dict(os.environ if env is None else env)
    environment[MARKER] = marker
    environment["RCA_CGROUPS"] = " ".join(str(path) for path in cgroup_files)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as stream:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _JOIN_AND_EXEC, "sh", *command],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd="/",
            start_new_session=True,
        )
    identity = identity_of(process.pid)
    process.returncode = 0  # the daemon is not ours to wait for; this keeps Popen from warning about it
    return identity or Identity(pid=process.pid, started=-1, boot=boot_id())


def record(directory: Path, name: str, identity: Identity) -> None:
    """Remember a daemon; the file appears whole or not at all."""
    directory.mkdir(parents=True, exist_ok=True)
    temporary = directory / f".{name}.{os.getpid()}"
    temporary.write_text(json.dumps(asdict(identity)), encoding="utf-8")
    temporary.rename(directory / f"{name}.json")


def recorded(directory: Path, name: str) -> Identity | None:
    """The remembered daemon; a missing or damaged record is no record."""
    try:
        facts = json.loads((directory / f"{name}.json").read_text(encoding="utf-8"))
        return Identity(pid=int(facts["pid"]), started=int(facts["started"]), boot=str(facts["boot"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def marked(marker: str) -> Iterator[Identity]:
    """Every living process that was started with this marker, or by one that was."""
    wanted = f"{MARKER}={marker}".encode()
    own = os.getpid()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == own:
            continue
        with contextlib.suppress(OSError):
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                identity = identity_of(int(entry.name))
                if identity is not None:
                    yield identity


def children_of(pid: int) -> list[int]:
    """The direct children of a process, the oldest first."""
    found: list[tuple[int, int]] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                fields = (
                    (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
                )
                if int(fields[1]) == pid:
                    found.append((int(fields[19]), int(entry.name)))
    return [child for _, child in sorted(found)]


def wait_until_dead(identities: Iterable[Identity], *, seconds: float) -> list[Identity]:
    """Wait; return those that still live at the deadline."""
    deadline = time.monotonic() + seconds
    left = list(identities)
    while left := [identity for identity in left if alive(identity)]:
        if time.monotonic() > deadline:
            break
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
        time.sleep(0.02)
    return left
