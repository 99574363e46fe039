"""What the three kinds share: references, conditions, and the words of their enums."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from rca_rollout.api.base import Model
from rca_rollout.api.values import ConfigMapKey, Count, Message, ObjectName, ReasonName, Timestamp, Uid


class Mode(StrEnum):
    """What a component may be asked to do."""

    SHADOW = "Shadow"
    ACTIVE = "Active"


class EffectiveMode(StrEnum):
    """What the target's key says; Unknown if it is absent, or neither of the two values."""

    SHADOW = "Shadow"
    ACTIVE = "Active"
    UNKNOWN = "Unknown"


class ComponentPhase(StrEnum):
    """For display. Conditions are the API."""

    PENDING = "Pending"
    EVALUATING = "Evaluating"
    OBSERVING = "Observing"
    AWAITING_APPROVAL = "AwaitingApproval"
    PROMOTING = "Promoting"
    ACTIVE = "Active"
    BLOCKED = "Blocked"
    SUSPENDED = "Suspended"


class RunPhase(StrEnum):
    """All but Pending and Running are final."""

    PENDING = "Pending"
    RUNNING = "Running"
    PASSED = "Passed"
    FAILED = "Failed"
    INCONCLUSIVE = "Inconclusive"
    ERROR = "Error"
    ABORTED = "Aborted"
    SUPERSEDED = "Superseded"

    @property
    def final(self) -> bool:
        return self not in (RunPhase.PENDING, RunPhase.RUNNING)


class Verdict(StrEnum):
    """The gate's answer. Only Passed is a pass; Inconclusive and Error say nothing about the component."""

    PASSED = "Passed"
    FAILED = "Failed"
    INCONCLUSIVE = "Inconclusive"
    ERROR = "Error"


class Trigger(StrEnum):
    """Why a run was made."""

    GATE = "Gate"
    OBSERVATION = "Observation"
    CLOSING = "Closing"
    GUARD = "Guard"
    SCHEDULED = "Scheduled"
    MANUAL = "Manual"


class Determinism(StrEnum):
    """How repeats of a run must agree. Sampled engines come with a later version."""

    EXACT = "Exact"


class ShadowFidelity(StrEnum):
    """Whether an engine must log what its component in Shadow would have ranked."""

    REQUIRED = "Required"
    IF_LOGGED = "IfLogged"


class KnownBad(StrEnum):
    """What is made of the positive control, a ranker known to be bad."""

    REQUIRED = "Required"
    SKIP = "Skip"


class Blame(StrEnum):
    """What a failed gate can be pinned on."""

    COMPONENT = "Component"
    ENGINE = "Engine"


class OnRegression(StrEnum):
    """What the guard does when an Active component regresses."""

    DEMOTE = "Demote"
    ALERT = "Alert"


class ApprovalPolicy(StrEnum):
    """Who has the last word before the switch to Active."""

    AUTOMATIC = "Automatic"
    MANUAL = "Manual"


class DriftPolicy(StrEnum):
    """What is done when somebody else sets the key to Active without evidence."""

    REPORT = "Report"
    REVERT = "Revert"


class DeletionPolicy(StrEnum):
    """What becomes of the key when the component is deleted."""

    RETAIN = "Retain"
    REVERT_TO_SHADOW = "RevertToShadow"


class PullPolicy(StrEnum):
    """When the image of the eval container is pulled."""

    ALWAYS = "Always"
    IF_NOT_PRESENT = "IfNotPresent"
    NEVER = "Never"


class ConditionType(StrEnum):
    """Conditions are states, never actions."""

    READY = "Ready"
    RECONCILING = "Reconciling"
    STALLED = "Stalled"
    EVALUATED = "Evaluated"
    OBSERVED = "Observed"
    PROMOTED = "Promoted"
    TARGET_IN_SYNC = "TargetInSync"
    DEGRADED = "Degraded"


class ConditionStatus(StrEnum):
    """Kubernetes' three-valued logic."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class EventType(StrEnum):
    """Kubernetes knows these two."""

    NORMAL = "Normal"
    WARNING = "Warning"


class LocalRef(Model):
    """An object of the same namespace, by name."""

    name: ObjectName


class ConfigMapSource(Model):
    """A key of a ConfigMap in the same namespace."""

    config_map_ref: LocalRef
    key: ConfigMapKey


class ObjectRef(Model):
    """An object that we made or saw: the UID tells it from a later one of the same name."""

    name: Annotated[str, Field(max_length=253)]
    uid: Uid


class Condition(Model):
    """One aspect of the state, in Kubernetes' form."""

    type: Annotated[str, Field(max_length=64)]
    status: ConditionStatus
    reason: ReasonName
    message: Message = ""
    last_transition_time: Timestamp
    observed_generation: Count = 0


Conditions = Annotated[
    tuple[Condition, ...],
    Field(
        max_length=16,
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    ),
]


class Status(Model):
    """What every status begins with. `-1` means that no controller has looked at the object yet."""

    observed_generation: Annotated[int, Field(strict=True, ge=-1)] = -1
    """The generation of the spec that this status was written for."""
    conditions: Conditions = ()

    def condition(self, type_: ConditionType) -> Condition | None:
        return next((condition for condition in self.conditions if condition.type == type_), None)
