"""Using a cluster that a person already has, named explicitly; the current context is never guessed."""

from __future__ import annotations

import re
import subprocess

from hack.cluster import kubeconfig, tools
from hack.cluster.errors import ClusterError
from hack.cluster.paths import ClusterPaths

_LOCAL = re.compile(r"kind-.+|minikube|k3d-.+|rca-.+")


def check_name(context: str, *, allow_unknown: bool) -> None:
    """Refuse a context that does not look like a cluster made for trying things out."""
    if allow_unknown or _LOCAL.fullmatch(context):
        return
    raise ClusterError(
        f"The context {context!r} does not look like a local test cluster (kind-*, minikube, k3d-*, rca-*), "
        "and tests create and delete objects: give --allow-unknown-cluster if you are sure."
    )


def adopt(paths: ClusterPaths, context: str) -> None:
    """Write a kubeconfig of our own with just this context, and see that its API server answers."""
    kubectl = str(tools.kubectl())
    view = [
        kubectl,
        "config",
        "view",
        "--raw",
        "--flatten",
        "--minify",
        "--output=json",
        f"--context={context}",
    ]
    answer = subprocess.run(view, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise ClusterError(f"Your kubeconfig has no usable context {context!r}: {answer.stderr.strip()}")
    kubeconfig.write_private(paths.kubeconfig, answer.stdout)
    if not answers(paths):
        raise ClusterError(f"The API server of the context {context!r} does not answer.")


def answers(paths: ClusterPaths) -> bool:
    """Whether the API server behind our kubeconfig is ready."""
    command = [
        str(tools.kubectl()),
        f"--kubeconfig={paths.kubeconfig}",
        "--request-timeout=5s",
        "get",
        "--raw",
        "/readyz",
    ]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
