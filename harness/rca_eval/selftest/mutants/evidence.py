"""Wrong evidence: what counts as hard, what contradicts, and when a service began to deviate."""

from rca_eval.selftest.mutant import Mutant

KINDS = 'HARD: tuple[HardKind, ...] = ("E1", "E2", "E3", "E4")'
AGAINST = 'CONTRADICTIONS: tuple[Contradiction, ...] = ("Unreachable", "Late", "Quiet")'
REFUTED = "an incident whose first candidate is wrong, has hard evidence, and is contradicted by this alone"


def _e(name: str, old: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(name, "verification", "engine/evidence.py", old, new, imitates, equivalent, needs)


MUTANTS = (
    _e("hard-without-change", KINDS, KINDS.replace('"E1", ', ""), "a change is no evidence"),
    _e("hard-without-errors", KINDS, KINDS.replace('"E2", ', ""), "an own error ratio is no evidence"),
    _e("hard-without-deviation", KINDS, KINDS.replace('"E3", ', ""), "a deviation is no evidence"),
    _e(
        "hard-without-crash",
        KINDS,
        KINDS.replace(', "E4"', ""),
        "a crash is no evidence",
        needs="a cause whose only hard evidence is `up == 0` or a restart",
    ),
    _e(
        "evidence-errors-any",
        "if now < ERROR_FROM or now < ERROR_TIMES * before:",
        "if now < ERROR_FROM:",
        "a rate that was high before counts as new",
        needs="a service that has always failed, leading without being the cause",
    ),
    _e(
        "evidence-errors-either",
        "if now < ERROR_FROM or now < ERROR_TIMES * before:",
        "if now < ERROR_FROM and now < ERROR_TIMES * before:",
        "an `or` becomes an `and`",
        needs="a service that has always failed, or one with tiny errors, leading without being the cause",
    ),
    _e(
        "evidence-errors-from-one",
        "ERROR_FROM, ERROR_TIMES = Fraction(1, 5), 3",
        "ERROR_FROM, ERROR_TIMES = Fraction(19, 20), 3",
        "only an error ratio of .95 is evidence",
    ),
    _e(
        "evidence-deviation-any-time",
        "if start is None or start[0] > self._symptom_start:",
        "if start is None:",
        "a deviation after the symptom's counts: order in time is ignored",
        needs="a leading wrong candidate whose only hard evidence is a deviation later than the symptom's",
    ),
    _e(
        "evidence-deviation-strictly-before",
        "start[0] > self._symptom_start:",
        "start[0] >= self._symptom_start:",
        "who deviates in the same second as the symptom is too late",
    ),
    _e(
        "evidence-deviation-after",
        "start[0] > self._symptom_start:",
        "start[0] < self._symptom_start:",
        "who deviates before the symptom is refused, and after it believed",
    ),
    _e(
        "contradiction-unreachable-gone",
        AGAINST,
        AGAINST.replace('"Unreachable", ', ""),
        "who cannot be reached is not refuted",
    ),
    _e(
        "contradiction-late-gone",
        AGAINST,
        AGAINST.replace('"Late", ', ""),
        "who comes too late is not refuted",
        needs=REFUTED,
    ),
    _e(
        "contradiction-quiet-gone",
        AGAINST,
        AGAINST.replace(', "Quiet"', ""),
        "who is quiet is not refuted",
        needs=REFUTED + "; a quiet one needs a hard kind such as E4",
    ),
    _e(
        "late-after-an-hour",
        "LATE_SECONDS = 120",
        "LATE_SECONDS = 3600",
        "late is after an hour",
        needs=REFUTED,
    ),
    _e(
        "late-at-once",
        "LATE_SECONDS = 120",
        "LATE_SECONDS = -1",
        "everybody who is not earlier than the symptom is late",
    ),
    _e(
        "late-without-change",
        "start[0] > self._symptom_start + LATE_SECONDS\n            and service not in self._findings.changes",
        "start[0] > self._symptom_start + LATE_SECONDS",
        "a change does not excuse who comes late",
        needs="a changed cause whose deviation begins more than 120 s after the symptom's",
    ),
    _e(
        "quiet-from-one",
        "QUIET_BELOW = Fraction(1, 20)",
        "QUIET_BELOW = Fraction(1)",
        "nearly everybody is quiet",
        needs="a cause that leads with an error ratio and no deviation, in an incident where the gate matters",
    ),
    _e(
        "quiet-without-change",
        "< PRESENT_FROM\n            and service not in self._findings.changes",
        "< PRESENT_FROM",
        "a change does not excuse who is quiet",
        needs="a changed cause without errors and deviation",
    ),
    _e(
        "reached-backwards",
        "callees.setdefault(caller, []).append(callee)",
        "callees.setdefault(callee, []).append(caller)",
        "what is reachable is computed against the calls",
    ),
    Mutant(
        "start-any-sample",
        "verification",
        "engine/starts.py",
        "(value <= low or value >= high)",
        "value is not None",
        "every sample is the first deviation",
    ),
    Mutant(
        "start-rise-only",
        "verification",
        "engine/starts.py",
        "(value <= low or value >= high)",
        "value >= high",
        "only a rise is a deviation",
        needs="a cause whose metric falls, in an incident where the gate matters",
    ),
    Mutant(
        "start-last",
        "verification",
        "engine/starts.py",
        "return min(moments, default=None)",
        "return max(moments, default=None)",
        "the last deviation is taken for the first",
    ),
    Mutant(
        "start-at-the-onset",
        "verification",
        "engine/starts.py",
        "if onset - QUIET_SECONDS <= at <= onset + AFTER_SECONDS and",
        "if onset <= at <= onset + AFTER_SECONDS and",
        "deviations in the last minute before the onset are not seen",
        needs="a cause that deviates before T, and a symptom that deviates before T and after the cause",
    ),
)
