"""Real databases for tests: a fresh SQLite file, and a fresh database of a real PostgreSQL."""

from __future__ import annotations

import itertools
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

from hack import postgres

_numbers = itertools.count(1)


@contextmanager
def server() -> Iterator[Callable[[], str]]:
    """Starts PostgreSQL; the function makes an empty database and returns its address.

    Without PostgreSQL the tests that need it are skipped, but in CI they fail: green must mean that they ran.
    """
    if postgres.binaries() is None:
        text_ = f"PostgreSQL is not installed; {postgres.INSTALL}"
        if os.environ.get("CI", "").lower() in {"1", "true"}:
            pytest.fail(text_)
        pytest.skip(text_)
    with postgres.running() as address:

        def fresh() -> str:
            name = f"test_{next(_numbers)}"
            engine = create_engine(address, isolation_level="AUTOCOMMIT")
            with engine.connect() as connection:
                connection.execute(text(f"CREATE DATABASE {name}"))
            engine.dispose()
            return make_url(address).set(database=name).render_as_string(hide_password=False)

        yield fresh


def sqlite(folder: Path) -> str:
    """The address of a file that does not exist yet."""
    return f"sqlite:///{folder}/lifecycles-{next(_numbers)}.db"


def stop(address: str) -> None:
    """Stop the server behind an address at once, as when its node is gone."""
    folder = make_url(address).query["host"]
    pid = int(Path(str(folder), "data", "postmaster.pid").read_text().split()[0])
    os.kill(pid, signal.SIGQUIT)
    while Path(str(folder), ".s.PGSQL.5432").exists():
        time.sleep(0.02)
