"""A wrong memory: what it knows that it must not know, what it recalls, and how much that counts."""

from rca_eval.selftest.mutant import Mutant

OTHERS = "one.incident != incident.id and one.family != family"
EARLIER = "one.row.resolved_at < begin"
RESOLVED = "if row.resolved_at < query.before]"
FOUND = "for row in rows if int(row[1]) < before]"
BEST = "found[cause] = max(found.get(cause, Fraction(0)), share * one.similarity)"
SCORES = 'weighted(key, values if memory else {**values, "hist": Fraction(0)}, table)'
WEIGHTS = "SYMPTOM, ALERT, SERVICES = Fraction(4, 10), Fraction(3, 10), Fraction(3, 10)"
MATTERS = "a recalled incident whose cause is a rival here, close enough to win if it counted more"
HELPS = "an incident that is lost without a recall"
NEVER = (
    "no incident can: who recalls the answer is always right (only a poisoned past in a unit test shows it)"
)
TIMELESS = (
    ("job/past.py", EARLIER, "True"),
    ("engine/recall.py", RESOLVED, "]"),
    ("graph/memory.py", FOUND, "for row in rows]"),
)


def _r(name: str, old: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(name, "memory", "engine/recall.py", old, new, imitates, equivalent, needs)


def _p(name: str, old: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(name, "memory", "job/past.py", old, new, imitates, equivalent, needs)


MUTANTS = (
    Mutant(
        "memory-recalls-itself", "memory", "job/past.py", OTHERS, "True",
        "the incident itself is in its own past", needs=NEVER, more=TIMELESS,
    ),
    Mutant(
        "memory-knows-the-future", "memory", *TIMELESS[0],
        "incidents that come later are recalled",
        needs="a later incident, similar and of another family, whose cause is a rival here", more=TIMELESS[1:],
    ),
    _p(
        "memory-knows-its-family", OTHERS, "one.incident != incident.id",
        "earlier incidents of the same family are recalled",
        needs="an earlier incident of the same label.family whose cause is a rival here",
    ),
    _p(
        "memory-only-its-family", OTHERS, OTHERS.replace("one.family !=", "one.family =="),
        "a comparison is turned round: only the same family is recalled",
        needs="an earlier incident of the same label.family whose cause is a rival here",
    ),
    _p("memory-too-short", EARLIER, EARLIER + " and one.row.resolved_at > begin - 86400", "the memory ends after a day", needs=HELPS),
    _p("memory-causes-are-symptoms", "causes=tuple(sorted(incident.expected_root_cause))", "causes=(alert.service,)", "the service that alerted is remembered as the cause"),
    _p("memory-causes-are-failing", "causes=tuple(sorted(incident.expected_root_cause))", "causes=tuple(sorted(failing(rows)))", "whatever failed is remembered as the cause", needs=MATTERS),
    _r("recall-from-thirty", "THRESHOLD = Fraction(6, 10)", "THRESHOLD = Fraction(3, 10)", "what is little alike is recalled too", needs=MATTERS),
    _r("recall-everything", "THRESHOLD = Fraction(6, 10)", "THRESHOLD = Fraction(0)", "everything is recalled", needs=MATTERS),
    _r("recall-nothing", "THRESHOLD = Fraction(6, 10)", "THRESHOLD = Fraction(2)", "nothing is alike enough", needs=HELPS),
    _r("recall-above-sixty", "one.similarity >= THRESHOLD", "one.similarity > THRESHOLD", "the threshold itself is not enough", needs="a past incident with a similarity of exactly .6 that decides"),
    _r("recall-one", "TOP = 3", "TOP = 1", "only the most similar is recalled", needs="a recall of two incidents with different causes, the second of which decides"),
    _r("recall-ninety-nine", "TOP = 3", "TOP = 99", "all that is similar is recalled", needs="more than three similar past incidents, the fourth with a rival's cause"),
    _r("recall-least-similar", "key=lambda one: (-one.similarity, one.past.key)", "key=lambda one: (one.similarity, one.past.key)", "the least similar come first", needs="more than three similar past incidents"),
    _r("recall-by-symptom-only", WEIGHTS, "SYMPTOM, ALERT, SERVICES = Fraction(1), Fraction(0), Fraction(0)", "only the symptom is compared", needs=MATTERS),
    _r("recall-by-alert-only", WEIGHTS, "SYMPTOM, ALERT, SERVICES = Fraction(0), Fraction(1), Fraction(0)", "only the alert is compared", needs=MATTERS),
    _r("recall-by-services-only", WEIGHTS, "SYMPTOM, ALERT, SERVICES = Fraction(0), Fraction(0), Fraction(1)", "only the failing services are compared", needs=MATTERS),
    _r("recall-overlap", "Fraction(len(theirs & query.services), union) if union else 0", "Fraction(bool(theirs & query.services))", "one common service is as good as all", needs=MATTERS),
    _r("recall-failing-from-ninety", 'FAILING_FROM = Decimal("0.5")', 'FAILING_FROM = Decimal("0.9")', "only services with errors of .9 are compared", needs=MATTERS),
    _r("history-whole", "SHARE = Fraction(1, 2)", "SHARE = Fraction(1)", "a recall counts fully", needs=MATTERS),
    _r("history-threefold", "SHARE = Fraction(1, 2)", "SHARE = Fraction(3, 2)", "a recall counts three times as much", needs=MATTERS),
    _r("history-none", "SHARE = Fraction(1, 2)", "SHARE = Fraction(0)", "a recall counts nothing", needs=HELPS),
    _r("history-sum", BEST, BEST.replace("max(found.get(cause, Fraction(0)), share * one.similarity)", "found.get(cause, Fraction(0)) + share * one.similarity"), "recalls of one cause are added", needs="two recalled incidents with one cause, a rival here"),
    _r("history-last", BEST, "found[cause] = share * one.similarity", "the least similar recall of a cause counts", needs="two recalled incidents with one cause"),
    _r("history-negative", BEST, BEST + "\n            found[cause] = -found[cause]", "a recall speaks against a cause"),
    Mutant(
        "history-in-shadow", "memory", "engine/pipeline.py", SCORES, "weighted(key, values, table)",
        "the memory counts whatever its mode",
    ),
    Mutant(
        "history-never", "memory", "engine/pipeline.py", SCORES,
        'weighted(key, {**values, "hist": Fraction(0)}, table)', "the memory never counts", needs=HELPS,
    ),
    Mutant(
        "history-prior-of-half", "memory", "engine/investigation.py", "findings.history.get(row.key, _ZERO)",
        "findings.history.get(row.key, Fraction(1, 2))", "who was not recalled gets the middle",
        needs="a recall that speaks for the cause with less than one half",
    ),
    Mutant(
        "history-of-everybody", "memory", "engine/investigation.py", "findings.history.get(row.key, _ZERO)",
        "max(findings.history.values(), default=_ZERO)", "a recall speaks for every candidate", needs=HELPS,
    ),
    Mutant(
        "memory-near-one", "memory", "graph/memory.py", "FIRST_BATCH, LAST_BATCH, WIDER = 64, 4096, 4",
        "FIRST_BATCH, LAST_BATCH, WIDER = 1, 1, 4", "the index is asked for one row only",
        needs="two similar past incidents, the farther of which decides",
    ),
    Mutant(
        "memory-near-cuts", "memory", "graph/memory.py", FOUND,
        "for row in rows if int(row[1]) < before and float(row[-1]) < 0.05]",
        "the index's own distance decides, too strictly", needs=HELPS,
    ),
    Mutant(
        "memory-kept-between-incidents", "memory", "job/engine.py",
        "    key = memory_key(name)\n    store.drop(key)\n", "    key = memory_key(name)\n",
        "one memory serves all incidents, so it knows what only others may know",
        needs="an earlier incident of the same label.family, or a later one, whose cause is a rival here",
        more=(("job/engine.py", "        yield memory\n    finally:\n        store.drop(key)\n", "        yield memory\n    finally:\n        pass\n"),),
    ),
    Mutant(
        "memory-query-of-an-hour-later", "memory", "engine/recall.py",
        "failing(incident.telemetry.services.items()), onset\n",
        "failing(incident.telemetry.services.items()), onset + 3600\n",
        "what was resolved an hour after the onset is known",
        equivalent="`job.past` has left out what was not resolved before the onset, so a later limit lets nothing in",
    ),
)  # fmt: skip
