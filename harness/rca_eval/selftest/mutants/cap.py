"""A wrong evidence cap: where it begins, how much is left above, and what counts as evidence."""

from rca_eval.selftest.mutant import Mutant
from rca_eval.selftest.mutants.order import NO_SCORES

KAPPA = "KAPPA = (Fraction(45, 100), Fraction(70, 100))"
ABOVE = "KAPPA[kinds] + SLOPE * (score - KAPPA[kinds])"
CLIPPED = "a rival that the cap holds down to the cause's score or below, and that leads without the cap"


def _c(name: str, old: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(name, "cap", "engine/cap.py", old, new, imitates, equivalent, needs)


def _p(name: str, old: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(name, "cap", "engine/pipeline.py", old, new, imitates, equivalent, needs)


MUTANTS = (
    _c("cap-hard", ABOVE, "KAPPA[kinds]", "a hard clip: what is above becomes a tie"),
    _c("cap-none", ABOVE, "score", "nothing is capped", needs=CLIPPED),
    _c(
        "cap-steep",
        "SLOPE = Fraction(1, 4)",
        "SLOPE = Fraction(3, 4)",
        "three quarters are left above the cap",
        needs=CLIPPED,
    ),
    _c(
        "cap-falls",
        "SLOPE = Fraction(1, 4)",
        "SLOPE = Fraction(-1, 4)",
        "the more above the cap, the lower the score",
    ),
    _c(
        "cap-without-evidence-only",
        KAPPA,
        "KAPPA = (Fraction(45, 100),)",
        "one kind of evidence is enough",
        needs=CLIPPED,
    ),
    _c(
        "cap-for-two-kinds",
        KAPPA,
        "KAPPA = (Fraction(45, 100), Fraction(70, 100), Fraction(70, 100))",
        "two kinds are not enough",
    ),
    _c("cap-for-all", KAPPA, "KAPPA = (Fraction(45, 100),) * 9", "everybody is capped at .45"),
    _c(
        "cap-seventy-for-all",
        "if kinds >= len(KAPPA) or score <= KAPPA[kinds]:",
        "kinds = 1\n    if score <= KAPPA[kinds]:",
        "everybody is capped at .70, whatever the evidence",
    ),
    _c(
        "cap-kinds-swapped",
        KAPPA,
        "KAPPA = (Fraction(70, 100), Fraction(45, 100))",
        "no evidence is better than one kind",
    ),
    _c(
        "cap-higher",
        KAPPA,
        "KAPPA = (Fraction(75, 100), Fraction(90, 100))",
        "the caps are too high to matter",
        needs=CLIPPED,
    ),
    _c(
        "cap-below",
        "score <= KAPPA[kinds]",
        "score > KAPPA[kinds]",
        "a comparison is turned round: low scores are raised",
    ),
    _c(
        "cap-more-evidence-less",
        "if kinds >= len(KAPPA) or",
        "kinds = max(0, 3 - kinds)\n    if kinds >= len(KAPPA) or",
        "the more evidence, the lower the cap",
    ),
    _p(
        "cap-counts-pieces",
        "kinds = len(self._evidence.kinds(one.key))",
        "kinds = sum(len(self._evidence.hard(one.key, kind)) for kind in self._evidence.kinds(one.key))",
        "pieces of evidence are counted, not kinds",
        needs="a rival with several pieces of one kind, such as three deploys",
    ),
    _p(
        "cap-counts-of-the-first",
        "kinds = len(self._evidence.kinds(one.key))",
        "kinds = len(self._evidence.kinds(self._values[0][0]))",
        "everybody is measured by one service's evidence",
    ),
    _p(
        "cap-as-if-no-evidence",
        "kinds = len(self._evidence.kinds(one.key))",
        "kinds = 0",
        "evidence is not counted",
    ),
    _p(
        "cap-before-rounding",
        "Scored(one.key, rounded(score),",
        "Scored(one.key, round(score, 2),",
        "capped scores have two digits",
    ),
    Mutant(
        "cap-after-order",
        "cap",
        "engine/pipeline.py",
        "        scored.sort(key=order)\n",
        "        scored.sort(key=lambda one: (-sum((v for t, v in one.terms.items() if t != 'cap'), Fraction(0)), one.key))\n",
        "the order is that of the scores before the cap",
        more=NO_SCORES,
    ),
    _p(
        "cap-takes-from-topology",
        "score = capped(exact, kinds)",
        'score = capped(exact, kinds) - one.terms["topo"] / 10',
        "a tenth of topology is taken off as well",
    ),
)
