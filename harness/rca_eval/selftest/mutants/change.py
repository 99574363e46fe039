"""A wrong change term: who counts as changed, and how much."""

from rca_eval.selftest.mutant import Mutant

CHG = "Fraction(row.key in findings.changes)"
LOOP = "changes.setdefault(row.service, []).append(row.ref or row.key)"
EITHER = "(x:Deploy OR x:Change) AND "


def _c(name: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(name, "change", "engine/investigation.py", CHG, new, imitates, equivalent, needs)


def _l(name: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(name, "change", "engine/investigation.py", LOOP, new, imitates, equivalent, needs)


def _q(name: str, old: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(name, "change", "graph/store.py", old, new, imitates, equivalent, needs)


MUTANTS = (
    _c("change-never", "Fraction(0)", "nobody is ever changed"),
    _c("change-everybody", "Fraction(bool(findings.changes))", "one change makes everybody changed"),
    _c("change-inverted", "Fraction(row.key not in findings.changes)", "the unchanged are suspected"),
    _c(
        "change-half",
        "Fraction(row.key in findings.changes) / 2",
        "a change counts one half",
        needs="a change-induced incident whose cause is ahead by less than half the change term",
    ),
    _c(
        "change-counted",
        "Fraction(len(findings.changes.get(row.key, ())))",
        "every change of a service counts again",
        needs="a change-induced incident in which a rival has several innocent changes in the window",
    ),
    _c(
        "change-shared",
        "Fraction(row.key in findings.changes, max(len(findings.changes), 1))",
        "the term is divided among all changed services",
        needs="a change-induced incident in which other candidates changed too",
    ),
    _c(
        "change-capped-by-errors",
        "Fraction(row.key in findings.changes) * Fraction(row.error_rate or 0)",
        "a change counts as much as the service fails",
    ),
    _c(
        "change-first-name-only",
        "Fraction(row.key == min(findings.changes, default=None))",
        "only the first changed service counts",
        needs="a change-induced incident in which a service earlier in the alphabet changed too",
    ),
    _c(
        "change-last-name-only",
        "Fraction(row.key == max(findings.changes, default=None))",
        "only the last changed service counts",
        needs="a change-induced incident in which a service later in the alphabet changed too",
    ),
    _l(
        "change-key-not-ref",
        "changes.setdefault(row.service, []).append(row.key)",
        "a change is named by the graph's key, not by its ref",
    ),
    _l(
        "change-last-overwrites",
        "changes[row.service] = [row.ref or row.key]",
        "a later change overwrites the earlier one",
        needs="two changes of the cause in the window",
    ),
    _l(
        "change-needs-a-ref",
        "changes.setdefault(row.service, []).append(row.ref) if row.ref else None",
        "a change without a ref is ignored",
        needs="a change-induced incident whose change has no ref",
    ),
    _l(
        "change-not-of-the-symptom",
        "row.service != incident.alert.service and " + LOOP,
        "changes of the alerting service are ignored",
        needs="a change-induced incident whose cause is the service that alerts",
    ),
    _l(
        "change-latest-service-only",
        "changes.clear(); " + LOOP,
        "only the last row of the query is kept",
        needs="a change-induced incident in which a service later in the alphabet changed too",
    ),
    _l(
        "change-fades",
        "(onset - row.at) * 2 <= incident.window_seconds and " + LOOP,
        "changes in the first half of the window are too old",
    ),
    _q("change-deploys-only", "(x:Deploy OR x:Change)", "x:Deploy", "only deploys count"),
    _q("change-no-deploys", "(x:Deploy OR x:Change)", "x:Change", "deploys do not count"),
    _q(
        "change-of-any-kind",
        EITHER,
        "",
        "whatever points at a service by CHANGED counts",
        equivalent="the graph of an incident is built clean (`graph.seed`), and only Deploy and Change nodes get an "
        "edge CHANGED",
    ),
    _q(
        "change-of-strangers",
        '"AND c.key IN $services RETURN',
        '"RETURN',
        "changes of services that are no candidates decide the table",
        needs="a change in the window of a service that is no candidate, in an incident that the onset table loses",
    ),
    Mutant(
        "change-evidence-lost",
        "change",
        "engine/investigation.py",
        "return tuple(sorted(findings.changes.get(ranked[0].key, ())))",
        "return ()",
        "the change that speaks for the first candidate is not named",
    ),
    Mutant(
        "change-evidence-of-everybody",
        "change",
        "engine/investigation.py",
        "return tuple(sorted(findings.changes.get(ranked[0].key, ())))",
        "return tuple(sorted(one for rows in findings.changes.values() for one in rows))",
        "all changes are named for the first candidate",
        needs="an incident in which a service beside the first candidate changed in the window",
    ),
)
