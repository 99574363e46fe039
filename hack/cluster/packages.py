"""What comes from the distribution: installed with apt when missing, named when that is not possible."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hack.cluster.errors import ClusterError
from hack.cluster.lock import locked
from hack.cluster.paths import cache_root
from hack.cluster.progress import run_logged

CNI_DIRECTORIES = (Path("/usr/lib/cni"), Path("/opt/cni/bin"))
_SBIN = "/usr/local/sbin:/usr/sbin:/sbin"


@dataclass(frozen=True)
class Need:
    """A command, and the Debian package that has it."""

    command: str
    package: str

    def path(self) -> str | None:
        if self.command == "cni:bridge":
            return next((str(d) for d in CNI_DIRECTORIES if (d / "bridge").exists()), None)
        return shutil.which(self.command, path=f"{os.environ.get('PATH', os.defpath)}:{_SBIN}")


OPENSSL = Need("openssl", "openssl")
NODE = (
    Need("runc", "runc"),
    Need("cni:bridge", "containernetworking-plugins"),
    Need("iptables", "iptables"),
    Need("ip", "iproute2"),
    Need("conntrack", "conntrack"),
    Need("busybox", "busybox-static"),
    Need("nsenter", "util-linux"),
    Need("mount", "mount"),
    OPENSSL,
)
IMAGES = (Need("buildah", "buildah"), Need("mmdebstrap", "mmdebstrap"))


def ensure(needs: Sequence[Need], *, purpose: str) -> dict[str, str]:
    """The path of every needed command (of the directory, for the CNI plugins)."""
    missing = [need for need in needs if need.path() is None]
    if missing:
        _install(missing, purpose)
    found = {need.command: need.path() for need in needs}
    absent = [need.package for need in needs if found[need.command] is None]
    if absent:
        raise ClusterError(f"For {purpose} these are needed and could not be installed: {', '.join(absent)}.")
    return {command: path for command, path in found.items() if path is not None}


def _install(missing: Sequence[Need], purpose: str) -> None:
    names = [need.package for need in missing]
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise ClusterError(
            f"For {purpose} these packages are needed (Debian's names): {', '.join(names)}. "
            "Install them, or run this as root on Debian or Ubuntu to have it done."
        )
    log = cache_root() / "logs" / "apt.log"
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with locked(cache_root() / "apt.lock", "the package installation"):
        if all(need.path() for need in missing):
            return
        run_logged(["apt-get", "update"], title="package lists", log=log, env=env)
        command = ["apt-get", "install", "--yes", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=120"]
        run_logged([*command, *names], title=f"installing {', '.join(names)}", log=log, env=env)
