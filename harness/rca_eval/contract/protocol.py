"""Protocol 1: what an engine reads (manifest, incidents) and what it writes (predictions)."""

import hashlib
import hmac
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, StringConstraints, Tag, model_validator

from rca_eval.contract.errors import Reason
from rca_eval.contract.groundtruth import Call, Change, Ratio, Sample, UnixTime
from rca_eval.contract.jsontext import load_json
from rca_eval.contract.model import MIB, PRINTABLE, Bool, Int, Model, Name, One, ServiceKey
from rca_eval.contract.numbers import Number
from rca_eval.contract.usage import Usage

PREDICTIONS_LIMIT = 8 * MIB
MAX_CANDIDATES = 2000

Arm = Literal["ScorerOnly", "LivePath"]
ARMS: tuple[Arm, ...] = ("ScorerOnly", "LivePath")
VariantName = Literal["AllShadow", "Without", "With"]
Mode = Name  # "Shadow" or "Active"; a consumer reads every other value as Shadow, and so does an engine
CaseId = Annotated[str, StringConstraints(pattern=r"^case-[0-9a-f]{8}$")]


def case_id(dataset_sha256: str, arm: str, incident: str) -> str:
    """The opaque name of an incident in an arm: `case-` and 8 hex digits of HMAC-SHA256(dataset digest,
    arm/id).
    """
    mac = hmac.new(dataset_sha256.encode(), f"{arm}/{incident}".encode(), hashlib.sha256)
    return f"case-{mac.hexdigest()[:8]}"


class Variant(Model):
    """A named vector of modes. Keys are the consumer's ConfigMap keys, verbatim."""

    name: VariantName
    modes: dict[Name, Mode]


def parse_variants(text: str, *, source: str = "RCA_EVAL_VARIANTS") -> tuple[Variant, ...]:
    """The variants of a run, names distinct, in order. Raises `ContractError(EnvironmentInvalid)`."""
    value = load_json(text.encode(), source=source, reason=Reason.ENVIRONMENT_INVALID, limit=MIB)
    return _Variants.read({"variants": value}, source=source, reason=Reason.ENVIRONMENT_INVALID).variants


class _Variants(Model):
    variants: Annotated[tuple[Variant, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        if len({variant.name for variant in self.variants}) != len(self.variants):
            raise ValueError("each variant name may occur once")
        return self


class Run(Model):
    """One unit of work: rank this incident under these modes. `incident` is relative to the manifest."""

    variant: VariantName
    arm: Arm
    case: CaseId
    modes: dict[Name, Mode]
    incident: Annotated[str, StringConstraints(pattern=r"^(ScorerOnly|LivePath)/case-[0-9a-f]{8}\.json$")]


Revision = Annotated[str, StringConstraints(pattern=PRINTABLE, max_length=253)]


class Manifest(Model):
    protocol: One = 1
    revision: Revision
    runs: tuple[Run, ...]


class EngineAlert(Model):
    name: str
    service: ServiceKey
    fired_at: UnixTime
    for_seconds: Annotated[Int, Field(ge=0)] = 0
    severity: str | None = None

    @property
    def onset(self) -> int:
        """T: the alert's rule was true for `forSeconds` before it fired."""
        return self.fired_at - self.for_seconds


class EngineService(Model):
    key: ServiceKey
    kind: str | None = None


class EngineTopology(Model):
    services: tuple[EngineService, ...]
    calls: tuple[Call, ...]


class EngineSeries(Model):
    metric: str
    samples: tuple[Sample, ...]


class EngineTelemetryRow(Model):
    criticality: Ratio | None = None
    error_rate: Ratio | None = None
    error_rate_before: Ratio | None = None
    series: tuple[EngineSeries, ...] = ()


class EngineTelemetry(Model):
    availability: Literal["full", "degraded", "none"]
    services: dict[ServiceKey, EngineTelemetryRow]


class EngineChange(Change):
    """A change as an engine sees it; who made it stays outside."""

    actor: None = Field(default=None, exclude=True)


class PastIncident(Model):
    """An earlier incident whose cause a person confirmed. `services` are those with an error ratio of 0.5 or more."""

    key: Name
    resolved_at: Annotated[Int, Field(ge=0)]
    symptom: ServiceKey
    alert: str
    services: tuple[ServiceKey, ...] = ()
    causes: Annotated[tuple[ServiceKey, ...], Field(min_length=1)]


OnsetSource = Literal["alert", "detected"]


class EngineIncident(Model):
    """What an engine sees of an incident: a whitelist. No id, label, fault class or distractor mark of this
    incident has a field here.

    `onsetSource` says where T comes from: `alert` (firedAt - forSeconds; the default) or `detected` (the engine finds
    it in the series). `past` holds earlier incidents; only the reference engine gets it, see `job.past`.
    """

    protocol: One = 1
    case: CaseId
    window_seconds: Annotated[Int, Field(ge=60)]
    alert: EngineAlert
    topology: EngineTopology
    telemetry: EngineTelemetry
    changes: tuple[EngineChange, ...]
    onset_source: OnsetSource | None = None
    past: tuple[PastIncident, ...] | None = None


def _score(value: Any) -> Any:
    if isinstance(value, str):
        if len(value) > 40 or not _plain_decimal(value):
            raise ValueError('a score is a finite number or a decimal string such as "0.765"')
        return Decimal(value)
    return value


def _plain_decimal(text: str) -> bool:
    whole, _, rest = text.removeprefix("-").partition(".")
    return whole.isascii() and whole.isdigit() and (rest == "" or (rest.isascii() and rest.isdigit()))


Score = Annotated[Number, BeforeValidator(_score), Field(ge=-(10**9), le=10**9)]
Entity = Name


class RankedEntity(Model):
    entity: Entity
    score: Score | None = None
    terms: dict[Name, Score] | None = None


Entities = Annotated[tuple[Entity, ...], Field(max_length=MAX_CANDIDATES)]
WouldBe = Annotated[
    Annotated[Entities, Tag("<list>")]
    | Annotated[dict[Name, Entities], Field(max_length=64), Tag("<object>")],
    Discriminator(lambda value: "<object>" if isinstance(value, dict) else "<list>"),
]
"""What a component in Shadow would have ranked: by its mode key, or one list from an engine with one component."""


class Prediction(Model):
    """An engine's answer to one run, best candidate first."""

    variant: VariantName
    arm: Arm
    case: CaseId
    candidates: Annotated[tuple[RankedEntity, ...], Field(max_length=MAX_CANDIDATES)] = ()
    seconds: Annotated[Number, Field(ge=0, le=10**6)]
    table: Annotated[str, StringConstraints(max_length=63)] | None = None
    decision: Annotated[str, StringConstraints(max_length=253)] | None = None
    evidence: Annotated[tuple[Entity, ...], Field(max_length=200)] = ()
    would_be: WouldBe | None = None
    usage: Usage | None = None
    error: Annotated[str, StringConstraints(max_length=2000)] | None = None
    timed_out: Bool = False

    @model_validator(mode="after")
    def _ranked(self) -> Self:
        entities = [candidate.entity for candidate in self.candidates]
        if len(set(entities)) != len(entities):
            raise ValueError("an entity may be a candidate once")
        scores = [candidate.score for candidate in self.candidates]
        if any(score is None for score in scores):
            if any(score is not None for score in scores):
                raise ValueError("give every candidate a score, or none of them")
            return self
        known = [round(Fraction(score) * 10**9) for score in scores if score is not None]
        if any(later > earlier for earlier, later in pairwise(known)):
            raise ValueError("scores must not rise from one candidate to the next: put the best first")
        return self


class Engine(Model):
    name: Name
    version: Name


class Predictions(Model):
    """The whole `predictions.json`, at most 8 MiB."""

    protocol: One
    engine: Engine
    predictions: tuple[Prediction, ...]

    @model_validator(mode="after")
    def _one_answer_each(self) -> Self:
        seen: set[tuple[str, str, str]] = set()
        for answer in self.predictions:
            key = (answer.variant, answer.arm, answer.case)
            if key in seen:
                raise ValueError(
                    f"{answer.variant}/{answer.arm}/{answer.case} is answered twice; write one "
                    "answer for each run"
                )
            seen.add(key)
        return self


def parse_predictions(data: bytes, *, source: str = "predictions.json") -> Predictions:
    """Raises `ContractError(PredictionsInvalid)`."""
    return Predictions.parse(data, source=source, reason=Reason.PREDICTIONS_INVALID, limit=PREDICTIONS_LIMIT)


def parse_manifest(data: bytes, *, source: str = "manifest.json") -> Manifest:
    """Raises `ContractError(ManifestInvalid)`."""
    return Manifest.parse(data, source=source, reason=Reason.MANIFEST_INVALID)


def parse_incident(data: bytes, *, source: str = "the incident") -> EngineIncident:
    """Raises `ContractError(IncidentInvalid)`."""
    return EngineIncident.parse(data, source=source, reason=Reason.INCIDENT_INVALID)
