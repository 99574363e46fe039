"""What a component in Shadow would have done, told: one JSON line, and one count."""

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Protocol

from rca_eval.modes.value import Mode, utc

RANKING_LIMIT = 50  # entries of a ranking in a line; the comparison is over all of them
TEXT_LIMIT = 253
ERROR_LIMIT = 500

Write = Callable[[str], None]


class Outcome(StrEnum):
    """A closed set: it is a label of a metric."""

    AGREE = "agree"
    DISAGREE = "disagree"
    ERROR = "error"
    TIMEOUT = "timeout"


FAILURES = (Outcome.ERROR, Outcome.TIMEOUT)


@dataclass(frozen=True)
class Decision:
    """One decision of a component. `governing` is what was returned to the caller, `would_be` what the candidate
    ranked (None where it failed); `seconds` is the candidate's own time.

    In Active only failures are told: the candidate's answer is the governing one, and nothing is beside it.
    """

    component: str
    mode: Mode
    outcome: Outcome
    governing: Sequence[str] | None
    would_be: Sequence[str] | None
    seconds: float
    incident: str | None = None
    error: str | None = None

    def line(self, time: datetime) -> str:
        """The JSON line; its schema is `shadow-decision.schema.json`."""
        return json.dumps(
            {
                "event": "shadowDecision",
                "component": _short(self.component),
                "mode": self.mode.value,
                "outcome": self.outcome.value,
                "incident": _short(self.incident),
                "governing": _ranking(self.governing),
                "wouldBe": _ranking(self.would_be),
                "error": _short(self.error, ERROR_LIMIT),
                "seconds": round(max(0.0, self.seconds), 6),
                "time": utc(time),
            }
        )


class Counts(Protocol):
    """Where decisions are counted, see `modes.metrics`."""

    def count(self, component: str, mode: Mode, outcome: Outcome) -> None: ...


class DecisionLog:
    """Writes and counts decisions. Nothing in it raises: a full disk must not end an investigation."""

    def __init__(self, write: Write | None = None, counts: Counts | None = None) -> None:
        self._write = write or logging.getLogger("rca_eval.modes.decisions").info
        self._counts = counts

    def tell(self, decision: Decision) -> None:
        counts = self._counts
        if counts is not None:
            _quietly(lambda: counts.count(decision.component, decision.mode, decision.outcome))
        _quietly(lambda: self._write(decision.line(datetime.now(UTC))))


def as_ranking(result: Any) -> list[str]:
    """The default form in which results are compared and shown: a list of strings stays, all else is its JSON or
    its `repr`.
    """
    if isinstance(result, (list, tuple)) and all(isinstance(one, str) for one in result):
        return list(result)
    try:
        return [json.dumps(result, sort_keys=True)]
    except (TypeError, ValueError, RecursionError):
        return [repr(result)]


def described(error: BaseException) -> str:
    """An exception for a line; one that cannot even be described is named."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def _ranking(entries: Sequence[str] | None) -> list[str] | None:
    return None if entries is None else [_short(entry) or "" for entry in entries[:RANKING_LIMIT]]


def _short(text: str | None, limit: int = TEXT_LIMIT) -> str | None:
    return text if text is None or len(text) <= limit else text[: limit - 1] + "…"


def _quietly(action: Callable[[], None]) -> None:
    try:
        action()
    except Exception:
        logging.getLogger("rca_eval.modes").debug("a decision could not be told", exc_info=True)
