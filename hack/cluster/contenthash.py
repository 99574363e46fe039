"""One hash of everything an image is made from, so that nothing is built twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from hack.cluster.dockerfile import EVERYTHING, context_sources
from hack.cluster.dockerignore import rules_for, visible_files
from hack.cluster.errors import ClusterError
from hack.cluster.manifest import sha256_of


def _files(dockerfile: Path, context: Path) -> list[Path]:
    rules = rules_for(dockerfile, context)
    found: set[Path] = set()
    for source in context_sources(dockerfile.read_text(encoding="utf-8")):
        if source == EVERYTHING:
            starts = [context]
        elif any(sign in source for sign in "*?["):
            starts = list(context.glob(source))
        else:
            starts = [context / source] if (context / source).exists() else []
        for start in starts:
            found.update(visible_files(context, start, rules))
    return sorted(found)


def content_hash(dockerfile: Path, context: Path, arguments: Mapping[str, str], base: str) -> str:
    """The Dockerfile, its arguments, the base, and path, kind, mode and content of every file it may copy."""
    if not dockerfile.is_file():
        raise ClusterError(f"There is no Dockerfile {dockerfile}.")
    if not context.is_dir():
        raise ClusterError(f"There is no directory {context} to build from.")
    total = hashlib.sha256()
    head = [dockerfile.read_text(encoding="utf-8"), sorted(arguments.items()), base]
    total.update(json.dumps(head).encode())
    for path in _files(dockerfile, context):
        if path.is_symlink():
            facts: list[object] = ["link", path.readlink().as_posix()]
        else:
            facts = ["file", bool(path.stat().st_mode & 0o100), sha256_of(path)]
        total.update(json.dumps([path.relative_to(context).as_posix(), *facts]).encode())
    return total.hexdigest()
