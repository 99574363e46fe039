"""What an API server keeps: objects with UIDs and versions, and every change in order, for the watches."""

from __future__ import annotations

import copy
import functools
import itertools
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import jsonschema

from rca_testing import crds

type Body = dict[str, Any]
type Place = tuple[str, str, str]
"""Plural, namespace, name."""

CUSTOM = {"rcacomponents": "RcaComponent", "evalruns": "EvalRun", "evalsuites": "EvalSuite"}
GROUPS = {**dict.fromkeys(CUSTOM, "rca.bluerobin.io"), "jobs": "batch", "leases": "coordination.k8s.io"}
KINDS = {
    **CUSTOM,
    "jobs": "Job",
    "pods": "Pod",
    "configmaps": "ConfigMap",
    "secrets": "Secret",
    "deployments": "Deployment",
    "events": "Event",
    "leases": "Lease",
}
VERSIONS = {
    **dict.fromkeys(CUSTOM, "rca.bluerobin.io/v1alpha1"),
    "jobs": "batch/v1",
    "deployments": "apps/v1",
    "leases": "coordination.k8s.io/v1",
}
_WITH_GENERATION = {*CUSTOM, "jobs", "deployments"}


class Refusal(Exception):  # noqa: N818 - it is an answer, not a failure
    """An answer that is no success, in the API server's own words."""

    def __init__(
        self, status: int, reason: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.reason, self.message, self.headers = status, reason, message, dict(headers or {})

    def body(self) -> Body:
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.status,
        }


@dataclass(frozen=True)
class Change:
    """One entry of the history; `before` lets a watch with a selector see an object come and go."""

    version: int
    plural: str
    before: Body | None
    after: Body | None


class Store:
    """The semantics that the operator relies on. `on_change` is told of every change, synchronously.

    Stored objects are never changed in place, and what is returned is what is stored: copy before changing it.
    """

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._versions = itertools.count(1001)
        self.version = 1000
        self.objects: dict[Place, Body] = {}
        self.history: list[Change] = []
        self.compacted = 0
        self.on_change: Callable[[Change], None] = lambda _: None

    def get(self, plural: str, namespace: str, name: str) -> Body:
        found = self.objects.get((plural, namespace, name))
        if found is None:
            group = GROUPS.get(plural)
            text = f'{plural}{"." + group if group else ""} "{name}" not found'
            raise Refusal(404, "NotFound", text)
        return found

    def list(self, plural: str, namespace: str | None) -> list[Body]:
        return [
            body
            for (kind, where, _), body in sorted(self.objects.items())
            if kind == plural and namespace in (None, where)
        ]

    def create(self, plural: str, namespace: str, body: Body) -> Body:
        name = body["metadata"]["name"]
        if (plural, namespace, name) in self.objects:
            raise Refusal(409, "AlreadyExists", f'{plural} "{name}" already exists')
        made = {"apiVersion": VERSIONS.get(plural, "v1"), "kind": KINDS[plural], **body}
        made["metadata"] = {
            **made["metadata"],
            "namespace": namespace,
            "uid": str(uuid.uuid4()),
            "creationTimestamp": self._clock().strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        if plural in _WITH_GENERATION:
            made["metadata"]["generation"] = 1
        if plural in CUSTOM:
            made.pop("status", None)  # a create cannot set it
            made = self._admitted(CUSTOM[plural], made)
        return self._put(plural, namespace, name, made)

    def replace(self, plural: str, namespace: str, name: str, body: Body) -> Body:
        """Exactly the version that the body names, or 409. For kinds without a status."""
        old = self._as_named(plural, namespace, name, body)
        kept = {key: old["metadata"][key] for key in ("uid", "creationTimestamp", "resourceVersion")}
        return self._put(plural, namespace, name, {**body, "metadata": {**body["metadata"], **kept}})

    def replace_status(self, plural: str, namespace: str, name: str, body: Body) -> Body:
        """Exactly the version that the body names, or 409; everything but the status is ignored."""
        old = self._as_named(plural, namespace, name, body)
        new = {**old, "status": body.get("status") or {}}
        return self._put(plural, namespace, name, self._admitted(CUSTOM[plural], new))

    def _as_named(self, plural: str, namespace: str, name: str, body: Body) -> Body:
        old = self.get(plural, namespace, name)
        for field in ("resourceVersion", "uid"):
            wanted = body["metadata"].get(field)
            if wanted is not None and wanted != old["metadata"][field]:
                text = f'Operation cannot be fulfilled on {plural} "{name}": the object has been modified; '
                raise Refusal(
                    409, "Conflict", text + "please apply your changes to the latest version and try again"
                )
        return old

    def json_patch(self, plural: str, namespace: str, name: str, operations: list[Body]) -> Body:
        old = self.get(plural, namespace, name)
        new = apply_patch(old, operations)
        if old.get("immutable") and (old.get("data"), old.get("binaryData")) != (
            new.get("data"),
            new.get("binaryData"),
        ):
            raise Refusal(
                422, "Invalid", f'ConfigMap "{name}" is invalid: data: Forbidden: field is immutable'
            )
        if plural in CUSTOM:
            new["status"] = old["status"]
        if plural in _WITH_GENERATION and new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] = old["metadata"]["generation"] + 1
        put = self._put(plural, namespace, name, new)
        if put["metadata"].get("deletionTimestamp") and not put["metadata"].get("finalizers"):
            self._remove(plural, namespace, name, put)
        return put

    def delete(self, plural: str, namespace: str, name: str, uid: str | None = None) -> Body:
        """With what it owns, as the garbage collector does in the background."""
        old = self.get(plural, namespace, name)
        if uid is not None and uid != old["metadata"]["uid"]:
            text = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old['metadata']['uid']}"
            raise Refusal(409, "Conflict", text)
        if old["metadata"].get("finalizers"):
            if old["metadata"].get("deletionTimestamp"):
                return old
            stamp = {"deletionTimestamp": self._clock().strftime("%Y-%m-%dT%H:%M:%SZ")}
            return self._put(plural, namespace, name, {**old, "metadata": {**old["metadata"], **stamp}})
        self._remove(plural, namespace, name, old)
        return old

    def _remove(self, plural: str, namespace: str, name: str, old: Body) -> None:
        del self.objects[plural, namespace, name]
        self._log(plural, old, None)
        for (kind, where, other), body in list(self.objects.items()):
            owners = [owner["uid"] for owner in body["metadata"].get("ownerReferences") or []]
            if where == namespace and old["metadata"]["uid"] in owners:
                self.delete(kind, where, other)

    def edit(self, plural: str, namespace: str, name: str, change: Callable[[Body], object]) -> Body:
        """What somebody else does to an object: kubectl, the kubelet, a controller."""
        old = self.get(plural, namespace, name)
        new = copy.deepcopy(old)
        change(new)
        if plural in _WITH_GENERATION and new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] += 1
        return self._put(plural, namespace, name, new)

    def _admitted(self, kind: str, body: Body) -> Body:
        """With the CRD's defaults, and valid by its schema (the rules in CEL are another ring's business)."""
        schema = _schemas()[kind]
        defaulted: Body = crds.defaulted(schema.schema, body)
        error = next(schema.iter_errors(defaulted), None)
        if error is not None:
            where = ".".join(str(step) for step in error.absolute_path)
            raise Refusal(
                422, "Invalid", f'{kind} "{body["metadata"]["name"]}" is invalid: {where}: {error.message}'
            )
        return defaulted

    def _put(self, plural: str, namespace: str, name: str, body: Body) -> Body:
        old = self.objects.get((plural, namespace, name))
        if old is not None and old == body:
            return old  # a write without a difference makes no new version
        new = {**body, "metadata": {**body["metadata"], "resourceVersion": str(next(self._versions))}}
        self.objects[plural, namespace, name] = new
        self._log(plural, old, new)
        return new

    def _log(self, plural: str, before: Body | None, after: Body | None) -> None:
        self.version = int(after["metadata"]["resourceVersion"]) if after else next(self._versions)
        change = Change(self.version, plural, before, after)
        self.history.append(change)
        self.on_change(change)


@functools.cache
def _schemas() -> dict[str, jsonschema.Draft202012Validator]:
    return {kind: jsonschema.Draft202012Validator(_closed(schema)) for kind, schema in crds.schemas().items()}


def _closed(schema: Any) -> Any:
    """The API server drops unknown fields; here they are an error, so that a status cannot lose anything."""
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        closed["properties"] = {key: _closed(value) for key, value in schema["properties"].items()}
        if "metadata" not in schema["properties"]:
            closed["additionalProperties"] = False
    return closed


def apply_patch(body: Body, operations: list[Body]) -> Body:
    """RFC 6902 with `test`, `add`, `replace` and `remove` on members of objects; all or nothing."""
    new = copy.deepcopy(body)
    for operation in operations:
        steps = [step.replace("~1", "/").replace("~0", "~") for step in operation["path"].split("/")[1:]]
        holder: Any = new
        for step in steps[:-1]:
            holder = holder.get(step) if isinstance(holder, dict) else None
        last, verb = steps[-1], operation["op"]
        known = isinstance(holder, dict) and (last in holder or verb == "add")
        if not known or (verb == "test" and holder[last] != operation["value"]):
            raise Refusal(422, "Invalid", "the server rejected our request due to an error in our request")
        if verb in ("add", "replace"):
            holder[last] = operation["value"]
        elif verb == "remove":
            del holder[last]
    return new


def selects(selector: str, body: Body | None) -> bool:
    """Equality selectors, joined by commas."""
    labels = (body or {}).get("metadata", {}).get("labels") or {}
    pairs = [part.split("=", 1) for part in selector.split(",") if part]
    return body is not None and all(labels.get(key) == value for key, value in pairs)


def has_fields(selector: str, body: Body) -> bool:
    """Field selectors of equality, joined by commas; which fields a kind has to offer is not asked."""

    def at(path: str) -> Any:
        value: Any = body
        for step in path.split("."):
            value = (value or {}).get(step)
        return value

    pairs = [part.split("=", 1) for part in selector.split(",") if part]
    return all(str(at(path)) == value for path, value in pairs)
