"""The check that the locks fit pyproject.toml."""

from __future__ import annotations

from packaging.requirements import Requirement

from hack.locks import misfits, pins

LOCK = """# made by
aiohttp==3.14.5 \\
    --hash=sha256:00
Some_Thing==1.0 ; python_full_version < '3.13' \\
    --hash=sha256:00
some-thing==2.0 ; python_full_version >= '3.13'
"""


def test_names_are_compared_as_the_index_does_and_markers_give_two_versions() -> None:
    assert pins(LOCK) == {"aiohttp": {"3.14.5"}, "some-thing": {"1.0", "2.0"}}


def test_what_is_missing_or_too_old_is_named_with_both_versions() -> None:
    wanted = [Requirement("aiohttp>=4"), Requirement("Some.Thing>=2"), Requirement("absent")]
    assert misfits(wanted, pins(LOCK)) == ["aiohttp 3.14.5 does not fit >=4", "absent is not in it"]
