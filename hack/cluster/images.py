"""Images: built once per content, and brought to wherever the cluster's Pods look for them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hack.cluster import baseimage, buildah, engine, localnode, ociarchive, recipes, tools
from hack.cluster import state as states
from hack.cluster.contenthash import content_hash
from hack.cluster.errors import ClusterError
from hack.cluster.kubeconfig import write_private
from hack.cluster.manifest import ensure_entry
from hack.cluster.paths import ClusterPaths, cache_root
from hack.cluster.progress import Progress, note
from hack.cluster.state import Kind

KEPT_VERSIONS = 3
ATTEMPTS = 4
_REFERENCE = re.compile(r"[a-z0-9][a-z0-9._/:-]*")


class _ChangedMeanwhileError(Exception):
    """An image was built from files that are not those its key was computed from."""


@dataclass(frozen=True)
class Built:
    """An image that exists: its full name, and the digest of its manifest (or Docker's image id)."""

    reference: str
    digest: str


def normalized(image: str) -> str:
    """The full name that kubelet asks for when a Pod says `image`."""
    if not _REFERENCE.fullmatch(image):
        raise ClusterError(f"{image!r} is no image name such as localhost/rca-operator:dev.")
    head, slash, _ = image.partition("/")
    if not slash:
        image = f"docker.io/library/{image}"
    elif "." not in head and ":" not in head and head != "localhost":
        image = f"docker.io/{image}"
    return image if ":" in image.rpartition("/")[2] else f"{image}:latest"


def parse_arguments(items: Sequence[str]) -> dict[str, str]:
    pairs = [item.partition("=") for item in items]
    if any(not key or not equals for key, equals, _ in pairs):
        raise ClusterError("--build-arg wants KEY=VALUE.")
    return {key: value for key, _, value in pairs}


def _shelf(reference: str) -> Path:
    return cache_root() / "images" / "built" / re.sub(r"[^a-z0-9.-]", "_", reference)


def build(image: str, dockerfile: Path, context: Path, arguments: Mapping[str, str]) -> Built:
    """Build with Docker where it answers, else with buildah, unless nothing it is made from has changed."""
    reference = normalized(image)
    if engine.docker_answers():
        return Built(reference, engine.docker_build(image, dockerfile, context, arguments))
    buildah.check_possible()
    shelf = _shelf(reference)
    for _ in range(ATTEMPTS):
        key = _key(dockerfile, context, arguments)

        def make(target: Path, key: str = key) -> None:
            buildah.build(reference, dockerfile.resolve(), context.resolve(), arguments, target / "image.tar")
            if _key(dockerfile, context, arguments) != key:
                raise _ChangedMeanwhileError

        try:
            entry = ensure_entry(shelf / key, make, what=reference)
            break
        except _ChangedMeanwhileError:
            note(f"files of {reference} have changed while it was built; building it again")
    else:
        raise ClusterError(f"The files of {reference} keep changing while it is built.")
    write_private(shelf / "current.json", json.dumps({"key": key}))
    _forget_old_versions(shelf, key)
    return Built(reference, ociarchive.digest_of(entry / "image.tar"))


def _key(dockerfile: Path, context: Path, arguments: Mapping[str, str]) -> str:
    base = arguments.get("BASE") or ociarchive.digest_of(baseimage.ensure())
    return content_hash(dockerfile.resolve(), context.resolve(), arguments, base)[:32]


def _forget_old_versions(shelf: Path, current: str) -> None:
    entries = [path for path in shelf.iterdir() if path.is_dir() and not path.name.startswith(".")]
    others = sorted((path for path in entries if path.name != current), key=lambda path: path.stat().st_mtime)
    for path in others[: max(0, len(others) - KEPT_VERSIONS + 1)]:
        shutil.rmtree(path, ignore_errors=True)


def _built_archive(reference: str) -> Path:
    shelf = _shelf(reference)
    try:
        key = str(json.loads((shelf / "current.json").read_text(encoding="utf-8"))["key"])
    except (OSError, ValueError, KeyError, TypeError):
        key = ""
    archive = shelf / key / "image.tar"
    if not key or not archive.is_file():
        raise ClusterError(
            f"{reference} has not been built: run `python -m hack.cluster image build {reference} …` first."
        )
    return archive


def load(image: str, name: str) -> str:
    """Make an image available to the Pods of the cluster `name`; return its full name."""
    reference = normalized(image)
    paths = ClusterPaths.of(name)
    state = states.load(paths)
    if state is None:
        raise ClusterError(
            f"There is no cluster {name!r}: run `python -m hack.cluster up --name {name}` first."
        )
    match state.kind:
        case Kind.NODE:
            _import(paths, reference, _built_archive(reference))
        case Kind.CONTROL_PLANE:
            raise ClusterError(f"The cluster {name!r} has no node that could run an image.")
        case _:
            engine.load(state.context, image, None if engine.docker_answers() else _built_archive(reference))
    return reference


def _import(paths: ClusterPaths, reference: str, archive: Path) -> None:
    bin_dir = tools.cached(recipes.CONTAINERD)
    digest = ociarchive.digest_of(archive)
    listed = localnode.ctr(paths, bin_dir, "images", "list", f"name=={reference}")
    if listed.returncode != 0:
        raise ClusterError(f"The node's containerd does not answer: {listed.stderr.strip()}")
    if digest in listed.stdout:
        note(f"{reference} is on the node already")
        return
    with Progress(f"loading {reference}"):
        answer = localnode.ctr(paths, bin_dir, "images", "import", str(archive))
    if answer.returncode != 0:
        raise ClusterError(f"{reference} cannot be loaded: {answer.stderr.strip() or answer.stdout.strip()}")
