"""What can be built: named sets of commands, each from one Go module at one version."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from hack.cluster import versions


@dataclass(frozen=True)
class Recipe:
    """A set of commands that is built, cached and verified together."""

    name: str
    module: str
    version: str
    packages: tuple[str, ...]
    tags: tuple[str, ...] = ()
    ldflags: str = "-s -w"
    kubernetes: bool = False
    """Built inside Kubernetes' own dependency graph, with its staging modules and version stamps."""

    @property
    def binaries(self) -> tuple[str, ...]:
        return tuple(binary_name(package) for package in self.packages)

    @property
    def key(self) -> str:
        """The name of the cache entry: readable, and different as soon as anything in the recipe is."""
        text = json.dumps(asdict(self), sort_keys=True)
        return f"{self.name}-{self.version}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def binary_name(package: str) -> str:
    """The name of a command: its last path element that is no version, except for etcd's `server`."""
    if package == "go.etcd.io/etcd/server/v3":
        return "etcd"
    parts = [part for part in package.split("/") if not (part[:1] == "v" and part[1:].isdigit())]
    return parts[-1]


def _kubernetes(name: str, commands: tuple[str, ...], others: tuple[str, ...] = ()) -> Recipe:
    return Recipe(
        name=name,
        module="k8s.io/kubernetes",
        version=versions.KUBERNETES,
        packages=tuple(f"k8s.io/kubernetes/cmd/{command}" for command in commands) + others,
        kubernetes=True,
    )


CONTROL_PLANE = _kubernetes(
    "control-plane",
    ("kube-apiserver", "kube-controller-manager", "kube-scheduler"),
    ("go.etcd.io/etcd/server/v3",),
)
NODE = _kubernetes("node", ("kubelet", "kube-proxy"))
KUBECTL = _kubernetes("kubectl", ("kubectl",))
CONTAINERD = Recipe(
    name="containerd",
    module="github.com/containerd/containerd/v2",
    version=versions.CONTAINERD,
    packages=tuple(
        f"github.com/containerd/containerd/v2/cmd/{command}"
        for command in ("containerd", "containerd-shim-runc-v2", "ctr")
    ),
    tags=("no_btrfs", "no_zfs", "no_aufs", "no_devmapper"),
    ldflags=f"-s -w -X github.com/containerd/containerd/v2/version.Version={versions.CONTAINERD}",
)
HELM = Recipe(
    name="helm",
    module="helm.sh/helm/v4",
    version=versions.HELM,
    packages=("helm.sh/helm/v4/cmd/helm",),
    ldflags=f"-s -w -X helm.sh/helm/v4/internal/version.version={versions.HELM}",
)
KUBECONFORM = Recipe(
    name="kubeconform",
    module="github.com/yannh/kubeconform",
    version=versions.KUBECONFORM,
    packages=("github.com/yannh/kubeconform/cmd/kubeconform",),
    ldflags=f"-s -w -X main.version={versions.KUBECONFORM}",
)
KIND = Recipe(name="kind", module="sigs.k8s.io/kind", version=versions.KIND, packages=("sigs.k8s.io/kind",))

ALL = (CONTROL_PLANE, NODE, KUBECTL, CONTAINERD, HELM, KUBECONFORM, KIND)
DEFAULT = (CONTROL_PLANE, NODE, KUBECTL, CONTAINERD, HELM, KUBECONFORM)
