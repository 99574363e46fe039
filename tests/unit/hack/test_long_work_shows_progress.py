"""Whoever waits sees that something happens, and why it failed."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from hack.cluster import process, progress
from hack.cluster.errors import ClusterError
from hack.cluster.paths import ClusterPaths
from hack.cluster.supervisor import Component, complain_if_dead, ensure_running, running, wait_for


def test_without_a_terminal_there_is_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "QUIET_INTERVAL", 0.05)
    with progress.Progress("compiling") as shown:
        shown.detail("package one")
        time.sleep(0.2)
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert lines[0] == "cluster: compiling …"
    assert any("package one" in line for line in lines)
    assert "compiling: done after" in lines[-1]


def test_a_failed_command_shows_the_end_of_its_log(tmp_path: Path) -> None:
    script = "import sys; [print('line', n) for n in range(100)]; print('it broke here'); sys.exit(3)"
    with pytest.raises(ClusterError) as caught:
        progress.run_logged([sys.executable, "-c", script], title="building", log=tmp_path / "log")
    text = str(caught.value)
    assert "exit status 3" in text
    assert text.endswith("it broke here")
    assert "line 10\n" not in text
    assert "line 10\n" in (tmp_path / "log").read_text()


def test_a_component_that_died_is_named_with_the_end_of_its_log(tmp_path: Path) -> None:
    paths = ClusterPaths("unit", tmp_path)
    ensure_running(paths, Component("etcd", ("/bin/sh", "-c", "echo no space left; exit 1")))
    with pytest.raises(ClusterError, match=r"etcd has died.*\n.*no space left"):
        wait_for(lambda: False, what="etcd", seconds=10, paths=paths, needs=["etcd"])


def test_a_component_that_runs_is_not_started_twice(tmp_path: Path) -> None:
    paths = ClusterPaths("unit", tmp_path)
    component = Component("sleeper", ("sleep", "60"))
    assert ensure_running(paths, component)
    first = running(paths, "sleeper")
    assert first is not None
    assert not ensure_running(paths, component)
    assert running(paths, "sleeper") == first
    complain_if_dead(paths, ["sleeper"])
    process.kill(first)
    process.wait_until_dead([first], seconds=5)
    assert running(paths, "sleeper") is None


def test_waiting_ends_at_the_deadline(tmp_path: Path) -> None:
    paths = ClusterPaths("unit", tmp_path)
    with pytest.raises(ClusterError, match="not within 0 s"):
        wait_for(lambda: False, what="the moon", seconds=0, paths=paths)
