"""Wrong arithmetic: rounding, floats, and what is done with the sum."""

from rca_eval.selftest.mutant import Mutant

ROUND = "return Fraction(nano(value), NANO)"
SUM = "Scored(key, rounded(sum(terms.values(), _ZERO)), terms)"
SCALED = "scaled = nano(value)"
HALF = "a score that lies exactly half-way between two numbers of nine digits"


def _r(name: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(
        name, "arithmetic", "engine/investigation.py", ROUND, f"return {new}", imitates, equivalent, needs
    )


def _s(name: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(
        name,
        "arithmetic",
        "engine/investigation.py",
        SUM,
        f"Scored(key, rounded({new}), terms)",
        imitates,
        equivalent,
        needs,
    )


MUTANTS = (
    _r("round-down", "Fraction(value * NANO // 1, NANO)", "digits are cut off instead of rounded"),
    _r("round-up", "Fraction(-(-value * NANO // 1), NANO)", "digits are rounded up"),
    _r(
        "round-half-up",
        "Fraction((value * NANO + Fraction(1, 2)) // 1, NANO)",
        "a half is rounded up, not to even",
        needs=HALF,
    ),
    _r("round-eight-digits", "Fraction(round(value * NANO / 10) * 10, NANO)", "scores have eight digits"),
    _r("round-six-digits", "Fraction(round(value * NANO / 1000) * 1000, NANO)", "scores have six digits"),
    _r("round-two-digits", "round(value, 2)", "scores have two digits"),
    _r("round-one-digit", "round(value, 1)", "scores have one digit"),
    _r(
        "not-rounded",
        "value",
        "scores are compared before they are rounded",
        needs="two candidates whose scores are one number after rounding, and not before it",
    ),
    _r(
        "round-by-float",
        "Fraction(round(float(value) * NANO), NANO)",
        "a score is a double until it is rounded",
        needs=HALF,
    ),
    _r("single-precision", "Fraction(float(f'{float(value):.6g}'))", "scores pass through single precision"),
    _s(
        "sum-of-floats",
        "Fraction(sum(float(one) for one in terms.values()))",
        "terms are added as doubles",
        needs=HALF,
    ),
    _s(
        "sum-over-present",
        "sum(terms.values(), _ZERO) / (sum((w for t, w in table.weights.items() if terms[t]), _ZERO) or 1)",
        "the sum is divided by the weights of what the candidate has",
    ),
    _s(
        "sum-over-weights",
        "sum(terms.values(), _ZERO) / sum(table.weights.values(), _ZERO)",
        "the sum is divided by the sum of the weights",
        equivalent="the weights of each of the four tables sum to exactly 1, so nothing is divided",
    ),
    _s("mean-of-terms", "sum(terms.values(), _ZERO) / len(terms)", "the mean is taken, not the sum"),
    _s("largest-term", "max(terms.values())", "the largest term is the score"),
    _s("sum-without-first", "sum(list(terms.values())[1:], _ZERO)", "a slice loses the first term"),
    _s("sum-without-last", "sum(list(terms.values())[:-1], _ZERO)", "a slice loses the last term"),
    _s(
        "sum-of-values",
        "sum((values[term] for term in terms), _ZERO)",
        "the weights are forgotten in the sum",
    ),
    _s("score-clipped", 'min(sum(terms.values(), _ZERO), Fraction("0.75"))', "scores end at .75"),
    _s("score-squared", "sum(terms.values(), _ZERO) ** 2", "a score is squared: same order, other numbers"),
    _s(
        "score-per-cent", "sum(terms.values(), _ZERO) * 100", "a score in per cent: same order, other numbers"
    ),
    Mutant(
        "terms-not-weighted",
        "arithmetic",
        "engine/investigation.py",
        SUM,
        "Scored(key, rounded(sum(terms.values(), _ZERO)), {term: values[term] for term in terms})",
        "the answer holds terms without their weights",
    ),
    Mutant(
        "half-up-in-whole-numbers",
        "arithmetic",
        "contract/numbers.py",
        "(twice > 0 or (twice == 0 and whole % 2 == 1))",
        "(twice >= 0)",
        "a half is rounded up wherever a figure is rounded",
        needs=HALF,
    ),
    Mutant(
        "round-by-fractions",
        "arithmetic",
        "contract/numbers.py",
        "return whole + (twice > 0 or (twice == 0 and whole % 2 == 1))",
        "return round(Fraction(value) * 10**9)",
        "the same rounding, by fractions",
        equivalent="`round` of a Fraction is half to even as well; a property test holds the two against each other",
    ),
    Mutant(
        "figures-cut-off",
        "arithmetic",
        "contract/numbers.py",
        SCALED,
        "scaled = int(value * 10**9)",
        "figures are cut off when they are written",
    ),
)
