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
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
LOCK = ROOT / "locks" / "dev.txt"
MARKER = VENV / ".complete"


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


def pip(*arguments: str) -> None:
    command = [str(VENV / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", *arguments]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    # Where no wheel fits (a C library older than the wheel's), pip compiles FalkorDB's server: on all cores, then.
    environment["MAKEFLAGS"] = f"-j{os.cpu_count() or 1}"
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        output = f"{done.stdout}\n{done.stderr}".strip()
        raise VenvError(f"pip {' '.join(arguments[:4])} failed:\n{output[-4000:]}")


def missing_compiler(libc: str, found: Callable[[str], str | None] = shutil.which) -> list[str]:
    """What is needed to compile FalkorDB's server and is not there. Its wheels ask for glibc 2.38; `libc` is what
    `confstr` says, such as `glibc 2.36`."""
    name, _, version = libc.partition(" ")
    if name != "glibc" or tuple(int(part) for part in version.split(".")[:2]) >= (2, 38):
        return []
    return [tool for tool in ("gcc", "g++", "make") if found(tool) is None]


def install_dependencies() -> None:
    libc = (os.confstr("CS_GNU_LIBC_VERSION") or "") if sys.platform == "linux" else ""
    if missing := missing_compiler(libc):
        raise VenvError(
            f"this system has {libc}, FalkorDB's wheels need 2.38, and to compile it {', '.join(missing)} must be "
            "there: on Debian or Ubuntu, apt-get install build-essential"
        )
    shutil.rmtree(VENV, ignore_errors=True)
    done = subprocess.run(
        [sys.executable, "-m", "venv", str(VENV)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise VenvError(f"{sys.executable} -m venv failed:\n{done.stdout}{done.stderr}")
    pip("install", "--quiet", "--require-hashes", "-r", str(LOCK))


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
    except (VenvError, OSError) as error:
        print(f"venv: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
