"""The offline half: no cluster, a few seconds, the same code and the same verdict."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from hack.demo.shell import ROOT, DemoError, run

LIMIT = 120.0
BIN = Path(sys.executable).parent
ENGINE = "examples/engines/plain/engine.py"
BASELINE = "examples/engines/plain/baseline.json"
GOOD = ("--component", "RcaLiveActivation.Mode", "--gate")
BAD = ("--component", "RcaTopologyBoost.Mode", "--gate", "--baseline", BASELINE)


def _prompt(console: Console, *arguments: str) -> None:
    console.print(f"[dim]$ rca-eval replay {shlex.join(arguments)}", soft_wrap=True)


def _replay(*arguments: str) -> str:
    command = [str(BIN / "rca-eval"), "replay", *arguments]
    # 0 and 1 are verdicts; 2 is not.
    return run(command, timeout=LIMIT, what="the replay", accept=(0, 1))


def good(console: Console) -> None:
    """The reference engine with live activation: all of the harness' own output."""
    _prompt(console, *GOOD)
    sys.stdout.flush()
    columns = str(max(100, console.width))
    command = [str(BIN / "rca-eval"), "replay", *GOOD]
    try:
        status = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, "COLUMNS": columns},
            stdin=subprocess.DEVNULL,
            timeout=LIMIT,
            check=False,
        ).returncode
    except subprocess.TimeoutExpired as error:
        raise DemoError(f"the replay did not end within {LIMIT:.0f} s") from error
    if status != 0:
        raise DemoError(f"the replay of a good component ended with exit status {status}, see above")


def bad(console: Console) -> None:
    """An engine of a few plain lines with a component that loses: the verdict only."""
    console.print()
    _prompt(console, *BAD, "--engine", f"python {ENGINE}")
    engine = shlex.join([sys.executable, ENGINE])
    answer: dict[str, Any] = json.loads(_replay(*BAD, "--engine", engine, "--format", "json"))
    gate = answer["gate"]
    if gate["verdict"] != "Failed":
        raise DemoError(f"the bad component was {gate['verdict']}, and should have failed: {gate['message']}")
    console.print(f"[bold red]FAILED[/]  {gate['message']}   (exit status 1)", soft_wrap=True)
    for lost in gate["regressed"]:
        name = f"{lost['incident']:<31}"
        console.print(
            f"  {name} the true cause fell from rank {lost['before']} to {lost['after']}, {lost['arm']}"
        )


def show(console: Console) -> None:
    good(console)
    bad(console)
