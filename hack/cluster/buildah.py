"""Building with buildah, without an engine.

Every call has a mount namespace and a run directory of its own: a build that is killed leaves neither
mounts nor counters that claim there were some.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from hack.cluster import baseimage, ociarchive, packages, pipconfig, versions
from hack.cluster.errors import ClusterError
from hack.cluster.kubeconfig import write_private
from hack.cluster.lock import locked
from hack.cluster.paths import cache_root
from hack.cluster.progress import note, run_logged

MOST_IMAGES = 150


def check_possible() -> None:
    """Raise unless this user may build images without an engine."""
    if os.geteuid() != 0:
        raise ClusterError(
            "No Docker engine answers, and building images without one needs root: run this as root."
        )


def build(
    reference: str, dockerfile: Path, context: Path, arguments: Mapping[str, str], archive: Path
) -> None:
    """Build an image into an OCI archive."""
    packages.ensure(packages.IMAGES, purpose="building images")
    home = cache_root() / "buildah"
    log = cache_root() / "logs" / f"image-{reference.replace('/', '_').replace(':', '_')}.log"
    log.unlink(missing_ok=True)
    with (
        locked(home / ".lock", "the image builder"),
        tempfile.TemporaryDirectory(prefix="rca-build-") as scratch,
    ):
        if trim(home / "store"):
            note("the image builder's store was full and has been emptied")
        build_arguments = dict(arguments)
        command = ["bud", "--isolation", "chroot", "--layers", "--tag", reference, "--file", str(dockerfile)]
        if "BASE" not in build_arguments:
            _import_base(home, Path(scratch), log)
            build_arguments["BASE"] = versions.BASE_IMAGE
            command.append("--pull-never")
        for key, value in sorted(build_arguments.items()):
            command += ["--build-arg", f"{key}={value}"]
        command += [*_mounts(Path(scratch)), str(context)]
        leftovers = ["rm", "--all"]  # working containers of builds that were killed
        _run(home, Path(scratch), leftovers, title="the image builder", log=log)
        _run(home, Path(scratch), command, title=f"building {reference}", log=log)
        push = ["push", "--quiet", reference, f"oci-archive:{archive}:{reference}"]
        _run(home, Path(scratch), push, title=f"saving {reference}", log=log)


def trim(store: Path, limit: int = MOST_IMAGES) -> bool:
    """Throw the whole store away once it is full of layers of earlier builds; True when it was.

    buildah keeps every step of every build, which makes the next build quick and the disk full. It cannot tell
    the steps that are still of use from the others, and making all of them again takes well under a minute.
    """
    try:
        count = len(json.loads((store / "overlay-images" / "images.json").read_text(encoding="utf-8")))
    except FileNotFoundError:
        return False
    except (OSError, ValueError, TypeError):
        count = limit + 1  # a damaged store is of no use either
    if count <= limit:
        return False
    shutil.rmtree(store)
    return True


def _import_base(home: Path, scratch: Path, log: Path) -> None:
    """Give the store our base, once per version of it."""
    archive = baseimage.ensure()
    digest = ociarchive.digest_of(archive)
    imported = home / "store" / "base-digest"
    if imported.is_file() and imported.read_text(encoding="ascii") == digest:
        return
    pull = ["pull", "--quiet", f"oci-archive:{archive}"]
    _run(home, scratch, pull, title="importing the base image", log=log)
    imported.write_text(digest, encoding="ascii")


def _mounts(scratch: Path) -> list[str]:
    lent = pipconfig.of_this_machine()
    conf = scratch / "pip.conf"
    write_private(conf, lent.conf)
    volumes = [f"{conf}:{pipconfig.CONF_TARGET}:ro"]
    if lent.ca_bundle is not None:
        volumes.append(f"{lent.ca_bundle.resolve()}:{pipconfig.CA_TARGET}:ro")
    volumes += [f"{directory}:{directory}:ro" for directory in lent.directories]
    return [item for volume in volumes for item in ("--volume", volume)]


def _run(home: Path, scratch: Path, arguments: Sequence[str], *, title: str, log: Path) -> None:
    store = home / "store"
    store.mkdir(parents=True, exist_ok=True, mode=0o700)
    run = Path(tempfile.mkdtemp(prefix="run-", dir=scratch))
    namespace = ["unshare", "--mount", "--propagation", "private"]
    command = [
        "buildah",
        "--storage-driver",
        "overlay",
        "--root",
        str(store),
        "--runroot",
        str(run),
        *arguments,
    ]
    run_logged([*namespace, *command], title=title, log=log)
