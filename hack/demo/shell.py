"""Running programs with an end: every wait is bounded, every failure is one readable sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TAIL = 12


class DemoError(Exception):
    """Something a person has to know; `advice` says what to do about it."""

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.advice = advice


def tail(text: str, lines: int = TAIL) -> str:
    """The last lines of an output, indented."""
    return "\n".join(f"    {line}" for line in text.strip().splitlines()[-lines:])


def run(
    command: Sequence[str],
    *,
    timeout: float,
    what: str,
    stdin: str | None = None,
    env: Mapping[str, str] | None = None,
    accept: Sequence[int] = (0,),
) -> str:
    """Standard output of a program that must end in time and well; else a DemoError that says what was being done."""
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, **(env or {})},
            input=stdin if stdin is not None else "",
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise DemoError(f"{what}: no end after {timeout:.0f} s ({' '.join(command[:4])} …)") from error
    except OSError as error:
        raise DemoError(f"{what}: {command[0]} cannot be run: {error.strerror}") from error
    if done.returncode not in accept:
        words = tail(done.stderr or done.stdout)
        raise DemoError(f"{what} failed (exit status {done.returncode}):\n{words}")
    return done.stdout


def python(module: str, *arguments: str) -> list[str]:
    """The command for one of the repository's own tools."""
    return [sys.executable, "-m", module, *arguments]
