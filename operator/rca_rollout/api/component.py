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
from rca_rollout.api.component_status import EVIDENCE_LIMIT, RcaComponentStatus
from rca_rollout.api.confirmation import Confirmation
from rca_rollout.api.live import LiveConditions
from rca_rollout.api.meta import Column, KindInfo, Metadata, Resource
from rca_rollout.api.revision import ActiveValue, Inputs, OnNewRevision, WorkloadRef
from rca_rollout.api.values import Age, Duration, Interval, ModeValue, Period, RevisionName

NAME_LIMIT = 40


def _never_the_same(it: "TargetValues") -> bool:
    before, token, after = it.active.partition("{revision}")
    fits = it.shadow.startswith(before) and it.shadow.endswith(after)
    return not token or not (fits and len(it.shadow) > len(before) + len(after))


class TargetValues(Model):
    """The words that the consumer reads."""

    cel = (
        Rule(
            "self.shadow != self.active",
            "the values for shadow and active must differ",
            lambda it: it.shadow != it.active,
        ),
        Rule(
            "!self.active.contains('{revision}') || !(self.shadow.startsWith(self.active.split('{revision}')[0]) && "
            "self.shadow.endsWith(self.active.split('{revision}')[1]) && size(self.shadow) > size(self.active) - 10)",
            "the value for shadow must not be one that active takes for some revision: put more than {revision} into "
            "active, such as Active@{revision}",
            _never_the_same,
        ),
    )

    shadow: ModeValue = "Shadow"
    active: ActiveValue = "Active"
    """May hold `{revision}` once, such as `Active@{revision}`: the consumer of that revision reads it as Active, every other
    one as Shadow."""


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

    cel = (
        Rule(
            "!has(self.maxEvidenceAge) || self.minPassingRuns <= 20",
            "with maxEvidenceAge, minPassingRuns is at most 20: so many runs are remembered one by one",
            lambda it: it.max_evidence_age is None or it.min_passing_runs <= EVIDENCE_LIMIT,
        ),
        Rule(
            "!has(self.maxEvidenceAge) || duration(self.maxEvidenceAge).getSeconds() >= "
            "duration(self.interval).getSeconds() * self.minPassingRuns",
            "maxEvidenceAge must be at least interval times minPassingRuns: else there are never enough runs that are "
            "young enough",
            lambda it: (
                it.max_evidence_age is None
                or it.max_evidence_age.seconds >= it.interval.seconds * it.min_passing_runs
            ),
        ),
    )

    period: Period = Duration("24h")
    """Time between the passed gate and the promotion."""
    interval: Interval = Duration("8h")
    """Time between two runs."""
    min_passing_runs: Annotated[int, Field(strict=True, ge=1, le=100)] = 3
    min_shadow_decisions: Annotated[int, Field(strict=True, ge=0, le=1_000_000)] = 0
    """Decisions that the component has come to in Shadow (outcome agree or disagree; an error or a time-out is none) since the
    observation began, counted by Prometheus: `rca_shadow_decisions_total`."""
    max_evidence_age: Age | None = None
    """Runs that were started longer ago than this do not count for a promotion."""
    conditions: LiveConditions = ()
    """What Prometheus has to say before a promotion. Time counts only while every Guardrail and Signal lets pass."""


class PromotionPolicy(Model):
    """What the switch to Active asks for beside the evidence."""

    approval: ApprovalPolicy = ApprovalPolicy.AUTOMATIC
    """Manual: when all evidence is there, a person approves it by the annotation `rca.bluerobin.io/approve`."""
    require_benefit: Annotated[bool, Field(strict=True)] = False
    """Promote only what explains at least one incident that is not explained without it."""
    on_new_revision: OnNewRevision = OnNewRevision.DEMOTE
    """What becomes of the key when another revision runs. Demote: it is set to the shadow value at once. Hold: it keeps the word
    of the promoted revision, which the new one reads as Shadow; rolled back, that one governs again."""


class Guard(Model):
    """How an Active component is watched."""

    interval: Interval = Duration("8h")
    on_regression: OnRegression = OnRegression.DEMOTE
    conditions: LiveConditions = ()
    """What Prometheus watches while the component is Active. A Guardrail that two readings in a row find violated demotes,
    whatever onRegression says."""


class RcaComponentSpec(Model):
    """What is promoted, on what evidence."""

    cel = (
        Rule(
            "has(self.revision) != has(self.workloadRef)",
            "exactly one of revision and workloadRef says what runs",
            lambda it: (it.revision is None) != (it.workload_ref is None),
        ),
        Rule(
            "self.promotion.onNewRevision != 'Hold' || self.target.values.active.contains('{revision}')",
            "onNewRevision Hold needs {revision} in target.values.active: another word would switch the new revision to "
            "Active, too",
            lambda it: (
                it.promotion.on_new_revision is not OnNewRevision.HOLD
                or "{revision}" in it.target.values.active
            ),
        ),
    )

    mode: Mode = Mode.ACTIVE
    """The wish. Shadow holds the component back, or demotes it at once."""
    revision: RevisionName | None = None
    """What runs in production and is evaluated, by name. A new revision starts from the beginning."""
    workload_ref: WorkloadRef | None = None
    """In place of `revision`: the workload whose Pods say what runs. With `{revision}` in target.values.active its Pod template
    names the revision in the annotation `rca.bluerobin.io/revision`."""
    inputs: Inputs = ()
    """What beside the image decides what runs. A changed value is like a new revision. Order and repetition do not matter."""
    suite_ref: LocalRef
    target: Target
    observation: Observation = Observation()
    promotion: PromotionPolicy = PromotionPolicy()
    guard: Guard = Guard()
    confirmation: Confirmation | None = None
    """How every replica of the consumer says that it has loaded the mode. Without it, a key that was written is taken for loaded."""
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
