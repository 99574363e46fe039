"""Wrong names: services that are cut, joined or confused."""

from rca_eval.selftest.mutant import Mutant

CANDIDATE = "Candidate(str(key), _exact(a), _exact(b), _exact(c))"
NESTED = "a service whose name begins with, or contains, another candidate's name, one of them changed"


def _c(name: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    new = CANDIDATE.replace("str(key)", new)
    return Mutant(name, "keys", "graph/store.py", CANDIDATE, new, imitates, equivalent, needs)


def _i(name: str, old: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(name, "keys", "engine/investigation.py", old, new, imitates, equivalent, needs)


MUTANTS = (
    _c("name-before-the-dash", 'str(key).split("-")[0]', "a service is what stands before the first dash"),
    _c("name-without-last-part", 'str(key).rpartition("-")[0] or str(key)', "a workload is taken for a Pod"),
    _c("name-with-underscores", 'str(key).replace("-", "_")', "names are made valid for something else"),
    _c("name-cut", "str(key)[:12]", "names end after twelve characters"),
    _c("name-in-capitals", "str(key).upper()", "names are made upper case"),
    _c("name-with-namespace", '"default/" + str(key)', "a namespace is put in front"),
    _c("name-without-api", 'str(key).removesuffix("-api")', "a suffix is thought to be noise"),
    _i(
        "changes-by-beginning",
        "Fraction(row.key in findings.changes)",
        "Fraction(any(changed.startswith(row.key) for changed in findings.changes))",
        "a change is matched by the beginning of the name",
        needs=NESTED,
    ),
    _i(
        "changes-by-substring",
        "Fraction(row.key in findings.changes)",
        "Fraction(any(row.key in changed for changed in findings.changes))",
        "a change is matched by a part of the name",
        needs=NESTED,
    ),
    _i(
        "changes-by-first-part",
        "Fraction(row.key in findings.changes)",
        'Fraction(row.key.split("-")[0] in {one.split("-")[0] for one in findings.changes})',
        "a change is matched by what stands before the dash",
        needs="two candidates with one first part, one of them changed",
    ),
    _i(
        "series-by-beginning",
        "telemetry[key].series if key in telemetry else ()",
        "next((telemetry[one].series for one in sorted(telemetry) if one.startswith(key[:4])), ())",
        "series are found by the beginning of a name",
        needs="two candidates whose names begin alike and whose series differ",
    ),
    _i(
        "series-of-the-first",
        "telemetry[key].series if key in telemetry else ()",
        "telemetry[min(telemetry)].series if key in telemetry else ()",
        "a variable of an outer loop: everybody gets the first service's series",
    ),
)
