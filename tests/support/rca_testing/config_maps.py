"""ConfigMaps as an API server holds them, and the JSON patch that it applies to them."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from rca_rollout.core.names import KEYS_ANNOTATION, WATCH_LABEL
from rca_testing.evidence import KEY

type Body = dict[str, Any]


def target(value: str | None = "Shadow", *, key: str = KEY, uid: str = "cm-1", **changes: Any) -> Body:
    """A ConfigMap that opts in for `key`; `value` None leaves the key out."""
    body: Body = {
        "metadata": {
            "name": "modes",
            "uid": uid,
            "resourceVersion": "1",
            "labels": {WATCH_LABEL: "Enabled"},
            "annotations": {KEYS_ANNOTATION: key},
        },
        "data": {"Other.Mode": "Shadow"} if value is None else {"Other.Mode": "Shadow", key: value},
    }
    return {**body, **changes}


class PatchRefusedError(Exception):
    """A `test` of the patch failed, or a path is not there: the server changes nothing."""


def apply_patch(body: Body, operations: Iterable[Mapping[str, Any]]) -> Body:
    """RFC 6902 as far as we use it: test, add and replace on object members."""
    new = copy.deepcopy(body)
    for operation in operations:
        tokens = [t.replace("~1", "/").replace("~0", "~") for t in operation["path"].split("/")[1:]]
        parent: Any = new
        for token in tokens[:-1]:
            if not isinstance(parent, dict) or token not in parent:
                raise PatchRefusedError(operation["path"])
            parent = parent[token]
        last, value = tokens[-1], operation.get("value")
        if operation["op"] != "add" and last not in parent:
            raise PatchRefusedError(operation["path"])
        if operation["op"] == "test":
            if parent[last] != value:
                raise PatchRefusedError(operation["path"])
        elif operation["op"] == "remove":
            del parent[last]
        elif operation["op"] in ("add", "replace"):
            parent[last] = copy.deepcopy(value)
        else:
            raise AssertionError(f"no such operation in our patches: {operation['op']}")
    new["metadata"]["resourceVersion"] = str(int(new["metadata"]["resourceVersion"]) + 1)
    return new
