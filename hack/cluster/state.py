"""What one cluster was started as: kind, ports, addresses. Chosen once, so that a repair changes nothing."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum

from hack.cluster.kubeconfig import write_private
from hack.cluster.paths import ClusterPaths


class Kind(StrEnum):
    """Who runs the cluster."""

    CONTEXT = "context"
    KIND = "kind"
    NODE = "node"
    CONTROL_PLANE = "control-plane"


@dataclass(frozen=True)
class State:
    """Everything `up` decided. `slot` numbers the private subnets; ports are those of the control plane."""

    name: str
    kind: Kind
    context: str
    slot: int = 0
    api_port: int = 0
    etcd_port: int = 0
    etcd_peer_port: int = 0
    controller_port: int = 0
    scheduler_port: int = 0

    @property
    def with_node(self) -> bool:
        return self.kind is Kind.NODE

    @property
    def host_address(self) -> str:
        """Where the API server listens: the host's end of the node's cable, or loopback without a node."""
        return f"10.213.{self.slot}.1" if self.with_node else "127.0.0.1"

    @property
    def node_address(self) -> str:
        return f"10.213.{self.slot}.2"

    @property
    def node_subnet(self) -> str:
        return f"10.213.{self.slot}.0/24"

    @property
    def pod_subnet(self) -> str:
        return f"10.214.{self.slot}.0/24"

    @property
    def server(self) -> str:
        return f"https://{self.host_address}:{self.api_port}"

    @property
    def interface(self) -> str:
        """The host's end of the cable: at most 15 bytes."""
        return f"v-{self.name}"


def save(paths: ClusterPaths, state: State) -> None:
    write_private(paths.state_file, json.dumps(asdict(state), indent=1) + "\n")


def load(paths: ClusterPaths) -> State | None:
    """The saved state; a damaged file counts as none, and the next `up` starts afresh after cleaning up."""
    try:
        facts = json.loads(paths.state_file.read_text(encoding="utf-8"))
        return State(**{**facts, "kind": Kind(facts["kind"])})
    except (OSError, ValueError, KeyError, TypeError):
        return None
