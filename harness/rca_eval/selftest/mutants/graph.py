"""Wrong graph: what is seeded, and what the candidates' query reaches."""

from rca_eval.selftest.mutant import Mutant

REACH = "(s:Service)-[:CALLS*0..3]->(c:Service) "
DEEP = "a cause three calls from the symptom"
CALLS = "CREATE (a)-[:CALLS]->(b)"


def _reach(name: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(name, "graph", "graph/store.py", REACH, new, imitates, equivalent, needs)


def _store(name: str, old: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(name, "graph", "graph/store.py", old, new, imitates, equivalent, needs)


def _seed(name: str, old: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(name, "graph", "graph/seed.py", old, new, imitates, equivalent, needs)


MUTANTS = (
    _reach("reach-without-symptom", "(s:Service)-[:CALLS*1..3]->(c:Service) ", "the symptom is no candidate"),
    _reach(
        "reach-symptom-only", "(s:Service)-[:CALLS*0..0]->(c:Service) ", "only the symptom is a candidate"
    ),
    _reach(
        "reach-one-call",
        "(s:Service)-[:CALLS*0..1]->(c:Service) ",
        "only direct calls are followed",
        needs="a cause two calls from the symptom",
    ),
    _reach(
        "reach-two-calls",
        "(s:Service)-[:CALLS*0..2]->(c:Service) ",
        "one call too few is followed",
        needs=DEEP,
    ),
    _reach(
        "reach-four-calls",
        "(s:Service)-[:CALLS*0..4]->(c:Service) ",
        "one call too many is followed",
        needs="a service four calls away that looks worse than the cause",
    ),
    _reach(
        "reach-everything-called",
        "(s:Service)-[:CALLS*0..]->(c:Service) ",
        "calls are followed without an end",
        needs="a service four calls away that looks worse than the cause",
    ),
    _reach("reach-callers", "(s:Service)<-[:CALLS*0..3]-(c:Service) ", "calls are followed backwards"),
    _reach(
        "reach-both-ways",
        "(s:Service)-[:CALLS*0..3]-(c:Service) ",
        "the direction of a call is ignored",
        needs="a caller of the symptom, or of a candidate, that looks worse than the cause",
    ),
    _reach(
        "reach-all-services",
        "(s:Service), (c:Service) ",
        "every service is a candidate",
        needs="a service that the symptom does not reach and that looks worse than the cause",
    ),
    _reach(
        "reach-first-hop-twice",
        "(s:Service)-[:CALLS*0..3]->(:Service)-[:CALLS*0..1]->(c:Service) ",
        "a joined pattern goes one call further",
        needs="a service four calls away that looks worse than the cause",
    ),
    _reach(
        "reach-leaves-only",
        "(s:Service)-[:CALLS*0..3]->(c:Service) WHERE NOT (c)-[:CALLS]->() ",
        "only services that call nobody are candidates",
        needs="a cause that calls another service",
    ),
    _store(
        "candidates-not-distinct",
        "RETURN DISTINCT c.key",
        "RETURN c.key",
        "a service on two paths comes twice",
        needs="a diamond: two paths from the symptom to one service",
    ),
    _store(
        "candidates-limited",
        "c.errorRateBefore",
        "c.errorRateBefore LIMIT 4",
        "the store returns four rows at most",
        needs="incidents with more than four candidates",
    ),
    _store(
        "criticality-and-errors-swapped",
        "c.criticality, c.errorRate, c.errorRateBefore",
        "c.errorRate, c.criticality, c.errorRateBefore",
        "two columns change places",
    ),
    _store(
        "errors-before-and-after-swapped",
        "c.criticality, c.errorRate, c.errorRateBefore",
        "c.criticality, c.errorRateBefore, c.errorRate",
        "the rate before the incident comes in the place of the rate in it",
    ),
    _store(
        "candidates-not-sorted",
        "return sorted(Candidate(str(key), _exact(a), _exact(b), _exact(c)) for key, a, b, c in rows)",
        "return [Candidate(str(key), _exact(a), _exact(b), _exact(c)) for key, a, b, c in rows]",
        "the store's order of rows is relied on",
        equivalent="rows of a graph are put into an order by score and key, which no two candidates share; "
        "before that they are only looked up by key",
    ),
    Mutant(
        "graph-not-clean",
        "graph",
        "graph/store.py",
        "self._send([(DELETE, graph.name), command])",
        "self._send([(DELETE, '-'), command])",
        "one graph serves all incidents of an arm and is never emptied",
        more=(
            (
                "graph/store.py",
                "        finally:\n            self.drop(key)\n",
                "        finally:\n            pass\n",
            ),
        ),
    ),
    _store(
        "figures-as-integers", "Decimal(str(value))", "Decimal(int(value))", "numbers become whole numbers"
    ),
    _seed(
        "calls-reversed",
        CALLS,
        CALLS.replace("(a)-[:CALLS]->(b)", "(b)-[:CALLS]->(a)"),
        "calls are seeded backwards",
    ),
    _seed(
        "calls-both-ways",
        CALLS,
        CALLS.replace("->(b)", "->(b), (b)-[:CALLS]->(a)"),
        "each call is seeded in both directions",
        needs="a caller of the symptom, or of a candidate, that looks worse than the cause",
    ),
    _seed(
        "calls-lost", "for a, b in incident.topology.calls if", "for a, b in () if", "calls are not seeded"
    ),
    _seed(
        "calls-first-only",
        "for a, b in incident.topology.calls if",
        "for a, b in incident.topology.calls[:1] if",
        "a loop ends after the first call",
    ),
    _seed(
        "errors-not-seeded",
        "_double(row.error_rate if row else None)",
        "None",
        "error rates are not seeded",
    ),
    _seed(
        "figures-one-digit",
        "else float(value)",
        "else round(float(value), 1)",
        "numbers are seeded with one digit",
    ),
    _seed(
        "figures-two-digits",
        "else float(value)",
        "else round(float(value), 2)",
        "numbers are seeded with two digits",
        needs="criticality or error rates with three digits that decide",
    ),
)
