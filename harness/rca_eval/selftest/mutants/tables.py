"""The wrong table: which terms are present, decided wrongly or for the wrong thing."""

from rca_eval.selftest.mutant import Mutant

CHOOSE = """        if change:
            return BARO if baro else ONSET
        return BARO_NO_CHANGE if baro else FLOOR"""
PRESENT = "change=bool(self._findings.changes), baro=baro)"
SCORE = 'weighted(key, values if memory else {**values, "hist": Fraction(0)}, table)'


def _choose(name: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(
        name, "tables", "engine/blend.py", CHOOSE, f"        return {new}", imitates, equivalent, needs
    )


def _present(name: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(name, "tables", "engine/pipeline.py", PRESENT, new, imitates, equivalent, needs)


MUTANTS = (
    _choose("floor-forced", "FLOOR", "one table for everything: the floor"),
    _choose("onset-forced", "BARO if baro else ONSET", "the change term is always in the table"),
    _choose("change-ignored", "BARO_NO_CHANGE if baro else FLOOR", "a change never chooses a table"),
    _choose("baro-ignored", "ONSET if change else FLOOR", "the BARO tables are never chosen"),
    _choose(
        "baro-table-with-change-only",
        "(BARO if baro else ONSET) if change else FLOOR",
        "the table without a change is forgotten",
    ),
    _choose(
        "baro-forced-over-change",
        "BARO_NO_CHANGE if baro else ONSET if change else FLOOR",
        "BARO displaces the change term",
    ),
    _choose(
        "five-terms-for-both",
        "BARO if baro else ONSET if change else FLOOR",
        "the five-term table is filled with zeros where nothing changed",
    ),
    _choose(
        "tables-swapped",
        "(BARO if not baro else ONSET) if change else (BARO_NO_CHANGE if not baro else FLOOR)",
        "a condition is turned round",
    ),
    _choose(
        "change-tables-swapped",
        "(BARO if baro else ONSET) if not change else (BARO_NO_CHANGE if baro else FLOOR)",
        "changed and unchanged incidents take each other's table",
    ),
    _present(
        "change-needs-baro",
        "change=bool(self._findings.changes) and baro, baro=baro)",
        "the change term sits behind the mode of the BARO term",
    ),
    _present(
        "change-present-from-two",
        "change=len(self._findings.changes) > 1, baro=baro)",
        "one changed service is not enough",
    ),
    _present(
        "change-present-for-one-only",
        "change=len(self._findings.changes) == 1, baro=baro)",
        "the change term gives up when several services changed",
        needs="a change-induced incident in which another candidate changed too",
    ),
    Mutant(
        "baro-always-present",
        "tables",
        "engine/pipeline.py",
        "key = (baro and self._findings.baro.present,",
        "key = (baro,",
        "presence of a BARO signal is not asked",
        needs="an incident whose loudest metric stays below z = 3, with something verified",
    ),
    _present(
        "baro-in-shadow",
        "change=bool(self._findings.changes), baro=self._findings.baro.present)",
        "the BARO tables apply whatever the mode",
    ),
    Mutant(
        "table-per-candidate",
        "tables",
        "engine/pipeline.py",
        SCORE,
        'weighted(key, values if memory else {**values, "hist": Fraction(0)}, self._blend.choose('
        'change=bool(values["chg"]), baro=baro and bool(values["baro"])))',
        "presence is read for each candidate, so a rival without a change is scored by the floor",
    ),
    Mutant(
        "table-per-candidate-change",
        "tables",
        "engine/pipeline.py",
        SCORE,
        'weighted(key, values if memory else {**values, "hist": Fraction(0)}, self._blend.choose('
        'change=bool(values["chg"]), baro=baro and self._findings.baro.present))',
        "presence of a change is read for each candidate",
    ),
    Mutant(
        "table-name-lost",
        "tables",
        "engine/answer.py",
        "table=governing.ranking.table.name",
        "table=None",
        "the answer does not say which table was used",
    ),
)
