"""The chart renders to valid Kubernetes objects, with its defaults and with every values file in `ci/`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from hack import schemas
from hack.cluster import tools
from hack.cluster.errors import ClusterError

ROOT = Path(__file__).resolve().parents[1]
CHART = ROOT / "charts" / "rca-rollout"
# A namespace that is not the default one, so that a template that forgets its namespace is noticed.
RELEASE = ("rca-rollout", str(CHART), "--namespace", "rca-check")


def values_files() -> list[Path | None]:
    """None stands for the chart's own defaults."""
    return [None, *sorted((CHART / "ci").glob("*-values.yaml"))]


def render(helm: Path, values: Path | None) -> str:
    """The manifests of one set of values; raises CalledProcessError with helm's words."""
    chosen = ["--values", str(values)] if values else []
    command = [str(helm), "template", *RELEASE, *chosen]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _validate(kubeconform: Path, location: str, manifests: str) -> tuple[bool, str]:
    command = [str(kubeconform), "-strict", "-summary", "-schema-location", location, "-"]
    done = subprocess.run(command, input=manifests, capture_output=True, text=True, check=False)
    return done.returncode == 0, f"{done.stdout}{done.stderr}"


def check() -> tuple[bool, str]:
    """Lint, render and validate everything; all that is wrong is said, not only the first."""
    try:
        binaries = tools.ensure_all(["helm", "kubeconform"])
        location = schemas.location()
    except (ClusterError, subprocess.CalledProcessError) as error:
        return False, str(error)
    helm, kubeconform = binaries / "helm", binaries / "kubeconform"
    wrong: list[str] = []
    for values in values_files():
        name = values.name if values else "default values"
        chosen = ["--values", str(values)] if values else []
        lint = subprocess.run(
            [str(helm), "lint", "--strict", str(CHART), *chosen], capture_output=True, text=True, check=False
        )
        if lint.returncode != 0:
            wrong.append(f"{name}: helm lint\n{lint.stdout}{lint.stderr}")
        try:
            manifests = render(helm, values)
        except subprocess.CalledProcessError as error:
            wrong.append(f"{name}: helm template\n{error.stderr}")
            continue
        valid, output = _validate(kubeconform, location, manifests)
        if not valid:
            wrong.append(f"{name}: kubeconform\n{output}")
    return not wrong, "\n".join(wrong)


if __name__ == "__main__":
    passed, text = check()
    print(text or f"{len(values_files())} sets of values render")
    sys.exit(0 if passed else 1)
