"""A control plane of one's own for each measurement: nothing of the one before weighs on the next."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hack.cluster.certificates import Authority, Pair
from hack.cluster.paths import ClusterPaths, repository

NAME = "bench"
CRDS = repository() / "crds"


@contextmanager
def control_plane(name: str = NAME) -> Iterator[Path]:
    """API server, controllers and scheduler without a node; gone afterwards. Gives the kubeconfig."""
    _tool("down", "--name", name)
    path = _tool("up", "--control-plane-only", "--name", name).strip()
    try:
        yield Path(path)
    finally:
        _tool("down", "--name", name)


def kubelet_certificate(name: str = NAME) -> Pair:
    """What the API server of this control plane believes a kubelet on loopback."""
    return Authority(ClusterPaths.of(name).pki).issue(
        "bench-kubelet", common_name="system:node:bench", names=["bench"], addresses=["127.0.0.1"]
    )


def _tool(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "hack.cluster", *arguments],
        cwd=repository(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=1500,
    )
    if done.returncode:
        raise RuntimeError(f"hack.cluster {' '.join(arguments)} failed:\n{done.stderr[-2000:]}")
    return done.stdout
