"""The consumer of the switch: the reference agent on the cluster, asked the same thing before and after the promotion."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from hack import images
from hack.demo.cluster import MODES, Cluster
from hack.demo.shell import ROOT, DemoError, run

NAME = "rca-agent"
INCIDENT = "GT-04"
KEY = "RcaLiveActivation.Mode"
MANIFEST = ROOT / "examples" / "agent" / "2-agent.yaml"
BIN = Path(sys.executable).parent
# The kubelet brings a changed ConfigMap into a Pod once in about a minute; a touched Pod is looked at at once.
RELOAD_SECONDS = 120.0
FORWARDING = re.compile(r"^Forwarding from (127\.0\.0\.1:[0-9]+)")


def manifests() -> str:
    """The example as it stands, with the image that was built here and the quickstart's ConfigMap of modes."""
    documents: list[dict[str, Any]] = list(yaml.safe_load_all(MANIFEST.read_text("utf-8")))
    pod = next(document for document in documents if document["kind"] == "Deployment")["spec"]["template"][
        "spec"
    ]
    pod["containers"][0]["image"] = images.HARNESS.name
    next(volume for volume in pod["volumes"] if "configMap" in volume)["configMap"]["name"] = MODES
    return "\n---\n".join(json.dumps(document) for document in documents)


def deploy(cluster: Cluster) -> None:
    cluster.kubectl("apply", "--filename=-", stdin=manifests(), what="deploying the agent")
    # A rebuilt image has the same name.
    cluster.kubectl("rollout", "restart", f"deployment/{NAME}", what="restarting the agent")


def ready(cluster: Cluster) -> None:
    flags = ("--timeout=120s",)
    cluster.kubectl(
        "rollout", "status", f"deployment/{NAME}", *flags, timeout=130, what="waiting for the agent"
    )


@contextmanager
def reached(cluster: Cluster) -> Iterator[str]:
    """The agent's address, through a tunnel on the loopback interface."""
    command = [
        str(cluster.binaries / "kubectl"),
        f"--kubeconfig={cluster.kubeconfig}",
        "--namespace=rca-demo",
    ]
    process = subprocess.Popen(
        [*command, "port-forward", f"service/{NAME}", ":8080"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        told = []
        for line in process.stdout or ():
            told.append(line.strip())
            if match := FORWARDING.match(line):
                yield f"http://{match[1]}"
                return
        raise DemoError(f"kubectl port-forward ended: {' '.join(told)[-300:]}")
    finally:
        process.terminate()
        process.wait(timeout=10)


def ask(cluster: Cluster, console: Console) -> None:
    """Send one labelled incident's alert, as Alertmanager would, and show the answer."""
    with reached(cluster) as url:
        console.print(f"[dim]$ rca-eval simulate {INCIDENT} --agent {url}")
        command = [str(BIN / "rca-eval"), "simulate", INCIDENT, "--agent", url, "--wait", "30"]
        console.print(
            run(command, timeout=60, what="asking the agent").rstrip(), markup=False, soft_wrap=True
        )


def reloaded(cluster: Cluster) -> float:
    """Wait until the agent says that it has read the new mode; returns the seconds that it took."""
    began = time.monotonic()
    look = ("--selector=app.kubernetes.io/name=rca-agent", f"demo/look={time.time_ns()}")
    cluster.kubectl("annotate", "pods", *look, "--overwrite", what="touching the agent's Pod")
    path = f"/api/v1/namespaces/rca-demo/services/{NAME}:http/proxy/modes"
    while (elapsed := time.monotonic() - began) < RELOAD_SECONDS:
        modes = json.loads(cluster.kubectl("get", "--raw", path, what="reading /modes"))
        if any(mode["component"] == KEY and mode["mode"] == "Active" for mode in modes):
            return elapsed
        time.sleep(1)
    raise DemoError(f"the agent did not read {KEY} as Active within {RELOAD_SECONDS:.0f} s")


def before(cluster: Cluster, console: Console) -> None:
    ready(cluster)
    console.print("\nThe agent that reads these modes, asked while everything is in Shadow:")
    ask(cluster, console)


def after(cluster: Cluster, console: Console) -> None:
    seconds = reloaded(cluster)
    console.print(
        f"\nThe agent read the new mode after {seconds:.0f} s, without a restart. The same alert again:"
    )
    ask(cluster, console)
