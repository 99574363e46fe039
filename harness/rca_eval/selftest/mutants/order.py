"""Wrong order: sorting, ties, and how many candidates are answered."""

from rca_eval.selftest.mutant import Mutant

SORT = "return -one.score, one.key"
ANSWER = "return Ranking(table, tuple(scored), change_evidence(self._findings, table, scored))"
TIES = "two candidates with one score, after rounding"


# An answer may not put a higher score behind a lower one: it would be refused as a whole, and name no incident. So an
# engine that sorts wrongly is imitated by one that gives an order without scores.
NO_SCORES = (("engine/answer.py", "            score=_figure(one.score),\n", ""),)


def _ties(name: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(
        name, "order", "engine/investigation.py", SORT, f"return {new}", imitates, equivalent, needs
    )


def _sort(name: str, new: str, imitates: str, *, needs: str = "") -> Mutant:
    return Mutant(
        name,
        "order",
        "engine/investigation.py",
        SORT,
        f"return {new}",
        imitates,
        needs=needs,
        more=NO_SCORES,
    )


def _answer(name: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    new = ANSWER.replace("tuple(scored)", new)
    return Mutant(name, "order", "engine/pipeline.py", ANSWER, new, imitates, equivalent, needs)


MUTANTS = (
    _sort("order-ascending", "one.score, one.key", "a minus sign is lost"),
    _sort("order-by-name", "Fraction(0), one.key", "the score does not order anything"),
    _ties(
        "ties-by-name-backwards",
        "-one.score, ''.join(chr(0x10FFFF - ord(c)) for c in one.key) + chr(0x10FFFF)",
        "`reverse` also turns the order of ties",
        needs=TIES,
    ),
    _ties("ties-by-length", "-one.score, len(one.key), one.key", "ties go to the shorter name", needs=TIES),
    _ties(
        "ties-by-topology",
        "-one.score, -one.terms['topo'], one.key",
        "ties go to the more critical service",
        needs=TIES,
    ),
    _ties(
        "ties-without-a-key",
        "(-one.score,)",
        "the second key is thought to be superfluous",
        equivalent="the candidates arrive sorted by key (`IncidentGraph.candidates`), terms and cap keep that order, "
        "and Python's sort is stable: equal scores stay in the order of their keys",
    ),
    _sort("order-in-tenths", "-round(one.score, 1), one.key", "scores are compared with one digit"),
    _sort("order-in-hundredths", "-round(one.score, 2), one.key", "scores are compared with two digits"),
    _sort(
        "order-in-thousandths",
        "-round(one.score, 3), one.key",
        "scores are compared with three digits",
        needs="a cause ahead of a rival by less than .0005, and behind it by name",
    ),
    _sort(
        "order-by-topology-first",
        "-one.terms['topo'], -one.score, one.key",
        "the most critical service is always first",
    ),
    _sort(
        "order-by-errors-first",
        "-one.terms['tele'], -one.score, one.key",
        "the service with most errors is always first",
    ),
    _sort(
        "order-changed-first",
        "-one.terms.get('chg', 0), -one.score, one.key",
        "whoever was changed is always first",
        needs="an innocent change in the window, of a service that is not the cause",
    ),
    _ties(
        "order-by-absolute-score",
        "-abs(one.score), one.key",
        "the size of a score is compared, not the score",
        equivalent="no score is negative: weights and terms are not, the cap keeps the sign, and the hypotheses lower "
        "below 0 only after this sort",
    ),
    Mutant(
        "order-runner-up-first",
        "order",
        "engine/pipeline.py",
        ANSWER,
        ANSWER.replace("tuple(scored)", "(*scored[1::-1], *scored[2:])"),
        "the first two change places",
        more=NO_SCORES,
    ),
    _answer("answers-three", "tuple(scored[:3])", "only the three best are answered"),
    _answer(
        "answers-five",
        "tuple(scored[:5])",
        "only the five best are answered",
        needs="an incident with more than five candidates",
    ),
    _answer(
        "answers-without-zero",
        "tuple(one for one in scored if one.score)",
        "candidates with the score 0 are left out",
        needs="a candidate without any signal",
    ),
    _answer("answers-only-the-best", "tuple(scored[:1])", "only the best is answered"),
    _answer(
        "answers-without-the-symptom",
        "tuple(one for one in scored if one.key != self._evidence._incident.alert.service)",
        "who raised the alarm is thought to be innocent",
        needs="an incident whose cause is the service that alerts",
    ),
)
