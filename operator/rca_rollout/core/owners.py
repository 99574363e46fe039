"""Owner references between our own objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rca_rollout.api.meta import API_VERSION


def owner_reference(kind: str, name: str, uid: str) -> dict[str, Any]:
    """Makes the child go with its owner. It does not block the owner's deletion: nothing of ours holds up a delete."""
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }


def owned(body: Mapping[str, Any], uid: str) -> bool:
    """Whether the object with this UID is among the owners, whatever the names say."""
    return any(reference.get("uid") == uid for reference in body["metadata"].get("ownerReferences") or [])
