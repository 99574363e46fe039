"""From a stored scorecard to the status of its run: the policy of the suite, the gate's answer, figures for columns."""

from __future__ import annotations

from fractions import Fraction

from rca_eval.contract import Baseline, BaselineMttr, BaselineProvenance, IncidentResult, Scorecard
from rca_eval.gate import CheckResult, GateContext, GatePolicy, GateResult, evaluate
from rca_rollout.api.common import Blame, KnownBad
from rca_rollout.api.reasons import Reason
from rca_rollout.api.run_status import Check
from rca_rollout.api.watching import Harm
from rca_rollout.core import answers
from rca_rollout.core.memo import Memo
from rca_rollout.core.suites import SuiteFacts

LIVE = "LivePath"
_WITHOUT_SIGN = Fraction(5, 10000)  # what three digits show as 0.000

# Conditions need a word; the gate names its checks as people do.
_REASONS = {
    "AC@1": Reason.ACCURACY_REGRESSED,
    "MTTR": Reason.MTTR_REGRESSED,
    "ProtectedIncidents": Reason.PROTECTED_INCIDENT_LOST,
    "ShadowCollapse": Reason.SHADOW_COLLAPSE,
}

# Of a run that is looked at again; no other has the same times.
_JUDGED: Memo[GateResult] = Memo(4)


def policy_of(suite: SuiteFacts) -> GatePolicy:
    """The suite's tolerances as the gate reads them."""
    spec = suite.spec
    return GatePolicy(
        accuracy_drop=str(spec.tolerance.accuracy_drop),
        mttr_rise=spec.tolerance.mttr_rise.seconds,
        protected_incidents=spec.protected_incidents,
        max_regressed_incidents=spec.max_regressed_incidents,
        shadow_fidelity=spec.shadow_fidelity.value,
        require_known_bad=spec.known_bad is KnownBad.REQUIRED,
        min_incidents=spec.min_incidents,
        min_fault_classes=spec.min_fault_classes,
    )


def judge(
    scorecard: Scorecard,
    suite: SuiteFacts,
    *,
    dataset_sha256: str,
    revision: str,
    component: bool,
    wall_seconds: tuple[int, ...],
    sha256: str | None = None,
) -> GateResult:
    """One code for the command line, CI and here; this only says what was intended to be measured.

    The gate is pure: with the digest of the scorecard it answers from memory where all that it reads is the same."""
    context = GateContext(
        dataset_sha256=dataset_sha256,
        revision=revision,
        component=component,
        wall_seconds=wall_seconds or None,
    )
    policy = policy_of(suite)

    def gate() -> GateResult:
        if suite.stale:
            return _paired(evaluate(scorecard, _own_baseline(scorecard), policy, context))
        return evaluate(scorecard, suite.baseline, policy, context, ranks=answers.ranks(scorecard))

    if sha256 is None:
        return gate()
    read = (sha256, suite.stale, suite.baseline_sha256, policy.model_dump_json(), repr(context))
    return _JUDGED.get(read, gate)


def reason_of(result: GateResult) -> str:
    """A CamelCase word for the verdict."""
    return _REASONS.get(result.reason, result.reason)


def blame_of(scorecard: Scorecard, suite: SuiteFacts, result: GateResult) -> Blame | None:
    """What a failed gate is pinned on: the component only if With is worse than Without, which ran in the same Job."""
    if result.verdict != "Failed":
        return None
    worse = any(check.result == "Failed" and check.against == "Without" for check in result.checks)
    return Blame.COMPONENT if worse or _protected_lost(scorecard, suite) else Blame.ENGINE


def harm_of(scorecard: Scorecard, suite: SuiteFacts, result: GateResult) -> Harm | None:
    """What is worse with the component than without it, both measured in this run, whether or not the run is valid."""
    worse = {c.name for c in result.checks if c.result == "Failed" and c.against == "Without"}
    if worse - {"MTTR"} or _protected_lost(scorecard, suite):
        return Harm.ACCURACY
    return Harm.TIME if worse else None


def fixed_of(scorecard: Scorecard) -> int:
    """How many incidents of the live path are explained with the component and not without it."""
    without = {row.id: row.hit for arm, row in _rows(scorecard, "Without") if arm == LIVE}
    mine = [row for arm, row in _rows(scorecard, "With") if arm == LIVE]
    return sum(row.hit and without.get(row.id) is False for row in mine)


def _own_baseline(scorecard: Scorecard) -> Baseline | None:
    """The run's own AllShadow in the place of a baseline that does not fit: for what needs one to be valid at all."""
    arms, owner = scorecard.deterministic.arms_of("AllShadow"), scorecard.deterministic.owner_of("AllShadow")
    if not arms:
        return None
    return Baseline(
        provenance=BaselineProvenance(engine=scorecard.measured.engine, created_by="the run itself"),
        dataset=scorecard.deterministic.dataset,
        arms=arms,
        mttr_seconds=tuple(
            BaselineMttr(arm=row.arm, value=row.value)
            for row in scorecard.measured.mttr_seconds
            if row.variant == owner
        ),
    )


def _paired(result: GateResult) -> GateResult:
    """Only what With and Without say of each other; no floor."""
    checks = tuple(check for check in result.checks if check.against != "Baseline")
    first = next(
        (check for check in checks if check.name == "Validity" and check.result != "Passed"),
        None,
    ) or next((check for check in checks if check.result in ("Failed", "Inconclusive", "Error")), None)
    if first is not None:
        verdict = {"Failed": "Failed", "Error": "Error"}.get(first.result, "Inconclusive")
        found = {"verdict": verdict, "reason": first.reason or first.name, "message": first.message}
        return result.model_copy(update={**found, "checks": checks})
    shown = {c.name: c.message for c in checks if c.result == "Passed" and c.against == "Without"}
    if not {"AC@1", "MTTR"} <= shown.keys():
        text = "NothingCompared: With and Without have nothing in common"
        found = {"verdict": "Error", "reason": "NothingCompared", "message": text}
    else:
        text = f"{shown['AC@1']}; {shown['MTTR']}; the baseline is stale and was left out"
        found = {"verdict": "Passed", "reason": "GatePassed", "message": text}
    return result.model_copy(update={**found, "checks": checks})


def _protected_lost(scorecard: Scorecard, suite: SuiteFacts) -> bool:
    """A protected incident is lost with the component and kept without it."""
    named = suite.spec.protected_incidents
    kept = {(arm, row.id): row.hit for arm, row in _rows(scorecard, "With")}
    return any(
        row.hit and not kept.get((arm, row.id), False)
        for arm, row in _rows(scorecard, "Without")
        if (row.id in named if named is not None else row.protected or row.change_induced)
    )


def _rows(scorecard: Scorecard, variant: str) -> list[tuple[str, IncidentResult]]:
    arms = scorecard.deterministic.arms_of(variant) or ()
    return [(arm.arm, row) for arm in arms for row in arm.incidents]


def checks_of(result: GateResult) -> tuple[Check, ...]:
    """The gate's rows as status holds them; a variant is named beside its arm."""
    return tuple(
        Check(
            name=check.name,
            arm=_where(check),
            value=check.value,
            baseline=check.baseline,
            limit=check.limit,
            result=check.result,
            message=check.message,
        )
        for check in result.checks
    )


def accuracy_of(scorecard: Scorecard, variant: str) -> Fraction | None:
    """AC@1 of a variant's LivePath arm; ScorerOnly is 1 by construction and is never shown alone."""
    arms = scorecard.deterministic.arms_of(variant) or ()
    arm = next((a for a in arms if a.arm == LIVE), None)
    return Fraction(arm.metrics["AC@1"]) if arm and "AC@1" in arm.metrics else None


def mttr_of(scorecard: Scorecard, variant: str) -> Fraction | None:
    """Mean time to the cause, in seconds, of a variant's LivePath arm."""
    owner = scorecard.deterministic.owner_of(variant)
    row = next((r for r in scorecard.measured.mttr_seconds if r.variant == owner and r.arm == LIVE), None)
    return Fraction(row.value) if row and row.value is not None else None


def figure(value: Fraction | None, *, signed: bool = False) -> str | None:
    """Three digits, with a sign for differences. For display: the gate compares exact numbers."""
    if value is None:
        return None
    if signed:
        return "+0.000" if abs(value) < _WITHOUT_SIGN else f"{float(value):+.3f}"
    return f"{float(value):.3f}"


def seconds(value: Fraction | None) -> str | None:
    """`0.003s`: the replay proxy of the time to the cause."""
    return None if value is None else f"{float(value):.3f}s"


def _where(check: CheckResult) -> str | None:
    parts = [part for part in (check.arm, check.variant) if part]
    return "/".join(parts) or None
