"""pydantic's JSON schema (draft 2020-12) as a structural schema of Kubernetes (OpenAPI v3, restricted)."""

from typing import Any

Schema = dict[str, Any]

# Decoration, which a CRD has no place for.
_DROPPED = {"title", "examples"}
# What is kept as it is, in the order in which a reader wants it.
_ORDER = (
    *("description", "type", "format", "enum", "pattern"),
    *("minLength", "maxLength", "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"),
    *("minItems", "maxItems", "minProperties", "maxProperties", "default"),
    *("required", "properties", "items", "additionalProperties"),
)


class CrdError(Exception):
    """A model uses something that a CRD cannot say."""


def structural(schema: Schema) -> Schema:
    """The schema of a model, self-contained: references inlined, only keywords that a CRD knows."""
    return _Translation(schema.get("$defs", {})).node({k: v for k, v in schema.items() if k != "$defs"}, "")


class _Translation:
    def __init__(self, definitions: Schema) -> None:
        self.definitions = definitions

    def node(self, schema: Schema, path: str) -> Schema:
        schema = self.resolved(schema, path)
        if schema.get("x-kubernetes-int-or-string"):
            return ordered({key: value for key, value in schema.items() if key not in _DROPPED})
        result: Schema = {}
        for key, value in schema.items():
            result.update(self.keyword(key, value, path))
        if result.get("type") == "integer":
            result.setdefault("format", "int64")
        if "default" in result:
            result["default"] = without_empty(result["default"])
            if result["default"] in (None, {}, []):
                del result["default"]
        return ordered(result)

    def resolved(self, schema: Schema, path: str) -> Schema:
        """References replaced by what they mean, and `X or null` by X: an absent field is our null."""
        while "$ref" in schema or "anyOf" in schema:
            if schema.get("x-kubernetes-int-or-string"):
                break
            around = {key: value for key, value in schema.items() if key not in ("$ref", "anyOf")}
            if "$ref" in schema:
                inner = self.definitions[schema["$ref"].removeprefix("#/$defs/")]
            else:
                branches = [branch for branch in schema["anyOf"] if branch != {"type": "null"}]
                if len(branches) != 1:
                    raise CrdError(f"{path}: a union of types; use a closed object with optional members")
                inner = branches[0]
            schema = {**inner, **around}
        return schema

    def keyword(self, key: str, value: Any, path: str) -> Schema:
        match key:
            case "properties":
                return {key: {name: self.node(child, f"{path}.{name}") for name, child in value.items()}}
            case "items":
                return {key: self.node(value, f"{path}[]")}
            case "additionalProperties":
                # A CRD prunes unknown fields (and kubectl refuses them); it cannot be told to refuse.
                return {} if value is False else {key: self.node(value, f"{path}{{}}")}
            case "const":
                return {"enum": [value]}
            case "exclusiveMinimum" | "exclusiveMaximum":
                # OpenAPI v3 has the bound and a flag where JSON schema has a number.
                return {key.replace("exclusiveM", "m"): value, key: True}
            case _ if key in _DROPPED:
                return {}
            case _ if key in _ORDER or key.startswith("x-kubernetes-"):
                return {key: value}
        raise CrdError(f"{path}: a CRD has no keyword {key}")


def ordered(schema: Schema) -> Schema:
    rank = {key: number for number, key in enumerate(_ORDER)}
    return dict(sorted(schema.items(), key=lambda item: (rank.get(item[0], len(rank)), item[0])))


def without_empty(value: Any) -> Any:
    """A default without absent and empty members: they would only fill everybody's objects with noise."""
    if not isinstance(value, dict):
        return value
    cleaned = {key: without_empty(item) for key, item in value.items()}
    return {key: item for key, item in cleaned.items() if item not in (None, {}, [])}


def without_defaults(schema: Schema) -> Schema:
    """For a status: what the operator did not write must not appear there."""
    result = {key: value for key, value in schema.items() if key != "default"}
    if "properties" in result:
        result["properties"] = {name: without_defaults(child) for name, child in result["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in result:
            result[key] = without_defaults(result[key])
    return result
