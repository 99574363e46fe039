"""What the installation says before it fails minutes later."""

import pytest

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
