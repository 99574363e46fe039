"""What the cluster itself says about a Job or Pod that did not start: its Events. An explanation, never a ground to decide on."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from rca_rollout.kube.errors import KubeError
from rca_rollout.kube.resources import EVENTS
from rca_rollout.runtime.world import World

log = logging.getLogger("rca_rollout.runs")

_MOST = 300  # characters of one sentence
_LISTED = 50


async def said_about(world: World, namespace: str, uid: str) -> str | None:
    """The newest Warning about the object with this UID, or None: also where Events cannot be read."""
    selector = f"involvedObject.uid={uid},type=Warning"
    try:
        found = await world.kube.list(EVENTS, namespace, field_selector=selector, limit=_LISTED)
    except KubeError as problem:
        log.info("the Events about %s cannot be read: %s", uid, problem)
        return None
    newest = max(found, key=_when, default=None)
    text = " ".join(str((newest or {}).get("message") or "").split())
    return text[:_MOST] or None


def _when(event: Mapping[str, Any]) -> str:
    series = event.get("series") or {}
    times = (
        series.get("lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        event["metadata"].get("creationTimestamp"),
    )
    return max(str(time)[:19] for time in times if time) if any(times) else ""
