"""A wrong BARO term: its periods, its measure, and what is made of it."""

from rca_eval.selftest.mutant import Mutant

RAW = "max(values, default=Fraction(0)) for service, values in usable.items()"
TERM = "value / highest if highest else Fraction(0)"
PRESENT = "present=highest >= PRESENT_FROM"
AWAY = "max(high + high - twice_middle, twice_middle - low - low)"
SCALE = "Fraction(max(25 * _four_iqr(pre), spread))"
DROP = "a cause whose metric falls (throughput, success rate) while a rival's rises less"
SEVERAL = "services with two metrics, of which the louder one decides"


def _b(name: str, old: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(name, "baro", "engine/baro.py", old, new, imitates, equivalent, needs)


MUTANTS = (
    _b(
        "baro-quiet-gone",
        "QUIET_SECONDS = 60",
        "QUIET_SECONDS = 0",
        "the last minute before the onset counts as usual",
        needs="samples in the last minute before T that already deviate, in numbers that move a quartile",
    ),
    _b("baro-quiet-long", "QUIET_SECONDS = 60", "QUIET_SECONDS = 1200", "the quiet gap is twenty minutes"),
    _b(
        "baro-after-short",
        "AFTER_SECONDS = 600",
        "AFTER_SECONDS = 60",
        "only a minute after the onset is looked at",
    ),
    _b(
        "baro-after-long",
        "AFTER_SECONDS = 600",
        "AFTER_SECONDS = 3600",
        "an hour after the onset is looked at",
        needs="samples later than T + 600 s, in which a rival is louder than the cause",
    ),
    _b(
        "baro-after-exclusive",
        "if onset <= at <= last and",
        "if onset < at < last and",
        "the ends of the period after the onset are left out",
        needs="a series whose largest deviation is at T or at T + 600 s",
    ),
    _b(
        "baro-before-exclusive",
        "if first <= at < quiet and",
        "if first < at < quiet and",
        "the first sample of the window is left out",
        needs="a series with exactly 8 samples before T - 60 s, one of them at T - W",
    ),
    _b(
        "baro-before-from-onset",
        "if first <= at < quiet and",
        "if at < quiet and",
        "everything before the onset counts as usual",
        needs="samples older than the window, at another level",
    ),
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
        "pre[(len(pre) - 1) // 2] + pre[len(pre) // 2]",
        "pre[len(pre) // 2] + pre[len(pre) // 2]",
        "the median of an even number is the upper one",
        needs="a series with an even number of samples before the onset",
    ),
    _b(
        "baro-median-is-least",
        "pre[(len(pre) - 1) // 2] + pre[len(pre) // 2]",
        "pre[0] + pre[0]",
        "the smallest sample is the middle",
    ),
    _b(
        "baro-nulls-are-zeros",
        "for at, value in series.samples if first <= at < quiet and value is not None",
        "for at, value in ((at, value or Decimal(0)) for at, value in series.samples) if first <= at < quiet",
        "gaps before the onset are read as zeros",
        needs="a series with gaps (null)",
    ),
    _b(
        "baro-needs-thirty",
        "MIN_PRE, MIN_POST = 8, 3",
        "MIN_PRE, MIN_POST = 30, 3",
        "thirty samples before the onset are needed",
    ),
    _b(
        "baro-needs-eleven-after",
        "MIN_PRE, MIN_POST = 8, 3",
        "MIN_PRE, MIN_POST = 8, 12",
        "twelve samples after the onset are needed",
    ),
    _b(
        "baro-needs-nothing",
        "MIN_PRE, MIN_POST = 8, 3",
        "MIN_PRE, MIN_POST = 2, 1",
        "two samples are thought to be enough",
        needs="a rival with a short, loud series: fewer than 8 samples before the onset",
    ),
    _b("baro-presence-never", PRESENT, "present=False", "a signal is never present"),
    _b("baro-presence-fifty", PRESENT, "present=highest >= 50", "a signal needs z = 50"),
    _b(
        "baro-presence-twenty",
        "PRESENT_FROM = 3",
        "PRESENT_FROM = 29",
        "a signal needs z = 29",
        needs="an incident whose loudest z is between 3 and 29, where BARO decides",
    ),
    _b(
        "baro-presence-of-all",
        PRESENT,
        "present=min(raw.values(), default=Fraction(0)) >= PRESENT_FROM",
        "everybody must deviate",
        needs="a candidate without a deviation, in an incident where BARO decides",
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
