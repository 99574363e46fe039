"""The node: namespaces of its own, containerd, kubelet and kube-proxy inside them."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hack.cluster import cgroups, kubeconfig, nodeconfig, nodeinit, process, supervisor
from hack.cluster.controlplane import Identities
from hack.cluster.errors import ClusterError
from hack.cluster.paths import ClusterPaths, cache_root
from hack.cluster.state import State
from hack.cluster.supervisor import Component

NAMESPACES = "node"
NAMES = (NAMESPACES, "containerd", "kubelet", "kube-proxy")
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Binaries:
    """Where the node's programs are."""

    node: Path
    containerd: Path
    system: Mapping[str, str]


def _ip(*arguments: str, inside: int | None = None) -> None:
    enter = ["nsenter", "--target", str(inside), "--net"] if inside else []
    answer = subprocess.run([*enter, "ip", *arguments], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise ClusterError(f"`ip {' '.join(arguments)}` failed: {answer.stderr.strip()}")


def init_pid(paths: ClusterPaths) -> int | None:
    """The host's pid of the node's first process: the child of the recorded `unshare`."""
    parent = supervisor.running(paths, NAMESPACES)
    children = process.children_of(parent.pid) if parent else []
    return children[0] if children else None


def ensure_cable(paths: ClusterPaths, state: State) -> None:
    """The cable to the node. The host's end carries the API server's address, so it comes first."""
    if supervisor.running(paths, NAMESPACES) is None:
        remove_cable(state.interface)
    init = _ensure_namespaces(paths, state)
    if not Path("/sys/class/net", state.interface).exists():
        _ip("link", "add", state.interface, "type", "veth", "peer", "name", "eth0", "netns", str(init))
    _ip("address", "replace", f"{state.host_address}/24", "dev", state.interface)
    _ip("link", "set", state.interface, "up")
    _ip("address", "replace", f"{state.node_address}/24", "dev", "eth0", inside=init)
    _ip("link", "set", "eth0", "up", inside=init)
    _ip("route", "replace", "default", "via", state.host_address, inside=init)
    _ip("route", "replace", state.pod_subnet, "via", state.node_address, "dev", state.interface)


def _ensure_namespaces(paths: ClusterPaths, state: State) -> int:
    files = tuple(cgroups.create(state.name))
    prepared = paths.node / "prepared"
    if supervisor.running(paths, NAMESPACES) is None:
        prepared.unlink(missing_ok=True)
    paths.node.mkdir(parents=True, exist_ok=True)
    unshare = [
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "--net",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ]
    init = [sys.executable, "-I", "-S", str(Path(nodeinit.__file__)), str(paths.node), process.boot_id()]
    supervisor.ensure_running(paths, Component(NAMESPACES, (*unshare, *init), files, SYSTEM_PATH))
    supervisor.wait_for(
        prepared.exists, what="the node's namespaces", seconds=15, paths=paths, needs=[NAMESPACES]
    )
    pid = init_pid(paths)
    if pid is None:
        raise ClusterError("The node's first process has vanished.")
    return pid


def write_configuration(
    paths: ClusterPaths, state: State, identities: Identities, binaries: Binaries
) -> None:
    """Everything the node's daemons read."""
    authority = identities.authority
    client = authority.issue("kubelet", common_name=f"system:node:{state.name}", organization="system:nodes")
    proxy = authority.issue("kube-proxy", common_name="system:kube-proxy")
    serving = authority.issue(
        "kubelet-server",
        common_name=f"system:node:{state.name}",
        names=[state.name],
        addresses=[state.node_address],
    )
    for name, pair in {"kubelet": client, "kube-proxy": proxy}.items():
        content = kubeconfig.document(
            context=state.context, server=state.server, authority=authority.pair.certificate, client=pair
        )
        kubeconfig.write(paths.config / f"{name}.kubeconfig", content)
    (paths.config / "cni").mkdir(exist_ok=True)
    files = {
        "cni/10-rca.conflist": json.dumps(nodeconfig.cni(paths, state), indent=1),
        "kubelet.json": json.dumps(nodeconfig.kubelet(paths, state, authority, serving), indent=1),
        "resolv.conf": "",
        "containerd.toml": nodeconfig.containerd(
            paths, runc=binaries.system["runc"], cni_plugins=binaries.system["cni:bridge"]
        ),
    }
    for name, text in files.items():
        (paths.config / name).write_text(text, encoding="utf-8")


def _inside(pid: int, command: list[str]) -> tuple[str, ...]:
    """Run in the node's namespaces.

    Not with `ip netns exec`: that mounts a fresh /sys and hides the cgroups from kubelet.
    """
    return ("nsenter", "--target", str(pid), "--mount", "--net", "--pid", "--", *command)


def components(paths: ClusterPaths, state: State, binaries: Binaries) -> dict[str, Component]:
    """The node's daemons; the namespaces must exist."""
    pid = init_pid(paths)
    if pid is None:
        raise ClusterError("The node's first process has vanished.")
    files = tuple(cgroups.create(state.name))
    kubelet = [
        str(binaries.node / "kubelet"),
        f"--config={paths.config / 'kubelet.json'}",
        f"--kubeconfig={paths.config / 'kubelet.kubeconfig'}",
        f"--hostname-override={state.name}",
        f"--node-ip={state.node_address}",
        f"--root-dir={paths.node / 'kubelet'}",
    ]
    containerd = [str(binaries.containerd / "containerd"), "--config", str(paths.config / "containerd.toml")]
    lines = {
        "containerd": containerd,
        "kubelet": kubelet,
        "kube-proxy": nodeconfig.kube_proxy(paths, binaries.node / "kube-proxy", state),
    }
    path = f"{binaries.containerd}:{SYSTEM_PATH}"
    return {name: Component(name, _inside(pid, line), files, path) for name, line in lines.items()}


def containerd_answers(paths: ClusterPaths, binaries: Binaries) -> bool:
    return ctr(paths, binaries.containerd, "version").returncode == 0


def ctr(paths: ClusterPaths, bin_dir: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Talk to the node's containerd from the host: the socket is a file that both see."""
    command = [
        str(bin_dir / "ctr"),
        "--address",
        str(paths.containerd_socket),
        "--namespace",
        "k8s.io",
        *arguments,
    ]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", "ctr did not answer within 180 s")


def remove_cable(interface: str) -> None:
    """Remove the cable, if there is one; both ends go."""
    with contextlib.suppress(OSError):
        subprocess.run(["ip", "link", "delete", interface], capture_output=True, check=False)


def check_directories(paths: ClusterPaths) -> None:
    """Refuse directories that the node could not see, because it has its own in their place."""
    for directory in (paths.root, cache_root()):
        for hidden in nodeinit.PRIVATE.values():
            if directory.is_relative_to(Path(hidden).resolve()):
                raise ClusterError(
                    f"{directory} is under {hidden}, of which the node has its own: set RCA_STATE and "
                    "RCA_CACHE to directories elsewhere."
                )


def may_run_a_node() -> bool:
    return os.geteuid() == 0 and sys.platform == "linux"
