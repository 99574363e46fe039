"""Kubernetes Events: one per transition, under a name that makes sending it twice harmless."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

from rca_rollout.api.component_status import Transition
from rca_rollout.core.clock import stamp
from rca_rollout.core.names import MANAGED_BY, event_name
from rca_rollout.kube.errors import AlreadyExistsError, KubeError
from rca_rollout.kube.resources import EVENTS
from rca_rollout.runtime.world import World

log = logging.getLogger("rca_rollout.events")

# An Event may have been lost with the process between the status and it; younger transitions are told again.
RECENT = timedelta(minutes=5)


async def emit(world: World, body: dict[str, Any], transition: Transition) -> None:
    """Tells one transition of `body`. An Event is a courtesy: what matters is in status, so failing here is a log line."""
    metadata = body["metadata"]
    at = stamp(transition.at)
    name = event_name(metadata["name"], metadata["uid"], transition.reason + transition.message, at)
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": metadata["namespace"], "labels": dict(MANAGED_BY)},
        "involvedObject": {
            "apiVersion": body["apiVersion"],
            "kind": body["kind"],
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "uid": metadata["uid"],
            "resourceVersion": metadata.get("resourceVersion", ""),
        },
        "reason": transition.reason,
        "message": transition.message[:1024],
        "type": str(transition.type),
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
        "source": {"component": "rca-rollout"},
        "reportingComponent": "rca-rollout",
        "reportingInstance": "rca-rollout",
    }
    log.info(
        "%s %s/%s %s: %s",
        body["kind"],
        metadata["namespace"],
        metadata["name"],
        transition.reason,
        transition.message,
    )
    try:
        await world.kube.make(EVENTS, metadata["namespace"], event)
    except AlreadyExistsError:
        return
    except KubeError as problem:
        log.warning("the Event was not sent: %s", problem)
