"""The gate: one scorecard, one baseline, one policy, one verdict. The same code decides in CI, on a laptop
and in the operator.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction

from rca_eval.contract.numbers import display
from rca_eval.contract.scorecard import Baseline, Scorecard
from rca_eval.gate.beside import arm_statistics, class_counts, margins, movements
from rca_eval.gate.checks import (
    accuracy_check,
    collapse_check,
    comparisons,
    mttr_check,
    protected_check,
    ratio_check,
    regressed_check,
)
from rca_eval.gate.effect import no_effect_check
from rca_eval.gate.fidelity import fidelity_check
from rca_eval.gate.policy import GateContext, GatePolicy
from rca_eval.gate.ranks import Ranks
from rca_eval.gate.reference import reference_check
from rca_eval.gate.result import CheckName, CheckResult, GateResult, Verdict, clipped
from rca_eval.gate.subject import Subject
from rca_eval.gate.validity import non_finite, validity

# The order is the contract: the first failure names the verdict.
CHAIN: tuple[tuple[CheckName, Callable[[Subject], Iterator[CheckResult]]], ...] = (
    ("AC@1", accuracy_check),
    ("MTTR", mttr_check),
    ("ProtectedIncidents", protected_check),
    ("ShadowCollapse", collapse_check),
    ("ShadowFidelity", fidelity_check),
    ("ReferenceDrift", reference_check),
    ("RegressedIncidents", regressed_check),
    ("NoEffect", no_effect_check),
)


def evaluate(
    scorecard: Scorecard | None,
    baseline: Baseline | None,
    policy: GatePolicy | None = None,
    context: GateContext | None = None,
    *,
    ranks: Ranks | None = None,
) -> GateResult:
    """The verdict. Total: every input that the contract can hold gives one, and never an exception. `ranks` is what the
    caller keeps of answers that it judges again, with other times.

    Order: Validity names the verdict if it does not pass; then the first Failed check; then the first that
    could not decide. All checks are reported in any case, so that harm stays visible in a run that is not
    valid.
    """
    if scorecard is None:
        text = "NoScorecard: there is no scorecard, so there is nothing to judge"
        row = CheckResult(name="Validity", result="Error", reason="NoScorecard", message=text)
        return GateResult(verdict="Error", reason="NoScorecard", message=text, checks=(row,))
    subject = Subject(
        scorecard, baseline, policy or GatePolicy(), context or GateContext(), (ranks or Ranks()).trimmed()
    )
    checks = validity(subject)
    finite = non_finite(subject) is None  # nothing can be computed with NaN
    for name, check in CHAIN:
        text = "not judged: the two sides cannot be compared, see Validity"
        absent = CheckResult(name=name, result="NotApplicable", message=text)
        checks.extend((list(check(subject)) if finite else []) or [absent])
    if not finite:
        return _verdict(tuple(checks), subject)
    checks.extend(ratio_check(subject))
    mine, baseline_arms = subject.arms(subject.candidate_name), subject.baseline_arms
    regressed, fixed, unchanged = movements(mine, baseline_arms, subject.ranks)
    return _verdict(tuple(checks), subject).model_copy(
        update={
            "regressed": regressed,
            "fixed": fixed,
            "unchanged": unchanged,
            "margins": margins(mine.get("LivePath"), baseline_arms.get("LivePath"), subject.ranks),
            "statistics": tuple(
                arm_statistics(now, before, against, subject.policy.tolerance, subject.ranks)
                for _, now, against, before in comparisons(subject)
            ),
            "classes": tuple(
                class_counts(mine, baseline_arms, subject.arms(subject.reference_name), subject.ranks)
            ),
            "notes": _notes(subject),
        }
    )


def _verdict(checks: tuple[CheckResult, ...], subject: Subject) -> GateResult:
    wanted = (
        [check for check in checks if check.name == "Validity" and check.result != "Passed"]
        or [check for check in checks if check.result == "Failed"]
        or [check for check in checks if check.result in ("Inconclusive", "Error")]
    )
    if wanted:
        first = wanted[0]
        verdict: Verdict = first.result  # type: ignore[assignment]  # one of three outcomes, see above
        return GateResult(
            verdict=verdict, reason=first.reason or first.name, message=first.message, checks=checks
        )
    proof = [check for check in checks if check.name in ("AC@1", "MTTR") and check.result == "Passed"]
    if {check.name for check in proof} != {"AC@1", "MTTR"}:
        # Not reachable while Validity demands an arm and a baseline; kept because a pass must rest on a
        # comparison.
        text = "NothingCompared: no arm could be compared with a baseline"
        return GateResult(verdict="Error", reason="NothingCompared", message=text, checks=checks)
    return GateResult(verdict="Passed", reason="GatePassed", message=_passed(checks, subject), checks=checks)


def _passed(checks: tuple[CheckResult, ...], subject: Subject) -> str:
    first = next(check for check in checks if check.name == "AC@1")
    time = next(check for check in checks if check.name == "MTTR" and check.arm == first.arm)
    count = len(subject.arms(subject.candidate_name)[str(first.arm)].incidents)
    numbers = "; ".join(check.message.split(f", {check.arm} against")[0] for check in (first, time))
    return clipped(f"{numbers}; {first.arm}, {count} incident{'s' if count > 1 else ''}")


def _notes(s: Subject) -> tuple[str, ...]:
    live = s.arms(s.candidate_name).get("LivePath")
    count, tolerance = len(live.incidents) if live else 0, s.policy.tolerance
    if count and tolerance and count < 1 / tolerance:
        return (
            f"underpowered: of {count} incidents one lost is {display(Fraction(1, count))} > "
            f"{s.policy.accuracy_drop}; "
            f"a pass shows no loss on these, it does not prove a rate",
        )
    return ()
