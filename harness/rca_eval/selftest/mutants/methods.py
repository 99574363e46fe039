"""Another method instead of a wrong line: what somebody would write who had not read the formulas."""

from rca_eval.selftest.mutant import Mutant

CANDIDATES = "candidates = graph.candidates()\n"
TOPO, TELE = "Fraction(row.criticality or 0)", "Fraction(row.error_rate or 0)"
HOPS = """candidates = graph.candidates()
    far = {incident.alert.service: 0}
    for _ in range(4):
        for caller, callee in sorted(incident.topology.calls):
            if caller in far:
                far[callee] = min(far[caller] + 1, far.get(callee, 9))
"""
DEPTH = "a cause and a rival at different distances from the symptom"
DETECTED = "an incident with onsetSource detected, whose alert came late, and in which the onset decides"


def _i(group: str, name: str, old: str, new: str, imitates: str, *, needs: str = "") -> Mutant:
    return Mutant(name, group, "engine/investigation.py", old, new, imitates, needs=needs)


MUTANTS = (
    _i(
        "terms", "topology-fades-with-distance", CANDIDATES,
        HOPS + '    candidates = [row._replace(criticality=(row.criticality or 0) * Decimal("0.9") ** far.get(row.key, 4)) for row in candidates]\n',
        "the farther from the symptom, the less suspected", needs=DEPTH,
    ),
    _i(
        "terms", "topology-grows-with-distance", CANDIDATES,
        HOPS + '    candidates = [row._replace(criticality=(row.criticality or 0) * (7 + Decimal(far.get(row.key, 4))) / 10) for row in candidates]\n',
        "the deepest service is suspected most", needs=DEPTH,
    ),
    _i(
        "terms", "topology-is-popularity", CANDIDATES,
        CANDIDATES + "    callees = [callee for _, callee in incident.topology.calls]\n"
        "    candidates = [row._replace(criticality=Decimal(min(callees.count(row.key), 4)) / 4) for row in candidates]\n",
        "topology is the number of callers, and not the criticality",
    ),
    _i("terms", "telemetry-relative", TELE, TELE + " / (max(Fraction(one.error_rate or 0) for one in findings.candidates) or 1)", "error rates are divided by the largest"),
    _i("terms", "topology-relative", TOPO, TOPO + " / (max(Fraction(one.criticality or 0) for one in findings.candidates) or 1)", "criticality is divided by the largest"),
    _i("terms", "telemetry-from-lowest", TELE, "Fraction((row.error_rate or 0) - min(one.error_rate or 0 for one in findings.candidates))", "error rates are measured from the lowest"),
    _i("terms", "telemetry-ranks", TELE, "Fraction(sum((one.error_rate or 0) <= (row.error_rate or 0) for one in findings.candidates), len(findings.candidates))", "places are taken for rates"),
    _i("terms", "telemetry-share", TELE, TELE + " / (sum(Fraction(one.error_rate or 0) for one in findings.candidates) or 1)", "error rates are divided by their sum"),
    _i("terms", "telemetry-rise-ratio", TELE, "min(Fraction(row.error_rate or 0) / (Fraction(row.error_rate_before or 0) or 1) / 100, Fraction(1))", "how many times higher than before is read", needs="causes and rivals with different error rates before"),
    Mutant(
        "datastores-suspected", "terms", "graph/store.py", "RETURN DISTINCT c.key, c.criticality,",
        "RETURN DISTINCT c.key, c.criticality + CASE WHEN c.kind = 'datastore' THEN 0.05 ELSE 0.0 END,",
        "datastores get five points more",
    ),
    Mutant(
        "datastores-trusted", "terms", "graph/store.py", "RETURN DISTINCT c.key, c.criticality,",
        "RETURN DISTINCT c.key, c.criticality - CASE WHEN c.kind = 'datastore' THEN 0.05 ELSE 0.0 END,",
        "datastores get five points less",
    ),
    _i("windows", "baro-from-the-alarm", "baro_signal(series, onset, incident.window_seconds)", "baro_signal(series, incident.alert.fired_at, incident.window_seconds)", "the BARO term is measured at the alarm, not at the onset", needs="a metric that is loud only at the onset, or an alert that waits for long"),
    _i("windows", "onset-never-detected", 'if incident.onset_source == "detected" else None', "if False else None", "a detected onset is asked for and not looked for", needs=DETECTED),
    _i("windows", "onset-always-detected", 'if incident.onset_source == "detected" else None', "if True else None", "the onset is always looked for in the series", needs="an incident whose series change later than T, with a change in between"),
    _i("change", "change-only-if-failing", "Fraction(row.key in findings.changes)", "Fraction(row.key in findings.changes and (row.error_rate or 0) > Fraction(1, 2))", "a change counts only for who fails", needs="a change-induced incident whose cause has an error rate of one half or less"),
    _i("change", "change-only-if-critical", "Fraction(row.key in findings.changes)", 'Fraction(row.key in findings.changes and (row.criticality or 0) > Decimal("0.9"))', "a change counts only for critical services"),
    Mutant("baro-scale-is-mad", "baro", "engine/baro.py", "max(25 * _four_iqr(pre), spread))\n\n", "max(100 * sorted(abs(x + x - twice_middle) for x in pre)[len(pre) // 2] / 2, spread))\n\n", "the median deviation is the scale, not the IQR"),
    Mutant("baro-middle-is-mean", "baro", "engine/baro.py", "return ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]", "return 2 * sum(ordered) / len(ordered)", "the mean is taken for the median"),
    Mutant("baro-last-sample", "baro", "engine/baro.py", "exactly(_z, pre, min(post), max(post))", "exactly(_z, pre, post[-1], post[-1])", "only the last sample after the onset is looked at", needs="a deviation that is over before T + 600 s"),
    Mutant("baro-first-sample", "baro", "engine/baro.py", "exactly(_z, pre, min(post), max(post))", "exactly(_z, pre, post[0], post[0])", "only the sample at the onset is looked at"),
    Mutant("baro-middle-sample", "baro", "engine/baro.py", "exactly(_z, pre, min(post), max(post))", "exactly(_z, pre, sorted(post)[len(post) // 2], sorted(post)[len(post) // 2])", "the median after the onset is looked at, which a short spike does not move", needs="a short spike of the cause, or of a rival"),
    Mutant("blind-when-degraded", "verification", "engine/evidence.py", 'availability == "none"', 'availability != "full"', "degraded telemetry is taken for none", needs="a degraded incident in which verification changes the order"),
)  # fmt: skip
