"""Damage for documents that were valid: to their bytes, to their JSON text, to their values. Seeded, so that it can be repeated."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

# What no schema of ours allows in most places, and what parsers of JSON trip over.
STRANGE: tuple[Any, ...] = (
    None, True, False, 0, -1, 2**63, 10**25, -(10**25), 0.1, 1e300, "", "x", "0" * 64, "\u0000", "é\u202e", "\U0001f600",
    "-0.000000000", "1e5", "0.1234567890123", "A" * 5000, [], {}, [[]], [None], {"": {}}, "Shadow", "Active", "With",
)  # fmt: skip
TOKENS = (
    "NaN", "Infinity", "-Infinity", "1" * 5000, "1e999999999", "-0", "1.0", "0." + "1" * 200, '"\\ud800"', '"\\udfff"',
    "01", "+1", "'x'", "undefined", "[" * 3000, '{"a":' * 3000, '"' + "\\u0000" * 50 + '"', "// no", "\ufeff",
)  # fmt: skip


def bytes_of(chance: random.Random, data: bytes) -> bytes:
    """One to three damages to the bytes: flips, cuts, doublings, insertions, other lines in between."""
    for _ in range(chance.randint(1, 3)):
        data = chance.choice(_BYTES)(chance, data)
    return data


def text_of(chance: random.Random, value: Any) -> bytes:
    """JSON text of a value with a token, a key or a nesting in it that a strict reader refuses."""
    marked, mark = copy.deepcopy(value), "\u241f mark"
    places = list(_places(marked))
    holder, key = chance.choice(places)
    if isinstance(holder, dict) and chance.random() < 0.3:
        doubled = json.dumps(str(key)) + ":" + json.dumps(holder[key])
        holder[key] = mark
        return json.dumps(marked).replace(json.dumps(mark), json.dumps(None) + "," + doubled, 1).encode()
    holder[key] = mark
    token = chance.choice(TOKENS)
    return json.dumps(marked).replace(json.dumps(mark), token, 1).encode("utf-8", "surrogatepass")


def value_of(chance: random.Random, value: Any) -> Any:
    """One to three damages to the values: other types, other sizes, keys that are missing, doubled or unknown."""
    found = copy.deepcopy(value)
    for _ in range(chance.randint(1, 3)):
        places = list(_places(found))
        if not places:
            return found
        holder, key = chance.choice(places)
        chance.choice(_VALUES)(chance, holder, key)
    return found


def text_only(chance: random.Random, value: Any) -> Any:
    """Damage that keeps every type and what has to be there, as an API server with a schema would: other texts, numbers and
    lists, members that are missing."""
    found = copy.deepcopy(value)
    for _ in range(chance.randint(1, 4)):
        places = list(_places(found))
        if not places:
            return found
        holder, key = chance.choice(places)
        _same_type(chance, holder, key)
    return found


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in list(items):
        yield value, key
        yield from _places(item)


def _same_type(chance: random.Random, holder: Any, key: Any) -> None:
    item = holder[key]
    required = key in _REQUIRED
    if isinstance(holder, dict) and chance.random() < 0.3:
        if not required:
            del holder[key]
    elif isinstance(item, bool):
        holder[key] = not item
    elif str(key).endswith(("At", "Time", "Timestamp")):
        holder[key] = chance.choice(_MOMENTS)
    elif isinstance(item, str):
        holder[key] = chance.choice(
            ("", "x", "Unknown", item + item, item[: len(item) // 2], "é\n\u202e", "A" * 40000)
        )
    elif isinstance(item, int):
        holder[key] = chance.choice((0, -1, 1, 255, 2**31 - 1, item + 1))
    elif isinstance(item, list):
        holder[key] = chance.choice((item[:-1], item[1:], item + item, list(reversed(item)), []))
    elif isinstance(item, dict) and isinstance(holder, dict) and not required:
        holder[key] = {}


_MOMENTS = (
    "1970-01-01T00:00:00Z",
    "2026-11-30T10:00:00Z",
    "2026-11-30T09:59:59.123456Z",
    "9999-12-31T23:59:59Z",
)
_REQUIRED = frozenset({"name", "type", "metadata"})


def _replace(chance: random.Random, holder: Any, key: Any) -> None:
    holder[key] = copy.deepcopy(chance.choice(STRANGE))


def _drop(chance: random.Random, holder: Any, key: Any) -> None:
    del holder[key]


def _double(chance: random.Random, holder: Any, key: Any) -> None:
    if isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    else:
        holder[f"{key}x"] = copy.deepcopy(holder[key])


def _nest(chance: random.Random, holder: Any, key: Any) -> None:
    for _ in range(chance.choice((1, 2, 50))):
        holder[key] = [holder[key]] if chance.random() < 0.5 else {"x": holder[key]}


def _grow(chance: random.Random, holder: Any, key: Any) -> None:
    item = holder[key]
    if isinstance(item, str):
        holder[key] = item * chance.choice((2, 500))
    elif isinstance(item, list):
        holder[key] = [copy.deepcopy(one) for one in item for _ in range(3)][:400]
    elif isinstance(item, int):
        holder[key] = item * 10 ** chance.choice((1, 12, 40))


def _swap(chance: random.Random, holder: Any, key: Any) -> None:
    other = chance.choice(list(holder)) if isinstance(holder, dict) else chance.randrange(len(holder))
    holder[key], holder[other] = holder[other], holder[key]


_VALUES: tuple[Callable[[random.Random, Any, Any], None], ...] = (
    _replace,
    _replace,
    _drop,
    _double,
    _nest,
    _grow,
    _swap,
)


def _flip(chance: random.Random, data: bytes) -> bytes:
    if not data:
        return b"\x00"
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]


def _cut(chance: random.Random, data: bytes) -> bytes:
    at = chance.randint(0, len(data))
    return data[:at] if chance.random() < 0.6 else data[at:]


def _remove(chance: random.Random, data: bytes) -> bytes:
    at, length = chance.randint(0, len(data)), chance.choice((1, 2, 50, 1025))
    return data[:at] + data[at + length :]


def _repeat(chance: random.Random, data: bytes) -> bytes:
    at, length = chance.randint(0, len(data)), chance.choice((1, 7, 200, 1025))
    return data[:at] + data[at : at + length] * 2 + data[at + length :]


def _insert(chance: random.Random, data: bytes) -> bytes:
    at = chance.randint(0, len(data))
    return data[:at] + chance.choice(_PIECES) + data[at:]


def _whole_line(chance: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    lines[at:at] = [chance.choice((lines[at], lines[-1], b"QUJD", b"RCA-SCORECARD-END", b"x" * 1024))]
    return b"\n".join(lines)


_PIECES = (
    b"\x00", b"\xff\xfe", b"\r\n", b"\n", b"{", b"]", b'"', b"NaN", b"=" * 4, b"RCA-SCORECARD-BEGIN v1 sha256=", b"A" * 1024,
    b"\xed\xa0\x80", b"9" * 400,
)  # fmt: skip
_BYTES: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    _flip,
    _flip,
    _cut,
    _remove,
    _repeat,
    _insert,
    _whole_line,
)
