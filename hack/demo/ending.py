"""What happened: the keys before and after, the reason of the blocked one, a few metrics, and what to try next."""

from __future__ import annotations

import time

from rich.console import Console
from rich.table import Table

from hack.demo.cluster import MODES, NAMESPACE, RELEASE, Cluster
from hack.demo.shell import DemoError
from hack.demo.watch import BAD, GOOD, Row

METRICS = (
    "rca_component_mode",
    "rca_eval_accuracy_ratio",
    "rca_gate_passed",
    "rca_promotions_total",
    "process_resident_memory_bytes",
)
# One series per state: the ones that are 1 tell it all.
STATES = ("rca_component_mode",)
SHOWN = 12


def _keys(before: dict[str, str], after: dict[str, str]) -> Table:
    table = Table(title=f"ConfigMap {MODES}", title_justify="left", box=None, pad_edge=False)
    for heading in ("KEY", "BEFORE", "AFTER", ""):
        table.add_column(heading)
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key, "(absent)"), after.get(key, "(absent)")
        changed = old != new
        table.add_row(
            key, old, f"[green]{new}[/]" if changed else new, "switched by rca-rollout" if changed else ""
        )
    return table


def _metrics(cluster: Cluster) -> list[str]:
    """Of the replica that leads; the standby has no components. Through the API server's proxy, as from outside."""
    for pod in cluster.objects("pods"):
        ports = [port for one in pod["spec"]["containers"] for port in one.get("ports") or ()]
        metrics = [port["containerPort"] for port in ports if port.get("name") == "metrics"]
        if not metrics or not pod["metadata"]["name"].startswith(f"{RELEASE}-"):
            continue
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/{pod['metadata']['name']}:{metrics[0]}/proxy/metrics"
        lines = cluster.kubectl("get", "--raw", path, what="reading the metrics").splitlines()
        if "rca_leader 1.0" in lines:
            wanted = [line for line in lines if line.startswith(METRICS)]
            return [line for line in wanted if not (line.startswith(STATES) and line.endswith(" 0.0"))]
    raise DemoError("no replica of the operator says that it leads")


def show(console: Console, cluster: Cluster, before: dict[str, str], seen: list[Row]) -> None:
    after = cluster.modes()
    # The key is written before the phase says so, but a cached answer may still be the old one.
    for _ in range(10):
        if after != before:
            break
        time.sleep(0.5)
        after = cluster.modes()
    console.print(_keys(before, after))
    reasons = {row.name: row.message for row in seen}
    console.print(f"\n[green]{GOOD}[/] was promoted: {reasons[GOOD]}", soft_wrap=True)
    console.print(f"[red]{BAD}[/] stays in Shadow: [bold]{reasons[BAD]}[/]", soft_wrap=True)
    console.print("\n[dim]$ kubectl get rcac,er,esuite")
    console.print(cluster.kubectl("get", "rcac,er,esuite").rstrip(), soft_wrap=True, markup=False)
    console.print("\n[dim]A few metrics (/metrics of the operator)")
    try:
        for line in _metrics(cluster)[:SHOWN]:
            console.print(line, soft_wrap=True, markup=False)
    except DemoError as error:
        console.print(f"not readable: {error}", markup=False)
    _next(console, cluster)


def _next(console: Console, cluster: Cluster) -> None:
    hold = """'{"spec":{"mode":"Shadow"}}'"""
    revise = """'{"spec":{"revision":"2026.12.1"}}'"""
    console.print(
        f"""
Try next:
  export KUBECONFIG={cluster.kubeconfig} PATH={cluster.binaries}:$PATH
  kubectl -n {NAMESPACE} describe rcac {BAD}
      the whole story, with its Events
  kubectl -n {NAMESPACE} patch rcac {GOOD} --type=merge -p {hold}
      back to Shadow, at once
  kubectl -n {NAMESPACE} patch rcac {GOOD} --type=merge -p {revise}
      a new revision has to earn it again
  .venv/bin/rca-eval --help
      the same evaluation without a cluster
  make demo-down
      remove all of this""",
        markup=False,
        soft_wrap=True,
    )
