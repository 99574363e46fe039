"""The base of every model, and the rules that the schema and Python share.

A rule is written once, as a pair: CEL for the API server and a predicate for us. Admission normally refuses a
bad object before we see it; the predicate catches what it did not (an object stored under an older schema).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, core_schema

VALIDATIONS = "x-kubernetes-validations"


class ApiError(ValueError):
    """A value that the API does not allow; the message is a sentence for the person who wrote it."""


@dataclass(frozen=True)
class Rule:
    """One entry of `x-kubernetes-validations`, and the same in Python (transition rules have no `check`)."""

    rule: str
    message: str
    check: Callable[[Any], bool] | None = None

    def enforce(self, value: Any) -> None:
        if self.check is not None and not self.check(value):
            raise ApiError(self.message)

    def as_validation(self) -> dict[str, str]:
        return {"rule": self.rule, "message": self.message}


class Cel:
    """Puts rules on a type: `Annotated[str, Cel(Rule(...))]`."""

    def __init__(self, *rules: Rule) -> None:
        self.rules = rules

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def enforce(value: Any) -> Any:
            for rule in self.rules:
                rule.enforce(value)
            return value

        return core_schema.no_info_after_validator_function(enforce, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return add_validations(handler(schema), self.rules)


def add_validations(schema: dict[str, Any], rules: tuple[Rule, ...]) -> dict[str, Any]:
    """The schema with the rules appended to those it already has."""
    if not rules:
        return schema
    return {**schema, VALIDATIONS: [*schema.get(VALIDATIONS, []), *(rule.as_validation() for rule in rules)]}


class Model(BaseModel):
    """Frozen, camelCase outside and snake_case inside, unknown fields refused.

    `cel` lists the rules of the object as a whole. Attribute docstrings become the descriptions in the CRD.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        use_attribute_docstrings=True,
    )

    cel: ClassVar[tuple[Rule, ...]] = ()

    @model_validator(mode="after")
    def _enforce_rules(self) -> Self:
        for rule in type(self).cel:
            rule.enforce(self)
        return self

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler, /
    ) -> dict[str, Any]:
        schema = handler.resolve_ref_schema(handler(core_schema))
        return add_validations(schema, cls.cel)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data as the API server stores it: by alias, absent fields left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def evolve(self, **changes: Any) -> Self:
        """A changed copy, validated again (`model_copy` is not): texts are clipped, unknown names refused."""
        current: Mapping[str, Any] = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_validate({**current, **changes})
