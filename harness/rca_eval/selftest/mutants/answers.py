"""Answers that are not a function of the incident: order, chance, clocks, memory of earlier incidents."""

from rca_eval.selftest.mutant import Mutant
from rca_eval.selftest.mutants.order import NO_SCORES

SORT = "return -one.score, one.key"
GATHER = "pipeline = Pipeline(incident, gather(incident, graph, memory), blend)"
ANSWER = "found = answer(run, incident, graph, blend, memory)"
CANDIDATES = "candidates = graph.candidates()"
TIES = "two candidates with one score, after rounding"


def _i(name: str, new: str, imitates: str, *, needs: str = "", scores: bool = True) -> Mutant:
    more = () if scores else NO_SCORES
    return Mutant(name, "answers", "engine/investigation.py", SORT, new, imitates, needs=needs, more=more)


def _a(name: str, old: str, new: str, imitates: str, *, needs: str = "", equivalent: str = "") -> Mutant:
    return Mutant(name, "answers", "engine/answer.py", old, new, imitates, equivalent, needs)


def _e(name: str, old: str, new: str, imitates: str, *, needs: str = "", equivalent: str = "") -> Mutant:
    return Mutant(name, "answers", "job/engine.py", old, new, imitates, equivalent, needs)


MUTANTS = (
    _i("ties-by-hash", "return -one.score, hash(one.key)", "ties are broken by hash()", needs=TIES),
    _i(
        "order-by-hash",
        "return Fraction(hash(one.key)), one.key",
        "candidates come in the order of a set",
        scores=False,
    ),
    _i("ties-by-identity", "return -one.score, id(one)", "ties are broken by address", needs=TIES),
    _i(
        "ties-by-chance",
        'return -one.score, __import__("random").random()',
        "ties are broken by chance",
        needs=TIES,
    ),
    _i(
        "scores-with-noise",
        'return -one.score + Fraction(__import__("random").randrange(-30, 30), 1000), one.key',
        "a sampling ranker: noise of three hundredths",
        scores=False,
    ),
    _i(
        "ties-by-time",
        'return -one.score, __import__("time").perf_counter_ns() % 7, one.key',
        "ties are broken by the clock",
        needs=TIES,
    ),
    _i(
        "ties-by-process",
        'return -one.score, one.key if __import__("os").getpid() % 2 else one.key[::-1]',
        "ties are broken differently in every other process",
        needs=TIES,
    ),
    Mutant(
        "ties-by-insertion",
        "answers",
        "engine/investigation.py",
        SORT,
        "return (-one.score,)",
        "ties stay in the order in which services were listed",
        needs=TIES,
        more=(
            (
                "engine/investigation.py",
                CANDIDATES,
                "listed = [one.key for one in incident.topology.services]\n"
                "    candidates = sorted(graph.candidates(), key=lambda row: listed.index(row.key))",
            ),
        ),
    ),
    Mutant(
        "first-listed-first",
        "answers",
        "engine/investigation.py",
        SORT,
        "return (Fraction(0),)",
        "candidates stay in the order in which services were listed",
        more=(
            *NO_SCORES,
            (
                "engine/investigation.py",
                CANDIDATES,
                "listed = [one.key for one in incident.topology.services]\n"
                "    candidates = sorted(graph.candidates(), key=lambda row: listed.index(row.key))",
            ),
        ),
    ),
    Mutant(
        "findings-cached-by-symptom",
        "answers",
        "engine/answer.py",
        GATHER,
        "pipeline = _KEPT.setdefault(incident.alert.service, Pipeline(incident, gather(incident, graph, memory), blend))",
        "findings are cached under the service that alerts",
        more=(
            (
                "engine/answer.py",
                "MAX_ID, MAX_IDS = 253, 200",
                "MAX_ID, MAX_IDS = 253, 200\n_KEPT: dict[str, Pipeline] = {}",
            ),
        ),
    ),
    Mutant(
        "findings-cached-by-alert",
        "answers",
        "engine/answer.py",
        GATHER,
        "pipeline = _KEPT.setdefault(incident.alert.name, Pipeline(incident, gather(incident, graph, memory), blend))",
        "findings are cached under the alert's name",
        more=(
            (
                "engine/answer.py",
                "MAX_ID, MAX_IDS = 253, 200",
                "MAX_ID, MAX_IDS = 253, 200\n_KEPT: dict[str, Pipeline] = {}",
            ),
        ),
    ),
    Mutant(
        "findings-cached-by-case",
        "answers",
        "engine/answer.py",
        GATHER,
        "pipeline = _KEPT.setdefault(run.case, Pipeline(incident, gather(incident, graph, memory), blend))",
        "findings are cached under the case",
        equivalent="a case has one incident in a whole run, whatever the variant, and findings do not depend on modes",
        more=(
            (
                "engine/answer.py",
                "MAX_ID, MAX_IDS = 253, 200",
                "MAX_ID, MAX_IDS = 253, 200\n_KEPT: dict[str, Pipeline] = {}",
            ),
        ),
    ),
    Mutant(
        "modes-of-the-first-run",
        "answers",
        "engine/answer.py",
        "active = active_keys(run.modes)",
        'active = _KEPT.setdefault("modes", active_keys(run.modes))',
        "modes are read once, at the first run",
        more=(
            (
                "engine/answer.py",
                "MAX_ID, MAX_IDS = 253, 200",
                "MAX_ID, MAX_IDS = 253, 200\n_KEPT: dict[str, frozenset[str]] = {}",
            ),
        ),
    ),
    Mutant(
        "modes-only-grow",
        "answers",
        "engine/answer.py",
        "active = active_keys(run.modes)",
        'active = _KEPT["modes"] = _KEPT.get("modes", frozenset()) | active_keys(run.modes)',
        "a component once active stays active",
        more=(
            (
                "engine/answer.py",
                "MAX_ID, MAX_IDS = 253, 200",
                "MAX_ID, MAX_IDS = 253, 200\n_KEPT: dict[str, frozenset[str]] = {}",
            ),
        ),
    ),
    Mutant(
        "changes-kept-between-incidents",
        "answers",
        "engine/investigation.py",
        "    changes: dict[str, list[str]] = {}\n",
        "    changes = _KEPT\n",
        "a dictionary is shared by all incidents: a change counts for ever",
        more=(
            (
                "engine/investigation.py",
                "_ZERO = Fraction(0)\n",
                "_ZERO = Fraction(0)\n_KEPT: dict[str, list[str]] = {}\n",
            ),
        ),
    ),
    _a(
        "decision-with-the-time",
        "decision=governing.decision",
        "decision=f\"{governing.decision} at {__import__('time').time_ns()}\"",
        "the decision carries the time",
    ),
    _a(
        "evidence-with-the-process",
        "evidence=evidence_ids(governing.ranking)",
        'evidence=(*evidence_ids(governing.ranking), str(__import__("os").getpid()))',
        "the evidence carries the process",
    ),
    _a(
        "evidence-in-the-order-of-a-set",
        "evidence=evidence_ids(governing.ranking)",
        "evidence=tuple({*evidence_ids(governing.ranking)})",
        "evidence comes in the order of a set",
        needs="an answer with several pieces of evidence",
    ),
    _a(
        "terms-lost",
        "terms={term: _figure(value) for term, value in one.terms.items()},",
        "",
        "an answer without its terms",
    ),
    _a("scores-lost", "score=_figure(one.score),", "", "an answer without scores"),
    _a(
        "answers-nothing",
        "candidates=entities(governing.ranking)",
        "candidates=()",
        "an answer without candidates",
    ),
    _e(
        "answers-of-the-other-repeat",
        ANSWER,
        ANSWER + '\n        if os.environ.get("RCA_EVAL_REPEAT") == "2":\n'
        '            found = found.model_copy(update={"candidates": found.candidates[::-1][-2:]})',
        "the second process answers something else",
    ),
    _e(
        "every-seventh-fails",
        "answers.append(_answer(run, incident, store, blend, name))",
        'answers.append(_failed(run, "rate limit") if len(answers) % 7 == 6 else _answer(run, incident, store, blend, name))',
        "every seventh answer is an error",
    ),
    _e(
        "last-run-forgotten",
        "for run in manifest.runs:",
        "for run in manifest.runs[:-1]:",
        "a loop ends before the last run",
    ),
)
