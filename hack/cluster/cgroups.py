"""The cluster's own branch of the control group tree, on version 1 (one tree per controller) and version 2.

Everything a cluster runs as root lives under `/rca-rollout-NAME`, in every tree. So its processes can be
found whatever happened to their records, and the branch can be removed as a whole.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

MOUNT = Path("/sys/fs/cgroup")
SYSTEM = "system"


def group(name: str) -> str:
    return f"rca-rollout-{name}"


def trees(mount: Path = MOUNT) -> list[Path]:
    """The roots of all cgroup trees: one in version 2, one per controller in version 1."""
    if (mount / "cgroup.controllers").exists():
        return [mount]
    try:
        return sorted(path for path in mount.iterdir() if path.is_dir() and (path / "cgroup.procs").exists())
    except OSError:
        return []


def branches(name: str) -> list[Path]:
    """This cluster's branch in every tree where it exists."""
    return [tree / group(name) for tree in trees() if (tree / group(name)).is_dir()]


def create(name: str) -> list[Path]:
    """Make the branch with a leaf for our own daemons; return the files that a daemon writes its pid to."""
    files = []
    for tree in trees():
        branch = tree / group(name)
        leaf = branch / SYSTEM
        if (tree / "cgroup.subtree_control").exists():
            _delegate(tree)
            branch.mkdir(exist_ok=True)
            _delegate(branch)
        leaf.mkdir(parents=True, exist_ok=True)
        _copy_cpuset(tree, branch)
        _copy_cpuset(branch, leaf)
        files.append(leaf / "cgroup.procs")
    return files


def _delegate(directory: Path) -> None:
    """Version 2 hands controllers down one level at a time."""
    available = (directory / "cgroup.controllers").read_text(encoding="ascii").split()
    for controller in available:
        with contextlib.suppress(OSError):
            (directory / "cgroup.subtree_control").write_text(f"+{controller}", encoding="ascii")


def _copy_cpuset(parent: Path, child: Path) -> None:
    """A new version 1 cpuset is empty and accepts no process until it is told its CPUs and memory nodes."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        with contextlib.suppress(OSError):
            if not (child / name).read_text(encoding="ascii").strip():
                (child / name).write_text((parent / name).read_text(encoding="ascii"), encoding="ascii")


def _branch_directories(name: str) -> list[Path]:
    """All groups of the branch, the deepest first."""
    found: list[Path] = []
    for branch in branches(name):
        found += [Path(directory) for directory, _, _ in os.walk(branch, topdown=False)]
    return found


def processes(name: str) -> set[int]:
    """Every process in the branch."""
    found: set[int] = set()
    for directory in _branch_directories(name):
        with contextlib.suppress(OSError):
            found.update(int(pid) for pid in (directory / "cgroup.procs").read_text(encoding="ascii").split())
    return found - {0}


def remove(name: str) -> list[Path]:
    """Remove the branch, the deepest groups first; return what could not be removed."""
    for directory in _branch_directories(name):
        with contextlib.suppress(OSError):
            directory.rmdir()
    return branches(name)
