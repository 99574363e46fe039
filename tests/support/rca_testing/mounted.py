"""A ConfigMap's volume, written as the kubelet writes it: a new folder, then one rename of the link `..data`."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path


class Mounted:
    """`path` is what a container sees: `key -> ..data/key`, `..data -> ..<version>`."""

    def __init__(self, path: Path, data: dict[str, str]) -> None:
        self.path = path
        self._versions = itertools.count(1)
        path.mkdir()
        self.swap(data)

    def swap(self, data: dict[str, str]) -> None:
        """Put other data in place, as a whole, and delete the version before."""
        link = self.path / "..data"
        before = link.readlink() if link.is_symlink() else None
        version = self.path / f"..2026_11_30_{next(self._versions):06d}"
        version.mkdir()
        for key, value in data.items():
            (version / key).write_text(value, encoding="utf-8")
        fresh = self.path / "..data_tmp"
        fresh.symlink_to(version.name)
        fresh.rename(link)
        for entry in list(self.path.iterdir()):
            if entry.is_symlink() and entry.name != "..data" and entry.name not in data:
                entry.unlink()
        for key in data:
            if not (self.path / key).is_symlink():
                (self.path / key).symlink_to(f"..data/{key}")
        if before is not None:
            shutil.rmtree(self.path / before)
