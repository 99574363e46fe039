"""The moments of an incident's life, and which orders of them can be. Pure; times are aware and kept in whole
microseconds since 1970, so that differences are exact.
"""

from datetime import UTC, datetime, timedelta
from enum import StrEnum

from rca_eval.contract import ContractError, Reason, shown

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
FIRST, LAST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)


class Moment(StrEnum):
    """Fired is known from the beginning; each of the others is set once, in any order of arrival."""

    FIRED = "fired"
    DETECTED = "detected"
    ACKNOWLEDGED = "acknowledged"
    CONCLUDED = "concluded"
    RESOLVED = "resolved"

    @property
    def field(self) -> str:
        return f"{self.value}At"


AFTER: dict[Moment, tuple[Moment, ...]] = {
    Moment.FIRED: (),
    Moment.DETECTED: (Moment.FIRED,),
    Moment.ACKNOWLEDGED: (Moment.FIRED,),
    Moment.CONCLUDED: (Moment.FIRED, Moment.DETECTED),
    Moment.RESOLVED: (Moment.FIRED,),
}
"""What may not be later than a moment. Nothing else is ordered: an alert ends by itself before anybody has
acknowledged it, and the notification of its end arrives minutes later.
"""


def microseconds(moment: datetime) -> int:
    """Exact. Raises `ContractError(LifecycleRefused)` for a time without a zone, or far from any incident."""
    if moment.tzinfo is None:
        raise _refused(f"the time {moment.isoformat()} has no zone; add Z or an offset")
    if not FIRST <= moment < LAST:
        raise _refused(
            f"the time {moment.isoformat()} is not between 2000 and 2100; check the clock that made it"
        )
    return (moment - _EPOCH) // _MICROSECOND


def from_microseconds(value: int) -> datetime:
    return _EPOCH + value * _MICROSECOND


def parse_time(text: str, *, source: str) -> datetime:
    """`2026-11-30T12:00:00Z`, with any fraction and offset, or `2026-11-30` for midnight UTC.

    Raises `ContractError(Usage)`.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ContractError(
            Reason.USAGE, f"{source} is {shown(text)}; write a time such as 2026-11-30T12:00:00Z."
        ) from None
    if found.tzinfo is None and len(text) == len("2026-11-30"):
        found = found.replace(tzinfo=UTC)
    if found.tzinfo is None:
        raise ContractError(Reason.USAGE, f"{source} is {shown(text)}, without a zone; add Z or an offset.")
    return found.astimezone(UTC)


def rfc3339(moment: datetime) -> str:
    """UTC with Z; microseconds only where there are any."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def _refused(text: str) -> ContractError:
    return ContractError(Reason.LIFECYCLE_REFUSED, f"{text}.")
