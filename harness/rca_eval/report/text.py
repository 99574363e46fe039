"""How figures and words of others are shown. Every format uses these, so that a number reads the same everywhere."""

from collections.abc import Iterable, Sequence
from fractions import Fraction

from rca_eval.contract import display, exact, is_finite, nine, one_line
from rca_eval.gate.subject import short_ids

WORDS = 200  # of a text of others; an engine's error may be a page
NAME = 63
BEYOND = 10**12 - 1  # rounding must not reach a digit more


def figure(value: Fraction | None) -> str | None:
    """A value as documents hold it, nine digits; None for none, and for one of more than twelve digits before them."""
    return None if value is None or abs(value) >= BEYOND else nine(value)


def clean(text: str, limit: int = WORDS) -> str:
    """Text of others: one line, no character that a terminal or a browser would obey, at most `limit` long."""
    return cut(one_line(text), limit)


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"


def middle(text: str, limit: int) -> str:
    """A long name without its middle: two that differ at the end stay different."""
    if len(text) <= limit:
        return text
    tail = (limit - 1) // 3
    return f"{text[: limit - 1 - tail]}…{text[len(text) - tail :]}"


def number(value: str | None, digits: int = 3) -> str:
    """`0.778`; `-` for a figure that there is not, the word itself for one that is no number."""
    if value is None:
        return "-"
    return display(exact(value), digits) if is_finite(value) else value


def margin(value: str | None) -> str:
    """`+0.0265`: four digits and always a sign; `none` where there is no rival or no score."""
    if value is None:
        return "none"
    return ("" if value.startswith("-") else "+") + number(value, 4)


def term(value: str | None) -> str:
    """A weighted value with four digits, `0` for exactly nothing."""
    if value is not None and is_finite(value) and not exact(value):
        return "0"
    return number(value, 4)


def rank(value: int | None) -> str:
    """`2`; `none` for a cause that is no candidate."""
    return "none" if value is None else str(value)


def moved(before: str | None, now: str) -> str:
    """`was -> now`, or the one value where nothing moved or nothing was."""
    return now if before is None or before == now else f"{before} -> {now}"


def seconds(value: str | None) -> str:
    return "unknown" if value is None else f"{number(value)} s"


def count(number_of: int, noun: str) -> str:
    return f"{number_of} {noun}" + ("" if number_of == 1 else "s")


def listed(ids: Sequence[str], among: Iterable[str]) -> str:
    """Short ids, at most five, then how many more; `none` for an empty list."""
    return short_ids(ids, among) if ids else "none"


def brief(identifier: str, among: Sequence[str]) -> str:
    return short_ids([identifier], among)
