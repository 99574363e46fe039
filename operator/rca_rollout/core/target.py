"""The guarded key: who may be written, what stands there, and the one conditional write (DESIGN, section 7)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from rca_rollout.api.reasons import Reason
from rca_rollout.core.managers import ALLOW_ANNOTATION, GITOPS_MANAGERS, git_owners, last_writer
from rca_rollout.core.names import KEYS_ANNOTATION, WATCH_ENABLED, WATCH_LABEL
from rca_rollout.core.problem import Problem


@dataclass(frozen=True)
class TargetView:
    """One key of one ConfigMap as observed. `value` is None where the key is absent (consumers read that as Shadow)."""

    uid: str
    resource_version: str
    value: str | None
    has_data: bool
    owner: str | None = None
    """The tools that apply the key from Git and are not allowed beside us, separated by commas."""
    immutable: bool = False
    manager: str | None = None
    """The field manager that wrote the key last, as far as the server says."""


def view_target(
    config_map: Mapping[str, Any] | None, name: str, key: str, gitops: Collection[str] = GITOPS_MANAGERS
) -> TargetView | Problem:
    """Reads the key, or says why this ConfigMap may not be touched. `gitops` are the field managers that apply from Git."""
    if config_map is None:
        return Problem(
            Reason.TARGET_NOT_FOUND,
            f"ConfigMap {name} does not exist: create it, with the key {key} set to its shadow value",
        )
    metadata = config_map.get("metadata") or {}
    if metadata.get("deletionTimestamp"):
        return Problem(Reason.TARGET_NOT_FOUND, f"ConfigMap {name} is being deleted: create it again")
    labels = metadata.get("labels") or {}
    if labels.get(WATCH_LABEL) != WATCH_ENABLED:
        return Problem(
            Reason.TARGET_NOT_OPTED_IN,
            f"ConfigMap {name} does not opt in: label it {WATCH_LABEL}={WATCH_ENABLED} "
            f"and name the key in its annotation {KEYS_ANNOTATION}",
            stalled=True,
        )
    opted = {
        item.strip() for item in str((metadata.get("annotations") or {}).get(KEYS_ANNOTATION, "")).split(",")
    }
    if key not in opted:
        return Problem(
            Reason.TARGET_NOT_OPTED_IN,
            f"ConfigMap {name} does not opt in for the key {key}: add it to the annotation {KEYS_ANNOTATION} "
            "(keys separated by commas)",
            stalled=True,
        )
    data = config_map.get("data")
    if key in (config_map.get("binaryData") or {}):
        return Problem(
            Reason.UNKNOWN_VALUE,
            f"ConfigMap {name} holds {key} under binaryData: move it to data",
            stalled=True,
        )
    return TargetView(
        uid=str(metadata.get("uid", "")),
        resource_version=str(metadata.get("resourceVersion", "")),
        value=(data or {}).get(key),
        has_data=data is not None,
        owner=", ".join(git_owners(metadata, key, gitops)) or None,
        immutable=bool(config_map.get("immutable")),
        manager=last_writer(metadata, key),
    )


def write_conflict(target: TargetView, name: str, key: str, *, towards_active: bool) -> Problem | None:
    """Why the key must not be written, or None. Towards Shadow only an immutable ConfigMap stands in the way."""
    if target.immutable:
        return Problem(
            Reason.TARGET_IMMUTABLE,
            f"ConfigMap {name} is immutable: replace it by one that is not",
            stalled=True,
        )
    if target.owner and towards_active:
        return Problem(
            Reason.CONFIG_CONFLICT,
            f"{target.owner} applies the key {key} of ConfigMap {name} from Git and would undo the write: leave the key out "
            "of Git, or have the tool ignore it and say so in the ConfigMap's annotation "
            f"{ALLOW_ANNOTATION}={target.owner.replace(', ', ',')} (docs/conflicts.md says how, for each tool)",
            stalled=True,
        )
    return None


def write_patch(target: TargetView, key: str, value: str) -> list[dict[str, Any]]:
    """The compare-and-set: the very object and the value that was decided on, or nothing at all.

    Not a server-side apply: one manager that applies two components' keys in turn prunes the first one's, and an apply
    with a stale resource version creates a deleted ConfigMap anew.
    """
    path = f"/data/{escape_pointer(key)}"
    operations: list[dict[str, Any]] = [{"op": "test", "path": "/metadata/uid", "value": target.uid}]
    if not target.has_data:
        # `test` against an absent member fails by itself, so the object's version stands in for the missing map.
        operations.append(
            {"op": "test", "path": "/metadata/resourceVersion", "value": target.resource_version}
        )
        return [*operations, {"op": "add", "path": "/data", "value": {key: value}}]
    if target.value is None:
        operations.append(
            {"op": "test", "path": "/metadata/resourceVersion", "value": target.resource_version}
        )
        return [*operations, {"op": "add", "path": path, "value": value}]
    operations.append({"op": "test", "path": path, "value": target.value})
    return [*operations, {"op": "replace", "path": path, "value": value}]


def escape_pointer(key: str) -> str:
    """One token of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")
