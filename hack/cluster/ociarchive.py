"""OCI archives with nothing but tarfile: the two images that have no Dockerfile, and digests."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping
from pathlib import Path

from hack.cluster.errors import ClusterError
from hack.cluster.manifest import sha256_of

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def architecture() -> str:
    """Go's (and OCI's) name of this machine's processor."""
    return _ARCHITECTURES.get(platform.machine(), platform.machine())


def _descriptor(media_type: str, digest: str, size: int) -> dict[str, object]:
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": size}


def write(target: Path, *, name: str, layer: Path, config: Mapping[str, object]) -> None:
    """An archive of one image with one layer; the same inputs always give the same digest."""
    digest = sha256_of(layer)
    image = {
        "architecture": architecture(),
        "os": "linux",
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
        "history": [{"created_by": "hack/cluster"}],  # buildah counts: one entry per layer
    }
    config_blob = json.dumps(image).encode()
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": _descriptor(_CONFIG, hashlib.sha256(config_blob).hexdigest(), len(config_blob)),
        "layers": [_descriptor(_LAYER, digest, layer.stat().st_size)],
    }
    manifest_blob = json.dumps(manifest).encode()
    entry = _descriptor(_MANIFEST, hashlib.sha256(manifest_blob).hexdigest(), len(manifest_blob))
    entry["annotations"] = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name}
    with tarfile.open(target, "w") as archive:
        _add(archive, "oci-layout", json.dumps({"imageLayoutVersion": "1.0.0"}).encode())
        _add(archive, "index.json", json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode())
        for blob in (config_blob, manifest_blob):
            _add(archive, f"blobs/sha256/{hashlib.sha256(blob).hexdigest()}", blob)
        member = tarfile.TarInfo(f"blobs/sha256/{digest}")
        member.size, member.mode = layer.stat().st_size, 0o644
        with layer.open("rb") as stream:
            archive.addfile(member, stream)


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), 0o644
    archive.addfile(member, io.BytesIO(content))


def write_sandbox(target: Path, *, name: str, busybox: Path) -> None:
    """The image that holds a Pod's namespaces open: a static busybox that sleeps."""
    layer = target.with_suffix(".layer")
    with tarfile.open(layer, "w") as archive:
        member = tarfile.TarInfo("busybox")
        member.size, member.mode = busybox.stat().st_size, 0o755
        with busybox.open("rb") as stream:
            archive.addfile(member, stream)
    write(
        target,
        name=name,
        layer=layer,
        config={"Entrypoint": ["/busybox", "sleep", "2147483647"], "User": "65535:65535"},
    )
    layer.unlink()


def digest_of(archive: Path) -> str:
    """The digest of the image in an archive: the one containerd will show for it."""
    try:
        with tarfile.open(archive) as stream:
            index = stream.extractfile("index.json")
            text = index.read() if index is not None else b""
        return str(json.loads(text)["manifests"][0]["digest"])
    except (OSError, KeyError, ValueError, IndexError, tarfile.TarError) as error:
        raise ClusterError(f"{archive} is no OCI archive: {error}") from error
