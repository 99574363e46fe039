"""An API server's store in memory: versions, conditional writes, owners, finalizers. Bodies are never changed in place.

It keeps its past: `at(sequence)` is the whole store after that many changes, which is what a promise about "the world as it
was decided on" is checked against.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rca_rollout.api.values import format_time
from rca_rollout.kube.errors import AlreadyExistsError, ConflictError, NotFoundError
from rca_rollout.kube.resources import Resource
from rca_testing.config_maps import PatchRefusedError, apply_patch

type Body = dict[str, Any]
type Place = tuple[str, str]
"""Plural and name: there is one namespace."""
type Objects = Mapping[Place, Body]

NAMESPACE = "default"
# Never the same in two stores: the operator remembers what it has read of a UID and version.
_UIDS = itertools.count(1)


@dataclass(frozen=True)
class Change:
    """One change, by whom, and the state after it."""

    place: Place
    manager: str
    before: Body | None
    after: Body | None
    objects: Objects


class Store:
    """`clock` stamps what is created; `watchers` are told of every change."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self.objects: dict[Place, Body] = {}
        self.changes: list[Change] = []
        self.watchers: list[Callable[[Change], None]] = []
        self._version = 0

    @property
    def sequence(self) -> int:
        """How many changes there were."""
        return len(self.changes)

    def at(self, sequence: int) -> Objects:
        return self.changes[sequence - 1].objects if sequence else {}

    def get(self, resource: Resource, name: str) -> Body:
        body = self.objects.get((resource.plural, name))
        if body is None:
            raise NotFoundError(404, f'{resource.plural} "{name}" not found')
        return body

    def find(self, resource: Resource, name: str) -> Body | None:
        return self.objects.get((resource.plural, name))

    def all(self, resource: Resource) -> list[Body]:
        return [body for (plural, _), body in self.objects.items() if plural == resource.plural]

    def create(self, resource: Resource, body: Mapping[str, Any], manager: str = "somebody") -> Body:
        name = body["metadata"]["name"]
        if (resource.plural, name) in self.objects:
            raise AlreadyExistsError(409, f'{resource.plural} "{name}" already exists')
        metadata = {
            **copy.deepcopy(dict(body["metadata"])),
            "namespace": NAMESPACE,
            "uid": f"uid-{next(_UIDS)}",
            "generation": 1,
            "creationTimestamp": format_time(self._clock()),
        }
        whole = {"apiVersion": resource.api_version, "kind": resource.kind, **copy.deepcopy(dict(body))}
        return self._put(resource.plural, name, {**whole, "metadata": metadata}, manager)

    def replace_status(self, resource: Resource, name: str, body: Body, manager: str) -> Body:
        there = self.get(resource, name)
        if there["metadata"]["resourceVersion"] != body["metadata"].get("resourceVersion"):
            raise ConflictError(409, "the object has been modified")
        return self._put(
            resource.plural, name, {**there, "status": copy.deepcopy(dict(body["status"]))}, manager
        )

    def change(self, resource: Resource, name: str, manager: str = "somebody", **parts: Any) -> Body:
        """Somebody replaces top-level parts of an object; `metadata` is merged, a new spec is a new generation."""
        there = self.get(resource, name)
        metadata = {**there["metadata"], **parts.pop("metadata", {})}
        if "spec" in parts and parts["spec"] != there.get("spec"):
            metadata["generation"] = metadata["generation"] + 1
        return self._put(resource.plural, name, {**there, **parts, "metadata": metadata}, manager)

    def json_patch(
        self, resource: Resource, name: str, operations: Iterable[Mapping[str, Any]], manager: str
    ) -> Body:
        there = self.get(resource, name)
        try:
            patched = apply_patch(there, operations)
        except PatchRefusedError as refused:
            raise ConflictError(422, f"testing value {refused} failed") from None
        if resource.plural == "configmaps" and patched.get("immutable") and patched != there:
            raise ConflictError(422, "the ConfigMap is immutable")
        return self._put(resource.plural, name, patched, manager)

    def delete(self, resource: Resource, name: str, uid: str | None = None) -> None:
        """Goes at once without finalizers, and gets its time stamp with them."""
        there = self.get(resource, name)
        if uid is not None and there["metadata"]["uid"] != uid:
            raise ConflictError(409, "the UID in the precondition is another one")
        if there["metadata"].get("finalizers"):
            if "deletionTimestamp" not in there["metadata"]:
                stamp = {"deletionTimestamp": format_time(self._clock())}
                self._put(resource.plural, name, {**there, "metadata": {**there["metadata"], **stamp}}, "gc")
            return
        self._drop(resource.plural, name)

    def collect_garbage(self) -> None:
        """What belongs to nobody any more goes, until nothing does."""
        while True:
            uids = {body["metadata"]["uid"] for body in self.objects.values()}
            orphans = [
                place
                for place, body in self.objects.items()
                if (owners := body["metadata"].get("ownerReferences"))
                and not any(owner["uid"] in uids for owner in owners)
            ]
            if not orphans:
                return
            for plural, name in orphans:
                self._drop(plural, name)

    def _put(self, plural: str, name: str, body: Body, manager: str) -> Body:
        self._version += 1
        old = self.objects.get((plural, name))
        new = {**body, "metadata": {**body["metadata"], "resourceVersion": str(self._version)}}
        if new["metadata"].get("deletionTimestamp") and not new["metadata"].get("finalizers"):
            self._drop(plural, name)
            return new
        if plural == "configmaps":
            new["metadata"]["managedFields"] = _managed(old, new, manager, format_time(self._clock()))
        self.objects[(plural, name)] = new
        self._tell((plural, name), manager, old, new)
        return new

    def _drop(self, plural: str, name: str) -> None:
        old = self.objects.pop((plural, name))
        self._tell((plural, name), "gc", old, None)

    def _tell(self, place: Place, manager: str, before: Body | None, after: Body | None) -> None:
        change = Change(place, manager, before, after, dict(self.objects))
        self.changes.append(change)
        for watcher in self.watchers:
            watcher(change)


def _managed(old: Body | None, new: Body, manager: str, at: str) -> list[Body]:
    """Whoever changes a key owns it from then on, alone. Entries that a test has put there itself stay."""
    entries = {entry["manager"]: entry for entry in new["metadata"].get("managedFields") or []}
    before, after = (old or {}).get("data") or {}, new.get("data") or {}
    changed = {f"f:{key}" for key in {*before, *after} if before.get(key) != after.get(key)}
    if not changed:
        return list(entries.values())
    for name, entry in list(entries.items()):
        kept = {k: v for k, v in entry["fieldsV1"].get("f:data", {}).items() if k not in changed}
        entries[name] = {**entry, "fieldsV1": {"f:data": kept}}
    mine = entries.get(manager, {"manager": manager, "operation": "Update", "fieldsV1": {"f:data": {}}})
    owned = {**mine["fieldsV1"].get("f:data", {}), **{key: {} for key in changed if key[2:] in after}}
    entries[manager] = {**mine, "time": at, "fieldsV1": {"f:data": owned}}
    return [entry for entry in entries.values() if entry["fieldsV1"].get("f:data")]
