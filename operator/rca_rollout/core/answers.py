"""Scorecards that differ only in what the machine adds: what the engine answered is read, ordered and digested once.

A deterministic engine answers every run of a change alike, and only the times differ. In the canonical form the answers
come first, as one piece of text, so that a piece that is known need not be read again: what remains is the times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson

from rca_eval.contract import ContractError, Reason, Scorecard, load_json, parse_scorecard
from rca_eval.contract.scorecard import SCORECARD_LIMIT, Deterministic
from rca_eval.gate.ranks import Ranks

_HEAD, _JOINT = b'{"deterministic":', b',"kind":"Scorecard","measured":'
_REST = {"kind", "measured", "provenance", "schemaVersion"}
# Answers of so many changes, of so many bytes each: what is larger is read anew, for it would fill the memory.
_KEPT, _LARGE = 12, 128 * 1024


@dataclass(frozen=True)
class Answers:
    """What was answered, its digest, and what the gate has found out about it."""

    value: Deterministic
    sha256: str
    ranks: Ranks = field(default_factory=Ranks)


class _Known:
    """By the bytes of the answers, and by the object that they were read into.

    Threads read scorecards, too: the table is replaced, never changed, so each sees a whole one. What one of them adds may
    be lost to another's, and is read once more then.
    """

    def __init__(self) -> None:
        self._by_text: Mapping[bytes, Answers] = {}

    def get(self, text: bytes) -> Answers | None:
        return self._by_text.get(text)

    def add(self, text: bytes, answers: Answers) -> None:
        kept = [*self._by_text.items(), (text, answers)]
        self._by_text = dict(kept[-_KEPT:])

    def of(self, value: Deterministic) -> Answers | None:
        return next((known for known in self._by_text.values() if known.value is value), None)


_KNOWN = _Known()


def parse(document: bytes, *, source: str) -> Scorecard:
    """As `parse_scorecard`, with what it raises."""
    text = _answers_in(document)
    known = None if text is None else _KNOWN.get(text)
    if text is None or known is None:
        card = parse_scorecard(document, source=source)
        if text is not None and _is_value(text):
            _KNOWN.add(text, Answers(card.deterministic, card.deterministic_sha256()))
        return card
    try:
        # The key before it and the comma behind it are taken away with it.
        return _with_times(b"{" + document[len(_HEAD) + len(text) + 1 :], known.value, source)
    except ContractError:
        return parse_scorecard(document, source=source)  # which says what is wrong, and where


def deterministic_sha256(card: Scorecard) -> str:
    known = _KNOWN.of(card.deterministic)
    return card.deterministic_sha256() if known is None else known.sha256


def ranks(card: Scorecard) -> Ranks | None:
    """What is known of these answers, to be known the next time, too."""
    known = _KNOWN.of(card.deterministic)
    return None if known is None else known.ranks


def _answers_in(document: bytes) -> bytes | None:
    """The text of the answers, where the document has the canonical form and is of a size that is kept."""
    if len(document) > SCORECARD_LIMIT or not document.startswith(_HEAD):
        return None
    end = document.find(_JOINT, len(_HEAD))
    return document[len(_HEAD) : end] if 0 < end - len(_HEAD) <= _LARGE else None


def _is_value(text: bytes) -> bool:
    """Whether it is one whole JSON value: then it is the very value that stands in the document, and nothing more of it."""
    try:
        orjson.loads(text)
    except ValueError:
        return False
    return True


def _with_times(rest: bytes, answers: Deterministic, source: str) -> Scorecard:
    found = load_json(rest, source=source, reason=Reason.SCORECARD_INVALID, limit=SCORECARD_LIMIT)
    if not isinstance(found, dict) or set(found) != _REST:
        raise ContractError(Reason.SCORECARD_INVALID, f"{source} has other fields than a scorecard.")
    return Scorecard.read({**found, "deterministic": answers}, source=source, reason=Reason.SCORECARD_INVALID)
