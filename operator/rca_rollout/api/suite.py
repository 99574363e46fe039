"""EvalSuite: what is measured, and against what. Shared by the components that are promoted on it."""

from typing import Annotated

from pydantic import Field

from rca_rollout.api.base import Model, Rule
from rca_rollout.api.common import ConfigMapSource, Determinism, KnownBad, ShadowFidelity, Status
from rca_rollout.api.history import HistoryLimits
from rca_rollout.api.job import JobTemplate
from rca_rollout.api.meta import Column, KindInfo, Metadata, Resource
from rca_rollout.api.schedule import Budget, Judge, Ledger, Schedule, ScheduleStatus
from rca_rollout.api.values import (
    ConfigMapKey,
    Count,
    DecimalString,
    Duration,
    Figure,
    IncidentId,
    Rise,
    Sha256,
    Share,
)

AtLeastOne = Annotated[int, Field(strict=True, ge=1, le=100_000)]


class Dataset(ConfigMapSource):
    """Labelled incidents: the ground truth."""

    key: ConfigMapKey = "ground-truth.json"
    sha256: Sha256 | None = None
    """Digest of the file. If set, a dataset with another digest is not used."""


class BaselineSource(ConfigMapSource):
    """The committed scorecard that results are held against."""

    key: ConfigMapKey = "baseline.json"


class Tolerance(Model):
    """How much worse a component may be and still pass."""

    accuracy_drop: Share = DecimalString("0.02")
    """Largest allowed drop of AC@1, a decimal string."""
    mttr_rise: Rise = Duration("30s")
    """Largest allowed rise of the mean time to the cause."""


class EvalSuiteSpec(Model):
    """What is measured."""

    cel = (
        Rule(
            "!has(self.schedule) || !has(self.schedule.judge) || !self.schedule.judge || has(self.judge)",
            "schedule.judge needs spec.judge: say where the judge is",
            lambda it: it.schedule is None or not it.schedule.judge or it.judge is not None,
        ),
        Rule(
            "!has(self.budget) || !has(self.budget.costPerMonth) || !has(self.judge)"
            " || has(self.judge.pricePerMillionTokens)",
            "with budget.costPerMonth, judge.pricePerMillionTokens says what the judge costs",
            lambda it: (
                it.budget is None
                or it.budget.cost_per_month is None
                or it.judge is None
                or it.judge.price_per_million_tokens is not None
            ),
        ),
    )

    dataset: Dataset
    baseline: BaselineSource
    tolerance: Tolerance = Tolerance()
    protected_incidents: (
        Annotated[
            tuple[IncidentId, ...],
            Field(max_length=256, json_schema_extra={"x-kubernetes-list-type": "set"}),
        ]
        | None
    ) = None
    """Incidents that must not be lost at all. Default: the change-induced ones; an empty list means none."""
    max_regressed_incidents: Annotated[int, Field(strict=True, ge=0, le=100_000)] | None = None
    """How many incidents may be lost in LivePath, whatever is won elsewhere and whatever the average says. Default: any
    number, as long as the tolerance holds. 0 is right for 50 incidents and more, where 0.02 lets one be lost."""
    shadow_fidelity: ShadowFidelity = ShadowFidelity.REQUIRED
    """Required: for every incident the engine logs in Shadow (wouldBe) what the component ranks when it is Active.
    IfLogged: an engine that logs nothing at all is not held to it."""
    known_bad: KnownBad = KnownBad.REQUIRED
    """Required: the gate must catch a ranker known to be bad on the same incidents, else a run is Inconclusive. Skip: for
    incidents on which it cannot be caught; a pass then shows less."""
    min_incidents: AtLeastOne = 9
    """Fewer incidents make a run Inconclusive."""
    min_fault_classes: AtLeastOne = 3
    """Fewer classes of faults make a run Inconclusive."""
    determinism: Determinism = Determinism.EXACT
    """Exact: the repeats of a run must be identical, byte for byte."""
    job: JobTemplate = JobTemplate()
    max_concurrent_runs: Annotated[int, Field(strict=True, ge=1, le=1000)] = 1
    """How many evaluations run at once. Guard runs of Active components come first, then gate and observation runs, then
    scheduled and manual ones, the oldest first; who has waited for hours longer comes before all."""
    history_limits: HistoryLimits = HistoryLimits()
    schedule: Schedule | None = None
    budget: Budget | None = None
    judge: Judge | None = None


class DatasetStatus(Model):
    """The dataset as last read."""

    sha256: Figure | None = None
    incidents: Count | None = None
    profile: Figure | None = None


class BaselineStatus(Model):
    """The baseline as last read."""

    sha256: Figure | None = None
    accuracy: Figure | None = None
    """AC@1 of the baseline, for display."""


class EvalSuiteStatus(Status):
    """Whether the suite can be used."""

    dataset: DatasetStatus | None = None
    baseline: BaselineStatus | None = None
    schedule: ScheduleStatus | None = None
    ledger: Ledger | None = None


class EvalSuite(Resource):
    """EvalSuite says which labelled incidents are replayed, how, and how much worse a component may be."""

    info = KindInfo(
        kind="EvalSuite",
        plural="evalsuites",
        singular="evalsuite",
        short_name="esuite",
        columns=(
            Column("INCIDENTS", ".status.dataset.incidents", type="integer"),
            Column("BASELINE", ".status.baseline.accuracy"),
            Column("READY", '.status.conditions[?(@.type=="Ready")].status'),
            Column("NEXT", ".status.schedule.next", wide=True),
            Column("BUDGET", ".status.ledger.summary", wide=True),
            Column("PROFILE", ".status.dataset.profile", wide=True),
            Column("REASON", '.status.conditions[?(@.type=="Ready")].reason', wide=True),
        ),
    )
    cel = (
        Rule(
            "size(self.metadata.name) <= 63",
            "the name of an EvalSuite has at most 63 characters: it is used as a label",
            lambda it: len(it.metadata.name) <= 63,
        ),
    )

    metadata: Metadata
    spec: EvalSuiteSpec
    status: EvalSuiteStatus = EvalSuiteStatus()
