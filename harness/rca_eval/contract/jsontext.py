"""Strict JSON, in both directions, with exact numbers.

The standard parser accepts NaN, keeps the last of two equal keys, turns 0.1 into a float and dies with a
traceback on deep nesting. A document that decides over a promotion gets none of that.
"""

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Any

from rca_eval.contract.errors import ContractError, Reason, shown

# Far beyond any time, score or metric; keeps 1e999999999 from becoming an integer with a billion digits.
MAX_EXPONENT = 30
# A fraction of a million digits is read in no time and computed with for hours, deaf to any signal.
MAX_CHARACTERS = 100
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


class RefusedError(ValueError):
    """Found while parsing, in words that follow a file's name; becomes a ContractError that names it."""


def load_json(data: bytes, *, source: str, reason: Reason, limit: int) -> Any:
    """The value of a JSON document. Numbers with a point or exponent come back as `Decimal`, whole ones as
    `int`.

    `source` names the document in messages, `reason` is what its errors are filed under, `limit` is in bytes.
    Raises `ContractError` for anything that is not one strict JSON value in UTF-8.
    """
    if len(data) > limit:
        raise ContractError(
            reason, f"{source} has {len(data)} bytes, and at most {limit} are read; make it smaller."
        )
    if data.startswith(b"\xef\xbb\xbf"):
        raise ContractError(reason, f"{source} begins with a byte order mark; save it as UTF-8 without BOM.")
    if not data.strip():
        raise ContractError(reason, f"{source} is empty; a JSON document is needed.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ContractError(
            reason, f"{source} is not UTF-8 text (byte {error.start}); save it as UTF-8."
        ) from None
    try:
        value = json.loads(
            text,
            parse_float=_decimal,
            parse_int=_integer,
            parse_constant=_constant,
            object_pairs_hook=_object,
        )
        if "\\ud" in text.lower():
            _refuse_halves(value)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ContractError(reason, f"{source} is not valid JSON at {where}: {_lower(error.msg)}.") from None
    except RefusedError as error:
        raise ContractError(reason, f"{source} {error}.") from None
    except RecursionError:
        raise ContractError(
            reason, f"{source} is nested too deeply to be a document of ours; look at what wrote it."
        ) from None
    return value


def _refuse_halves(value: Any) -> None:
    """Half a surrogate pair is a string to Python, but no text: nothing can encode it."""
    match value:
        case str():
            if any("\ud800" <= c <= "\udfff" for c in value):
                raise RefusedError("holds half a surrogate pair in a string; write whole characters")
        case dict():
            for key, item in value.items():
                _refuse_halves(key)
                _refuse_halves(item)
        case list():
            for item in value:
                _refuse_halves(item)


def dump_exact(value: Any) -> str:
    """JSON text with sorted keys in which a `Decimal` keeps its digits (the standard encoder would need a
    float).
    """
    match value:
        case None | bool() | str() | int():
            return json.dumps(value, ensure_ascii=False)
        case Decimal():
            return format(value, "f") if value.is_finite() else _not_finite(value)
        case dict():
            return "{" + ",".join(f"{json.dumps(k)}:{dump_exact(value[k])}" for k in sorted(value)) + "}"
        case list() | tuple():
            return "[" + ",".join(dump_exact(item) for item in value) + "]"
        case _:
            raise TypeError(f"{type(value).__name__} has no exact JSON form")


def _not_finite(value: Decimal) -> str:
    raise ValueError(f"{value} has no JSON form")


def number(text: str) -> Decimal | int:
    """The value of a JSON number, as `load_json` reads it. Raises `RefusedError`."""
    if _NUMBER.fullmatch(text) is None:
        raise RefusedError(f"holds {shown(text, 30)}, which is no JSON number")
    return _integer(text) if text.lstrip("-").isdigit() else _decimal(text)


def _decimal(text: str) -> Decimal | int:
    # Samples: short, no exponent, a last digit that makes it no integer. None of the questions below arises.
    if len(text) <= MAX_EXPONENT and text[-1] != "0" and "e" not in text and "E" not in text:
        return Decimal(text)
    if len(text) > MAX_CHARACTERS:
        raise RefusedError(f"holds a number of {len(text)} characters; write at most {MAX_CHARACTERS}")
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise RefusedError(f"holds the number {shown(text)}, which cannot be read") from None
    if value and abs(value.adjusted()) > MAX_EXPONENT:
        raise RefusedError(f"holds the number {shown(text, 30)}, which is out of any sensible range")
    # 1700000000.0 is an integer in JSON Schema, and so it is here.
    return int(value) if value == value.to_integral_value() else value


def _integer(text: str) -> int:
    if len(text) > MAX_EXPONENT:
        raise RefusedError(f"holds an integer of {len(text)} digits, which is out of any sensible range")
    return int(text)


def _constant(text: str) -> None:
    raise RefusedError(
        f"holds {text}, which is not JSON; leave the value out or use null where null is allowed"
    )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise RefusedError(f"has the key {shown(key)} twice in one object; keep one")
        found[key] = value
    return found


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
