"""The scan that keeps clock, chance and files out of the pure parts."""

from __future__ import annotations

import pytest

from hack import purity


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "import os.path",
        "from os import environ",
        "from pathlib import Path",
        "import pathlib\npathlib.Path('x')",
        "from importlib import resources",
        "from importlib.resources import files",
        "import random\nrandom.shuffle([])",
        "from datetime import datetime\ndatetime.now()",
        "import datetime\ndatetime.datetime.now(datetime.UTC)",
        "import uuid\nuuid.uuid4()",
        "from uuid import uuid4",
        "open('x')",
        "x.read_text()",
        "print('x')",
        "import gzip\ngzip.compress(b'')",
        "hash('x')",
    ],
)
def test_what_reads_the_world_is_found(source: str) -> None:
    assert purity.scan(source, "m.py")


@pytest.mark.parametrize(
    "source",
    [
        "from pathlib import PurePosixPath",
        "from io import BytesIO",
        "import random\nrandom.Random(1).shuffle([])",
        "from datetime import UTC, datetime\ndatetime.fromisoformat('2026-01-01')",
        "import gzip\ngzip.compress(b'', mtime=0)",
        "from .time import parse",
        "from rca_eval.contract import open_window",
        "def decide(snapshot, now): return now",
        "import hashlib\nhashlib.sha256(b'').hexdigest()",
    ],
)
def test_what_only_computes_is_let_through(source: str) -> None:
    assert purity.scan(source, "m.py") == []


def test_a_file_that_does_not_parse_is_a_finding() -> None:
    assert "is no Python" in str(purity.scan("def (", "m.py")[0])


def test_the_scan_looks_at_the_pure_packages() -> None:
    assert {path.parts[-2] for path in purity.files()} >= {"contract", "gate", "core", "api"}
