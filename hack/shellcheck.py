"""Every shell script parses: each with the shell of its own first line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHELLS = {"#!/bin/sh": "sh", "#!/usr/bin/env sh": "sh", "#!/bin/bash": "bash", "#!/usr/bin/env bash": "bash"}
SKIPPED = frozenset({".git", ".venv", "node_modules", "build", "dist"})


def shell_of(path: Path) -> str | None:
    """The shell that a file asks for in its first line, or None when it is no shell script."""
    with path.open("rb") as stream:
        first = stream.readline(80).decode("utf-8", errors="replace").strip()
    return SHELLS.get(first)


def scripts(root: Path = ROOT) -> list[tuple[Path, str]]:
    found: list[tuple[Path, str]] = []
    for path in sorted(root.rglob("*")):
        if SKIPPED.intersection(path.relative_to(root).parts) or path.is_symlink() or not path.is_file():
            continue
        shell = shell_of(path)
        if shell is not None:
            found.append((path, shell))
    return found


def main() -> int:
    found = scripts()
    failed = False
    for path, shell in found:
        done = subprocess.run([shell, "-n", str(path)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            failed = True
            print(f"{path.relative_to(ROOT)}: {done.stderr.strip()}")
    print(f"{len(found)} scripts read")
    return 1 if failed or not found else 0


if __name__ == "__main__":
    sys.exit(main())
