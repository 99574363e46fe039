"""Wrong windows: the onset, the change window and its two ends."""

from rca_eval.selftest.mutant import Mutant

WINDOW = "return onset - window_seconds, onset\n"
ONSET = "return self.fired_at - self.for_seconds"
AT_ONSET = "a change of the cause exactly at T, without which the cause loses"
DECOY_LATE = "an innocent change just after T, of a rival that it would lift over the cause"
DECOY_EARLY = "an innocent change one second before the window, of a rival that it would lift over the cause"
OTHER_WINDOW = "a dataset whose windowSeconds is not 1800"


def _w(name: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(
        name,
        "windows",
        "engine/investigation.py",
        WINDOW,
        f"return {new}\n",
        imitates,
        equivalent,
        needs,
    )


def _q(name: str, old: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(name, "windows", "graph/store.py", old, new, imitates, equivalent, needs)


def _t(name: str, new: str, imitates: str, *, equivalent: str = "", needs: str = "") -> Mutant:
    return Mutant(
        name, "windows", "contract/protocol.py", ONSET, f"return {new}", imitates, equivalent, needs
    )


MUTANTS = (
    _q("window-start-exclusive", "x.at >= $first", "x.at > $first", "the first second is left out"),
    _q(
        "window-end-exclusive",
        "x.at <= $last",
        "x.at < $last",
        "the onset's second is left out",
        needs=AT_ONSET,
    ),
    _q("window-without-start", "x.at >= $first AND ", "", "old changes count for ever", needs=DECOY_EARLY),
    _q("window-without-end", " AND x.at <= $last", "", "changes after the onset count", needs=DECOY_LATE),
    _w(
        "window-start-one-early",
        "onset - window_seconds - 1, onset",
        "one second too many at the start",
        needs=DECOY_EARLY,
    ),
    _w("window-start-one-late", "onset - window_seconds + 1, onset", "one second too few at the start"),
    _w(
        "window-end-one-early",
        "onset - window_seconds, onset - 1",
        "one second too few at the end",
        needs=AT_ONSET,
    ),
    _w(
        "window-end-one-late",
        "onset - window_seconds, onset + 1",
        "one second too many at the end",
        needs="an innocent change one second after T, of a rival that it would lift over the cause",
    ),
    _w(
        "window-to-the-alarm",
        "onset - window_seconds, onset + 60",
        "the window ends when the alarm fires",
        needs=DECOY_LATE,
    ),
    _w(
        "window-after-the-onset",
        "onset - window_seconds, onset + 600",
        "the window goes on after the onset",
        needs=DECOY_LATE,
    ),
    _w("window-after-only", "onset, onset + window_seconds", "the window begins at the onset"),
    _w(
        "window-in-minutes",
        "onset - window_seconds * 60, onset",
        "the window is read as minutes",
        needs=DECOY_EARLY,
    ),
    _w(
        "window-in-milliseconds",
        "onset - window_seconds // 1000, onset",
        "the window is read as milliseconds",
    ),
    _w("window-halved", "onset - window_seconds // 2, onset", "only the last half of the window counts"),
    _w("window-doubled", "onset - 2 * window_seconds, onset", "twice the window counts", needs=DECOY_EARLY),
    _w("window-five-minutes", "onset - 300, onset", "only the last five minutes count"),
    _w("window-fixed", "onset - 1800, onset", "the dataset's own window is not read", needs=OTHER_WINDOW),
    _w(
        "window-quarter-hours",
        "onset // 900 * 900 - window_seconds, onset // 900 * 900",
        "times in steps of a quarter",
    ),
    _t("onset-is-the-alarm", "self.fired_at", "the time for which the alert's rule was true is forgotten"),
    _t("onset-sign", "self.fired_at + self.for_seconds", "a minus sign becomes a plus"),
    _t(
        "onset-a-minute",
        "self.fired_at - 60",
        "every alert is thought to wait a minute",
        needs="an alert whose forSeconds is not 60",
    ),
    _t("onset-a-minute-early", "self.fired_at - self.for_seconds - 60", "the onset is a minute early"),
    _t(
        "onset-an-hour-early",
        "self.fired_at - self.for_seconds - 3600",
        "a time zone: the onset is an hour early",
    ),
    _t("onset-twice-for", "self.fired_at - 2 * self.for_seconds", "the waiting time is taken off twice"),
)
