"""The ring's loop, whose clock skips idle time, and its lab."""

from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import pytest
import pytest_asyncio
from rca_testing.emulator.clock import SkippingLoop
from rca_testing.emulator.lab import Lab


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], SkippingLoop]]:
    return {"skipping": SkippingLoop}


@pytest_asyncio.fixture
async def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Lab]:
    async with Lab(tmp_path, monkeypatch) as lab:
        yield lab


@pytest.fixture
def make_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Lab]:
    """For tests that need more than one."""
    return lambda: Lab(tmp_path, monkeypatch)
