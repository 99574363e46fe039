"""The replicas of a consumer, as their Pods show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, order=True)
class Replica:
    """A ready Pod. With another address it is another one: a sandbox was made anew. `stuck` says why a change of the ConfigMap
    will never get into it, as far as its spec shows that."""

    name: str
    uid: str
    address: str
    stuck: str = ""


def ready_replicas(pods: Iterable[Mapping[str, Any]], config_map: str = "") -> tuple[Replica, ...]:
    """Those that run, are ready and are not on their way out. By name."""
    return tuple(sorted(_replica(pod, config_map) for pod in pods if _ready(pod)))


def _ready(pod: Mapping[str, Any]) -> bool:
    status = pod.get("status") or {}
    ready = any(
        c.get("type") == "Ready" and c.get("status") == "True" for c in status.get("conditions") or ()
    )
    gone = bool(pod["metadata"].get("deletionTimestamp"))
    return ready and not gone and status.get("phase") == "Running"


def _replica(pod: Mapping[str, Any], config_map: str) -> Replica:
    metadata = pod["metadata"]
    address = str((pod.get("status") or {}).get("podIP") or "")
    return Replica(str(metadata["name"]), str(metadata["uid"]), address, _stuck(pod, config_map))


def _stuck(pod: Mapping[str, Any], config_map: str) -> str:
    """A `subPath` mount and the environment keep what a container was started with (kubernetes/kubernetes#92296)."""
    spec = pod.get("spec") or {}
    sources = {
        volume["name"]: [volume, *((volume.get("projected") or {}).get("sources") or ())]
        for volume in spec.get("volumes") or ()
    }
    ours = {
        name
        for name, found in sources.items()
        if any((source.get("configMap") or {}).get("name") == config_map for source in found)
    }
    containers = spec.get("containers") or ()
    mounts = [
        mount for each in containers for mount in each.get("volumeMounts") or () if mount["name"] in ours
    ]
    if any(mount.get("subPath") or mount.get("subPathExpr") for mount in mounts):
        return "it mounts the key by subPath, which is never updated: mount the folder"
    named = [
        (each.get("configMapRef") or {}).get("name")
        for one in containers
        for each in one.get("envFrom") or ()
    ]
    named += [
        ((each.get("valueFrom") or {}).get("configMapKeyRef") or {}).get("name")
        for one in containers
        for each in one.get("env") or ()
    ]
    if not mounts and config_map in named:
        return "it has the key in its environment, which is never updated: mount the folder"
    return ""
