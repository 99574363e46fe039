"""Where things live: a cache that outlives clusters, and a state directory per cluster that does not.

Both are outside the checkout, so that a `git clean` never kills a running cluster and a checkout never
grows by gigabytes. Unix socket paths end at 107 bytes, so the state directory is kept short.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from hack.cluster.errors import ClusterError

DEFAULT_NAME = "rca"
LONGEST_STATE_DIR = 70
_NAME = re.compile(r"[a-z][a-z0-9-]{0,11}")


def repository() -> Path:
    """The checkout this package was imported from."""
    return Path(__file__).resolve().parents[2]


def cache_root() -> Path:
    """What is expensive to make (binaries, images): `$RCA_CACHE`, else the user's cache directory."""
    explicit = os.environ.get("RCA_CACHE")
    if explicit:
        return Path(explicit).expanduser().resolve()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().resolve() / "rca-rollout"


def state_root() -> Path:
    """The parent of all clusters' state: `$RCA_STATE`, else /var/lib for root, the cache for others."""
    explicit = os.environ.get("RCA_STATE")
    if explicit:
        return Path(explicit).expanduser().resolve()
    if os.geteuid() == 0:
        return Path("/var/lib/rca-rollout")
    return cache_root() / "clusters"


def checked_name(name: str) -> str:
    """A cluster name ends up in interface names (15 bytes) and cgroup names, so it is short and plain."""
    if not _NAME.fullmatch(name):
        raise ClusterError(
            f"{name!r} is no cluster name: use 1 to 12 of a-z, 0-9, '-', with a letter first, such as 'rca'."
        )
    return name


@dataclass(frozen=True)
class ClusterPaths:
    """Every path of one cluster, derived from its name."""

    name: str
    root: Path

    @classmethod
    def of(cls, name: str) -> ClusterPaths:
        root = state_root() / checked_name(name)
        if len(str(root)) > LONGEST_STATE_DIR:
            raise ClusterError(
                f"The state directory {root} is too long for Unix sockets "
                f"({len(str(root))} > {LONGEST_STATE_DIR} bytes): set RCA_STATE to a shorter directory."
            )
        return cls(name=name, root=root)

    @property
    def state_file(self) -> Path:
        return self.root / "state.json"

    @property
    def kubeconfig(self) -> Path:
        return self.root / "kubeconfig"

    @property
    def pids(self) -> Path:
        return self.root / "pids"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def pki(self) -> Path:
        return self.root / "pki"

    @property
    def config(self) -> Path:
        return self.root / "config"

    @property
    def etcd(self) -> Path:
        return self.root / "etcd"

    @property
    def node(self) -> Path:
        """Everything that only the node's processes see or write."""
        return self.root / "node"

    @property
    def containerd_socket(self) -> Path:
        return self.root / "node" / "ctrd.sock"
