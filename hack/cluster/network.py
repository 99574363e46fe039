"""Ports and private subnets that nobody uses yet."""

from __future__ import annotations

import ipaddress
import json
import socket
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import ExitStack

from hack.cluster.errors import ClusterError

SLOTS = range(64)


def free_ports(count: int, address: str = "127.0.0.1") -> list[int]:
    """Ports that are free now; all are held open while choosing, so that they differ."""
    with ExitStack() as stack:
        ports = []
        for _ in range(count):
            listener = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            listener.bind((address, 0))
            ports.append(int(listener.getsockname()[1]))
        return ports


def first_free_slot(subnets_of: Sequence[tuple[str, str]], taken: Iterable[str]) -> int | None:
    """The first slot whose subnets overlap with nothing taken. A default route (/0) takes nothing."""
    used = [ipaddress.ip_network(item, strict=False) for item in taken]
    used = [network for network in used if network.version == 4 and network.prefixlen > 0]
    for slot, subnets in enumerate(subnets_of):
        if not any(ipaddress.ip_network(subnet).overlaps(network) for subnet in subnets for network in used):
            return slot
    return None


def taken_subnets() -> list[str]:
    """The addresses and routes of this machine."""
    answer = subprocess.run(
        ["ip", "-json", "-4", "route", "show", "table", "all"], capture_output=True, text=True, check=True
    )
    routes = json.loads(answer.stdout or "[]")
    return [str(route["dst"]) for route in routes if route.get("dst", "default")[:1].isdigit()]


def choose_slot() -> int:
    subnets = [(f"10.213.{slot}.0/24", f"10.214.{slot}.0/24") for slot in SLOTS]
    slot = first_free_slot(subnets, taken_subnets())
    if slot is None:
        raise ClusterError("All private subnets 10.213.x.0/24 and 10.214.x.0/24 are in use on this machine.")
    return slot
