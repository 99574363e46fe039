"""Hypothesis strategies from a structural schema."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from rca_rollout.api.values import DECIMAL_PATTERN, DURATION_PATTERN
from rca_testing.crds import Schema

# Most texts that match these patterns are out of every range; a handful that is not tests more.
_KNOWN = {
    DURATION_PATTERN: ("1s", "30s", "10m", "1h30m", "24h"),
    DECIMAL_PATTERN: ("0", "0.02", "0.5", "1"),
}
_QUALIFIED = st.from_regex(r"\A([a-z]{1,5}\.example/)?[a-z]([-a-z.]{0,5}[a-z])?\Z")


def from_schema(schema: Schema) -> st.SearchStrategy[Any]:
    """Values that the schema allows; its CEL rules may still refuse them."""
    if schema.get("x-kubernetes-int-or-string"):
        return st.sampled_from(["1", "500m", "1Gi", 2])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema["type"]:
        case "string":
            return _text(schema)
        case "integer":
            return st.integers(schema.get("minimum", -(2**31)), schema.get("maximum", 2**31))
        case "boolean":
            return st.booleans()
        case "array":
            return st.lists(from_schema(schema["items"]), max_size=2, unique_by=_identity(schema))
    if "additionalProperties" in schema:
        inner, fewest = from_schema(schema["additionalProperties"]), schema.get("minProperties", 0)
        return st.dictionaries(_QUALIFIED, inner, min_size=fewest, max_size=2)
    fields = {name: from_schema(child) for name, child in schema.get("properties", {}).items()}
    required = set(schema.get("required", []))
    return st.fixed_dictionaries(
        {name: fields[name] for name in fields if name in required},
        optional={name: fields[name] for name in fields if name not in required},
    )


def _identity(schema: Schema) -> Callable[[Any], str] | None:
    """What may not come twice: the keys of a list-map, the whole of a set's item."""
    if "x-kubernetes-list-type" not in schema:
        return None
    keys = schema.get("x-kubernetes-list-map-keys")
    return (lambda item: repr([item.get(key) for key in keys])) if keys else repr


def _text(schema: Schema) -> st.SearchStrategy[str]:
    pattern = schema.get("pattern")
    if schema.get("format") == "date-time":
        return st.datetimes().map(lambda moment: moment.replace(microsecond=0).isoformat() + "Z")
    if pattern in _KNOWN:
        return st.sampled_from(_KNOWN[pattern])
    if pattern:
        anchored = pattern.removeprefix("^").removesuffix("$")
        return st.from_regex(rf"\A{anchored}\Z").filter(
            lambda text: schema.get("minLength", 0) <= len(text) <= schema["maxLength"]
        )
    return st.text(min_size=schema.get("minLength", 0), max_size=min(schema["maxLength"], 20))
