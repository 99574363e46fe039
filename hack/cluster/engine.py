"""Docker, where an engine really answers, and kind on top of it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from hack.cluster import recipes, tools
from hack.cluster.errors import ClusterError
from hack.cluster.paths import ClusterPaths, cache_root, repository
from hack.cluster.progress import run_logged


def docker_answers() -> bool:
    """A `docker` command alone proves nothing: the engine behind it has to answer."""
    docker = shutil.which("docker")
    if docker is None:
        return False
    try:
        command = [docker, "info", "--format", "{{.ServerVersion}}"]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0 and answer.stdout.strip() != ""


def kind() -> str:
    """kind from PATH, else built."""
    return shutil.which("kind") or str(tools.ensure(recipes.KIND) / "kind")


def kind_clusters() -> list[str]:
    answer = subprocess.run([kind(), "get", "clusters"], capture_output=True, text=True, check=False)
    return answer.stdout.split() if answer.returncode == 0 else []


def kind_up(paths: ClusterPaths) -> None:
    """Create the kind cluster unless it is there, and write its kubeconfig to our own file, not into the user's."""
    if paths.name not in kind_clusters():
        config = repository() / "kind-config.yaml"
        command = [kind(), "create", "cluster", "--name", paths.name, "--config", str(config), "--wait", "120s"]
        log = cache_root() / "logs" / f"kind-{paths.name}.log"
        run_logged([*command, "--kubeconfig", str(paths.kubeconfig)], title="the kind cluster", log=log)
    command = [kind(), "export", "kubeconfig", "--name", paths.name, "--kubeconfig", str(paths.kubeconfig)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise ClusterError(f"kind does not hand out its kubeconfig: {answer.stderr.strip()}")
    Path(paths.kubeconfig).chmod(0o600)


def kind_down(name: str) -> None:
    answer = subprocess.run([kind(), "delete", "cluster", "--name", name], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise ClusterError(f"kind cannot delete the cluster {name!r}: {answer.stderr.strip()}")
