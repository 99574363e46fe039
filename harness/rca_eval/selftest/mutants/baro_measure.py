"""A wrong BARO measure: deviation, scale, and the term that is made of it."""

from rca_eval.selftest.mutant import Mutant

RAW = "max(values, default=Fraction(0)) for service, values in usable.items()"
TERM = "value / highest if highest else Fraction(0)"
AWAY = "max(high + high - twice_middle, twice_middle - low - low)"
SCALE = "Fraction(max(25 * _four_iqr(pre), spread))"
DROP = "a cause whose metric falls (throughput, success rate) while a rival's rises less"
SEVERAL = "services with two metrics, of which the louder one decides"


def _b(name: str, old: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(name, "baro", "engine/baro.py", old, new, imitates, equivalent, needs)


MUTANTS = (
    _b(
        "baro-one-sided",
        AWAY,
        "high + high - twice_middle",
        "only rises count, as in the published form for tables",
        needs=DROP,
    ),
    _b("baro-drops-only", AWAY, "twice_middle - low - low", "only falls count"),
    _b("baro-smaller-side", AWAY, AWAY.replace("max(", "min("), "the smaller deviation is taken"),
    _b(
        "baro-scale-floor-gone",
        SCALE,
        "Fraction(25 * _four_iqr(pre) or 100)",
        "an IQR of 0 becomes 1, so units matter",
        needs="flat metrics in bytes beside ratios: an IQR of 0 before the onset",
    ),
    _b("baro-scale-is-range", SCALE, "Fraction(100 * spread)", "the range is the scale, and not the IQR"),
    _b(
        "baro-scale-of-one",
        SCALE,
        "Fraction(100)",
        "nothing is scaled",
        needs="metrics in other units than a ratio",
    ),
    _b(
        "baro-scale-half-range",
        SCALE,
        "Fraction(max(25 * _four_iqr(pre), 50 * spread))",
        "the floor under the IQR is half the range",
    ),
    _b(
        "baro-scale-floor-tenfold",
        SCALE,
        "Fraction(max(25 * _four_iqr(pre), 10 * spread))",
        "the floor under the IQR is a tenth of the range",
    ),
    _b(
        "baro-quartiles-wrong",
        "_four_quartiles(ordered, 3) - _four_quartiles(ordered, 1)",
        "_four_quartiles(ordered, 4) - _four_quartiles(ordered, 0)",
        "minimum and maximum are taken for quartiles",
    ),
    _b(
        "baro-median-high",
        "ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]",
        "ordered[len(ordered) // 2] + ordered[len(ordered) // 2]",
        "the median of an even number is the upper one",
        needs="a series with an even number of samples before the onset",
    ),
    _b(
        "baro-median-is-least",
        "ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]",
        "ordered[0] + ordered[0]",
        "the smallest sample is the middle",
    ),
    _b(
        "baro-raw-smallest",
        RAW,
        RAW.replace("max(", "min("),
        "the quietest metric of a service counts",
        needs=SEVERAL,
    ),
    _b(
        "baro-raw-first",
        RAW,
        "next(iter(values), Fraction(0)) for service, values in usable.items()",
        "the first metric of a service counts",
        needs=SEVERAL,
    ),
    _b(
        "baro-raw-sum",
        RAW,
        "sum(values, Fraction(0)) for service, values in usable.items()",
        "the metrics of a service are added",
        needs=SEVERAL,
    ),
    _b(
        "baro-raw-mean",
        RAW,
        "sum(values, Fraction(0)) / max(len(values), 1) for service, values in usable.items()",
        "the mean over the metrics of a service",
        needs=SEVERAL,
    ),
    _b("baro-term-raw", TERM, "value", "z itself is the term"),
    _b("baro-term-per-hundred", TERM, "value / 100", "z is divided by its largest possible value"),
    _b(
        "baro-term-share",
        TERM,
        "value / sum(raw.values(), Fraction(0)) if highest else Fraction(0)",
        "z is divided by the sum over the candidates",
    ),
    _b(
        "baro-term-squared", TERM, "(value / highest) ** 2 if highest else Fraction(0)", "the term is squared"
    ),
    _b("baro-term-winner-only", TERM, "Fraction(value == highest)", "only the loudest gets the term"),
    _b(
        "baro-term-inverted",
        TERM,
        "1 - value / highest if highest else Fraction(0)",
        "the quietest gets the term",
    ),
)
