"""Scalar types of the API. Every one has a bound: without bounds CEL rules are refused as too expensive."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    PlainSerializer,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, core_schema

from rca_rollout.api.base import ApiError, Cel, Rule

# So few digits that the sum stays below Go's largest duration (about 292 years): CEL cannot overflow.
DURATION_PATTERN = r"^([0-9]{1,5}h)?([0-9]{1,6}m)?([0-9]{1,8}s)?$"
_DURATION = re.compile(r"(?:([0-9]{1,5})h)?(?:([0-9]{1,6})m)?(?:([0-9]{1,8})s)?")
_DURATION_EXAMPLES = "in hours, minutes and seconds, such as 30s, 10m or 1h30m"

DECIMAL_PATTERN = r"^[0-9]{1,9}(\.[0-9]{1,9})?$"


class _Text(str):
    """A string with a meaning: checked once, carried as it was written, so a round trip changes no byte."""

    __slots__ = ()
    pattern = r"^.*$"
    shortest = 1
    longest = 64
    explanation = "is not valid"

    @classmethod
    def parse(cls, text: str) -> Self:
        if not cls.shortest <= len(text) <= cls.longest or re.fullmatch(cls.pattern, text, re.ASCII) is None:
            raise ApiError(f'"{text[:40]}" {cls.explanation}')
        return cls(text)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(cls.parse, core_schema.str_schema())

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: Any) -> dict[str, Any]:
        return {
            "type": "string",
            "minLength": cls.shortest,
            "maxLength": cls.longest,
            "pattern": cls.pattern,
        }


class Duration(_Text):
    """`30s`, `10m`, `1h30m`. No days: CEL's and Go's `duration()` do not know them (a week is `168h`)."""

    __slots__ = ()
    pattern = DURATION_PATTERN
    shortest = 2
    longest = 24
    explanation = f"must be a duration {_DURATION_EXAMPLES}"

    @property
    def delta(self) -> timedelta:
        match = _DURATION.fullmatch(self)
        if match is None:
            raise ApiError(f'"{self}" {self.explanation}')
        hours, minutes, seconds = (int(group or 0) for group in match.groups())
        return timedelta(hours=hours, minutes=minutes, seconds=seconds)

    @property
    def seconds(self) -> int:
        """Whole seconds of the whole duration (not `timedelta.seconds`, which drops the days)."""
        return int(self.delta.total_seconds())

    @classmethod
    def of(cls, delta: timedelta) -> Self:
        """The shortest way to write a duration; fractions of a second are dropped."""
        minutes, seconds = divmod(int(delta.total_seconds()), 60)
        hours, minutes = divmod(minutes, 60)
        parts = ((hours, "h"), (minutes, "m"), (seconds, "s"))
        return cls.parse("".join(f"{number}{unit}" for number, unit in parts if number) or "0s")


class DecimalString(_Text):
    """A decimal number as a string: floats change in a round trip, and 0.96 - 0.94 > 0.02 holds for them."""

    __slots__ = ()
    pattern = DECIMAL_PATTERN
    longest = 19
    explanation = 'must be a decimal number in quotes, such as "0.02"'

    @property
    def decimal(self) -> Decimal:
        return Decimal(self)


def duration_between(lowest: str, highest: str) -> Cel:
    """Format and bounds in one rule, so that a person reads one message that says everything."""
    low, high = Duration.parse(lowest), Duration.parse(highest)
    return Cel(
        Rule(
            f"self.matches('{DURATION_PATTERN}') && duration(self) >= duration('{low}')"
            f" && duration(self) <= duration('{high}')",
            f"must be a duration from {low} to {high} {_DURATION_EXAMPLES}",
            lambda value: low.delta <= Duration(value).delta <= high.delta,
        )
    )


def decimal_between(lowest: int, highest: int) -> Cel:
    pattern = DECIMAL_PATTERN.replace("\\", "\\\\")
    return Cel(
        Rule(
            f"self.matches('{pattern}') && double(self) >= {lowest}.0 && double(self) <= {highest}.0",
            f'must be a decimal number from {lowest} to {highest} in quotes, such as "0.02"',
            lambda value: lowest <= Decimal(value) <= highest,
        )
    )


Timeout = Annotated[Duration, duration_between("1s", "24h")]
Interval = Annotated[Duration, duration_between("1s", "720h")]
Age = Annotated[Duration, duration_between("1m", "8760h")]
Period = Annotated[Duration, duration_between("0s", "8760h")]
Rise = Annotated[Duration, duration_between("0s", "24h")]
Share = Annotated[DecimalString, decimal_between(0, 1)]

ObjectName = Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")]
# Kubernetes' own rule: not "..", and nothing that begins with "..".
ConfigMapKey = Annotated[
    str, Field(min_length=1, max_length=253, pattern=r"^\.?[-_a-zA-Z0-9][-._a-zA-Z0-9]*$")
]
# What the key holds; also an environment variable and part of messages, hence no white space.
ModeValue = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9][A-Za-z0-9._:@/+-]*$")]
RevisionName = Annotated[
    str, Field(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9][A-Za-z0-9._:@/+-]*$")
]
IncidentId = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Sha256 = Annotated[str, Field(min_length=64, max_length=64, pattern=r"^[0-9a-f]{64}$")]
ImageName = Annotated[str, Field(min_length=1, max_length=512, pattern=r"^[^\s]+$")]
LabelValue = Annotated[str, Field(max_length=63, pattern=r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$")]
Uid = Annotated[str, Field(max_length=64)]
Digest = Annotated[str, Field(max_length=128)]
Count = Annotated[int, Field(strict=True, ge=0, le=1_000_000_000)]

_QUANTITY_PATTERN = r"^[0-9]{1,12}(\.[0-9]{1,9})?(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$"


def _integer_as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


# People write `cpu: 1` as often as `cpu: "1"`; both are quantities.
Quantity = Annotated[
    str,
    BeforeValidator(_integer_as_text),
    Field(max_length=24, pattern=_QUANTITY_PATTERN),
    WithJsonSchema(
        {
            "x-kubernetes-int-or-string": True,
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": _QUANTITY_PATTERN,
        }
    ),
]


def _clip_head(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _clip_tail(text: str, limit: int) -> str:
    """The end of a log says most. Counted in bytes: a status shares 1.5 MiB with the rest of the object."""
    encoded = text.encode()
    return text if len(encoded) <= limit else encoded[-limit:].decode(errors="ignore")


class Clip:
    """Cuts a text to its bound instead of refusing it: no long message may keep a status from its place."""

    def __init__(self, limit: int, how: Callable[[str, int], str] = _clip_head) -> None:
        self.limit = limit
        self.how = how

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def clip(value: Any) -> Any:
            if not isinstance(value, str):
                return value
            # Lone surrogates (undecodable bytes of a log) are no JSON text.
            return self.how(value.encode(errors="replace").decode(), self.limit)

        return core_schema.no_info_before_validator_function(
            clip, core_schema.str_schema(max_length=self.limit)
        )


Message = Annotated[str, Clip(2048)]
LogTail = Annotated[str, Clip(2048, _clip_tail)]
# A preformatted string for a printer column, or a figure of a check.
Figure = Annotated[str, Clip(64)]
ReasonName = Annotated[str, Clip(64)]


def _utc_seconds(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(microsecond=0)


def format_time(moment: datetime) -> str:
    """RFC 3339 in UTC with seconds, as Kubernetes writes its own times."""
    return _utc_seconds(moment).replace(tzinfo=None).isoformat() + "Z"


Timestamp = Annotated[
    AwareDatetime,
    AfterValidator(_utc_seconds),
    PlainSerializer(format_time, return_type=str, when_used="json"),
]
