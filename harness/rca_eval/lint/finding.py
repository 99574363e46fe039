"""What lint says: one problem with a stable code, where it is, and what to do."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from rca_eval.contract import Baseline, Incident, Model
from rca_eval.gate import GatePolicy

Level = Literal["error", "warning"]
Path = tuple[str | int, ...]


class Found(NamedTuple):
    """A problem as a rule tells it. `code` begins with E- (the result would be meaningless) or W- (weak); `also` is the
    path of the first of two things that may not be there twice.
    """

    code: str
    path: Path
    message: str
    fix: str
    also: Path | None = None


class Finding(Model):
    """A problem for people and tools. `line` counts from 1; null for a file or dataset as a whole."""

    level: Level
    code: str
    incident: str | None
    message: str
    fix: str
    path: str = ""
    file: str | None = None
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True)
class Subject:
    """What the rules look at: the incidents that can be read, each with its position in the file.

    `window` is in seconds; `now` (Unix seconds), `baseline` and `policy` are None where nobody gave them.
    """

    incidents: tuple[tuple[int, Incident], ...]
    window: int
    aliases: Mapping[str, str]
    now: int | None = None
    baseline: Baseline | None = None
    policy: GatePolicy | None = None


Rule = Callable[[Subject], Iterator[Found]]


def at(position: int, *rest: str | int) -> Path:
    """The path of something in an incident."""
    return ("incidents", position, *rest)
