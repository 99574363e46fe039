"""What the gate allows (policy, chosen by people) and what it must hold the scorecard against (context, known
by the caller).
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from rca_eval.contract.errors import Reason
from rca_eval.contract.groundtruth import IncidentId
from rca_eval.contract.model import MIB, Bool, Int, Model

Drop = Annotated[str, StringConstraints(pattern=r"^(0(\.[0-9]{1,9})?|1(\.0{1,9})?)$")]
ShadowFidelity = Literal["Required", "IfLogged"]
ReferenceDrift = Literal["Fail", "Warn"]


class GatePolicy(Model):
    """The tolerances of a suite. Unknown keys are refused: a misspelt tolerance must not fall back to a
    default.

    `accuracyDrop` is a decimal string in [0, 1], `mttrRise` whole seconds. `protectedIncidents` null means:
    all that are marked protected or change-induced. `maxRegressedIncidents` allows so many lost incidents
    whatever the average says, null any number. `shadowFidelity` Required: Shadow must have logged, for every
    incident, what Active ranks; IfLogged lets an engine pass that logs nothing at all. `referenceDrift` says what an answer
    comes to that is not the baseline's reference of the same modes, where there is one. `requireKnownBad` asks for the positive control,
    `allowSelfReported` lets a scorecard decide that our scorecard container did not write.
    """

    accuracy_drop: Drop = "0.02"
    mttr_rise: Annotated[Int, Field(ge=0, le=86400)] = 30
    protected_incidents: tuple[IncidentId, ...] | None = None
    max_regressed_incidents: Annotated[Int, Field(ge=0)] | None = None
    shadow_fidelity: ShadowFidelity = "Required"
    reference_drift: ReferenceDrift = "Fail"
    min_incidents: Annotated[Int, Field(ge=1)] = 9
    min_fault_classes: Annotated[Int, Field(ge=1)] = 3
    min_repeats: Annotated[Int, Field(ge=1, le=100)] = 2
    require_known_bad: Bool = True
    allow_self_reported: Bool = False

    @property
    def tolerance(self) -> Fraction:
        return Fraction(self.accuracy_drop)


def parse_policy(data: bytes, *, source: str = "the policy") -> GatePolicy:
    """Raises `ContractError(PolicyInvalid)`."""
    return GatePolicy.parse(data, source=source, reason=Reason.POLICY_INVALID, limit=MIB)


@dataclass(frozen=True)
class GateContext:
    """What the caller knows from elsewhere; None means not known, and is then not compared.

    `component` says whether the run measures a component: then a With variant must be there. Without one (a
    batch run) the effective modes themselves are judged. `wall_seconds` are the wall times of the eval
    containers, one for each repeat.
    """

    dataset_sha256: str | None = None
    revision: str | None = None
    component: bool = True
    wall_seconds: tuple[Fraction | int, ...] | None = None
