"""A pid that was handed out again is somebody else's process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hack.cluster import process
from hack.cluster.process import Identity


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"]) as running:
        yield running
        running.kill()


def _identity(pid: int) -> Identity:
    identity = process.identity_of(pid)
    assert identity is not None
    return identity


def test_a_running_process_is_recognised(stranger: subprocess.Popen[bytes]) -> None:
    assert process.alive(_identity(stranger.pid))


def test_the_same_pid_with_another_start_time_is_not_killed(stranger: subprocess.Popen[bytes]) -> None:
    recycled = replace(_identity(stranger.pid), started=1)
    assert not process.alive(recycled)
    assert not process.kill(recycled)
    assert stranger.poll() is None


def test_a_record_of_an_earlier_boot_is_not_killed(stranger: subprocess.Popen[bytes]) -> None:
    assert not process.kill(replace(_identity(stranger.pid), boot="earlier"))
    assert stranger.poll() is None


def test_the_recorded_process_itself_is_killed(stranger: subprocess.Popen[bytes]) -> None:
    assert process.kill(_identity(stranger.pid))
    assert stranger.wait(5) == -signal.SIGKILL


def test_a_zombie_counts_as_dead() -> None:
    pid = os.posix_spawn("/bin/true", ["true"], {})
    deadline = time.monotonic() + 5
    while process.identity_of(pid) is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process.identity_of(pid) is None
    os.waitpid(pid, 0)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}', '{"pid": "x", "started": 1, "boot": ""}'])
def test_a_damaged_record_is_no_record(tmp_path: Path, text: str) -> None:
    (tmp_path / "etcd.json").write_text(text)
    assert process.recorded(tmp_path, "etcd") is None


def test_a_daemon_is_recorded_and_found_again_by_record_and_by_marker(tmp_path: Path) -> None:
    identity = process.spawn(["sleep", "60"], log=tmp_path / "log", marker=str(tmp_path))
    try:
        process.record(tmp_path / "pids", "sleeper", identity)
        assert process.recorded(tmp_path / "pids", "sleeper") == identity
        # In the middle of its exec a process has no environment to be read; the record is there from the start.
        deadline = time.monotonic() + 10
        while list(process.marked(str(tmp_path))) != [identity] and time.monotonic() < deadline:
            time.sleep(0.01)
        assert list(process.marked(str(tmp_path))) == [identity]
        assert list(process.marked(f"{tmp_path}-other")) == []
    finally:
        assert process.kill(identity)
    assert process.wait_until_dead([identity], seconds=5) == []


def test_what_a_daemon_started_is_found_by_the_marker_too(tmp_path: Path) -> None:
    script = "import subprocess; subprocess.run(['sleep', '60'])"
    parent = process.spawn([sys.executable, "-c", script], log=tmp_path / "log", marker=str(tmp_path))
    deadline = time.monotonic() + 10
    while len(found := list(process.marked(str(tmp_path)))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(found) == 2
    assert process.children_of(parent.pid) == [item.pid for item in found if item != parent]
    for identity in found:
        process.kill(identity)
    assert process.wait_until_dead(found, seconds=5) == []


def test_a_daemon_that_cannot_start_leaves_its_reason_in_the_log(tmp_path: Path) -> None:
    identity = process.spawn(["/does/not/exist"], log=tmp_path / "log", marker=str(tmp_path))
    assert process.wait_until_dead([identity], seconds=5) == []
    assert "/does/not/exist" in (tmp_path / "log").read_text()
