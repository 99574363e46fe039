"""What runs: a revision that a person names, or a workload's image as its Pods run it, and further inputs of it."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from rca_rollout.api.base import Model, Rule
from rca_rollout.api.values import ConfigMapKey, Digest, ObjectName

INPUTS_LIMIT = 16
PARTS_LIMIT = 64

# A word for Active, in which a revision may be left open: no white space, at most one `{revision}`, nothing else in braces.
ActiveValue = Annotated[
    str,
    Field(
        min_length=1,
        max_length=128,
        pattern=r"^([A-Za-z0-9][A-Za-z0-9._:@/+-]*)?([{]revision[}][A-Za-z0-9._:@/+-]*)?$",
    ),
]


class WorkloadKind(StrEnum):
    """What may run the image."""

    DEPLOYMENT = "Deployment"
    STATEFUL_SET = "StatefulSet"
    DAEMON_SET = "DaemonSet"


class WorkloadRef(Model):
    """A workload of the same namespace. What its Pods run is what is evaluated: the Job runs that image, by its digest."""

    kind: WorkloadKind
    name: ObjectName
    container: (
        Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")] | None
    ) = None
    """The container whose image it is. May be left out where the Pod has one only."""


class KeyRef(Model):
    """One key of a ConfigMap or Secret of the same namespace."""

    name: ObjectName
    key: ConfigMapKey


class Input(Model):
    """Something beside the image that decides what runs, such as a prompt or the name of a model."""

    cel = (
        Rule(
            "has(self.configMapRef) != has(self.secretRef)",
            "an input has exactly one of configMapRef and secretRef",
            lambda it: (it.config_map_ref is None) != (it.secret_ref is None),
        ),
    )

    config_map_ref: KeyRef | None = None
    secret_ref: KeyRef | None = None
    """Of a Secret's value nothing is kept but a short digest that is slow to compute."""


Inputs = Annotated[tuple[Input, ...], Field(max_length=INPUTS_LIMIT)]


class OnNewRevision(StrEnum):
    """What is done with the key of an Active component when another revision runs."""

    DEMOTE = "Demote"
    HOLD = "Hold"


class EpochPart(Model):
    """One part of what evidence is about, by a short digest: it tells what has changed, never what it is."""

    name: Annotated[str, Field(max_length=600)]
    digest: Digest


class EvalImage(Model):
    """The image behind a tag of the suite, from when it was first seen to have changed."""

    image: Annotated[str, Field(max_length=512)]
    digest: Digest
