"""The base of all documents, and how a validation error becomes a sentence.

Documents are frozen, refuse unknown fields, and use camelCase names in JSON and snake_case names in Python.
Python names are not accepted in files: a field has one spelling.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Strict, StringConstraints, ValidationError
from pydantic.alias_generators import to_camel

from rca_eval.contract.errors import ContractError, Reason, shown
from rca_eval.contract.jsontext import load_json

MIB = 1024 * 1024

Int = Annotated[int, Strict()]


def _no_truth_value(value: Any) -> Any:
    """To Python `True == 1`, so a literal 1 would take it; in JSON they are different values."""
    if isinstance(value, bool):
        raise ValueError("the number 1 is needed")  # noqa: TRY004  (pydantic reads only ValueError as a finding)
    return value


One = Annotated[Literal[1], BeforeValidator(_no_truth_value)]
"""The number 1: what a version field says while there is one version."""
Bool = Annotated[bool, Strict()]
ServiceKey = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$", max_length=253)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
# No control characters in what is printed: a terminal would obey them.
PRINTABLE = r"^[^\x00-\x1f\x7f-\x9f]*$"
Name = Annotated[str, StringConstraints(pattern=PRINTABLE, min_length=1, max_length=253)]


class Model(BaseModel):
    """A frozen document or a part of one."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, validate_by_name=True, validate_by_alias=True
    )

    def plain(self) -> dict[str, Any]:
        """The document as JSON values, every field present, absent ones as null."""
        return self.model_dump(by_alias=True, mode="python")

    @classmethod
    def read(cls, value: Any, *, source: str, reason: Reason) -> Self:
        """The document in a JSON value. Raises a `ContractError` that names file, field and cure."""
        try:
            return cls.model_validate(value, by_alias=True, by_name=False)
        except ValidationError as error:
            raise ContractError(reason, f"{source}: {sentence(error)}") from None
        except RecursionError:
            raise ContractError(reason, f"{source} is nested too deeply; look at what wrote it.") from None

    @classmethod
    def parse(cls, data: bytes, *, source: str, reason: Reason, limit: int = 16 * MIB) -> Self:
        """The document in JSON bytes, at most `limit` of them."""
        return cls.read(
            load_json(data, source=source, reason=reason, limit=limit), source=source, reason=reason
        )


def sentence(error: ValidationError) -> str:
    """The first problem of a validation error, as one sentence: field, finding, cure."""
    problems = error.errors(include_url=False)
    first = problems[0]
    where = path(first["loc"])
    more = f"; {len(problems) - 1} more after it" if len(problems) > 1 else ""
    return f"{finding(where, first)}{more}."


def path(loc: Sequence[int | str]) -> str:
    """`("incidents", 2, "alert", "firedAt")` as `incidents[2].alert.firedAt`."""
    text = ""
    for part in loc:
        if isinstance(part, str) and part.startswith("<"):
            continue  # the tag of a union, not a field
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text or "the document"


def finding(where: str, problem: Mapping[str, Any]) -> str:
    """One problem of a validation error in words: the field, what was found, and what must be there."""
    kind, found, context = problem["type"], shown(problem.get("input")), problem.get("ctx") or {}
    match kind:
        case "missing":
            return f"the field {where} is missing; add it"
        case "extra_forbidden":
            return f"the field {where} is unknown; remove it or correct its spelling"
        case "literal_error" | "enum":
            return (
                f"{where} is {found}, but must be one of {context.get('expected', 'the documented values')}"
            )
        case "string_pattern_mismatch":
            return f"{where} is {found}, but must match {context.get('pattern')}"
        case "string_too_long" | "too_long":
            return f"{where} is {found}, longer than the {context.get('max_length')} allowed"
        case "string_too_short" | "too_short":
            return f"{where} is {found}, shorter than the {context.get('min_length')} needed"
        case "greater_than_equal" | "greater_than" | "less_than_equal" | "less_than":
            word = (
                kind.replace("_than_equal", " than or equal to").replace("_than", " than").replace("_", " ")
            )
            limit = next((context[key] for key in ("ge", "gt", "le", "lt") if key in context), "the limit")
            word = {"greater than or equal to": "at least", "less than or equal to": "at most"}.get(
                word, word
            )
            return f"{where} is {found}, but must be {word} {limit}"
        case "value_error":
            return f"{where}: {context.get('error')} (found {found})"
        case _:
            return f"{where} is {found}, but must be {_EXPECTED.get(kind, 'of the documented type')}"


_EXPECTED = {
    "int_type": "a whole number",
    "string_type": "a string",
    "bool_type": "true or false",
    "dict_type": "an object",
    "mapping_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "tuple_type": "a list",
    "list_type": "a list",
    "finite_number": "a finite number",
}
