"""The evidence soft cap: without hard evidence of several kinds, a high score counts for less.

With n = number of distinct kinds of hard evidence: kappa(0) = .45, kappa(1) = .70, no cap for n >= 2;
    s' = s if s <= kappa, else kappa + .25 * (s - kappa)
For each kappa this is strictly monotone: a hard clip would make ties, and ties are losses. What it cannot keep is
a difference below 4e-9, which the nine digits of a score do not show afterwards.
"""

from fractions import Fraction

KAPPA = (Fraction(45, 100), Fraction(70, 100))
SLOPE = Fraction(1, 4)


def capped(score: Fraction, kinds: int) -> Fraction:
    """s' for a score that rests on so many kinds of hard evidence."""
    if kinds >= len(KAPPA) or score <= KAPPA[kinds]:
        return score
    return KAPPA[kinds] + SLOPE * (score - KAPPA[kinds])
