"""The scorecard: what a run measured, and the baseline that a run is compared with.

The deterministic part is what the candidate answered: equal inputs give equal bytes. The measured part is
what a machine adds (times, versions, repeats, would-be rankings). `deterministicSha256` identifies the
evidence, `sha256` the whole document.
"""

from fractions import Fraction
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    model_serializer,
    model_validator,
)

from rca_eval.contract.canonical import digest
from rca_eval.contract.errors import Reason
from rca_eval.contract.groundtruth import FaultClass, IncidentId
from rca_eval.contract.metrics import MetricName, aggregate, pessimistic_order, pessimistic_rank
from rca_eval.contract.model import MIB, PRINTABLE, Bool, Int, Model, Name, One, ServiceKey, Sha256
from rca_eval.contract.numbers import Figure
from rca_eval.contract.protocol import Arm, Engine, Mode, Revision, VariantName
from rca_eval.contract.usage import UsageTotal

SCORECARD_LIMIT = 16 * MIB

Status = Literal["Ranked", "Error", "Timeout", "Missing"]
Rank = Annotated[Int, Field(ge=1)]
Text = Annotated[str, StringConstraints(pattern=PRINTABLE, min_length=1, max_length=1000)]


class ScoredCandidate(Model):
    key: Name
    score: Figure | None = None
    terms: dict[Name, Figure] | None = None


class IncidentResult(Model):
    """One incident under one variant in one arm; `rank` is pessimistic, null for a miss outside the
    candidates.
    """

    id: IncidentId
    fault_class: FaultClass
    change_induced: Bool
    protected: Bool
    expected: Annotated[tuple[ServiceKey, ...], Field(min_length=1)]
    status: Status
    error: str | None = None
    table: str | None = None
    candidates: tuple[ScoredCandidate, ...] = ()
    rank: Rank | None = None
    decision: str | None = None
    evidence: tuple[str, ...] = ()

    @property
    def hit(self) -> bool:
        """The expected cause is alone at the top, as the producer wrote it; `true_rank` recomputes it."""
        return self.rank == 1

    def order(self) -> list[str]:
        """Keys in pessimistic order; empty unless the engine ranked: an error with candidates is still a
        miss.
        """
        if self.status != "Ranked":
            return []
        return pessimistic_order([(c.key, c.score) for c in self.candidates], self.expected)

    def true_rank(self) -> int | None:
        """The rank recomputed from the candidates. Raises `ValueError` on a score that is not finite."""
        if self.status != "Ranked":
            return None
        return pessimistic_rank([(c.key, c.score) for c in self.candidates], self.expected)

    def margin(self) -> Fraction | None:
        """Score of the best expected candidate - the best other; None without scores or without both."""
        if self.status != "Ranked":
            return None
        scores = {c.key: Fraction(c.score) for c in self.candidates if c.score is not None}
        wanted = [score for key, score in scores.items() if key in self.expected]
        others = [score for key, score in scores.items() if key not in self.expected]
        return max(wanted) - max(others) if wanted and others else None


class ArmResult(Model):
    arm: Arm
    incidents: tuple[IncidentResult, ...]
    metrics: dict[MetricName, Figure]

    def recomputed(self) -> dict[MetricName, Fraction]:
        """The metrics again, from the rows. Raises `ValueError` for an arm without incidents."""
        return aggregate([(result.order(), result.expected) for result in self.incidents])


def _arms_differ(arms: tuple[ArmResult, ...]) -> tuple[ArmResult, ...]:
    if len({arm.arm for arm in arms}) != len(arms):
        raise ValueError("each arm may occur once")
    return arms


Arms = Annotated[tuple[ArmResult, ...], AfterValidator(_arms_differ)]


class VariantResult(Model):
    """`sameAs` names an earlier variant with the same modes; then it ran once, and `arms` is empty here."""

    name: VariantName
    modes: dict[Name, Mode]
    same_as: VariantName | None = None
    arms: Arms = ()

    @property
    def active(self) -> tuple[str, ...]:
        """The mode keys that were Active, in order."""
        return tuple(sorted(key for key, value in self.modes.items() if value == "Active"))

    @model_validator(mode="after")
    def _either(self) -> Self:
        if self.same_as is not None and self.arms:
            raise ValueError("a variant that is sameAs another has no arms of its own")
        return self


class Control(Model):
    """The positive control: a ranker known to be bad, over the same data, which the gate must catch."""

    name: Literal["KnownBad"]
    arms: Arms


class DatasetInfo(Model):
    sha256: Sha256
    profile: str
    window_seconds: Int
    incidents: tuple[IncidentId, ...]


class Deterministic(Model):
    dataset: DatasetInfo
    revision: Revision
    variants: tuple[VariantResult, ...]
    control: Control | None = None

    @model_validator(mode="after")
    def _same_as_resolves(self) -> Self:
        for position, variant in enumerate(self.variants):
            if variant.same_as is None:
                continue
            earlier = {v.name: v.modes for v in self.variants[:position] if v.same_as is None}
            if variant.same_as not in earlier:
                raise ValueError(
                    f"{variant.name} is sameAs {variant.same_as}, which is no earlier variant with arms"
                )
            if earlier[variant.same_as] != variant.modes:
                raise ValueError(f"{variant.name} is sameAs {variant.same_as}, which ran under other modes")
        names = [variant.name for variant in self.variants]
        if len(set(names)) != len(names):
            raise ValueError("each variant name may occur once")
        return self

    def arms_of(self, name: str) -> tuple[ArmResult, ...] | None:
        """The arms of a variant, through `sameAs`; None when there is no such variant."""
        owner = self.owner_of(name)
        return next((variant.arms for variant in self.variants if variant.name == owner), None)

    def owner_of(self, name: str) -> str | None:
        """The variant under whose name the rows of `name` were measured."""
        found = next((variant for variant in self.variants if variant.name == name), None)
        return None if found is None else found.same_as or found.name


class MttrRow(Model):
    variant: VariantName
    arm: Arm
    value: Figure | None


class SecondsRow(Model):
    """Seconds per repeat, in order; null where a repeat gave no answer."""

    variant: VariantName
    arm: Arm
    incident: IncidentId
    values: tuple[Figure | None, ...]


class WouldBeRow(Model):
    """What a component in Shadow would have ranked; never part of the evidence bytes. `component` is its mode key,
    null from an engine that has one component only.
    """

    component: Name | None = None
    variant: VariantName
    arm: Arm
    incident: IncidentId
    entities: tuple[str, ...]


class ShadowDecisionRow(Model):
    """How often a component in Shadow would have ranked as the governing path did, over both arms."""

    component: Name | None = None
    variant: VariantName
    agree: Annotated[Int, Field(ge=0)]
    disagree: Annotated[Int, Field(ge=0)]


class Repeats(Model):
    count: Annotated[Int, Field(ge=0)]
    identical: Bool
    differences: Annotated[
        tuple[Annotated[str, StringConstraints(max_length=400)], ...], Field(max_length=50)
    ] = ()


class Measured(Model):
    """What the machine adds. `usage` came later: it is left out where no answer said what it used."""

    engine: Engine
    mttr_seconds: tuple[MttrRow, ...]
    seconds: tuple[SecondsRow, ...]
    repeats: Repeats
    total_seconds: tuple[Figure, ...]
    would_be: tuple[WouldBeRow, ...] = ()
    shadow_decisions: tuple[ShadowDecisionRow, ...] = ()
    usage: UsageTotal | None = None

    @model_serializer(mode="wrap")
    def _without_nothing(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in handler(self).items() if name != "usage" or value is not None}


class Scorecard(Model):
    """The whole document. `provenance` Scored: written by our scorecard container; SelfReported: by anybody
    else.
    """

    schema_version: One = 1
    kind: Literal["Scorecard"] = "Scorecard"
    provenance: Literal["Scored", "SelfReported"]
    deterministic: Deterministic
    measured: Measured

    def deterministic_sha256(self) -> str:
        return digest(self.deterministic)


class Acceptance(Model):
    """A lawful change of the reference: the file that it replaces (sha256 of its bytes), that file's engine, and why."""

    previous_sha256: Sha256
    previous_engine: Engine
    reason: Text


class BaselineProvenance(Model):
    """Where a baseline comes from. `revision` is what was measured, `evidenceSha256` the digest of the scorecard's
    deterministic part, `accepted` every change since the first baseline, the oldest first.

    The last three came later: they are left out where they say nothing, so that the bytes of older files stay.
    """

    engine: Engine
    created_by: Name
    revision: Revision | None = None
    evidence_sha256: Sha256 | None = None
    accepted: Annotated[tuple[Acceptance, ...], Field(max_length=1000)] = ()

    @model_serializer(mode="wrap")
    def _without_nothing(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in handler(self).items() if value not in (None, (), [])}


class BaselineMttr(Model):
    arm: Arm
    value: Figure | None


Fingerprint = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]


def fingerprint(result: IncidentResult) -> str:
    """16 hex digits for everything that was answered about an incident, label included."""
    return digest(result)[:16]


class Reference(Model):
    """What was answered in an arm while the mode keys `active` were Active and all others in Shadow: a fingerprint for
    each incident.
    """

    active: Annotated[tuple[Name, ...], Field(min_length=1, max_length=64)]
    arm: Arm
    incidents: dict[IncidentId, Fingerprint]

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if list(self.active) != sorted(set(self.active)):
            raise ValueError("active lists its keys in order, each once")
        return self


class Baseline(Model):
    """The AllShadow variant of a scorecard, committed beside the dataset.

    `references` may hold what was answered with components Active; they came later, and are left out where there is
    none, so that the bytes of older files stay.
    """

    schema_version: One = 1
    kind: Literal["Baseline"] = "Baseline"
    comment: str = ""
    provenance: BaselineProvenance
    dataset: DatasetInfo
    arms: Arms
    mttr_seconds: tuple[BaselineMttr, ...]
    references: Annotated[tuple[Reference, ...], Field(max_length=1000)] = ()

    @model_validator(mode="after")
    def _references_differ(self) -> Self:
        if len({(one.active, one.arm) for one in self.references}) != len(self.references):
            raise ValueError("the same modes and arm may have one reference")
        return self

    @model_serializer(mode="wrap")
    def _without_nothing(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in handler(self).items() if name != "references" or value}


def parse_scorecard(data: bytes, *, source: str = "the scorecard") -> Scorecard:
    """Raises `ContractError(ScorecardInvalid)`."""
    return Scorecard.parse(data, source=source, reason=Reason.SCORECARD_INVALID, limit=SCORECARD_LIMIT)


def parse_baseline(data: bytes, *, source: str = "the baseline") -> Baseline:
    """Raises `ContractError(BaselineInvalid)`."""
    return Baseline.parse(data, source=source, reason=Reason.BASELINE_INVALID, limit=SCORECARD_LIMIT)
