"""What an engine says that an answer cost it: tokens and money. Never part of the evidence."""

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from rca_eval.contract.model import Int, Model
from rca_eval.contract.numbers import Figure, Number, nine

_PLAIN = re.compile(r"[0-9]{1,10}(\.[0-9]{1,20})?", re.ASCII)


def _amount(value: Any) -> Any:
    if isinstance(value, str):
        if _PLAIN.fullmatch(value) is None:
            raise ValueError('a cost is a number or a decimal string such as "0.0125"')
        return Decimal(value)
    return value


Tokens = Annotated[Int, Field(ge=0, le=10**12)]
Cost = Annotated[Number, BeforeValidator(_amount), Field(ge=0, le=10**9)]


class Usage(Model):
    """Of one answer. Tokens are known when both numbers are there. The engine reports it about itself: it is held
    against a budget, and proves nothing.
    """

    input_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    cost: Cost | None = None


class UsageTotal(Model):
    """Of all answers of all repeats that were asked for. An answer that is missing has not said what it used."""

    answers: Tokens
    with_tokens: Tokens
    input_tokens: Tokens
    output_tokens: Tokens
    with_cost: Tokens
    cost: Figure

    @property
    def tokens(self) -> int | None:
        """Input and output together; None unless every answer has said both."""
        return self.input_tokens + self.output_tokens if self.with_tokens == self.answers else None

    @property
    def known_cost(self) -> Fraction | None:
        """None unless every answer has said it."""
        return Fraction(self.cost) if self.with_cost == self.answers else None


def total(asked: int, reported: Iterable[Usage | None]) -> UsageTotal | None:
    """None where no answer says anything."""
    said = [one for one in reported if one is not None]
    counted = [one for one in said if one.input_tokens is not None and one.output_tokens is not None]
    priced = [one.cost for one in said if one.cost is not None]
    if not counted and not priced:
        return None
    return UsageTotal(
        answers=asked,
        with_tokens=len(counted),
        input_tokens=sum(one.input_tokens or 0 for one in counted),
        output_tokens=sum(one.output_tokens or 0 for one in counted),
        with_cost=len(priced),
        cost=nine(sum((Fraction(cost) for cost in priced), Fraction(0))),
    )


def together(parts: Sequence[UsageTotal | None], asked: Sequence[int]) -> UsageTotal | None:
    """The sum over the parts of one evaluation; a part that says nothing has been asked all the same."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    return UsageTotal(
        answers=sum(asked),
        with_tokens=sum(part.with_tokens for part in known),
        input_tokens=sum(part.input_tokens for part in known),
        output_tokens=sum(part.output_tokens for part in known),
        with_cost=sum(part.with_cost for part in known),
        cost=nine(sum((Fraction(part.cost) for part in known), Fraction(0))),
    )
