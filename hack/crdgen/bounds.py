"""What a schema must not lack: a bound on everything that can grow, and no floats."""

from collections.abc import Iterator
from typing import Any

_NEEDED = {"string": "maxLength", "array": "maxItems"}


def problems(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """Sentences, one for each place. The API server takes the unbounded as huge when it estimates costs."""
    kind = schema.get("type")
    where = path or "the root"
    if kind is None and not schema.get("x-kubernetes-int-or-string"):
        yield f"{where} has no type"
    if kind == "number":
        yield f"{where} is a float; use a decimal string"
    if "enum" in schema or schema.get("format") == "date-time":
        return
    if kind in _NEEDED and _NEEDED[kind] not in schema:
        yield f"{where} is a {kind} without {_NEEDED[kind]}"
    if "additionalProperties" in schema:
        if "maxProperties" not in schema:
            yield f"{where} is a map without maxProperties"
        yield from problems(schema["additionalProperties"], f"{path}{{}}")
    if "items" in schema:
        yield from problems(schema["items"], f"{path}[]")
    for name, child in schema.get("properties", {}).items():
        yield from problems(child, f"{path}.{name}")
