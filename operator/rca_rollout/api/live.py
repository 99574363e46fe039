"""Live conditions: what Prometheus has to say of a component before it is promoted, and while it is Active."""

import re
from collections.abc import Sequence
from decimal import Decimal
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field

from rca_rollout.api.base import ApiError, Cel, Model, Rule
from rca_rollout.api.values import Clip, Digest, Duration, Figure, Timestamp, duration_between

CONDITIONS_LIMIT = 16
QUERY_LIMIT = 2048
PLACEHOLDERS = ("component", "namespace", "key", "revision")

_THRESHOLD_PATTERN = r"^-?[0-9]{1,18}(\.[0-9]{1,18})?$"


def placeholders_rule(names: Sequence[str]) -> Rule:
    """That a query has no other placeholders."""
    # Every "$(" begins one of the names; RE2 cannot look ahead, so the other texts are spelled out.
    pattern = f"^([^$]|[$]+[^$(]|[$]+[(]({'|'.join(names)})[)])*[$]*$"
    *first, last = (f"$({name})" for name in names)
    return Rule(
        f"self.matches('{pattern}')",
        f"the placeholders of a query are {', '.join(first)} and {last}",
        lambda value: re.fullmatch(pattern[1:-1], value) is not None,
    )


class Operator(StrEnum):
    """How a value has to stand to the threshold, for the condition to hold."""

    LESS_THAN = "LessThan"
    LESS_THAN_OR_EQUAL = "LessThanOrEqual"
    GREATER_THAN = "GreaterThan"
    GREATER_THAN_OR_EQUAL = "GreaterThanOrEqual"


class Role(StrEnum):
    """What a violated condition does. Guardrail: it blocks, and demotes what is Active. Signal: it holds the promotion,
    and alerts. Info: it is shown."""

    GUARDRAIL = "Guardrail"
    SIGNAL = "Signal"
    INFO = "Info"


class OnNoData(StrEnum):
    """What no data counts as."""

    HOLD = "Hold"
    IGNORE = "Ignore"


class ReadingState(StrEnum):
    """What the last reading said. No data is neither of the other two."""

    HOLDS = "Holds"
    VIOLATED = "Violated"
    NO_DATA = "NoData"


ConditionName = Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
Query = Annotated[
    str,
    Field(min_length=1, max_length=QUERY_LIMIT),
    Cel(placeholders_rule(PLACEHOLDERS)),
]
# A value of Prometheus may be negative, very small or very large; what it is held against is decimal, and exact.
Threshold = Annotated[str, Field(min_length=1, max_length=38, pattern=_THRESHOLD_PATTERN)]
ReadingInterval = Annotated[Duration, duration_between("10s", "24h")]
Grace = Annotated[Duration, duration_between("0s", "720h")]


class LiveCondition(Model):
    """A PromQL query whose value has to stand in a relation to a threshold: `value operator threshold`.

    Several series: the condition holds if each of them does.
    """

    cel = (
        Rule(
            "self.role != 'Guardrail' || self.onNoData != 'Ignore'",
            "a Guardrail cannot ignore that there is no data: use onNoData Hold, or role Signal",
            lambda it: it.role is not Role.GUARDRAIL or it.on_no_data is not OnNoData.IGNORE,
        ),
    )

    name: ConditionName
    query: Query
    """PromQL that gives a number or an instant vector. `$(component)`, `$(namespace)`, `$(key)` (of the target) and
    `$(revision)` are replaced, escaped for a string in quotes."""
    operator: Operator
    threshold: Threshold
    """A decimal number in quotes."""
    role: Role
    """Guardrail: a violation blocks, and demotes an Active component at the second reading in a row. Signal: it holds the
    observation, whose time does not count meanwhile, and alerts when Active. Info: it is shown."""
    on_no_data: OnNoData = OnNoData.HOLD
    """No sample, NaN, an infinite value or a failed query. Hold: as good as not holding. Ignore: as good as holding."""
    no_data_grace: Grace = Duration("24h")
    """After so long without data there is a Warning."""
    interval: ReadingInterval = Duration("1m")
    """Time between two queries."""

    @property
    def limit(self) -> Decimal:
        return Decimal(self.threshold)


def _each_once(conditions: Sequence[LiveCondition]) -> Sequence[LiveCondition]:
    """As the API server does it for a list-map."""
    names = [condition.name for condition in conditions]
    for name in names:
        if names.count(name) > 1:
            raise ApiError(f"two conditions have the name {name}")
    return conditions


LiveConditions = Annotated[
    tuple[LiveCondition, ...],
    Field(
        max_length=CONDITIONS_LIMIT,
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    ),
    AfterValidator(_each_once),
]


class ConditionReading(Model):
    """What is remembered of a condition: its state, and since when. Written when the state changes, and at most every ten
    minutes when only the value does."""

    name: Annotated[str, Field(max_length=40)]
    role: Role
    state: ReadingState
    value: Figure | None = None
    """Of the series that stands worst."""
    since: Timestamp
    """Of the state: when it was first read."""
    at: Timestamp
    """When this value was read."""
    message: Annotated[str, Clip(512)] = ""
    digest: Digest
    """Of query, operator and threshold: a changed condition begins anew."""
    reported_at: Timestamp | None = None
    """When its Warning was sent; once for each state."""


class Decisions(Model):
    """Decisions in Shadow that Prometheus has counted since the observation began."""

    count: Annotated[int, Field(strict=True, ge=0, le=1_000_000_000)] = 0
    at: Timestamp
