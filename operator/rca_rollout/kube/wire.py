"""JSON as it goes over the wire: bytes in and out, by a parser in C.

A status is some 10 KB, and is read four times for each run; the standard library takes five times as long for it.
"""

from __future__ import annotations

import json
from typing import Any

import orjson

# What JSON has no word for is refused, as the standard encoder refuses it: a time or a model in a body is a mistake here.
_STRICT = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS


def read(data: bytes) -> Any:
    """Raises `ValueError` for anything that is not one JSON value in UTF-8."""
    return orjson.loads(data)


def written(value: Any) -> bytes:
    """Raises `TypeError` for what JSON cannot hold."""
    try:
        return orjson.dumps(value, option=_STRICT)
    except TypeError:
        # Half a surrogate pair, or an integer of more than 64 bits: rare, and lawful to the standard encoder.
        return json.dumps(value, allow_nan=False).encode()
