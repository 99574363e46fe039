"""The demo's cluster: kubectl and helm against exactly one kubeconfig, and what is installed there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hack import images
from hack.demo.shell import ROOT, DemoError, python, run

NAMESPACE = "rca-demo"
RELEASE = "rca-rollout"
QUICKSTART = ROOT / "examples" / "quickstart"
DATA = ROOT / "harness" / "rca_eval" / "data"
# What the suites of examples/quickstart refer to: name, key and file of each ConfigMap.
CONFIGMAPS = {
    "bluerobin-incidents": ("ground-truth.json", DATA / "ground-truth.graded.json"),
    "bluerobin-baseline": ("baseline.json", DATA / "baseline.graded.json"),
    "plain-engine-baseline": ("baseline.json", ROOT / "examples" / "engines" / "plain" / "baseline.json"),
}
MODES = "rca-modes"
# Like a production namespace: the operator, the evaluations and the engines all run under the restricted profile.
NAMESPACE_MANIFEST = json.dumps(
    {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
    }
)


@dataclass(frozen=True)
class Cluster:
    """A cluster that is up."""

    name: str
    kubeconfig: Path
    binaries: Path

    @classmethod
    def of(cls, name: str) -> Cluster:
        kubeconfig = run(python("hack.cluster", "kubeconfig", "--name", name), timeout=30, what="the cluster")
        binaries = run(
            python("hack.cluster", "ensure-tools", "kubectl", "helm"), timeout=600, what="the tools"
        )
        return cls(name, Path(kubeconfig.strip()), Path(binaries.strip()))

    def kubectl(self, *arguments: str, timeout: float = 30, stdin: str | None = None, what: str = "") -> str:
        command = [
            str(self.binaries / "kubectl"),
            f"--kubeconfig={self.kubeconfig}",
            f"--namespace={NAMESPACE}",
        ]
        return run(
            [*command, *arguments],
            timeout=timeout,
            stdin=stdin,
            what=what or f"kubectl {' '.join(arguments[:2])}",
        )

    def helm(self, *arguments: str, timeout: float = 180, what: str) -> str:
        command = [str(self.binaries / "helm"), f"--kubeconfig={self.kubeconfig}", f"--namespace={NAMESPACE}"]
        return run([*command, *arguments], timeout=timeout, what=what)

    def objects(self, resource: str, *names: str) -> list[dict[str, Any]]:
        answer = json.loads(
            self.kubectl("get", resource, *names, "--output=json", "--ignore-not-found") or "{}"
        )
        items: list[dict[str, Any]] = answer.get("items", [answer] if answer else [])
        return items

    def modes(self) -> dict[str, str]:
        found = self.objects("configmap", MODES)
        return dict(found[0].get("data") or {}) if found else {}


def forget_last_time(cluster: Cluster) -> None:
    """An earlier demo on the same cluster: the same story is told again from its beginning."""
    if not cluster.objects("namespace", NAMESPACE):
        return
    served = cluster.kubectl(
        "api-resources", "--api-group=rca.bluerobin.io", "--output=name", what="looking around"
    )
    if served.strip():
        kinds = "rcacomponents,evalruns,evalsuites"
        cluster.kubectl(
            "delete", kinds, "--all", "--wait", "--timeout=60s", timeout=90, what="removing the last demo"
        )
    cluster.kubectl("delete", "configmap", MODES, "--ignore-not-found", what="removing the last demo")
    agent = ("deployment/rca-agent", "service/rca-agent")
    cluster.kubectl("delete", *agent, "--ignore-not-found", timeout=90, what="removing the last demo")


def install(cluster: Cluster, digest: str) -> None:
    """The chart, as anybody would install it. The digest makes a rebuilt image restart the operator."""
    cluster.kubectl("apply", "--filename=-", stdin=NAMESPACE_MANIFEST, what="making the namespace")
    operator, harness = images.OPERATOR.name.split(":"), images.HARNESS.name.split(":")
    values = [
        f"image.repository={operator[0]}",
        f"image.tag={operator[1]}",
        f"harness.image.repository={harness[0]}",
        f"harness.image.tag={harness[1]}",
        f"podAnnotations.demo/image={digest}",
        "crds.keep=false",
    ]
    chosen = [f"--set-string={value}" if "demo/image" in value else f"--set={value}" for value in values]
    chart = str(ROOT / "charts" / "rca-rollout")
    command = ["upgrade", "--install", RELEASE, chart, "--wait", "--timeout=120s", *chosen]
    cluster.helm(*command, what="installing the chart")


def configmap(cluster: Cluster, name: str, key: str, path: Path) -> None:
    """A file as a ConfigMap, whether it is there already or not."""
    made = cluster.kubectl(
        "create", "configmap", name, f"--from-file={key}={path}", "--dry-run=client", "--output=json"
    )
    cluster.kubectl(
        "apply", "--server-side", "--force-conflicts", "--filename=-", stdin=made, what=f"making {name}"
    )


def apply_modes(cluster: Cluster) -> dict[str, str]:
    """The ConfigMap of modes; returns what it holds before anything happens."""
    cluster.kubectl("apply", f"--filename={QUICKSTART / '1-modes.yaml'}", what="making the modes")
    return cluster.modes()


def apply_examples(cluster: Cluster) -> None:
    """Incidents and baselines, suites, components."""
    for name, (key, path) in CONFIGMAPS.items():
        configmap(cluster, name, key, path)
    cluster.kubectl("apply", f"--filename={QUICKSTART}", what="making suites and components")


def remove(name: str) -> None:
    """All of it. On a cluster that is not ours only the release and the namespace go, not the cluster."""
    answer = run(
        python("hack.cluster", "status", "--json", "--name", name), timeout=60, what="status", accept=(0, 1)
    )
    status = json.loads(answer)
    if status["state"] == "absent":
        return
    if status["kind"] == "context":
        cluster = Cluster.of(name)
        cluster.helm(
            "uninstall", RELEASE, "--ignore-not-found", "--wait", "--timeout=60s", what="removing the chart"
        )
        flags = ("--ignore-not-found", "--timeout=90s")
        cluster.kubectl("delete", "namespace", NAMESPACE, *flags, timeout=120, what="removing the namespace")
    run(python("hack.cluster", "down", "--name", name), timeout=180, what="removing the cluster")


# What every container of every Pod says, and here nobody has to mend.
USUAL = (" Pulled ", " Created ", " Started ", " MissingClusterDNS ")


def explain(cluster: Cluster) -> str:
    """What a person would look at next, gathered when something went wrong."""
    looks = {
        "kubectl get pods,jobs": ("get", "pods,jobs", "--output=wide"),
        "kubectl describe rcac": ("describe", "rcacomponents"),
        "kubectl get er": ("get", "evalruns", "--output=wide"),
        "events": ("get", "events", "--sort-by=.lastTimestamp"),
        "the operators' logs": (
            "logs",
            f"--selector=app.kubernetes.io/instance={RELEASE}",
            "--prefix",
            "--tail=40",
        ),
    }
    parts = []
    for title, arguments in looks.items():
        try:
            text = cluster.kubectl(*arguments, timeout=20)
        except DemoError as error:
            text = str(error)
        lines = [line for line in text.strip().splitlines() if not any(word in line for word in USUAL)]
        parts.append(f"--- {title}\n" + "\n".join(lines[-60:]))
    return "\n".join(parts)
