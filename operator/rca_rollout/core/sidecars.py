"""The suite's own servers beside its engine, as native sidecars: init containers that go on (`restartPolicy: Always`).

They stand after `prepare`, so nothing of theirs runs while the labelled incidents are read, and they mount nothing but a
folder of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rca_rollout.api.job import Sidecar

_PROBES = 120  # seconds until one that accepts no connection is started anew; the run is ended before that


def sidecar(spec: Sidecar, confined: Mapping[str, Any]) -> dict[str, Any]:
    """The container. `confined` is the security context that every container of the Pod has."""
    container: dict[str, Any] = {
        "name": spec.name,
        "image": spec.image,
        "restartPolicy": "Always",
        "env": [{"name": item.name, "value": item.value} for item in spec.env],
        "volumeMounts": [{"name": volume(spec), "mountPath": "/tmp"}],  # noqa: S108
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": dict(confined),
        "resources": (spec.resources.to_dict() if spec.resources else {})
        or {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}},
    }
    if spec.command:
        container["command"] = list(spec.command)
    if spec.args:
        container["args"] = list(spec.args)
    if spec.ports:
        container["ports"] = [{"containerPort": port} for port in spec.ports]
        container["startupProbe"] = {
            "tcpSocket": {"port": spec.ports[0]},
            "periodSeconds": 1,
            "failureThreshold": _PROBES,
        }
    return container


def volume(spec: Sidecar) -> str:
    return f"sidecar-{spec.name}"


def volumes(specs: Iterable[Sidecar]) -> list[dict[str, Any]]:
    return [{"name": volume(spec), "emptyDir": {"sizeLimit": "1Gi"}} for spec in specs]


def measured(specs: Iterable[Sidecar]) -> list[dict[str, Any]]:
    """What of them is part of what is measured: all but what they may use."""
    return [{k: v for k, v in spec.to_dict().items() if k != "resources"} for spec in specs]
