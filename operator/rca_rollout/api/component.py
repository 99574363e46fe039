"""RcaComponent: what is promoted, and where its mode is written."""

from typing import Annotated

from pydantic import Field

from rca_rollout.api.base import Model, Rule
from rca_rollout.api.common import (
    ApprovalPolicy,
    ConfigMapSource,
    DeletionPolicy,
    DriftPolicy,
    LocalRef,
    Mode,
    OnRegression,
)
from rca_rollout.api.component_status import RcaComponentStatus
from rca_rollout.api.meta import Column, KindInfo, Metadata, Resource
from rca_rollout.api.values import Duration, Interval, ModeValue, Period, RevisionName

NAME_LIMIT = 40


class TargetValues(Model):
    """The words that the consumer reads."""

    cel = (
        Rule(
            "self.shadow != self.active",
            "the values for shadow and active must differ",
            lambda it: it.shadow != it.active,
        ),
    )

    shadow: ModeValue = "Shadow"
    active: ModeValue = "Active"


class Target(ConfigMapSource):
    """The one key that is written. Its ConfigMap must opt in by label and annotation."""

    cel = (
        Rule(
            "self.configMapRef.name == oldSelf.configMapRef.name && self.key == oldSelf.key",
            "target.configMapRef and target.key cannot be changed: make a new RcaComponent for another key",
        ),
    )

    values: TargetValues = TargetValues()


class Observation(Model):
    """How long, and how often, a component is watched before it is promoted."""

    period: Period = Duration("24h")
    """Time between the passed gate and the promotion."""
    interval: Interval = Duration("8h")
    """Time between two runs."""
    min_passing_runs: Annotated[int, Field(strict=True, ge=1, le=100)] = 3


class PromotionPolicy(Model):
    """What the switch to Active asks for beside the evidence."""

    approval: ApprovalPolicy = ApprovalPolicy.AUTOMATIC
    """Manual: when all evidence is there, a person approves it by the annotation `rca.bluerobin.io/approve`."""
    require_benefit: Annotated[bool, Field(strict=True)] = False
    """Promote only what explains at least one incident that is not explained without it."""


class Guard(Model):
    """How an Active component is watched."""

    interval: Interval = Duration("8h")
    on_regression: OnRegression = OnRegression.DEMOTE


class RcaComponentSpec(Model):
    """What is promoted, on what evidence."""

    mode: Mode = Mode.ACTIVE
    """The wish. Shadow holds the component back, or demotes it at once."""
    revision: RevisionName
    """What runs in production and is evaluated. A new revision starts from the beginning."""
    suite_ref: LocalRef
    target: Target
    observation: Observation = Observation()
    promotion: PromotionPolicy = PromotionPolicy()
    guard: Guard = Guard()
    drift_policy: DriftPolicy = DriftPolicy.REPORT
    """When somebody else sets the key to Active without evidence. Report: an alarm, and a guard run at once. Revert: back to
    Shadow, at most twice in ten minutes against the same manager. Writes to Shadow are never taken back."""
    deletion_policy: DeletionPolicy = DeletionPolicy.RETAIN
    """RevertToShadow: the key is put back before the object goes, held by the finalizer `rca.bluerobin.io/revert`."""
    suspend: Annotated[bool, Field(strict=True)] = False
    """Nothing is evaluated or promoted; the wish for Shadow is still honoured."""


class RcaComponent(Resource):
    """RcaComponent is switched from Shadow to Active when its evaluation and observation allow it."""

    info = KindInfo(
        kind="RcaComponent",
        plural="rcacomponents",
        singular="rcacomponent",
        short_name="rcac",
        columns=(
            Column("MODE", ".status.mode"),
            Column("PHASE", ".status.phase"),
            Column("AC@1", ".status.evaluation.accuracy"),
            Column("DELTA", ".status.evaluation.delta"),
            Column("OBSERVED", ".status.observation.summary"),
            Column("READY", '.status.conditions[?(@.type=="Ready")].status'),
            Column("REVISION", ".status.revision", wide=True),
            Column("REASON", '.status.conditions[?(@.type=="Promoted")].reason', wide=True),
            Column("BASELINE", ".status.evaluation.baseline", wide=True),
        ),
    )
    cel = (
        Rule(
            f"size(self.metadata.name) <= {NAME_LIMIT}",
            f"the name of an RcaComponent has at most {NAME_LIMIT} characters: runs are named after it",
            lambda it: len(it.metadata.name) <= NAME_LIMIT,
        ),
    )

    metadata: Metadata
    spec: RcaComponentSpec
    status: RcaComponentStatus = RcaComponentStatus()
