"""Refused examples made from the schema itself: one for each bound of each field of a spec.

The full sample is changed in one place, so that nothing but that place can be the reason for a refusal.
"""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rca_testing import samples
from rca_testing.crds import Schema, schemas


@dataclass(frozen=True)
class Violation:
    """An object with one wrong value."""

    kind: str
    path: str
    bound: str
    body: dict[str, Any]

    @property
    def id(self) -> str:
        return f"{self.kind}.{self.path} {self.bound}"


Replace = Callable[[Any], dict[str, Any]]


def violations() -> list[Violation]:
    """All of them, for the specs of all kinds."""
    found: dict[tuple[str, str, str], Violation] = {}
    for kind, schema in schemas().items():
        for body in samples.everything(kind):

            def replace(spec: Any, body: dict[str, Any] = body) -> dict[str, Any]:
                return {**copy.deepcopy(body), "spec": spec}

            for path, bound, changed in _walk(schema["properties"]["spec"], body["spec"], "spec", replace):
                found.setdefault((kind, path, bound), Violation(kind, path, bound, changed))
    return list(found.values())


def _walk(schema: Schema, value: Any, path: str, replace: Replace) -> Iterator[tuple[str, str, Any]]:
    for bound, wrong in _wrong(schema, value):
        yield path, bound, replace(wrong)
    for name in schema.get("required", []):
        yield f"{path}.{name}", "required", replace({k: v for k, v in value.items() if k != name})
    for name, child in schema.get("properties", {}).items():
        if name not in value:
            continue  # A test of its own demands that the full sample says everything.
        inner = value[name]
        yield from _walk(
            child,
            inner,
            f"{path}.{name}",
            lambda new, name=name: replace({**value, name: new}),  # type: ignore[misc]
        )
    if "items" in schema:
        yield from _walk(schema["items"], value[0], f"{path}[0]", lambda new: replace([new, *value[1:]]))
    if "additionalProperties" in schema:
        key = next(iter(value))
        yield from _walk(
            schema["additionalProperties"],
            value[key],
            f"{path}.{key}",
            lambda new: replace({**value, key: new}),
        )


def _wrong(schema: Schema, value: Any) -> Iterator[tuple[str, Any]]:
    """Values that break one bound each."""
    if schema.get("x-kubernetes-int-or-string"):
        yield from (("pattern", "much"), ("type", True), ("pattern", "1.5.5Gi"))
        return
    if "enum" in schema:
        yield from (("enum", "Nonsense"), ("enum", str(value).lower()))
    elif "pattern" in schema:
        yield "pattern", f"{value} !"
    if "maxLength" in schema:
        yield "maxLength", "a" * (schema["maxLength"] + 1)
    if schema.get("minLength"):
        yield "minLength", ""
    if "minimum" in schema:
        yield "minimum", schema["minimum"] - 1
    if "maximum" in schema:
        yield "maximum", schema["maximum"] + 1
    if "maxItems" in schema:
        # Different items, so that neither a set nor a map by name is the reason.
        yield "maxItems", [_numbered(value[0], number) for number in range(schema["maxItems"] + 1)]
    if schema.get("minProperties"):
        yield "minProperties", {}
    if "maxProperties" in schema:
        some = next(iter(value.values()))
        yield "maxProperties", {f"key-{number}": some for number in range(schema["maxProperties"] + 1)}
    yield "type", {"string": 5, "integer": "5", "boolean": "true", "array": {}, "object": []}[schema["type"]]


def _numbered(item: Any, number: int) -> Any:
    if isinstance(item, dict):
        return {**item, "name": f"n{number}"} if "name" in item else item
    return f"{item}{number}"
