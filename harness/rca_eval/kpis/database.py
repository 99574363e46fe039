"""The database of the lifecycles: SQLite by default, PostgreSQL by URL. Opened, and brought to this version's schema."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from rca_eval.contract import ContractError, Reason

Step = Sequence[str]
STEPS: tuple[Step, ...] = (
    (
        """CREATE TABLE rca_incidents (
             id VARCHAR(64) PRIMARY KEY,
             alert VARCHAR(253) NOT NULL,
             service VARCHAR(253) NOT NULL,
             fault_class VARCHAR(253),
             fired_us BIGINT NOT NULL,
             detected_us BIGINT,
             acknowledged_us BIGINT,
             concluded_us BIGINT,
             resolved_us BIGINT)""",
        "CREATE INDEX rca_incidents_fired ON rca_incidents (fired_us)",
    ),
)
"""What makes version n of version n - 1, oldest first. Never changed once released: only continued."""

VERSION_TABLE = "rca_lifecycle_schema"
NO_RECORD = "holds no record of incidents; name the database that the agent writes"
BUSY_SECONDS = 10
CONNECT_SECONDS = 5
STATEMENT_MILLISECONDS = 10_000
LOCK = 7_226_348  # any number, always the same: PostgreSQL's advisory lock while the schema is changed
POSTGRESQL = "postgresql+psycopg"


@contextlib.contextmanager
def open_database(address: str, steps: Sequence[Step] = STEPS, *, create: bool = True) -> Iterator[Engine]:
    """An engine on a database whose schema is of this version; without `create`, one that has a record already.

    Raises `ContractError(DatabaseUnavailable)`.
    """
    url = database_url(address)
    if not create and url.get_backend_name() == "sqlite":
        _require_file(Path(str(url.database)))
    engine = _engine(url)
    event.listen(engine, "connect", _sqlite if url.get_backend_name() == "sqlite" else _postgresql)
    if url.get_backend_name() == "sqlite":
        event.listen(engine, "begin", _begin)
    try:
        with clear_errors(engine):
            if not create and not inspect(engine).has_table(VERSION_TABLE):
                raise _unavailable(f"{safe(engine)} {NO_RECORD}")
            migrate(engine, steps)
        yield engine
    finally:
        engine.dispose()


def _require_file(path: Path) -> None:
    """Connecting makes a file that is not there, and a database of an empty one."""
    if not path.exists():
        raise _unavailable(f"{path} does not exist; name the database that the agent writes")
    if path.is_file() and not path.stat().st_size:
        raise _unavailable(f"{path} is empty and {NO_RECORD}")


def database_url(address: str) -> URL:
    """The address, checked before anything is connected. Raises `ContractError(DatabaseUnavailable)`."""
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        raise _unavailable(
            "the database's address cannot be read; write sqlite:///path/to/file.db or "
            "postgresql+psycopg://user:password@host:port/name, with / ? # @ : in the password percent-encoded"
        ) from None
    backend = url.get_backend_name()
    if backend in {"postgresql", "postgres"}:
        return url.set(drivername=POSTGRESQL)
    if backend != "sqlite":
        raise _unavailable(f"{backend} is no database that is supported; use sqlite or postgresql+psycopg")
    if url.database in {None, "", ":memory:"} or url.query:
        raise _unavailable("the SQLite database needs a file: write sqlite:///path/to/file.db")
    return url.set(drivername="sqlite")


def _engine(url: URL) -> Engine:
    try:
        return create_engine(url, hide_parameters=True, pool_pre_ping=True, **_options(url))
    except (ImportError, NoSuchModuleError):
        raise _unavailable(
            f"the driver for {url.get_backend_name()} is not installed; install rca-rollout[agent]"
        ) from None


def migrate(engine: Engine, steps: Sequence[Step]) -> None:
    """Bring the schema forward, as one transaction that others wait for. A newer schema is refused, not guessed at."""
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
        connection.execute(text(f"CREATE TABLE IF NOT EXISTS {VERSION_TABLE} (version INTEGER NOT NULL)"))
        found = connection.execute(text(f"SELECT max(version) FROM {VERSION_TABLE}")).scalar() or 0  # noqa: S608
        if found > len(steps):
            raise _unavailable(
                f"{safe(engine)} has schema version {found}, and this rca-eval knows {len(steps)}; use the newer "
                "rca-eval, or another database"
            )
        for version, step in enumerate(steps[found:], start=found + 1):
            for statement in step:
                connection.execute(text(statement))
            connection.execute(
                text(f"INSERT INTO {VERSION_TABLE} (version) VALUES (:version)"),  # noqa: S608
                {"version": version},
            )


@contextlib.contextmanager
def clear_errors(engine: Engine) -> Iterator[None]:
    """The database's own errors as one sentence, without address or password of the connection."""
    try:
        yield
    except SQLAlchemyError as error:
        cause = getattr(error, "orig", None) or error
        first = str(cause).strip().partition("\n")[0]
        raise _unavailable(
            f"{safe(engine)} cannot be used ({type(cause).__name__}: {first[:200]}); check that it is there, its "
            "rights, and the address"
        ) from None


def safe(engine: Engine) -> str:
    """The address without user, password and options."""
    url = engine.url
    where = f"{url.host or ''}{f':{url.port}' if url.port else ''}"
    return f"{url.get_backend_name()}://{where}/{url.database or ''}"


def _options(url: URL) -> dict[str, Any]:
    if url.get_backend_name() == "sqlite":
        return {"connect_args": {"timeout": BUSY_SECONDS}}
    return {"connect_args": {"connect_timeout": CONNECT_SECONDS}, "pool_size": 4, "max_overflow": 4}


def _sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # the driver would begin transactions by itself, too late
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")  # readers do not wait for the writer
    cursor.close()


def _begin(connection: Connection) -> None:
    # Every transaction of ours writes or is short. One that begins as a reader and then writes cannot wait for
    # another writer: it fails at once.
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _postgresql(connection: Any, _record: Any) -> None:
    connection.execute(f"SET statement_timeout = {STATEMENT_MILLISECONDS}")
    connection.commit()


def _unavailable(text: str) -> ContractError:
    return ContractError(Reason.DATABASE_UNAVAILABLE, f"{text}.")
