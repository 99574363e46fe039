"""Exact numbers. Nothing here, and nothing that decides, ever touches a float.

Numbers in documents are read as `Decimal` (what the author wrote), computed with as `Fraction`, and written
as decimal strings with nine digits, rounded half to even. 0.96 - 0.94 is 0.02, not 0.020000000000000018.
"""

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Annotated

from pydantic import BeforeValidator, StringConstraints

NON_FINITE = frozenset({"NaN", "Infinity", "-Infinity"})

# Non-finite words are let in on purpose: the gate then says NonFinite and names the field, which a form error
# could not.
Figure = Annotated[str, StringConstraints(pattern=r"^(-?[0-9]{1,12}\.[0-9]{9}|NaN|-?Infinity)$")]
"""A score, metric or time as it is serialised: a decimal string with nine digits, e.g. `"0.765000000"`."""


def _decimal(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    if isinstance(value, Decimal):
        return value
    raise ValueError("a number is needed")


Number = Annotated[Decimal, BeforeValidator(_decimal)]
"""A JSON number, exactly as written; strings and booleans are refused."""


def nine(value: Fraction | int) -> str:
    """Nine digits after the point, half to even: `nine(Fraction(7, 9)) == "0.777777778"`."""
    scaled = nano(value)
    sign, digits = ("-" if scaled < 0 else ""), f"{abs(scaled):010d}"
    return f"{sign}{digits[:-9]}.{digits[-9:]}"


def nano(value: Fraction | int) -> int:
    """The value in units of the ninth digit, half to even, as `round(value * 10**9)` and without its fractions."""
    whole, rest = divmod(value.numerator * 10**9, value.denominator)
    twice = 2 * rest - value.denominator
    return whole + (twice > 0 or (twice == 0 and whole % 2 == 1))


@lru_cache(maxsize=2048)
def exact(figure: str) -> Fraction:
    """The value of a figure, remembered: the checks ask for each time several times. Raises `ValueError` for NaN and the infinities: they have none."""
    if not is_finite(figure):
        raise ValueError(f"{figure} is not a finite number")
    return Fraction(figure)


def is_finite(figure: str) -> bool:
    return figure not in NON_FINITE


def display(value: Fraction, digits: int = 3) -> str:
    """A value for people, rounded half to even: `display(Fraction(7, 9)) == "0.778"`."""
    scaled = round(value * 10**digits)
    sign, text = ("-" if scaled < 0 else ""), f"{abs(scaled):0{digits + 1}d}"
    return f"{sign}{text[:-digits]}.{text[-digits:]}"
