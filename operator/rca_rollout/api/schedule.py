"""When a suite is evaluated by the clock, what that may cost, and who gives a second opinion."""

import re
from typing import Annotated

from pydantic import Field

from rca_rollout.api.base import Cel, Model, Rule
from rca_rollout.api.values import (
    ConfigMapKey,
    Count,
    DecimalString,
    Digest,
    Duration,
    Figure,
    Message,
    ObjectName,
    Timestamp,
    Uid,
    decimal_between,
    duration_between,
)

# Five fields as every cron knows them: numbers in their range or names, `*`, lists, ranges and steps. The extensions
# (L, W, #, ?, seconds, @daily) differ between crons, so none is taken.
_MINUTE, _HOUR, _DAY = "[0-5]?[0-9]", "([01]?[0-9]|2[0-3])", "(0?[1-9]|[12][0-9]|3[01])"
_MONTH = "(0?[1-9]|1[0-2]|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)"
_WEEKDAY = "([0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)"


def _field(number: str) -> str:
    item = rf"([*]|{number}(-{number})?)(/[1-9][0-9]?)?"
    return f"{item}(,{item})*"


CRON_PATTERN = f"^{' +'.join(_field(number) for number in (_MINUTE, _HOUR, _DAY, _MONTH, _WEEKDAY))}$"
ZONE_PATTERN = "^(UTC|[A-Z][A-Za-z]+(/[A-Za-z0-9_+-]+){1,2})$"
_CRON, _ZONE = re.compile(CRON_PATTERN, re.ASCII), re.compile(ZONE_PATTERN, re.ASCII)

CronExpression = Annotated[
    str,
    Field(min_length=9, max_length=100),
    Cel(
        Rule(
            f"self.matches('{CRON_PATTERN}')",
            "must be a cron expression of five fields (minute, hour, day of the month, month, day of the week), such as "
            '"30 2 * * MON-FRI": numbers or upper-case names, with * , - and / only',
            lambda value: _CRON.fullmatch(value) is not None,
        )
    ),
]
ZoneName = Annotated[
    str,
    Field(min_length=3, max_length=64),
    Cel(
        Rule(
            f"self.matches('{ZONE_PATTERN}')",
            "must be the name of an IANA time zone, such as UTC or Europe/Berlin",
            lambda value: _ZONE.fullmatch(value) is not None,
        )
    ),
]
Deadline = Annotated[Duration, duration_between("1m", "24h")]
Span = Annotated[Duration, duration_between("10s", "1h")]
Tokens = Annotated[int, Field(strict=True, ge=1, le=1_000_000_000)]
MonthTokens = Annotated[int, Field(strict=True, ge=1, le=1_000_000_000_000)]
Sum = Annotated[int, Field(strict=True, ge=0, le=1_000_000_000_000_000)]
Cost = Annotated[DecimalString, decimal_between(0, 999_999_999)]


class Schedule(Model):
    """Evaluations by the clock, over the modes as they are. They show what is, and never count as evidence."""

    cron: CronExpression
    """Five fields: minute, hour, day of the month, month, day of the week. With a star at the beginning of minute or hour
    the local clock's minutes count as they come; else each local time counts once: one that is skipped in spring runs when
    the clock has moved on, one that comes twice in autumn runs the first time."""
    time_zone: ZoneName = "UTC"
    suspend: Annotated[bool, Field(strict=True)] = False
    """No run is made; what is suspended is not made up afterwards."""
    starting_deadline: Deadline = Duration("1h")
    """How late a run may begin. Of all times that were missed within it (no operator, the last run not ended) the newest
    is made up, and no other."""
    judge: Annotated[bool, Field(strict=True)] = False
    """Asks spec.judge for its opinion after the scoring. It is recorded beside the scorecard and decides nothing."""


class Budget(Model):
    """What evaluations may cost: for one run, and for all that begin in a month (UTC)."""

    cel = (
        Rule(
            "has(self.tokensPerRun) || has(self.costPerRun) || has(self.runsPerMonth)",
            "a budget sets at least one of tokensPerRun, costPerRun and runsPerMonth",
            lambda it: any(v is not None for v in (it.tokens_per_run, it.cost_per_run, it.runs_per_month)),
        ),
        Rule(
            "!has(self.tokensPerMonth) || (has(self.tokensPerRun) && self.tokensPerRun <= self.tokensPerMonth)",
            "tokensPerMonth needs a tokensPerRun that is not larger: so much is reserved before a run begins",
            lambda it: (
                it.tokens_per_month is None
                or (it.tokens_per_run is not None and it.tokens_per_run <= it.tokens_per_month)
            ),
        ),
        Rule(
            "!has(self.costPerMonth) || (has(self.costPerRun) && double(self.costPerRun) <= double(self.costPerMonth))",
            "costPerMonth needs a costPerRun that is not larger: so much is reserved before a run begins",
            lambda it: (
                it.cost_per_month is None
                or (it.cost_per_run is not None and it.cost_per_run.decimal <= it.cost_per_month.decimal)
            ),
        ),
    )

    tokens_per_run: Tokens | None = None
    """Input and output tokens of the engine in one run, over all repeats. A run that used more, or did not say how many,
    does not pass."""
    cost_per_run: Cost | None = None
    """The same in money, as a decimal string."""
    runs_per_month: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] | None = None
    tokens_per_month: MonthTokens | None = None
    """The judge's tokens count, too."""
    cost_per_month: Cost | None = None
    currency: Annotated[str, Field(min_length=3, max_length=3, pattern="^[A-Z]{3}$")] | None = None
    """For display: costs are compared as numbers."""
    guard_exempt: Annotated[bool, Field(strict=True)] = True
    """Guard runs of Active components are counted, and run also when the month's budget is used up: what governs
    production would be unguarded else. false: they wait as all others do, and the component is Degraded (GuardBlind)."""


class SecretSource(Model):
    """A key of a Secret in the same namespace."""

    name: ObjectName
    key: ConfigMapKey = "api-key"


class Judge(Model):
    """A language model behind an OpenAI-compatible endpoint. Only scheduled runs with schedule.judge ask it; its opinion
    is advisory: no verdict depends on it."""

    endpoint: Annotated[
        str,
        Field(min_length=8, max_length=512),
        Cel(
            Rule(
                "self.matches('^https?://[^@?# ]+$')",
                "must be an http or https address without a user, a query or a fragment, such as https://llm.example/v1",
                lambda value: re.fullmatch(r"https?://[^@?# ]+", value) is not None,
            )
        ),
    ]
    """Where /chat/completions is served, such as https://llm.example/v1."""
    model: Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9][A-Za-z0-9._:@/+-]*$")]
    secret_ref: SecretSource | None = None
    """The key for the endpoint. Only the judge's container has it; the evaluated image never does."""
    tokens_per_run: Annotated[int, Field(strict=True, ge=1000, le=10_000_000)] = 50_000
    """The most that one run may spend on the judge. It is asked about no further incident that might pass it."""
    timeout: Span = Duration("5m")
    """For all its questions together, within job.timeout."""
    price_per_million_tokens: Cost | None = None
    """What a million of its tokens costs; needed with budget.costPerMonth."""


class ScheduleStatus(Model):
    """What was made of the schedule."""

    digest: Digest
    """Of cron and time zone: another schedule begins anew."""
    since: Timestamp
    """Times before this are not made up: the schedule was not there, or suspended."""
    suspended: bool = False
    last_scheduled: Timestamp | None = None
    """The newest time that was served; no time up to it is ever served again, whatever the clock says."""
    last_run: Annotated[str, Field(max_length=253)] | None = None
    next: Timestamp | None = None
    message: Message | None = None
    """Why a time that has come is not served yet, or was not."""


class Reservation(Model):
    """What was set aside for one run before it began, at the most it may use."""

    uid: Uid
    name: Annotated[str, Field(max_length=253)]
    month: Figure
    attempts: Count
    """Attempts that are paid for: a disrupted one may have used all it could."""
    tokens: Sum = 0
    cost: Figure = "0"


class Ledger(Model):
    """What has been used of the month's budget. Reservations are not in the sums; both together pass the budget only
    through guard runs that are exempt, and through runs that used more than they may."""

    month: Figure
    """The month in UTC, such as 2026-11. It never goes back."""
    since: Timestamp
    """When this ledger began. A deleted and recreated EvalSuite has a new one; it begins with the runs that still exist."""
    runs: Count = 0
    tokens: Sum = 0
    cost: Figure = "0"
    paused: bool = False
    """The budget was taken away: nothing is counted until there is one again."""
    unknown: Count = 0
    """Runs that did not say what they used: counted with all that was reserved for them."""
    reservations: Annotated[tuple[Reservation, ...], Field(max_length=1000)] = ()
    summary: Figure | None = None
    """For display."""


class RunUsage(Model):
    """What a run used. Absent figures are not known."""

    answers: Count
    reported: Count
    """How many of the answers said what they used."""
    tokens: Sum | None = None
    cost: Figure | None = None


class JudgeStatus(Model):
    """The opinion of the judge on a scheduled run. Advisory: nothing reads it to decide."""

    model: Figure | None = None
    judged: Count = 0
    """Incidents that it gave a score."""
    skipped: Count = 0
    """Incidents that were not judged: the budget or the time was used up, or no valid answer came."""
    mean_score: Figure | None = None
    """From 0 to 1, over the judged incidents."""
    tokens: Sum = 0
    message: Message | None = None
