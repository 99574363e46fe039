"""A wrong BARO term: its periods, which samples are enough, and when a signal is present."""

from rca_eval.selftest.mutant import Mutant

PRESENT = "present=highest >= PRESENT_FROM"


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
)
