"""Moving a candidate without lying about its score.

Scores must not rise down a list, and a tie is a loss. So who is moved gets the smallest score that says where it
stands, one unit of the ninth digit above or below its neighbour, and a term for the difference: `gate` for a lift,
`refuted` for a fall. Terms still add up to the score.
"""

from collections.abc import Collection, Sequence
from fractions import Fraction

from rca_eval.engine.investigation import NANO, Scored, order

UNIT = Fraction(1, NANO)


def lifted(ranked: Sequence[Scored], key: str) -> tuple[Scored, ...]:
    """`key` leads, alone; the rest keep their order. Unchanged if it does so already."""
    mine = next(one for one in ranked if one.key == key)
    others = [one for one in ranked if one.key != key]
    if not others or mine.score > others[0].score:
        return (mine, *others)
    return (_moved(mine, others[0].score + UNIT, "gate"), *others)


def lowered(ranked: Sequence[Scored], keys: Collection[str]) -> tuple[Scored, ...]:
    """These candidates go behind all others; order, and ties, among them and among the others stay."""
    first = [one for one in ranked if one.key not in keys]
    last = [one for one in ranked if one.key in keys]
    if not first:
        return tuple(ranked)
    bound, before, moved = first[-1].score, None, []
    for one in last:
        if one.score != before:  # equal scores stay equal
            before, bound = one.score, min(one.score, bound - UNIT)
        moved.append(one if bound == one.score else _moved(one, bound, "refuted"))
    return (*first, *sorted(moved, key=order))


def _moved(one: Scored, score: Fraction, term: str) -> Scored:
    return Scored(one.key, score, {**one.terms, term: score - sum(one.terms.values(), Fraction(0))})
