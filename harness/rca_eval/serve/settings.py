"""What the agent is told at its start, read once and refused in one sentence."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from rca_eval.contract import ContractError, Reason, shown
from rca_eval.graph import EMBEDDED
from rca_eval.graph.store import SCHEMES


@dataclass(frozen=True)
class Limits:
    """Everything that a client could make large or long has an end."""

    workers: int = 2  # investigations at a time
    queue: int = 16  # and so many more that wait
    seconds: float = 30.0  # for one of them, the waiting included
    body_bytes: int = 4 * 1024 * 1024
    body_seconds: float = 10.0  # for a whole body to arrive
    header_seconds: float = 10.0  # for the head of a request to arrive
    connections: int = 256
    kept: int = 200  # investigations that can be looked up
    alerts: int = 100  # in one notification
    stopping_seconds: float = 10.0  # for requests under way, after SIGTERM


@dataclass(frozen=True)
class Settings:
    modes: str
    store: str = EMBEDDED
    source: str = "catalogue:graded"
    database: str = "sqlite:///rca-lifecycles.db"
    host: str = "127.0.0.1"
    port: int = 8080
    revision: str | None = None
    limits: Limits = Limits()


def parse_listen(text: str) -> tuple[str, int]:
    """`127.0.0.1:8080`, `[::1]:8080`, `:8080` for all addresses, port 0 for a free one. Raises
    `ContractError(Usage)`.
    """
    host, colon, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    if (
        not colon
        or not (port.isascii() and port.isdigit())
        or int(port) > 65535
        or (":" in bare and bare == host)
    ):
        raise ContractError(
            Reason.USAGE, f"--listen is {shown(text)}; write an address and a port, such as 127.0.0.1:8080."
        )
    return bare or "0.0.0.0", int(port)  # noqa: S104 - asked for


def check_store(where: str) -> str:
    """The store's address, if it could be one; whether it answers shows later."""
    scheme = urlsplit(where).scheme if where != EMBEDDED else ""
    if where != EMBEDDED and scheme not in SCHEMES:
        raise ContractError(
            Reason.STORE_UNAVAILABLE,
            f"--store is neither `embedded` nor a URL that begins with {'://, '.join(SCHEMES)}://.",
        )
    return where
