"""Our one finalizer, as a conditional patch of the list on the object. Those of others stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rca_rollout.api.common import DeletionPolicy
from rca_rollout.api.meta import Metadata
from rca_rollout.core.lifecycle.draft import Draft
from rca_rollout.core.names import PREFIX

FINALIZER = f"{PREFIX}/revert"


def held(metadata: Metadata) -> bool:
    """Whether our finalizer is on the object."""
    return FINALIZER in metadata.finalizers


def finalizers_patch(metadata: Metadata, *, wanted: bool) -> tuple[Mapping[str, Any], ...]:
    """Adds or removes our finalizer, if the object and its list are what was read; those of others stay as they are.

    `test` against an absent list fails by itself, so the object's version stands in for it.
    """
    old = list(metadata.finalizers)
    new = [*(one for one in old if one != FINALIZER), *([FINALIZER] if wanted else [])]
    operations: list[Mapping[str, Any]] = [{"op": "test", "path": "/metadata/uid", "value": metadata.uid}]
    if not old:
        operations.append(
            {"op": "test", "path": "/metadata/resourceVersion", "value": metadata.resource_version}
        )
        return (*operations, {"op": "add", "path": "/metadata/finalizers", "value": new})
    operations.append({"op": "test", "path": "/metadata/finalizers", "value": old})
    if new:
        return (*operations, {"op": "replace", "path": "/metadata/finalizers", "value": new})
    return (*operations, {"op": "remove", "path": "/metadata/finalizers"})


def missing(draft: Draft) -> bool:
    """The finalizer has to be there before the key may be written towards Active."""
    policy = draft.spec.deletion_policy is DeletionPolicy.REVERT_TO_SHADOW
    return policy and not held(draft.component.metadata)
