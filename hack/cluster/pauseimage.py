"""The sandbox image: a static busybox that sleeps, written as an OCI archive with nothing but tarfile."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from pathlib import Path

from hack.cluster import versions

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def architecture() -> str:
    """Go's (and OCI's) name of this machine's processor."""
    return _ARCHITECTURES.get(platform.machine(), platform.machine())


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), mode
    archive.addfile(member, io.BytesIO(content))


def _tar(files: dict[str, tuple[bytes, int]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, (content, mode) in files.items():
            _add(archive, name, content, mode)
    return buffer.getvalue()


def write_archive(target: Path, busybox: Path) -> None:
    """Write the archive; its digests depend on nothing but busybox."""
    layer = _tar({"busybox": (busybox.read_bytes(), 0o755)})
    blobs: dict[str, tuple[bytes, int]] = {}

    def blob(media_type: str, content: bytes) -> dict[str, object]:
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = (content, 0o644)
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}

    config = {
        "architecture": architecture(),
        "os": "linux",
        "config": {"Entrypoint": ["/busybox", "sleep", "2147483647"], "User": "65535:65535"},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": blob("application/vnd.oci.image.config.v1+json", json.dumps(config).encode()),
        "layers": [blob("application/vnd.oci.image.layer.v1.tar", layer)],
    }
    entry = blob("application/vnd.oci.image.manifest.v1+json", json.dumps(manifest).encode())
    entry["annotations"] = {"io.containerd.image.name": versions.PAUSE_IMAGE}
    index = {"schemaVersion": 2, "manifests": [entry]}
    layout = json.dumps({"imageLayoutVersion": "1.0.0"}).encode()
    target.write_bytes(
        _tar({"oci-layout": (layout, 0o644), "index.json": (json.dumps(index).encode(), 0o644), **blobs})
    )
