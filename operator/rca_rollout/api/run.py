"""EvalRun: one measurement. The spec never changes; the status is written once it is known."""

from typing import Annotated

from pydantic import Field

from rca_eval.contract.dealing import MAX_SHARDS
from rca_rollout.api.base import Model, Rule
from rca_rollout.api.common import Blame, LocalRef, ObjectRef, RunPhase, Status, Trigger
from rca_rollout.api.meta import Column, KindInfo, Metadata, Resource
from rca_rollout.api.run_status import Check, RunInputs, ShardResult, StoredScorecard
from rca_rollout.api.schedule import JudgeStatus, RunUsage
from rca_rollout.api.values import (
    Count,
    Digest,
    Figure,
    LogTail,
    Message,
    ReasonName,
    RevisionName,
    Timestamp,
)
from rca_rollout.api.watching import Harm

_FREE_TRIGGERS = (Trigger.MANUAL, Trigger.SCHEDULED)


class EvalRunSpec(Model):
    """What is measured, and why."""

    cel = (
        Rule("self == oldSelf", "the spec of an EvalRun cannot be changed: make a new one"),
        Rule(
            "has(self.componentRef) || self.trigger in ['Manual', 'Scheduled']",
            "a run without componentRef has trigger Manual or Scheduled",
            lambda it: it.component_ref is not None or it.trigger in _FREE_TRIGGERS,
        ),
    )

    suite_ref: LocalRef
    component_ref: LocalRef | None = None
    """Absent in a run over the modes as they are."""
    trigger: Trigger = Trigger.MANUAL
    revision: RevisionName | None = None
    epoch: Digest | None = None
    """The component's epoch when the run was made; in another one the run is superseded."""
    context: Digest | None = None
    dry_run: Annotated[bool, Field(strict=True)] = False
    """The result is reported and never counts as evidence."""


class EvalRunStatus(Status):
    """How the run went."""

    phase: RunPhase | None = None
    reason: ReasonName | None = None
    message: Message | None = None
    inputs: RunInputs | None = None
    checks: Annotated[tuple[Check, ...], Field(max_length=64)] = ()
    scorecard: StoredScorecard | None = None
    image_digest: Digest | None = None
    """Digest of the image that the eval containers ran, as the kubelet reports it."""
    job_ref: ObjectRef | None = None
    attempts: Count = 0
    shards: Annotated[tuple[ShardResult, ...], Field(max_length=MAX_SHARDS)] = ()
    """Of an evaluation in shards: those of this attempt whose parts have been read."""
    started_at: Timestamp | None = None
    finished_at: Timestamp | None = None
    log_tail: LogTail | None = None
    """The end of the failed container's log."""
    accuracy: Figure | None = None
    delta: Figure | None = None
    mttr: Figure | None = None
    regression_of: Blame | None = None
    """Of a failed run: Component if it is worse with the component than without, else Engine."""
    harm: Harm | None = None
    """What is worse with the component than without it, also in a run that is not valid."""
    fixed: Count | None = None
    """Incidents of the live path that are explained with the component and not without it."""
    baseline: Figure | None = None
    """AC@1 of the baseline, for display."""
    usage: RunUsage | None = None
    judge: JudgeStatus | None = None
    """Advisory: no verdict depends on it."""


class EvalRun(Resource):
    """EvalRun is one replay of a suite's incidents, in a Job, and the gate's verdict on it."""

    info = KindInfo(
        kind="EvalRun",
        plural="evalruns",
        singular="evalrun",
        short_name="er",
        columns=(
            Column("COMPONENT", ".spec.componentRef.name"),
            Column("TRIGGER", ".spec.trigger"),
            Column("PHASE", ".status.phase"),
            Column("AC@1", ".status.accuracy"),
            Column("DELTA", ".status.delta"),
            Column("MTTR", ".status.mttr"),
            Column("REASON", ".status.reason", wide=True),
            Column("JOB", ".status.jobRef.name", wide=True),
        ),
    )
    cel = (
        Rule(
            "size(self.metadata.name) <= 63",
            "the name of an EvalRun has at most 63 characters: it is used as a label",
            lambda it: len(it.metadata.name) <= 63,
        ),
    )

    metadata: Metadata
    spec: EvalRunSpec
    status: EvalRunStatus = EvalRunStatus()
