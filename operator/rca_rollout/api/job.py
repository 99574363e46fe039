"""What a suite may say about the eval Job: a closed form. No PodSpec, no service account, no host paths."""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from rca_eval.contract.dealing import MAX_SHARDS
from rca_rollout.api.base import Cel, Model, Rule
from rca_rollout.api.common import LocalRef, PullPolicy
from rca_rollout.api.values import Count, Duration, ImageName, LabelValue, ObjectName, Quantity, Timeout

# Kubernetes' "qualified name": what a label, an annotation or a resource may be called.
_NAME = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_PREFIX = r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/"
QUALIFIED_NAME = f"^({_PREFIX})?{_NAME}$"

ENV_PREFIX = "RCA_EVAL_"
HASH_SEED = "PYTHONHASHSEED"
LABEL_PREFIX = "rca.bluerobin.io/"
MANAGED_BY = "app.kubernetes.io/managed-by"


def _qualified(keys: Iterable[str]) -> bool:
    return all(re.fullmatch(QUALIFIED_NAME, key) for key in keys)


QualifiedKeys = Cel(
    Rule(
        f"self.all(key, key.matches('{QUALIFIED_NAME}'))",
        "keys must be Kubernetes names such as example.com/pool: letters, digits, '-', '_', '.', at most 63",
        _qualified,
    )
)

Argument = Annotated[str, Field(max_length=4096)]
Arguments = Annotated[tuple[Argument, ...], Field(max_length=64)]


Shards = Annotated[int, Field(strict=True, ge=1, le=MAX_SHARDS)]


class EnvVar(Model):
    """One variable of the eval container; the value is literal."""

    name: Annotated[
        str,
        Field(min_length=1, max_length=128, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$"),
        Cel(
            Rule(
                f"!self.startsWith('{ENV_PREFIX}') && self != '{HASH_SEED}'",
                f"names that begin with {ENV_PREFIX}, and {HASH_SEED}, are set by the operator",
                lambda name: not name.startswith(ENV_PREFIX) and name != HASH_SEED,
            )
        ),
    ]
    value: Annotated[str, Field(max_length=4096)] = ""


Environment = Annotated[
    tuple[EnvVar, ...],
    Field(
        max_length=64,
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    ),
]


class ResourceRequirements(Model):
    """What the eval container may use."""

    limits: Annotated[Mapping[str, Quantity], Field(max_length=16), QualifiedKeys] = {}
    requests: Annotated[Mapping[str, Quantity], Field(max_length=16), QualifiedKeys] = {}


class Sidecar(Model):
    """A server that the engine needs, such as a graph store: started before the repeats, stopped after the scorecard.

    It lives through both repeats, so an engine clears what it wrote there, or uses a name of its own. It sees neither
    labels nor answers.
    """

    name: Annotated[
        str,
        Field(min_length=1, max_length=40, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"),
        Cel(
            Rule(
                "!self.matches('^(prepare|scorecard|eval-.*)$')",
                "the names prepare, scorecard and eval-… are those of the evaluation's own steps",
                lambda name: re.fullmatch("prepare|scorecard|eval-.*", name) is None,
            )
        ),
    ]
    image: ImageName
    command: Arguments = ()
    """Default: the image's own entry point. It runs as user 65532 and may write to /tmp."""
    args: Arguments = ()
    env: Environment = ()
    ports: Annotated[
        tuple[Annotated[int, Field(strict=True, ge=1, le=65535)], ...],
        Field(max_length=8, json_schema_extra={"x-kubernetes-list-type": "set"}),
    ] = ()
    """Where it listens, on localhost for the engine. The repeats begin when the first of them accepts a connection."""
    resources: ResourceRequirements | None = None


class TolerationOperator(StrEnum):
    """How a toleration compares."""

    EQUAL = "Equal"
    EXISTS = "Exists"


class TaintEffect(StrEnum):
    """Which taints a toleration answers."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class Toleration(Model):
    """A Pod toleration, with Kubernetes' own rules checked here, where a person sees them, not in a Job."""

    cel = (
        Rule(
            "self.operator != 'Exists' || !has(self.value) || self.value == ''",
            "a toleration with operator Exists has no value",
            lambda it: it.operator is not TolerationOperator.EXISTS or not it.value,
        ),
        Rule(
            "self.operator == 'Exists' || (has(self.key) && self.key != '')",
            "a toleration without a key has operator Exists",
            lambda it: it.operator is TolerationOperator.EXISTS or bool(it.key),
        ),
        Rule(
            "!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
            "tolerationSeconds goes with effect NoExecute",
            lambda it: it.toleration_seconds is None or it.effect is TaintEffect.NO_EXECUTE,
        ),
    )

    key: Annotated[str, Field(max_length=316)] | None = None
    operator: TolerationOperator = TolerationOperator.EQUAL
    value: LabelValue | None = None
    effect: TaintEffect | None = None
    toleration_seconds: Count | None = None


class JobTemplate(Model):
    """How the eval container runs."""

    image: ImageName | None = None
    """Image of the eval container. Default: the harness image with its reference engine."""
    image_pull_policy: PullPolicy | None = None
    image_pull_secrets: Annotated[tuple[LocalRef, ...], Field(max_length=8)] = ()
    command: Arguments = ()
    """Default: the image's own entry point."""
    args: Arguments = ()
    env: Environment = ()
    resources: ResourceRequirements | None = None
    node_selector: Annotated[Mapping[str, LabelValue], Field(max_length=16), QualifiedKeys] = {}
    tolerations: Annotated[tuple[Toleration, ...], Field(max_length=16)] = ()
    pod_labels: Annotated[
        Mapping[str, LabelValue],
        Field(max_length=16),
        QualifiedKeys,
        Cel(
            Rule(
                f"self.all(key, !key.startsWith('{LABEL_PREFIX}') && key != '{MANAGED_BY}')",
                f"labels that begin with {LABEL_PREFIX}, and {MANAGED_BY}, are set by the operator",
                lambda labels: not any(key.startswith(LABEL_PREFIX) or key == MANAGED_BY for key in labels),
            )
        ),
    ] = {}
    """Further labels of the Pod, such as a mesh's opt-out."""
    pod_annotations: Annotated[
        Mapping[str, Annotated[str, Field(max_length=4096)]], Field(max_length=16), QualifiedKeys
    ] = {}
    sidecars: Annotated[
        tuple[Sidecar, ...],
        Field(
            max_length=4,
            json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        ),
    ] = ()
    queue_name: (
        Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")] | None
    ) = None
    """The Kueue LocalQueue that admits the Job. It is made suspended; while it waits, no time runs."""
    priority_class_name: (
        Annotated[
            ObjectName,
            Cel(
                Rule(
                    "!self.startsWith('system-')",
                    "the priority classes that begin with system- are the cluster's own",
                    lambda name: not name.startswith("system-"),
                )
            ),
        ]
        | None
    ) = None
    timeout: Timeout = Duration("10m")
    """How long the Pod may run, all containers together."""
    start_timeout: Timeout = Duration("2m")
    """How long the Pod may wait for a node and its images."""
    shards: Shards = 1
    """Into how many Pods the incidents are dealt out, as one Indexed Job. The result is that of one Pod; a shard that is
    lost runs again by itself. No more than there are incidents."""
    parallelism: Shards | None = None
    """How many shards run at once. Default: all of them."""
