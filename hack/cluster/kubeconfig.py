"""kubeconfig files. They are written as JSON, which every YAML parser reads and Python can write."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

from hack.cluster.certificates import Pair


def document(*, context: str, server: str, authority: Path, client: Pair) -> dict[str, object]:
    """A kubeconfig with one cluster, one user, and one context, everything embedded."""

    def embedded(path: Path) -> str:
        return base64.b64encode(path.read_bytes()).decode("ascii")

    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": context,
                "cluster": {"server": server, "certificate-authority-data": embedded(authority)},
            }
        ],
        "users": [
            {
                "name": context,
                "user": {
                    "client-certificate-data": embedded(client.certificate),
                    "client-key-data": embedded(client.key),
                },
            }
        ],
        "contexts": [
            {"name": context, "context": {"cluster": context, "user": context, "namespace": "default"}}
        ],
        "current-context": context,
    }


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, from its first moment on, and whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
    temporary.rename(path)


def write(path: Path, content: dict[str, object]) -> None:
    write_private(path, json.dumps(content, indent=1) + "\n")
