"""The lifecycles of incidents, kept: written by any number of processes at once, each moment once."""

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, Engine, MetaData, Row, String, Table, select, update
from sqlalchemy.dialects import postgresql, sqlite

from rca_eval.contract import ContractError, Reason, one_line, shown
from rca_eval.kpis.database import clear_errors, open_database
from rca_eval.kpis.figures import Lifecycle, Report, report
from rca_eval.kpis.moments import AFTER, Moment, from_microseconds, microseconds, rfc3339

TEXT_LIMIT = 253
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_TABLE = Table(
    "rca_incidents",
    MetaData(),
    Column("id", String(64), primary_key=True),
    Column("alert", String(TEXT_LIMIT)),
    Column("service", String(TEXT_LIMIT)),
    Column("fault_class", String(TEXT_LIMIT)),
    *(Column(f"{moment.value}_us", BigInteger) for moment in Moment),
)
_COLUMN = {moment: _TABLE.c[f"{moment.value}_us"] for moment in Moment}


class Noted(StrEnum):
    """What became of a moment that was told."""

    RECORDED = "Recorded"
    SAME = "Same"  # it was known already, at this time
    KEPT = "Kept"  # it was known already, at another time, which stays


@dataclass(frozen=True)
class Answer:
    """`at` is the time that is in the store now."""

    noted: Noted
    at: datetime


class LifecycleStore:
    """Safe to use from threads. Raises `ContractError`: DatabaseUnavailable, or LifecycleRefused with the reason."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def ping(self) -> None:
        """Raises if the database does not answer."""
        with self._connection() as connection:
            connection.execute(select(_TABLE.c.id).limit(1)).first()

    def begin(
        self, id: str, *, alert: str, service: str, fired: datetime, fault_class: str | None = None
    ) -> None:
        """An incident is known from now on. Told again, nothing changes. An id has up to 64 of `A-Za-z0-9._-`."""
        if not _ID.fullmatch(id):
            raise ContractError(
                Reason.LIFECYCLE_REFUSED,
                f"{shown(id)} is no id of an incident; use up to 64 of A-Za-z0-9._-.",
            )
        values = {
            "id": id,
            "alert": _text(alert),
            "service": _text(service),
            "fault_class": _text(fault_class) if fault_class else None,
            "fired_us": microseconds(fired),
        }
        insert = postgresql.insert if self._engine.dialect.name == "postgresql" else sqlite.insert
        with self._connection() as connection:
            connection.execute(insert(_TABLE).values(values).on_conflict_do_nothing(index_elements=["id"]))

    def note(self, id: str, moment: Moment, at: datetime) -> Answer:
        """A moment of a known incident, set once. One that contradicts what is known is refused with the reason."""
        if not _ID.fullmatch(id):
            raise _unknown(id)
        value, column = microseconds(at), _COLUMN[moment]
        allowed = [_TABLE.c.id == id, column.is_(None)]
        allowed += [(_COLUMN[one].is_(None)) | (_COLUMN[one] <= value) for one in AFTER[moment]]
        allowed += [
            (_COLUMN[one].is_(None)) | (_COLUMN[one] >= value)
            for one, before in AFTER.items()
            if moment in before
        ]
        with self._connection() as connection:
            # One statement decides and writes: of two processes that say the same moment, one writes.
            done = connection.execute(update(_TABLE).where(*allowed).values({column: value}))
            if done.rowcount == 1:
                return Answer(Noted.RECORDED, at)
            row = connection.execute(select(_TABLE).where(_TABLE.c.id == id)).first()
        return self._known(id, moment, at, row)

    def classify(self, id: str, fault_class: str) -> None:
        """Give an incident its fault class; it may be corrected later."""
        if not _ID.fullmatch(id):
            raise _unknown(id)
        with self._connection() as connection:
            done = connection.execute(
                update(_TABLE).where(_TABLE.c.id == id).values(fault_class=_text(fault_class))
            )
        if done.rowcount != 1:
            raise _unknown(id)

    def get(self, id: str) -> Lifecycle | None:
        if not _ID.fullmatch(id):
            return None
        with self._connection() as connection:
            row = connection.execute(select(_TABLE).where(_TABLE.c.id == id)).first()
        return None if row is None else _lifecycle(row)

    def incidents(
        self, *, since: datetime | None = None, until: datetime | None = None, fault_class: str | None = None
    ) -> list[Lifecycle]:
        """Those that fired in [since, until), oldest first."""
        query = select(_TABLE).order_by(_TABLE.c.fired_us, _TABLE.c.id)
        if since is not None:
            query = query.where(_TABLE.c.fired_us >= microseconds(since))
        if until is not None:
            query = query.where(_TABLE.c.fired_us < microseconds(until))
        if fault_class is not None:
            query = query.where(_TABLE.c.fault_class == _text(fault_class))
        with self._connection() as connection:
            return [_lifecycle(row) for row in connection.execute(query)]

    def kpis(
        self, *, since: datetime | None = None, until: datetime | None = None, fault_class: str | None = None
    ) -> Report:
        """The report over the same selection."""
        if since is not None and until is not None and since >= until:
            raise ContractError(
                Reason.USAGE, f"since {rfc3339(since)} is not before until {rfc3339(until)}; swap them."
            )
        rows = self.incidents(since=since, until=until, fault_class=fault_class)
        return report(rows, since=since, until=until, fault_class=fault_class)

    @contextlib.contextmanager
    def _connection(self) -> Iterator[Connection]:
        with clear_errors(self._engine), self._engine.begin() as connection:
            yield connection

    def _known(self, id: str, moment: Moment, at: datetime, row: Row[Any] | None) -> Answer:
        if row is None:
            raise _unknown(id)
        times = _lifecycle(row).times
        if moment in times:
            return Answer(Noted.SAME if times[moment] == at else Noted.KEPT, times[moment])
        for first, second in _contradictions(moment, at, times):
            raise ContractError(
                Reason.LIFECYCLE_REFUSED,
                f"the incident {id} cannot be {moment.value} at {rfc3339(at)}: it was {first.value} "
                f"{second} ({rfc3339(times[first])}); check the time, and the clocks of both sides.",
            )
        raise ContractError(Reason.LIFECYCLE_REFUSED, f"the incident {id} changed meanwhile; say it again.")


def _contradictions(
    moment: Moment, at: datetime, times: Mapping[Moment, datetime]
) -> Iterator[tuple[Moment, str]]:
    for one in AFTER[moment]:
        if one in times and times[one] > at:
            yield one, "later"
    for one, before in AFTER.items():
        if moment in before and one in times and times[one] < at:
            yield one, "before that"


@contextlib.contextmanager
def open_lifecycles(address: str, *, create: bool = True) -> Iterator[LifecycleStore]:
    """The store at an address such as `sqlite:///rca.db`, brought up to date; made if it is not there, or, without
    `create`, refused.
    """
    with open_database(address, create=create) as engine:
        yield LifecycleStore(engine)


def _lifecycle(row: Row[Any]) -> Lifecycle:
    values = row._mapping
    times = {moment: values[column.name] for moment, column in _COLUMN.items()}
    return Lifecycle(
        id=values["id"],
        alert=values["alert"],
        service=values["service"],
        fault_class=values["fault_class"],
        times={moment: from_microseconds(value) for moment, value in times.items() if value is not None},
    )


def _text(value: str) -> str:
    """What a column of any database holds: printable (no NUL, no half of a surrogate pair), of limited length."""
    return one_line(value)[:TEXT_LIMIT]


def _unknown(id: str) -> ContractError:
    return ContractError(
        Reason.LIFECYCLE_REFUSED,
        f"the incident {shown(id)} is not known; an alert that fires makes it known.",
    )
