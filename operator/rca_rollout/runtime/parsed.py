"""Typed objects of watched bodies, made once for each version."""

from __future__ import annotations

from typing import Any

from rca_rollout.api.meta import Resource
from rca_rollout.api.parse import InvalidSpec, parse
from rca_rollout.core.memo import Memo
from rca_rollout.runtime.cache import Body

# Some 30 KiB each; runs are many, and each version of one is looked at once or twice.
_KNOWN: Memo[Any] = Memo(160)


def parsed[K: Resource](kind: type[K], body: Body) -> K | InvalidSpec:
    """As `parse`; what it returns cannot be changed, so who asks for the same version may share it."""
    metadata = body["metadata"]
    uid, version = metadata.get("uid"), metadata.get("resourceVersion")
    if not uid or not version:
        return parse(kind, body)
    # A watched copy goes without its managed fields, which is another object for who looks at these.
    key = (kind, uid, version, "managedFields" in metadata)
    answer: K | InvalidSpec = _KNOWN.get(key, lambda: parse(kind, body))
    return answer
