"""Checks 1 to 4, 6 and the warning about times beside them. Pure; each returns its rows, with both numbers in every
message.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from operator import gt, lt

from rca_eval.contract.canonical import canonical
from rca_eval.contract.numbers import display, nine
from rca_eval.contract.scorecard import ArmResult
from rca_eval.gate.beside import ARM_ORDER
from rca_eval.gate.counterfactual import what_changed
from rca_eval.gate.result import Against, CheckResult, clipped
from rca_eval.gate.subject import Subject, comparable, short_ids

RATIO_LIMIT = 3
RATIO_FLOOR_SECONDS = Fraction(1, 20)


def accuracy_check(s: Subject) -> Iterator[CheckResult]:
    """Check 1: baseline - With ≤ accuracyDrop and Without - With ≤ accuracyDrop, in each arm; exactly equal
    passes.
    """
    for arm, mine, against, reference in comparisons(s):
        value, base = s.ranks.accuracy(mine), s.ranks.accuracy(reference)
        limit = base - s.policy.tolerance
        failed = value < limit
        was = s.ranks.hits(reference)
        lost = [name for name, hit in s.ranks.hits(mine).items() if was.get(name) and not hit]
        whose = f"{arm} against {_who(against)}"
        digits = _digits(value, base, limit, lt)
        numbers = (
            f"{display(value, digits)} {'<' if failed else '>='} {display(base, digits)} - "
            f"{s.policy.accuracy_drop}"
        )
        names = f" ({short_ids(lost, was)} lost)" if lost else ""
        yield CheckResult(
            name="AC@1",
            result="Failed" if failed else "Passed",
            message=clipped(f"AC@1 {numbers}{names}, {whose}"),
            arm=arm,
            variant=s.candidate_name,
            against=against,
            value=nine(value),
            baseline=nine(base),
            limit=nine(limit),
        )


def mttr_check(s: Subject) -> Iterator[CheckResult]:
    """Check 2: With - baseline ≤ mttrRise and With - Without ≤ mttrRise, in seconds, in each arm."""
    for arm, _, against, _ in comparisons(s):
        value = s.seconds(s.candidate_name, arm)
        base = s.baseline_seconds(arm) if against == "Baseline" else s.seconds(s.reference_name, arm)
        whose = f"{arm} against {_who(against)}"
        row = {"arm": arm, "variant": s.candidate_name, "against": against}
        if value is None or base is None:
            missing = s.candidate_name if value is None else _who(against)
            text = f"MTTR of {missing} is not known for every incident in {arm}, so its rise cannot be judged"
            yield CheckResult(name="MTTR", result="Inconclusive", message=text, **row)
            continue
        limit = base + s.policy.mttr_rise
        failed = value > limit
        digits = _digits(value, base, limit, gt)
        numbers = (
            f"{display(value, digits)} s {'>' if failed else '<='} {display(base, digits)} s + "
            f"{s.policy.mttr_rise} s"
        )
        yield CheckResult(
            name="MTTR",
            result="Failed" if failed else "Passed",
            message=clipped(f"MTTR {numbers}, {whose}"),
            value=nine(value),
            baseline=nine(base),
            limit=nine(limit),
            **row,
        )


def protected_check(s: Subject) -> Iterator[CheckResult]:
    """Check 3: every protected incident has its cause alone at the top, whatever the average says."""
    for arm, mine in _candidate_arms(s):
        guarded = s.protected(mine)
        if not guarded:
            text = f"no incident of {arm} is protected"
            yield CheckResult(name="ProtectedIncidents", result="NotApplicable", message=text, arm=arm)
            continue
        kept = s.ranks.hits(mine)
        lost = [result.id for result in guarded if not kept[result.id]]
        share = Fraction(len(guarded) - len(lost), len(guarded))
        text = f"protected incidents with AC@1 = 1: {len(guarded) - len(lost)} of {len(guarded)}"
        names = f" ({short_ids(lost, kept)} lost)" if lost else ""
        yield CheckResult(
            name="ProtectedIncidents",
            result="Failed" if lost else "Passed",
            message=clipped(f"{text}{names}, {arm}"),
            arm=arm,
            variant=s.candidate_name,
            value=nine(share),
            baseline=nine(1),
            limit=nine(1),
        )


def collapse_check(s: Subject) -> Iterator[CheckResult]:
    """Check 4: with everything in Shadow the answers are those of the committed baseline, byte for byte."""
    shadow = s.arms("AllShadow")
    for arm in ARM_ORDER:
        reference, mine = s.baseline_arms.get(arm), shadow.get(arm)
        if reference is None or mine is None:
            continue
        same = mine == reference or canonical(mine) == canonical(reference)  # equal rows have equal bytes
        if not comparable(mine, reference):
            continue
        text = f"AllShadow equals the baseline byte for byte, {arm}"
        if not same:
            before = {result.id: canonical(result) for result in reference.incidents}
            moved = [result.id for result in mine.incidents if before.get(result.id) != canonical(result)]
            text = f"AllShadow differs from the baseline in {len(moved)} of {len(mine.incidents)} incidents"
            cause = what_changed(mine, reference)
            text += f" ({short_ids(moved, before)}){f': {cause}' if cause else ''}; Shadow must change nothing, {arm}"
        yield CheckResult(
            name="ShadowCollapse",
            result="Passed" if same else "Failed",
            message=clipped(text),
            arm=arm,
            variant="AllShadow",
            against="Baseline",
        )


def regressed_check(s: Subject) -> Iterator[CheckResult]:
    """Check 6, off by default: incidents of LivePath that a reference hits and With misses ≤ maxRegressedIncidents.

    What is won elsewhere does not count against it: an average hides a lost incident behind a won one.
    """
    allowed = s.policy.max_regressed_incidents
    if allowed is None:
        text = "the policy does not limit the number of lost incidents"
        yield CheckResult(name="RegressedIncidents", result="NotApplicable", message=text)
        return
    for arm, mine, against, reference in comparisons(s):
        if arm != "LivePath":
            continue
        was = s.ranks.hits(reference)
        lost = [name for name, hit in s.ranks.hits(mine).items() if was.get(name) and not hit]
        failed = len(lost) > allowed
        names = f" ({short_ids(lost, was)} lost)" if lost else ""
        text = f"regressed incidents {len(lost)} {'>' if failed else '<='} {allowed}{names}, {arm} against "
        yield CheckResult(
            name="RegressedIncidents",
            result="Failed" if failed else "Passed",
            message=clipped(text + _who(against)),
            arm=arm,
            variant=s.candidate_name,
            against=against,
            value=nine(len(lost)),
            limit=nine(allowed),
        )


def ratio_check(s: Subject) -> Iterator[CheckResult]:
    """A warning beside MTTR: more than three times slower than Without in the same Job, and by more than 50
    ms.
    """
    for arm, _ in _candidate_arms(s):
        value, base = s.seconds(s.candidate_name, arm), s.seconds(s.reference_name, arm)
        if (
            value is None
            or base is None
            or value <= RATIO_LIMIT * base
            or value - base <= RATIO_FLOOR_SECONDS
        ):
            continue
        text = (
            f"MTTR {display(value)} s is more than {RATIO_LIMIT} times {display(base)} s, {arm} against "
            "Without"
        )
        yield CheckResult(
            name="MTTRRatio",
            result="Warning",
            message=text,
            arm=arm,
            variant=s.candidate_name,
            against="Without",
        )


def _candidate_arms(s: Subject) -> Iterator[tuple[str, ArmResult]]:
    mine = s.arms(s.candidate_name)
    yield from ((arm, mine[arm]) for arm in ARM_ORDER if arm in mine and mine[arm].incidents)


def comparisons(s: Subject) -> Iterator[tuple[str, ArmResult, Against, ArmResult]]:
    """Every comparison of the candidate: with the baseline first, then with Without; arms that both sides
    have.
    """
    without = s.arms(s.reference_name)
    for arm, mine in _candidate_arms(s):
        references: tuple[tuple[Against, ArmResult | None], ...] = (
            ("Baseline", s.baseline_arms.get(arm)),
            ("Without", without.get(arm)),
        )
        for against, reference in references:
            if reference is not None and comparable(mine, reference):
                yield arm, mine, against, reference


def _who(against: Against) -> str:
    return "the baseline" if against == "Baseline" else "Without"


def _digits(
    value: Fraction, base: Fraction, limit: Fraction, worse: Callable[[Fraction, Fraction], bool]
) -> int:
    """Three digits, or as many as it takes for the printed numbers to say what the exact ones say."""
    tolerance = base - limit
    for digits in (3, 6):
        shown_value, shown_limit = (
            Fraction(display(value, digits)),
            Fraction(display(base, digits)) - tolerance,
        )
        if worse(shown_value, shown_limit) == worse(value, limit):
            return digits
    return 9
