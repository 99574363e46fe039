"""A wrong verification gate: what verifies, what contradicts, how far it looks, and what it then does."""

from rca_eval.selftest.mutant import Mutant
from rca_eval.selftest.mutants.order import NO_SCORES

SOFT = "if not seen.contradicted and seen.kinds & frozenset(HARD):"
ONLY = "an incident whose first candidate is wrong and has no hard evidence, or only the kind in question"
REFUTED = "an incident whose first candidate is wrong, has hard evidence, and is contradicted by this alone"


def _v(name: str, old: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(name, "verification", "engine/verification.py", old, new, imitates, equivalent, needs)


def _p(name: str, old: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(name, "verification", "engine/pipeline.py", old, new, imitates, equivalent, needs)


MUTANTS = (
    _v(
        "verified-without-evidence",
        SOFT,
        "if not seen.contradicted:",
        "soft evidence verifies: no contradiction is enough",
        needs=ONLY,
    ),
    _v(
        "verified-in-spite-of-contradiction",
        SOFT,
        "if seen.kinds & frozenset(HARD):",
        "contradictions are ignored",
        needs=REFUTED,
    ),
    _v(
        "verified-by-contradiction",
        SOFT,
        "if seen.contradicted:",
        "a condition is turned round: who is contradicted is verified",
    ),
    _v(
        "verified-by-two-kinds",
        SOFT,
        "if not seen.contradicted and len(seen.kinds & frozenset(HARD)) > 1:",
        "one kind of evidence is not enough",
        needs="a cause with one kind of hard evidence, whose rival has two",
    ),
    _v("verified-never", SOFT, "if False:", "nothing is ever verified"),
    _v(
        "verification-depth-one",
        "DEPTH = 3",
        "DEPTH = 1",
        "only the first candidate is looked at",
        needs="a cause at the second place, the first one contradicted",
    ),
    _v(
        "verification-depth-two",
        "DEPTH = 3",
        "DEPTH = 2",
        "only the first two candidates are looked at",
        needs="a cause at the third place, the first two contradicted",
    ),
    _v(
        "verification-depth-nine",
        "DEPTH = 3",
        "DEPTH = 9",
        "the machine looks on after the third candidate",
        needs="an incident in which only a wrong candidate behind the third place has hard evidence",
    ),
    _v(
        "verification-begins-second",
        "return _checking(1, seen, checks)",
        "return _checking(2, seen, checks)",
        "an index from 1 is taken for one from 0: the first is passed over",
    ),
    _v(
        "verification-too-few-checks",
        "MAX_CHECKS = 30",
        "MAX_CHECKS = 4",
        "the budget of checks is used up early",
    ),
    _v(
        "verified-one-off",
        "service = keys[states[-1].place - 1]",
        "service = keys[min(states[-1].place, len(keys) - 1)]",
        "the candidate after the verified one is named",
    ),
    _v(
        "verification-evidence-lost",
        "return Verification(tuple(states), service, kinds, ids)",
        "return Verification(tuple(states), service, kinds)",
        "the ids of the evidence are not handed on",
    ),
    _p(
        "verified-not-lifted",
        "ranked = lifted(ranking.candidates, verification.service)",
        "ranked = ranking.candidates",
        "the verified candidate does not lead",
        needs="a cause at the second place that the gate verifies, the first one contradicted",
    ),
    _p(
        "unverified-governs",
        "return Conclusion(self._ranked(False, memory, cap), verification)",
        "return Conclusion(ranking, verification)",
        "BARO governs although nothing was verified",
        needs="an incident with a BARO signal in which nothing is verified",
    ),
    _p(
        "verification-of-the-legacy-order",
        "verify([one.key for one in ranking.candidates], self._evidence)",
        "verify([one.key for one in self._ranked(False, memory, cap).candidates], self._evidence)",
        "the gate looks at the legacy order",
        needs="an incident that BARO and the legacy path order differently",
    ),
    _p(
        "verification-by-name",
        "verify([one.key for one in ranking.candidates], self._evidence)",
        "verify(sorted(one.key for one in ranking.candidates), self._evidence)",
        "candidates are checked by name, not by rank",
    ),
    _p(
        "verification-backwards",
        "verify([one.key for one in ranking.candidates], self._evidence)",
        "verify([one.key for one in ranking.candidates][::-1], self._evidence)",
        "candidates are checked from the last",
    ),
    Mutant(
        "lift-to-a-tie",
        "verification",
        "engine/order.py",
        "others[0].score + UNIT",
        "others[0].score",
        "the lifted candidate gets the leader's score: a tie, and a tie is a loss",
        needs="a cause at the second place that the gate verifies",
    ),
    Mutant(
        "lift-swaps",
        "verification",
        "engine/order.py",
        "others = [one for one in ranked if one.key != key]",
        "others = sorted((one for one in ranked if one.key != key), key=lambda one: one.key)",
        "the others lose their order when one is lifted",
        more=NO_SCORES,
    ),
)
