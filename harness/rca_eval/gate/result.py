"""What the gate says. `message` is the one sentence that conditions, Events and the command line show."""

from typing import Literal

from rca_eval.contract.model import Model
from rca_eval.contract.numbers import Figure

Verdict = Literal["Passed", "Failed", "Inconclusive", "Error"]
Outcome = Literal["Passed", "Failed", "Inconclusive", "Error", "Warning", "NotApplicable"]
CheckName = Literal[
    "Validity",
    "AC@1",
    "MTTR",
    "ProtectedIncidents",
    "ShadowCollapse",
    "ShadowFidelity",
    "ReferenceDrift",
    "RegressedIncidents",
    "NoEffect",
    "MTTRRatio",
]
Against = Literal["Baseline", "Without"]

MESSAGE_LIMIT = 300
_EXIT: dict[Verdict, int] = {"Passed": 0, "Failed": 1, "Inconclusive": 2, "Error": 2}


class CheckResult(Model):
    """One row of the verdict. `value`, `baseline` and `limit` are figures; `against` says whose figure
    `baseline` is.
    """

    name: CheckName
    result: Outcome
    message: str
    reason: str | None = None
    arm: str | None = None
    variant: str | None = None
    against: Against | None = None
    value: Figure | None = None
    baseline: Figure | None = None
    limit: Figure | None = None


class Movement(Model):
    """An incident's rank in the baseline and now; null is a miss outside the candidates."""

    arm: str
    incident: str
    before: int | None
    after: int | None


class Margin(Model):
    """How far the expected cause is ahead of the best other candidate, now and in the baseline; `marginDelta` is the
    difference, null where the baseline has no margin.
    """

    arm: str
    incident: str
    value: Figure
    baseline: Figure | None
    margin_delta: Figure | None = None


class ArmStatistics(Model):
    """How sure one comparison of AC@1 is. Beside the verdict, never part of it: few incidents prove little either way.

    `regressed` (b) were hit in the reference and are missed now, `fixed` (c) the other way round. Both McNemar
    p-values are two-sided, null when b + c = 0. `dropLow` to `dropHigh` is the percentile interval of the
    paired bootstrap of reference - now; it has no width when b + c = 0, which shows nothing of other
    incidents. `wilsonLow` to `wilsonHigh` is Wilson's interval of AC@1 now. Both are at `level`. `resolution`
    is 1/N, what one lost incident costs; `underpowered` when that is more than the tolerance.
    """

    arm: str
    against: Against
    incidents: int
    regressed: int
    fixed: int
    mcnemar_exact: Figure | None
    mcnemar_mid_p: Figure | None
    drop_low: Figure | None
    drop_high: Figure | None
    level: Figure
    resamples: int
    seed: int
    wilson_low: Figure | None
    wilson_high: Figure | None
    resolution: Figure | None
    underpowered: bool


class ClassCount(Model):
    """Hits of one fault class in one arm: now, in the baseline and in Without; null where that was not measured over the
    same incidents.
    """

    arm: str
    fault_class: str
    incidents: int
    hits: int
    baseline: int | None
    without: int | None


class GateResult(Model):
    """The verdict, the check that named it, the sentence, and everything beside it.

    `reason` is the name of the deciding check, for Validity its own reason, and `GatePassed` for a pass.
    """

    verdict: Verdict
    reason: str
    message: str
    checks: tuple[CheckResult, ...]
    regressed: tuple[Movement, ...] = ()
    fixed: tuple[Movement, ...] = ()
    unchanged: tuple[Movement, ...] = ()
    margins: tuple[Margin, ...] = ()
    statistics: tuple[ArmStatistics, ...] = ()
    classes: tuple[ClassCount, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 passed, 1 regression, 2 no decision possible."""
        return _EXIT[self.verdict]


def clipped(text: str) -> str:
    return text if len(text) <= MESSAGE_LIMIT else text[: MESSAGE_LIMIT - 1] + "…"
