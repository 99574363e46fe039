"""Docker, where an engine really answers, and kind on top of it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from hack.cluster import pipconfig, recipes, tools
from hack.cluster.errors import ClusterError
from hack.cluster.kubeconfig import write_private
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
    """Create the kind cluster unless it is there; its kubeconfig goes to our own file, not the user's."""
    if paths.name not in kind_clusters():
        config = repository() / "kind-config.yaml"
        command = [
            kind(),
            "create",
            "cluster",
            "--name",
            paths.name,
            "--config",
            str(config),
            "--wait",
            "120s",
        ]
        log = cache_root() / "logs" / f"kind-{paths.name}.log"
        run_logged([*command, "--kubeconfig", str(paths.kubeconfig)], title="the kind cluster", log=log)
    command = [kind(), "export", "kubeconfig", "--name", paths.name, "--kubeconfig", str(paths.kubeconfig)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise ClusterError(f"kind does not hand out its kubeconfig: {answer.stderr.strip()}")
    Path(paths.kubeconfig).chmod(0o600)


def kind_down(name: str) -> None:
    answer = subprocess.run(
        [kind(), "delete", "cluster", "--name", name], capture_output=True, text=True, check=False
    )
    if answer.returncode != 0:
        raise ClusterError(f"kind cannot delete the cluster {name!r}: {answer.stderr.strip()}")


def docker_build(image: str, dockerfile: Path, context: Path, arguments: Mapping[str, str]) -> str:
    """Build with Docker, whose own cache decides what is new; return the image's id."""
    flags = [item for pair in sorted(arguments.items()) for item in ("--build-arg", "=".join(pair))]
    with tempfile.TemporaryDirectory(prefix="rca-build-") as scratch:
        lent = pipconfig.of_this_machine()
        write_private(Path(scratch) / "pip.conf", lent.conf)
        flags += ["--secret", f"id=pip-conf,src={scratch}/pip.conf"]
        if lent.ca_bundle is not None:
            flags += ["--secret", f"id=ca-bundle,src={lent.ca_bundle}"]
        command = ["docker", "build", "--tag", image, "--file", str(dockerfile), *flags, str(context)]
        run_logged(command, title=f"building {image}", log=cache_root() / "logs" / "docker-build.log")
    answer = subprocess.run(
        ["docker", "image", "inspect", "--format", "{{.Id}}", image],
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode != 0:
        raise ClusterError(f"Docker built {image} but does not show it: {answer.stderr.strip()}")
    return answer.stdout.strip()


def load(context: str, image: str, archive: Path | None) -> None:
    """Bring an image (Docker's, or an archive) into a cluster that somebody else's tool made."""
    name = context.partition("-")[2]
    if context.startswith("kind-"):
        command = (
            [kind(), "load", "docker-image", image, "--name", name]
            if archive is None
            else [kind(), "load", "image-archive", str(archive), "--name", name]
        )
    elif context == "minikube":
        command = ["minikube", "image", "load", image if archive is None else str(archive)]
    elif context.startswith("k3d-"):
        command = ["k3d", "image", "import", image if archive is None else str(archive), "--cluster", name]
    else:
        raise ClusterError(
            f"There is no known way to bring an image into the cluster of the context {context!r}: push it "
            "to a registry that the cluster can pull from."
        )
    run_logged(command, title=f"loading {image}", log=cache_root() / "logs" / "image-load.log")
