"""The canonical form: RFC 8785 JSON, without a single float in it, and its digests."""

import hashlib
from typing import Any

import rfc8785

from rca_eval.contract.model import Model


def canonical(value: Model | Any) -> bytes:
    """The one byte string of a document. Raises `TypeError` if a float is in it: figures are strings."""
    plain = value.plain() if isinstance(value, Model) else value
    _refuse_floats(plain)
    return rfc8785.dumps(plain)


def sha256(data: bytes) -> str:
    """Lower-case hex."""
    return hashlib.sha256(data).hexdigest()


def digest(value: Model | Any) -> str:
    """The sha256 of the canonical form."""
    return sha256(canonical(value))


def _refuse_floats(value: Any) -> None:
    match value:
        case float():
            raise TypeError("a float has no place in a canonical document; use a decimal string")
        case dict():
            for item in value.values():
                _refuse_floats(item)
        case list() | tuple():
            for item in value:
                _refuse_floats(item)
