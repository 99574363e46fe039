"""Wrong terms: what a candidate's topology and telemetry are taken for."""

from rca_eval.selftest.mutant import Mutant


def _m(name: str, old: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(name, "terms", "engine/investigation.py", old, new, imitates, equivalent, needs)


TOPO = "Fraction(row.criticality or 0)"
TELE = "Fraction(row.error_rate or 0)"
ABSENT = "at least one service without telemetry that the symptom reaches"

MUTANTS = (
    _m("topology-is-errors", TOPO, TELE, "a copied line: topology reads the error rate"),
    _m("telemetry-is-criticality", TELE, TOPO, "a copied line: telemetry reads the criticality"),
    _m("topology-zero", TOPO, "Fraction(0)", "topology is not read at all"),
    _m("telemetry-zero", TELE, "Fraction(0)", "errors are not read at all"),
    _m(
        "topology-capped",
        TOPO,
        'min(Fraction(row.criticality or 0), Fraction("0.9"))',
        "criticality is clipped at the causes' .9",
    ),
    _m("topology-squared", TOPO, "Fraction(row.criticality or 0) ** 2", "criticality is squared"),
    _m("topology-inverted", TOPO, "1 - Fraction(row.criticality or 0)", "critical services are trusted most"),
    _m(
        "topology-three-steps",
        TOPO,
        "Fraction(round((row.criticality or 0) * 3), 3)",
        "criticality in classes",
    ),
    _m("telemetry-squared", TELE, "Fraction(row.error_rate or 0) ** 2", "the error rate is squared"),
    _m("telemetry-inverted", TELE, "1 - Fraction(row.error_rate or 0)", "a success rate is read as errors"),
    _m(
        "telemetry-capped",
        TELE,
        'min(Fraction(row.error_rate or 0), Fraction("0.9"))',
        "error rates end at .9",
    ),
    _m(
        "telemetry-yes-or-no",
        TELE,
        'Fraction((row.error_rate or 0) >= Fraction("0.5"))',
        "errors count as a flag from one half on",
    ),
    _m(
        "telemetry-ten-steps",
        TELE,
        "Fraction(int((row.error_rate or 0) * 10), 10)",
        "the error rate comes in tenths, cut off",
    ),
    _m("telemetry-per-cent", TELE, "Fraction(row.error_rate or 0) / 100", "a ratio is read as per cent"),
    _m(
        "telemetry-before",
        TELE,
        "Fraction(row.error_rate_before or 0)",
        "the error rate before the incident is read",
    ),
    _m(
        "telemetry-rise",
        TELE,
        "Fraction(row.error_rate or 0) - Fraction(row.error_rate_before or 0)",
        "the rise is read instead of the rate",
        needs="a cause whose error rate was high before, so that its rise is smaller than a rival's",
    ),
    _m(
        "telemetry-times-criticality",
        TELE,
        "Fraction(row.error_rate or 0) * Fraction(row.criticality or 0)",
        "errors are weighted by criticality a second time",
    ),
    _m(
        "absent-criticality-is-one",
        "row.criticality or 0",
        "1 if row.criticality is None else row.criticality",
        "a service without a criticality is taken for the most critical",
        needs=ABSENT,
    ),
    _m(
        "absent-criticality-is-half",
        "row.criticality or 0",
        "row.criticality or 1 / Fraction(2)",
        "absent and zero criticality are taken for the middle",
        needs=ABSENT,
    ),
    _m(
        "absent-error-rate-is-one",
        "row.error_rate or 0",
        "1 if row.error_rate is None else row.error_rate",
        "a service that does not report is taken for down",
        needs=ABSENT,
    ),
    _m(
        "absent-telemetry-is-skipped",
        "for row in findings.candidates\n",
        "for row in findings.candidates\n        if row.error_rate is not None\n",
        "services without telemetry are no candidates",
        needs=ABSENT,
    ),
)
