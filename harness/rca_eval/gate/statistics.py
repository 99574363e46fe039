"""How sure a comparison is, beside the verdict and never part of it: McNemar's test, the paired bootstrap, Wilson's interval.

All three are computed without a float, so that every machine and Python prints the same nine digits:
fractions of integers where that is possible, decimals of 50 digits where it is not.
"""

from bisect import bisect_right
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import ceil, comb, isqrt
from random import Random
from typing import Literal

LEVEL = Fraction(95, 100)
RESAMPLES = 10_000
SEED = 1
# The square of the 0.975 quantile of the normal distribution: the 0.95 quantile of chi-squared with one degree of freedom.
_Z_SQUARED = Fraction("3.841458820694125958361375437363")
_ROOT_DIGITS = 60
# Weights such as (1/10000)^10000 have no place among the usual exponents.
_WIDE = Context(prec=50, Emin=MIN_EMIN, Emax=MAX_EMAX)

Sides = Literal[1, 2]


def mcnemar_exact(lost: int, won: int, *, sides: Sides = 2) -> Fraction | None:
    """McNemar's exact conditional p of paired hits and misses; None without a discordant pair.

    With n = lost + won and X ~ Binomial(n, 1/2): one-sided P(X ≥ lost), small when losses prevail; two-sided
    min(1, 2 P(X ≥ max(lost, won))). Source: McNemar 1947; Fagerland, Lydersen and Laake 2013, doi
    10.1186/1471-2288-13-91.
    """
    pairs = lost + won
    if pairs == 0:
        return None
    if sides == 1:
        return Fraction(_upper_tail(pairs, lost), 2**pairs)
    return min(Fraction(1), Fraction(2 * _upper_tail(pairs, max(lost, won)), 2**pairs))


def mcnemar_mid_p(lost: int, won: int, *, sides: Sides = 2) -> Fraction | None:
    """The mid-p form: of what is as extreme as the observed only half the probability counts, which undoes most of the
    exact test's caution.

    One-sided P(X > lost) + P(X = lost)/2; two-sided twice that of the larger count, and 1 - P(X = lost)/2 when
    both are equal. Source: Fagerland, Lydersen and Laake 2013. None without a discordant pair.
    """
    pairs = lost + won
    if pairs == 0:
        return None
    if sides == 2 and lost == won:
        return 1 - Fraction(comb(pairs, lost), 2 ** (pairs + 1))
    reached = lost if sides == 1 else max(lost, won)
    return Fraction(sides * (2 * _upper_tail(pairs, reached) - comb(pairs, reached)), 2 ** (pairs + 1))


@lru_cache(maxsize=256)
def wilson(hits: int, incidents: int) -> tuple[Fraction, Fraction] | None:
    """Wilson's score interval of a rate, at level 0.95, exact beyond nine digits; None without incidents.

    (2x + z² ± z √(z² + 4x(n - x)/n)) / 2(n + z²) for x of n. Source: Wilson 1927; Newcombe 1998, method 3.
    """
    if incidents == 0:
        return None
    middle = 2 * hits + _Z_SQUARED
    half = _root(_Z_SQUARED * (_Z_SQUARED + Fraction(4 * hits * (incidents - hits), incidents)))
    scale = 2 * (incidents + _Z_SQUARED)
    return (middle - half) / scale, (middle + half) / scale


@lru_cache(maxsize=256)
def bootstrap_drop(lost: int, won: int, incidents: int) -> tuple[Fraction, Fraction] | None:
    """Percentile interval, at level 0.95, of the drop of AC@1 over resampled incidents; None without incidents.

    An incident is a pair (hit before, hit now), so a resample of N is a draw from the trinomial of lost, won
    and equal ones, and its drop is (lost - won)/N. The 10 000 draws come from the seeded uniform numbers of
    `random.Random`, whose sequence Python guarantees, turned into drops by the exact distribution. The limits
    are the ⌈0.025 R⌉th and ⌈0.975 R⌉th smallest. Source: Efron and Tibshirani 1993, chapter 13.
    """
    if incidents == 0:
        return None
    running = list(accumulate(drop_weights(lost, won, incidents), _WIDE.add))
    uniforms = _uniforms(SEED, RESAMPLES)
    places = limit_places(RESAMPLES)
    # Drops rise with their uniform numbers, so the limits are those of two of them. A float is a decimal exactly.
    low, high = (
        bisect_right(running, _WIDE.multiply(running[-1], Decimal(uniforms[place]))) - incidents
        for place in places
    )
    return Fraction(low, incidents), Fraction(high, incidents)


def limit_places(resamples: int) -> tuple[int, int]:
    """Where the two percentiles stand among sorted resamples, counted from 0."""
    tail = (1 - LEVEL) / 2
    return ceil(tail * resamples) - 1, ceil((1 - tail) * resamples) - 1


def drop_weights(lost: int, won: int, incidents: int) -> list[Decimal]:
    """Unnormalised probabilities that a resample of N loses d more than it wins, d = -N..N: 2N + 1 of them.

    They are the coefficients of (won + equal x + lost x²)^N. Each half is built from its own end, where all
    terms of the recurrence are positive, so that no digit is lost to a difference.
    """
    equal = incidents - lost - won
    left = _coefficients(won, equal, lost, incidents)
    right = _coefficients(lost, equal, won, incidents)
    middle = max(left[-1], right[-1]) if lost or won else Decimal(1)
    return [*left[:-1], middle, *reversed(right[:-1])]


def _coefficients(low: int, middle: int, high: int, power: int) -> list[Decimal]:
    """Those of x^0..x^power in (low + middle x + high x²)^power, by g' f = power f' g; all 0 if low is."""
    if low == 0:
        return [Decimal(0)] * (power + 1)
    rows = [_power(low, power)]
    for k in range(power):
        more = _WIDE.multiply(Decimal((power - k) * middle), rows[k])
        if k:
            more = _WIDE.add(more, _WIDE.multiply(Decimal((2 * power - k + 1) * high), rows[k - 1]))
        rows.append(_WIDE.divide(more, Decimal(low * (k + 1))))
    return rows


def _power(base: int, exponent: int) -> Decimal:
    """By squaring: every step is rounded as the standard says, which a library's own power need not be."""
    result, factor = Decimal(1), Decimal(base)
    while exponent:
        if exponent & 1:
            result = _WIDE.multiply(result, factor)
        factor, exponent = _WIDE.multiply(factor, factor), exponent >> 1
    return result


@lru_cache(maxsize=4)
def _uniforms(seed: int, count: int) -> tuple[float, ...]:
    chance = Random(seed)  # noqa: S311  (resampling, no secret)
    return tuple(sorted(chance.random() for _ in range(count)))


def _upper_tail(pairs: int, least: int) -> int:
    """How many of 2^pairs outcomes have at least `least` losses."""
    return sum(comb(pairs, k) for k in range(least, pairs + 1))


def _root(value: Fraction) -> Fraction:
    """The square root, cut after 60 digits."""
    scale = 10**_ROOT_DIGITS
    return Fraction(isqrt(int(value * scale * scale)), scale)
