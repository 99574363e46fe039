"""The status of an RcaComponent: everything the operator must remember, so that a restart loses nothing.

Clocks are absolute times. The figures for columns are preformatted strings.
"""

from typing import Annotated

from pydantic import Field

from rca_rollout.api.base import Model
from rca_rollout.api.common import ComponentPhase, EffectiveMode, EventType, Status, Trigger, Verdict
from rca_rollout.api.confirmation import ConfirmationStatus
from rca_rollout.api.decisions import FAILURES_REMEMBERED, Approval, Block, PastFailure, Verbs
from rca_rollout.api.live import CONDITIONS_LIMIT, ConditionReading, Decisions
from rca_rollout.api.revision import PARTS_LIMIT, EpochPart, EvalImage
from rca_rollout.api.values import (
    DURATION_PATTERN,
    Clip,
    Count,
    Digest,
    Figure,
    Message,
    ReasonName,
    Timestamp,
    Uid,
)
from rca_rollout.api.watching import DeletionStatus, Drift, GuardStatus

Name = Annotated[str, Field(max_length=253)]
# A word for Active has room for the longest revision.
Value = Annotated[str, Field(max_length=256)]

# Longer than any period, and never refused: what a wrong clock wrote must not keep a status from its place.
Span = Annotated[str, Field(max_length=24, pattern=DURATION_PATTERN)]

EVIDENCE_LIMIT = 20


class Evaluation(Model):
    """The last verdict, for people."""

    accuracy: Figure | None = None
    """AC@1 with the component active."""
    delta: Figure | None = None
    """Its distance to the run without the component."""
    mttr: Figure | None = None
    baseline: Figure | None = None
    verdict: Verdict | None = None
    run: Name | None = None
    finished_at: Timestamp | None = None


class CurrentRun(Model):
    """The run that is waited for."""

    name: Name
    uid: Uid | None = None
    trigger: Trigger
    started_at: Timestamp


class EvidenceRun(Model):
    """A finished run that counts. A run that is not listed here proves nothing."""

    name: Name
    uid: Uid
    trigger: Trigger
    verdict: Verdict
    started_at: Timestamp | None = None
    finished_at: Timestamp | None = None
    scorecard_sha256: Digest | None = None
    deterministic_sha256: Digest | None = None
    message: Message | None = None
    fixed: Count | None = None
    """Incidents explained with the component and not without it."""
    image_digest: Digest | None = None
    """Digest of the image that the run measured, as the kubelet reports it."""


class Evidence(Model):
    """What the current epoch has shown. The counters outlive the list and the runs themselves."""

    since: Timestamp | None = None
    passing: Count = 0
    failing: Count = 0
    runs: Annotated[tuple[EvidenceRun, ...], Field(max_length=EVIDENCE_LIMIT)] = ()


class ObservationStatus(Model):
    """The observation period."""

    began_at: Timestamp | None = None
    """When the gate had passed. Shadow decisions are counted from here."""
    started_at: Timestamp | None = None
    """The period counts from here: time that does not count, of a suspension or of a hold, has moved it on."""
    ends_at: Timestamp | None = None
    summary: Figure | None = None
    """Such as `2/3 runs, 24h`."""
    held_since: Timestamp | None = None
    """Since when time does not count, because a live condition does not let it."""
    counted: Span | None = None
    """What had counted of the period by then."""
    decisions: Decisions | None = None


class Retry(Model):
    """Runs that said nothing, and when the next one is due."""

    consecutive: Count = 0
    errors: Count = 0
    """How many of them by their own fault, not the cluster's: five in a row block a component in Shadow."""
    next_at: Timestamp | None = None
    reason: ReasonName | None = None
    message: Message | None = None


class Intent(Model):
    """Written before the key is: after a crash it says what was under way, and until when it may be done."""

    value: Value
    observed: Annotated[str, Field(max_length=1024)] | None = None
    """What the key held; absent if there was no key."""
    target_uid: Uid
    epoch: Digest | None = None
    issued_at: Timestamp
    not_after: Timestamp
    cause: ReasonName
    message: Message | None = None
    """What will be said of it once it is done."""


class Promotion(Model):
    """The last switch to Active."""

    at: Timestamp
    revision: Value | None = None
    epoch: Digest | None = None
    run: Name | None = None
    scorecard_sha256: Digest | None = None
    previous_value: Annotated[str, Field(max_length=1024)] | None = None
    cause: ReasonName = "Promoted"
    """Promoted: on evidence. Adopted: it was active when first seen. ActiveWithoutEvidence: somebody else set it later."""
    approved_by: Annotated[str, Clip(256)] | None = None
    image_digest: Digest | None = None
    """Digest of the image that was measured, and promoted."""
    running: Digest | None = None
    """Digest of all that ran: revision, image and inputs. What runs with another one is not what was promoted."""


class Demotion(Model):
    """The last switch to Shadow."""

    at: Timestamp
    cause: ReasonName
    message: Message | None = None
    epoch: Digest | None = None
    """The epoch that was demoted: after a regression the same one is not promoted again."""
    promotion: Promotion | None = None
    """What was put back, if it was a promotion of ours."""


class Transition(Model):
    """The last thing that happened, the same as the last Event. Kept here because Events expire."""

    reason: ReasonName
    message: Message
    type: EventType
    at: Timestamp


class RcaComponentStatus(Status):
    """Where the component stands."""

    phase: ComponentPhase | None = None
    mode: EffectiveMode | None = None
    """The effective mode, read from the target's key."""
    revision: Value | None = None
    """The revision that this status is about."""
    image_digest: Digest | None = None
    """Digest of the workload's image as its Pods run it."""
    running: Digest | None = None
    """Digest of all that runs: revision, image and inputs."""
    epoch: Digest | None = None
    """Hash of all that makes evidence comparable; a new one starts from the beginning."""
    epoch_parts: Annotated[tuple[EpochPart, ...], Field(max_length=PARTS_LIMIT)] = ()
    """The parts of the epoch, each by a digest."""
    eval_image: EvalImage | None = None
    """What the suite's image was last seen to be, after its tag had moved. Part of the epoch from then on."""
    context: Digest | None = None
    """Hash of the modes and revisions of the suite's other components."""
    evaluation: Evaluation | None = None
    current_run: CurrentRun | None = None
    runs_started: Count = 0
    """How many runs were started; numbers the next one."""
    evidence: Evidence | None = None
    observation: ObservationStatus | None = None
    condition_readings: Annotated[
        tuple[ConditionReading, ...],
        Field(
            max_length=CONDITIONS_LIMIT,
            json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        ),
    ] = ()
    """The live conditions as they were last read: those of the observation, or of the guard once Active."""
    retry: Retry | None = None
    intent: Intent | None = None
    promotion: Promotion | None = None
    held: Promotion | None = None
    """The promotion whose word still stands in the key while another revision runs, which reads it as Shadow (onNewRevision
    Hold)."""
    demotion: Demotion | None = None
    confirmation: ConfirmationStatus | None = None
    verbs: Verbs | None = None
    block: Block | None = None
    attempts: Count = 0
    """How often a person had the present revision tried again."""
    past_failures: Annotated[tuple[PastFailure, ...], Field(max_length=FAILURES_REMEMBERED)] = ()
    """What was retried, the newest last."""
    run_requested_at: Timestamp | None = None
    """One run is due now, whatever the interval says."""
    approval: Approval | None = None
    guard: GuardStatus | None = None
    drift: Drift | None = None
    deletion: DeletionStatus | None = None
    suspended_at: Timestamp | None = None
    """Since when the clocks stand still."""
    last_transition: Transition | None = None
