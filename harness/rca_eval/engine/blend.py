"""How the terms of a candidate become one score: exact tables, chosen once for each incident.

Presence is decided over all candidates of the incident, never for one candidate: else a rival without a
change would be scored with other weights than the cause beside it. The floor is a table of its own; it is not
the onset table divided by its sum.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from rca_eval.contract import ContractError, Reason, shown

TERMS = ("topo", "tele", "hist", "chg", "baro")


@dataclass(frozen=True)
class Table:
    """Weights by term; they sum to 1. Terms that are not listed do not appear in the answer."""

    name: str
    weights: Mapping[str, Fraction]


def _table(name: str, **weights: str) -> Table:
    return Table(name, {term: Fraction(weight) for term, weight in weights.items()})


FLOOR = _table("floor", topo="0.50", tele="0.35", hist="0.15")
ONSET = _table("onset", topo="0.40", tele="0.30", hist="0.15", chg="0.15")
BARO = _table("baro", topo="0.35", tele="0.25", hist="0.15", chg="0.15", baro="0.10")
# The five-term table without its change weight, over the 0.85 that is left; exact, so that order equals zero-
# filling.
BARO_NO_CHANGE = _table("baroNoChange", topo="7/17", tele="5/17", hist="3/17", baro="2/17")


@dataclass(frozen=True)
class Blend:
    """Which table an incident gets. `fixed` and `without` are for experiments: one table for all, or a term
    left out.
    """

    fixed: Table | None = None
    without: frozenset[str] = frozenset()

    def choose(self, *, change: bool, baro: bool) -> Table:
        """The table for an incident in which a change, and a BARO signal, is present for any candidate."""
        if self.fixed is not None:
            return self.fixed
        change, baro = change and "chg" not in self.without, baro and "baro" not in self.without
        if change:
            return BARO if baro else ONSET
        return BARO_NO_CHANGE if baro else FLOOR


KNOWN_BAD = Blend(fixed=_table("knownBad", topo="0.75", tele="0.10", hist="0.15"))
"""The positive control: topology outweighs what the telemetry says, so a topology trap wins."""


def parse_blend(text: str, *, source: str = "--blend") -> Blend:
    """`topo=.75,tele=.10,hist=.15` as one table for every incident. Raises `ContractError(Usage)`; weights
    sum to 1.
    """
    weights: dict[str, Fraction] = {}
    for part in text.split(","):
        term, _, number = part.strip().partition("=")
        if term not in TERMS or term in weights:
            raise _refused(
                source, f"{shown(part.strip())} names no term, or one twice; the terms are {', '.join(TERMS)}"
            )
        digits = number.replace(".", "", 1)
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 12):
            raise _refused(source, f"the weight of {term} is {shown(number)}; use a decimal such as 0.75")
        weights[term] = Fraction("0" + number if number.startswith(".") else number.rstrip("."))
    if sum(weights.values()) != 1:
        raise _refused(source, f"the weights sum to {float(sum(weights.values())):g}; they must sum to 1")
    return Blend(fixed=Table("override", {term: weights[term] for term in TERMS if term in weights}))


def parse_without(text: str, *, source: str = "--without-term") -> Blend:
    """`chg` or `chg,baro`: the tables as they are when these terms are never present."""
    terms = frozenset(part.strip() for part in text.split(","))
    if not terms <= {"chg", "baro"}:
        raise _refused(source, f"{shown(text)} cannot be left out; only chg and baro can")
    return Blend(without=terms)


def _refused(source: str, text: str) -> ContractError:
    return ContractError(Reason.USAGE, f"{source}: {text}.")
