"""The committed CRDs, and what an API server does with a structural schema: defaulting, and walking it."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

CRDS = Path(__file__).resolve().parents[3] / "crds"

Schema = dict[str, Any]


def definitions() -> dict[str, Schema]:
    """Kind to CustomResourceDefinition."""
    documents = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(CRDS.glob("*.yaml"))]
    return {document["spec"]["names"]["kind"]: document for document in documents}


def schemas() -> dict[str, Schema]:
    """Kind to its OpenAPI schema."""
    return {
        kind: document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        for kind, document in definitions().items()
    }


def defaulted(schema: Schema, value: Any) -> Any:
    """The API server's algorithm: absent fields get their default, then the children are visited."""
    if isinstance(value, dict):
        result = copy.deepcopy(value)
        for name, child in schema.get("properties", {}).items():
            if name not in result and "default" in child:
                result[name] = copy.deepcopy(child["default"])
            if name in result:
                result[name] = defaulted(child, result[name])
        extra = schema.get("additionalProperties")
        return {k: defaulted(extra, v) if extra else v for k, v in result.items()}
    if isinstance(value, list):
        return [defaulted(schema["items"], item) for item in value]
    return value


def nodes(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Every place of a schema with its path: `spec.job.env[].name`, `spec.job.podLabels{}`."""
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}".lstrip("."))
    if "items" in schema:
        yield from nodes(schema["items"], f"{path}[]")
    if "additionalProperties" in schema:
        yield from nodes(schema["additionalProperties"], f"{path}{{}}")


def without_empty(value: Any) -> Any:
    """Absent, `{}` and `[]` are the same to us; the API server stores what was written."""
    if isinstance(value, dict):
        cleaned = {key: without_empty(item) for key, item in value.items()}
        return {key: item for key, item in cleaned.items() if item not in (None, {}, [])}
    if isinstance(value, list):
        return [without_empty(item) for item in value]
    return value
