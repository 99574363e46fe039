"""What the gate says. `message` is the one sentence that conditions, Events and the command line show."""

from typing import Literal

from rca_eval.contract.model import Model
from rca_eval.contract.numbers import Figure

Verdict = Literal["Passed", "Failed", "Inconclusive", "Error"]
Outcome = Literal["Passed", "Failed", "Inconclusive", "Error", "Warning", "NotApplicable"]
CheckName = Literal[
    "Validity", "AC@1", "MTTR", "ProtectedIncidents", "ShadowCollapse", "NoEffect", "MTTRRatio"
]

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
    against: Literal["Baseline", "Without"] | None = None
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
    """How far the expected cause is ahead of the best other candidate, now and in the baseline."""

    arm: str
    incident: str
    value: Figure
    baseline: Figure | None


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
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 passed, 1 regression, 2 no decision possible."""
        return _EXIT[self.verdict]


def clipped(text: str) -> str:
    return text if len(text) <= MESSAGE_LIMIT else text[: MESSAGE_LIMIT - 1] + "…"
