"""The base image where there is no Docker Hub: Debian 13 with its own Python 3.13, made by mmdebstrap."""

from __future__ import annotations

import os
from pathlib import Path

from hack.cluster import ociarchive, packages, versions
from hack.cluster.manifest import ensure_entry
from hack.cluster.paths import cache_root
from hack.cluster.progress import run_logged

RECIPE = 1
"""Raise it when the commands below change, so that caches make the base again."""

_LEFT_OUT = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*")
_INCLUDED = "python3,python3-venv,ca-certificates"


def _mmdebstrap(rootfs: Path) -> list[str]:
    excluded = [f"--dpkgopt=path-exclude={pattern}" for pattern in _LEFT_OUT]
    hooks = [
        "--customize-hook=ln -sf /usr/bin/python3 $1/usr/local/bin/python3",
        "--customize-hook=ln -sf /usr/bin/python3 $1/usr/local/bin/python",
        "--customize-hook=rm -rf $1/var/lib/apt/lists $1/var/cache/apt $1/var/log/apt",
        "--customize-hook=mkdir -p $1/var/lib/apt/lists/partial $1/var/cache/apt/archives/partial",
    ]
    mirror = os.environ.get("RCA_DEBIAN_MIRROR")
    command = [
        "mmdebstrap",
        "--variant=apt",
        f"--include={_INCLUDED}",
        *excluded,
        *hooks,
        versions.DEBIAN_SUITE,
        str(rootfs),
    ]
    return [*command, mirror] if mirror else command


def ensure() -> Path:
    """The base image as an OCI archive in the cache."""
    entry = cache_root() / "images" / "base" / f"{versions.DEBIAN_SUITE}-{RECIPE}"

    def build(target: Path) -> None:
        packages.ensure(packages.IMAGES, purpose="building images")
        rootfs = target / "rootfs.tar"
        log = cache_root() / "logs" / "base-image.log"
        run_logged(_mmdebstrap(rootfs), title=f"the base image, Debian {versions.DEBIAN_SUITE}", log=log)
        config = {
            "Env": ["PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin", "LANG=C.UTF-8"],
            "Cmd": ["python3"],
        }
        ociarchive.write(target / "image.tar", name=versions.BASE_IMAGE, layer=rootfs, config=config)
        rootfs.unlink()

    return ensure_entry(entry, build, what="the base image") / "image.tar"
