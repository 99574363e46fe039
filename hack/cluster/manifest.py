"""Cache entries that can be trusted: complete, unchanged, or made anew.

An entry is a directory that appears by one rename and carries a manifest with the size and SHA-256 of every
file. A build that was killed leaves only a temporary directory; a file that was truncated or edited no
longer matches.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hack.cluster.lock import locked
from hack.cluster.progress import note

MANIFEST = "manifest.json"


def sha256_of(path: Path) -> str:
    """The digest of a file's content, read in pieces."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _files(entry: Path) -> list[Path]:
    return sorted(path for path in entry.rglob("*") if path.is_file() and path.name != MANIFEST)


def seal(entry: Path) -> None:
    """Write the manifest of everything in `entry`."""
    files = {
        str(path.relative_to(entry)): {"size": path.stat().st_size, "sha256": sha256_of(path)}
        for path in _files(entry)
    }
    (entry / MANIFEST).write_text(json.dumps({"files": files}, indent=1) + "\n", encoding="utf-8")


def defect(entry: Path) -> str | None:
    """Why this entry cannot be used, or None when every file is as it was when it was sealed."""
    try:
        recorded = json.loads((entry / MANIFEST).read_text(encoding="utf-8"))["files"]
        expected = {str(name): (int(fact["size"]), str(fact["sha256"])) for name, fact in recorded.items()}
    except FileNotFoundError:
        return "it has no manifest"
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        return "its manifest cannot be read"
    if not expected:
        return "its manifest lists nothing"
    for name, (size, _) in expected.items():
        path = entry / name
        if not path.is_file():
            return f"{name} is missing"
        if path.stat().st_size != size:
            return f"{name} has {path.stat().st_size} bytes instead of {size}"
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        digests = list(pool.map(lambda name: sha256_of(entry / name), expected))
    for (name, (_, digest)), found in zip(expected.items(), digests, strict=True):
        if digest != found:
            return f"{name} has changed since it was built"
    return None


def ensure_entry(entry: Path, build: Callable[[Path], None], *, what: str) -> Path:
    """Return `entry`, built by `build(temporary directory)` unless a sound one is already there."""
    if (entry / MANIFEST).exists() and defect(entry) is None:
        return entry
    entry.parent.mkdir(parents=True, exist_ok=True)
    with locked(entry.parent / ".lock", f"the build lock of {entry.parent.name}"):
        if entry.exists():
            reason = defect(entry)
            if reason is None:
                return entry
            note(f"{what} in the cache cannot be used ({reason}); making it again")
            shutil.rmtree(entry)
        for stale in entry.parent.glob(".making-*"):
            shutil.rmtree(stale, ignore_errors=True)
        making = Path(tempfile.mkdtemp(prefix=".making-", dir=entry.parent))
        try:
            build(making)
            seal(making)
            making.rename(entry)
        finally:
            shutil.rmtree(making, ignore_errors=True)
    return entry
