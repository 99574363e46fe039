"""The promises of the model are worth something: a core with one fault breaks one of them, in a short order of events."""

from __future__ import annotations

import pytest
from rca_testing.model import speed
from rca_testing.model.broken import BROKEN
from rca_testing.model.scripts import SCRIPTS


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    speed.install(monkeypatch)


def kept(script: str) -> bool:
    """Whether all promises were kept in this order of events."""
    try:
        SCRIPTS[script]().ledger.verify()
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_core_keeps_its_promises_in_every_script(script: str) -> None:
    SCRIPTS[script]().ledger.verify()


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_core_does_not(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    BROKEN[fault](monkeypatch)
    assert not all(kept(script) for script in SCRIPTS)
