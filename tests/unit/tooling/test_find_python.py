"""hack/find-python: believes no name, only an interpreter that has run.

Aspects: a good one on PATH, a broken shim before a good one, too old ones, one without venv, PYTHON as an
override, nothing at all.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "hack" / "find-python"


def make(directory: Path, name: str, body: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def find(*path: Path, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", str(SCRIPT)],
        env={"PATH": os.pathsep.join([*map(str, path), "/nonexistent"]), "HOME": str(home), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


# `cat` must be found by the script's own message; nothing else of the system is on PATH.
@pytest.fixture
def tools(tmp_path: Path) -> Path:
    return make(tmp_path / "tools", "cat", 'exec /bin/cat "$@"').parent


REAL = f'exec "{sys.executable}" "$@"'
BROKEN = 'echo "no such version" >&2; exit 127'


def test_an_interpreter_that_runs_is_printed_by_its_own_path(tmp_path: Path) -> None:
    good = make(tmp_path / "bin", "python3.13", REAL).parent
    done = find(good, home=tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, sys.executable)


def test_a_broken_shim_does_not_hide_the_good_one_behind_it(tmp_path: Path) -> None:
    shims = make(tmp_path / "shims", "python3.13", BROKEN).parent
    good = make(tmp_path / "bin", "python3.13", REAL).parent
    done = find(shims, good, home=tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, sys.executable)


def test_an_interpreter_of_pyenv_is_found_without_its_shims(tmp_path: Path) -> None:
    shims = make(tmp_path / "shims", "python3.13", BROKEN).parent
    make(tmp_path / ".pyenv" / "versions" / "3.13.0" / "bin", "python3.13", REAL)
    done = find(shims, home=tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, sys.executable)


def test_python_names_one_and_is_believed_only_when_it_runs(tmp_path: Path) -> None:
    good = make(tmp_path / "bin", "python3.13", REAL).parent
    bad = make(tmp_path / "other", "mine", BROKEN)
    done = find(good, home=tmp_path, PYTHON=str(bad))
    assert done.returncode == 1
    assert f"{bad} does not start" in done.stderr
    assert done.stdout == ""


def test_python_may_be_a_name_on_path(tmp_path: Path) -> None:
    good = make(tmp_path / "bin", "mine", REAL).parent
    assert find(good, home=tmp_path, PYTHON="mine").stdout.strip() == sys.executable


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('echo "is Python 3.11"; exit 1', "is Python 3.11"),
        ('echo "has no module ensurepip"; exit 1', "has no module ensurepip"),
        (BROKEN, "does not start"),
    ],
)
def test_what_was_tried_and_what_to_install_is_said(
    tmp_path: Path, tools: Path, body: str, said: str
) -> None:
    bad = make(tmp_path / "bin", "mine", body)
    done = find(tools, home=tmp_path, PYTHON=str(bad))
    assert done.returncode == 1
    assert said in done.stderr


def test_the_probe_itself_refuses_an_old_interpreter(tmp_path: Path) -> None:
    # The script's own probe, asked for a version that does not exist yet.
    text = SCRIPT.read_text(encoding="utf-8").replace("oldest=12", "oldest=99")
    script = tmp_path / "find-python"
    script.write_text(text, encoding="utf-8")
    environment = {"PATH": "/nonexistent", "HOME": str(tmp_path), "PYTHON": sys.executable}
    done = subprocess.run(
        ["/bin/sh", str(script)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f"is Python {sys.version_info.major}.{sys.version_info.minor}" in done.stderr
