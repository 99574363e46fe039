"""Ground truth, schema version 1: the labelled incidents, equal to `data/ground-truth.schema.json`.

Four fields of an incident are required by the schema (`id`, `faultClass`, `expectedRootCause`,
`changeInduced`); what an arm needs beyond them is checked where the arm is prepared, and by `rca-eval lint`.
Times are whole Unix seconds.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    model_validator,
)

from rca_eval.contract.epochs import unix_seconds
from rca_eval.contract.errors import ContractError, Reason
from rca_eval.contract.model import MIB, Bool, Int, Model, One, ServiceKey, Sha256
from rca_eval.contract.numbers import Number

DATASET_LIMIT = 16 * MIB

UnixTime = Annotated[Int, AfterValidator(unix_seconds)]
Ratio = Annotated[Number, Field(ge=0, le=1)]
IncidentId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]
FaultClass = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(/[a-z0-9-]+)?$")]


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _distinct(value: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(value)) != len(value):
        raise ValueError("the entries must differ")
    return value


def _pair(value: Any) -> Any:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise ValueError("a pair of two values is needed")
    return value


Causes = Annotated[
    tuple[ServiceKey, ...], BeforeValidator(_as_list), Field(min_length=1), AfterValidator(_distinct)
]
Call = Annotated[tuple[ServiceKey, ServiceKey], BeforeValidator(_pair)]
Sample = Annotated[tuple[UnixTime, Number | None], BeforeValidator(_pair)]


class Alert(Model):
    """What woke somebody up. Onset T = firedAt - forSeconds."""

    name: str
    service: ServiceKey
    fired_at: UnixTime
    for_seconds: Annotated[Int, Field(ge=0)] = 0
    severity: str | None = None
    labels: dict[str, str] = Field(default_factory=dict)

    @property
    def onset(self) -> int:
        return self.fired_at - self.for_seconds


class Service(Model):
    key: ServiceKey
    kind: Literal["workload", "datastore", "ingress", "external"] | None = None
    aliases: tuple[str, ...] = ()


class Topology(Model):
    """Services and directed calls `[caller, callee]`."""

    services: tuple[Service, ...]
    calls: tuple[Call, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(service.key for service in self.services)


class Generator(Model):
    """A series given by its statistics; `rca-eval job prepare` expands it, so that no engine ever sees these
    numbers.
    """

    metric: str
    median: Number
    iqr: Annotated[Number, Field(gt=0)]
    z: Number
    lag_seconds: Int = 0


class Samples(Model):
    metric: str
    samples: tuple[Sample, ...]


class SeriesFile(Model):
    """Samples kept in a file beside the dataset, named relative to it. `sha256` is of the file's bytes, so the
    dataset's own digest covers them.
    """

    metric: str
    file: str
    sha256: Sha256


def _series_form(value: Any) -> str:
    """Choose the variant by its own field, so that an error names one field and not three."""
    fields = (
        value
        if isinstance(value, dict)
        else {name: None for name in ("samples", "file") if hasattr(value, name)}
    )
    return "<samples>" if "samples" in fields else "<file>" if "file" in fields else "<generator>"


Series = Annotated[
    Annotated[Generator, Tag("<generator>")]
    | Annotated[Samples, Tag("<samples>")]
    | Annotated[SeriesFile, Tag("<file>")],
    Discriminator(_series_form),
]


class ServiceTelemetry(Model):
    """Ratios in [0, 1]; absent ones count as 0 in a score."""

    criticality: Ratio | None = None
    error_rate: Ratio | None = None
    error_rate_before: Ratio | None = None
    series: tuple[Series, ...] = ()


class Telemetry(Model):
    availability: Literal["full", "degraded", "none"]
    services: dict[ServiceKey, ServiceTelemetry]


class Change(Model):
    """A deploy or another change of a service at a time."""

    kind: Literal["Deploy", "Change"]
    service: ServiceKey
    at: UnixTime
    ref: str | None = None
    actor: str | None = None


class Distractor(Model):
    service: ServiceKey
    kind: Literal["topologyTrap", "gradedTrap", "changeTrap", "loudLeaf", "coincidentChange"]


class Label(Model):
    status: Literal["draft", "confirmed", "disputed"]
    by: str | None = None
    reviewed_by: str | None = None
    source: str | None = None
    family: str | None = None


class Incident(Model):
    """One labelled incident."""

    id: IncidentId
    fault_class: FaultClass
    expected_root_cause: Causes
    change_induced: Bool
    protected: Bool = False
    symptom: ServiceKey | None = None
    onset: UnixTime | None = None
    onset_source: Literal["label", "alert", "detected"] | None = None
    alert: Alert | None = None
    topology: Topology | None = None
    telemetry: Telemetry | None = None
    changes: tuple[Change, ...] = ()
    distractors: tuple[Distractor, ...] = ()
    label: Label | None = None
    simulate: dict[str, Any] = Field(default_factory=dict)


class GroundTruth(Model):
    """The whole file: `{schemaVersion, windowSeconds, incidents[], profile?, aliases?, _comment?}`."""

    schema_version: One
    window_seconds: Annotated[Int, Field(ge=60)]
    comment: str | None = Field(default=None, alias="_comment")
    profile: Literal["seed", "graded", "headroom", "user"] = "user"
    aliases: dict[str, ServiceKey] = Field(default_factory=dict)
    incidents: Annotated[tuple[Incident, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _ids_differ(self) -> Self:
        seen: set[str] = set()
        for incident in self.incidents:
            if incident.id in seen:
                raise ValueError(f"the incident id {incident.id} occurs twice; ids must differ")
            seen.add(incident.id)
        return self


def parse_ground_truth(data: bytes, *, source: str = "the dataset") -> GroundTruth:
    """Raises `ContractError(DatasetInvalid)`."""
    truth = GroundTruth.parse(data, source=source, reason=Reason.DATASET_INVALID, limit=DATASET_LIMIT)
    for incident in truth.incidents:
        _check_references(incident, source)
    return truth


def _check_references(incident: Incident, source: str) -> None:
    """A name that nothing defines is a typing error that would otherwise show as a mysterious miss."""
    if incident.topology is None:
        return
    known = set(incident.topology.keys)
    if len(known) != len(incident.topology.keys):
        raise ContractError(
            Reason.DATASET_INVALID,
            f"{source}: {incident.id} lists a service of its topology twice; keep one.",
        )
    named = [("topology.calls", key) for call in incident.topology.calls for key in call]
    named += [("changes", change.service) for change in incident.changes]
    named += [
        ("telemetry.services", key) for key in (incident.telemetry.services if incident.telemetry else ())
    ]
    named += [("alert.service", incident.alert.service)] if incident.alert else []
    for field, key in named:
        if key not in known:
            raise ContractError(
                Reason.DATASET_INVALID,
                f"{source}: {incident.id} names {key} in {field}, but topology.services has no such "
                "key; add it or correct the name.",
            )
