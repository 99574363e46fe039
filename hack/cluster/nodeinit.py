"""The first process of the node's own namespaces (process ids, mounts, network). Run as a file, imports
nothing of ours.

The node is a set of namespaces that this process holds open. When it dies, the kernel kills everything in
its process namespace, and with the last of them go all mounts, the network with its interfaces and every
iptables rule. That is what lets `down` promise to leave nothing behind, even after a crash.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

PRIVATE = {"run": "/run", "log": "/var/log", "cni": "/var/lib/cni", "kubelet-default": "/var/lib/kubelet"}
"""Where kubelet, containerd and the CNI plugins write whatever they are told: the node sees its own."""

KUBELET_SYSCTLS = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}
"""kubelet sets these for the whole machine unless it reads what it wants already. So it does."""


def mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


def hide_host_directories(node: Path) -> None:
    for name, target in PRIVATE.items():
        (node / name).mkdir(parents=True, exist_ok=True)
        Path(target).mkdir(parents=True, exist_ok=True)
        mount("--bind", str(node / name), target)
    for name in ("netns", "lock", "containerd"):
        Path("/run", name).mkdir(exist_ok=True)


def shield_host_sysctls(node: Path) -> None:
    shield = node / "sysctl"
    shield.mkdir(exist_ok=True)
    for name, value in KUBELET_SYSCTLS.items():
        file = shield / name.replace("/", "-")
        file.write_text(f"{value}\n", encoding="ascii")
        if Path("/proc/sys", name).exists():
            mount("--bind", str(file), f"/proc/sys/{name}")


def prepare_network() -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1", encoding="ascii")
    bridged = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")
    if bridged.exists() and bridged.read_text(encoding="ascii").strip() != "1":
        bridged.write_text("1", encoding="ascii")


def reap_for_ever() -> None:
    """Orphans of containers become children of this process; collect them, as init has to."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
        except ChildProcessError:
            pass
        signal.sigtimedwait({signal.SIGCHLD}, 30)


def main() -> None:
    node = Path(sys.argv[1])
    mount("--make-rshared", "/")
    hide_host_directories(node)
    shield_host_sysctls(node)
    prepare_network()
    (node / "prepared").write_text(sys.argv[2], encoding="ascii")
    reap_for_ever()


if __name__ == "__main__":
    main()
