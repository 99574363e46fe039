"""What beside the image decides what runs: each input's value as a digest, purely.

Of a ConfigMap's value the plain SHA-256 is kept: who may read the component may read the value. Of a Secret's value only
scrypt (RFC 7914, with the parameters for an interactive login), with the place of the value as salt: a digest that tells a
change, and makes guessing slow. A value that can be guessed in a few thousand tries is no secret after it either.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from rca_rollout.api.reasons import Reason
from rca_rollout.api.revision import Input, KeyRef
from rca_rollout.core.problem import Problem

type Body = Mapping[str, Any]
type Read = Callable[[str, str], Body | Problem | None]
"""Kind and name to the object; None: there is none. A Problem: it may not be read."""

DIGITS = 16


def keys_of(inputs: Sequence[Input]) -> tuple[tuple[str, KeyRef], ...]:
    """Kind and key of each input once, in order of their names: the order of the list does not matter, nor repetition."""
    found = {
        (kind, ref.name, ref.key): ref
        for each in inputs
        for kind, ref in (("ConfigMap", each.config_map_ref), ("Secret", each.secret_ref))
        if ref is not None
    }
    return tuple((key[0], found[key]) for key in sorted(found))


def label_of(kind: str, ref: KeyRef) -> str:
    """What an input is called in messages."""
    return f"input {ref.key} of {kind} {ref.name}"


def resolve_inputs(
    inputs: Sequence[Input], read: Read, namespace: str
) -> tuple[tuple[str, str], ...] | Problem:
    """Name and digest of each input, or what is missing. Values appear in neither."""
    found: list[tuple[str, str]] = []
    for kind, ref in keys_of(inputs):
        body = read(kind, ref.name)
        if isinstance(body, Problem):
            return body
        label = label_of(kind, ref)
        if body is None:
            return Problem(
                Reason.INPUT_NOT_FOUND,
                f"{label}: {kind} {ref.name} does not exist: create it, or take it out of inputs",
            )
        value = _value(kind, body, ref.key)
        if value is None:
            held = sorted([*(body.get("data") or {}), *(body.get("binaryData") or {})])
            return Problem(
                Reason.INPUT_NOT_FOUND,
                f"{label}: {kind} {ref.name} has no key {ref.key}; it has {', '.join(held)[:200] or 'none'}",
            )
        plain = hashlib.sha256(value).hexdigest()
        place = f"{namespace}/{ref.name}/{ref.key}"
        found.append((label, plain[:DIGITS] if kind == "ConfigMap" else _slow(plain, place)))
    return tuple(found)


def _value(kind: str, body: Body, key: str) -> bytes | None:
    """The bytes under the key, or None. A Secret's `data` is all base64, a ConfigMap's `binaryData`."""
    text = (body.get("data") or {}).get(key)
    if isinstance(text, str) and kind == "ConfigMap":
        return text.encode()
    packed = text if kind == "Secret" else (body.get("binaryData") or {}).get(key)
    if not isinstance(packed, str):
        return None
    try:
        return base64.b64decode(packed, validate=True)
    except binascii.Error:
        return None


@lru_cache(maxsize=1024)
def _slow(plain: str, place: str) -> str:
    """Computed once for each value at each place, as it takes some 50 ms and 16 MiB. The plain digest stays in memory only."""
    return hashlib.scrypt(plain.encode(), salt=place.encode(), n=2**14, r=8, p=1, dklen=DIGITS // 2).hex()
