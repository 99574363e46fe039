"""A wrong hypothesis machine: what refutes, what supports, when it stops, and what is done with the refuted."""

from rca_eval.selftest.mutant import Mutant
from rca_eval.selftest.mutants.order import NO_SCORES

QUESTIONS = "QUESTIONS: tuple[Contradiction | HardKind, ...] = (*CONTRADICTIONS, *HARD)"
REFUTED = (
    "an incident whose first candidate is wrong and contradicted, so that the cause leads once it is lowered"
)
BOTH = "an incident whose first candidate is wrong, is contradicted, and has hard evidence as well"
DEEP = "an incident whose first candidates are all wrong and contradicted, with the cause behind them"


def _h(name: str, old: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(name, "hypotheses", "engine/hypotheses.py", old, new, imitates, equivalent, needs)


def _p(name: str, old: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(name, "hypotheses", "engine/pipeline.py", old, new, imitates, equivalent, needs)


MUTANTS = (
    _h("hypotheses-one", "LIMIT = 5", "LIMIT = 1", "only the first candidate is a hypothesis", needs=DEEP),
    _h("hypotheses-two", "LIMIT = 5", "LIMIT = 2", "only two candidates are hypotheses", needs=DEEP),
    _h(
        "hypotheses-evidence-first", QUESTIONS,
        "QUESTIONS: tuple[Contradiction | HardKind, ...] = (*HARD, *CONTRADICTIONS)",
        "evidence is looked for before contradictions", needs=BOTH,
    ),
    _h("hypotheses-no-contradictions", QUESTIONS, "QUESTIONS: tuple[Contradiction | HardKind, ...] = HARD", "contradictions are not asked for", needs=REFUTED),
    _h(
        "hypotheses-no-evidence", QUESTIONS,
        "QUESTIONS: tuple[Contradiction | HardKind, ...] = CONTRADICTIONS",
        "evidence is not asked for: the machine goes on past the cause",
        needs="an incident in which a candidate behind the supported one is contradicted",
    ),
    _h("hypotheses-last-question-lost", "if state.kind + 1 < len(QUESTIONS):", "if state.kind + 2 < len(QUESTIONS):", "an index is one short: the last question is not asked", needs="a cause whose only hard evidence is a crash"),
    _h("hypotheses-first-question-only", "if state.kind + 1 < len(QUESTIONS):", "if False:", "only the first question is asked", needs=REFUTED),
    _h("hypotheses-refuted-by-evidence", 'return _ended(_moved(state, "Supported", question.kind), "Concluded", question.kind)', 'return _next(_moved(state, "Refuted", question.kind))', "hard evidence refutes"),
    _h("hypotheses-supported-by-contradiction", 'return _next(_moved(state, "Refuted", question.kind))', 'return _ended(_moved(state, "Supported", question.kind), "Concluded", question.kind)', "a contradiction supports", needs=REFUTED),
    _h("hypotheses-do-not-stop", 'return _ended(_moved(state, "Supported", question.kind), "Concluded", question.kind)', 'return _next(_moved(state, "Supported", question.kind))', "the machine goes on after the supported one", needs="an incident in which a candidate behind the supported one is contradicted"),
    _h("hypotheses-stop-at-the-first-refuted", 'return _next(_moved(state, "Refuted", question.kind))', 'return _ended(_moved(state, "Refuted", question.kind), "Exhausted", question.kind)', "the machine ends at the first refutation", needs=DEEP),
    _h("hypotheses-answers-inverted", "return evidence.contradicts(question.service, question.kind)", "return not evidence.contradicts(question.service, question.kind)", "a contradiction that does not hold refutes"),
    _h("hypotheses-evidence-inverted", "return bool(evidence.hard(question.service, question.kind))", "return not evidence.hard(question.service, question.kind)", "missing evidence supports"),
    _h("hypotheses-of-the-first", "return Question(state.each[state.at].service, QUESTIONS[state.kind])", "return Question(state.each[0].service, QUESTIONS[state.kind])", "every question is about the first candidate", needs=DEEP),
    _h("hypotheses-from-the-last", "for service in ranking[:LIMIT])", "for service in ranking[::-1][:LIMIT])", "hypotheses begin with the last candidate"),
    _h("hypotheses-kind-not-reset", "return replace(state, at=state.at + 1, kind=0)", "return replace(state, at=state.at + 1)", "the next hypothesis begins where the last one ended", needs=DEEP),
    _h("hypotheses-next-skipped", "return replace(state, at=state.at + 1, kind=0)", "return replace(state, at=min(state.at + 2, len(state.each) - 1), kind=0)", "every other hypothesis is passed over", needs=DEEP),
    _h("hypotheses-tested-are-refuted", 'if one.status == "Refuted")', 'if one.status in ("Refuted", "Tested"))', "whoever was only tested goes behind as well", needs="an incident with a candidate for which no question decides"),
    _h("hypotheses-supported-are-refuted", 'if one.status == "Refuted")', 'if one.status in ("Refuted", "Supported"))', "who is supported goes behind"),
    _h("hypotheses-all-but-supported-are-refuted", 'if one.status == "Refuted")', 'if one.status != "Supported")', "whoever is not supported goes behind", needs="an incident in which a candidate behind the supported one has a higher score than another"),
    _p("refuted-not-lowered", "ranked = lowered(ranking.candidates, hypotheses.refuted)", "ranked = ranking.candidates", "the refuted keep their places", needs=REFUTED),
    _p("refuted-dropped", "ranked = lowered(ranking.candidates, hypotheses.refuted)", "ranked = tuple(one for one in ranking.candidates if one.key not in hypotheses.refuted)", "the refuted are left out of the answer", needs="an incident with a refuted candidate"),
    _p("only-the-leader-is-lowered", "ranked = lowered(ranking.candidates, hypotheses.refuted)", "ranked = lowered(ranking.candidates, hypotheses.refuted & {ranking.candidates[0].key})", "only a refuted leader goes behind", needs=DEEP),
    _p("hypotheses-before-verification", "hypotheses = investigate(found.keys, self._evidence)", "hypotheses = investigate([one.key for one in self._ranked(False, False, False).candidates], self._evidence)", "hypotheses come from the legacy order", needs="an incident that the components before order differently, with a refuted candidate"),
    Mutant("lowered-to-a-tie", "hypotheses", "engine/order.py", "bound - UNIT)", "bound)", "the refuted get the score of the last of the others", needs=REFUTED),
    Mutant("lowered-in-the-middle", "hypotheses", "engine/order.py", "bound, before, moved = first[-1].score, None, []", "bound, before, moved = first[0].score, None, []", "the refuted go behind the first, not behind all", needs="an incident with a refuted leader and two others", more=NO_SCORES),
    Mutant("lowered-by-name", "hypotheses", "engine/order.py", "return (*first, *sorted(moved, key=order))", "return (*sorted(first, key=lambda one: one.key), *moved)", "the others are ordered by name when one is lowered", needs=REFUTED, more=NO_SCORES),
)  # fmt: skip
