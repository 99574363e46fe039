"""All violations of the schema at once, and the incidents that can be linted further in spite of them."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from rca_eval.contract import GroundTruth, Incident, shown
from rca_eval.contract import groundtruth as truth
from rca_eval.contract.epochs import EpochError
from rca_eval.contract.model import Model, finding, path
from rca_eval.lint.finding import Found, Path, at
from rca_eval.lint.source import BROKEN

SAME_SHOWN = 3
_TIMES = frozenset({"at", "firedAt", "onset"})
_MODELS: Mapping[str, tuple[type[Model], ...]] = {
    "": (GroundTruth,),
    "incidents": (Incident,),
    "alert": (truth.Alert,),
    "topology": (truth.Topology,),
    "services": (truth.Service, truth.ServiceTelemetry),
    "telemetry": (truth.Telemetry,),
    "series": (truth.Generator, truth.Samples, truth.SeriesFile),
    "changes": (truth.Change,),
    "distractors": (truth.Distractor,),
    "label": (truth.Label,),
}
_ONE = {"id": "x", "faultClass": "x", "expectedRootCause": "x", "changeInduced": False}


@dataclass(frozen=True)
class Checked:
    """What could be read: incidents with their positions, the window (None if it cannot be read) and aliases."""

    incidents: tuple[tuple[int, Incident], ...] = ()
    window: int | None = None
    aliases: Mapping[str, str] | None = None
    count: int = 0
    found: tuple[Found, ...] = ()


def check_schema(value: Any) -> Checked:
    """Every violation, at most three of one kind in one incident, with the number of the others."""
    if not isinstance(value, dict):
        if value is BROKEN:
            return Checked()
        text = (
            f"is {shown(value)}, but a dataset is an object with schemaVersion, windowSeconds and incidents"
        )
        return Checked(found=(Found("E-SCHEMA", (), text, "look at what wrote it"),))
    rows = value.get("incidents")
    found = list(_top(value, rows))
    if rows == []:
        found.append(
            Found("E-EMPTY", ("incidents",), "holds no incident, so nothing can be decided", "add incidents")
        )
    rows = rows if isinstance(rows, list) else []
    kept = []
    for position, row in enumerate(rows):
        incident, problems = _incident(position, row)
        found += problems
        if incident is not None:
            kept.append((position, incident))
    whole = {**value, "incidents": [_ONE]}
    window, aliases = whole.get("windowSeconds"), whole.get("aliases")
    good = type(window) is int and window >= 60
    return Checked(
        incidents=tuple(kept),
        window=window if good else None,
        aliases={k: v for k, v in aliases.items() if isinstance(v, str)} if isinstance(aliases, dict) else {},
        count=len(rows),
        found=(*found, *_same_ids(rows)),
    )


def incident_id(value: Any, where: Path) -> str | None:
    """The id of the incident that a path leads into; `#3` (counted from 1) where it has none."""
    if len(where) < 2 or where[0] != "incidents" or not isinstance(where[1], int):
        return None
    try:
        name = value["incidents"][where[1]]["id"]
    except (KeyError, IndexError, TypeError):
        name = None
    return name if isinstance(name, str) and name else f"#{where[1] + 1}"


def _top(value: Mapping[str, Any], rows: Any) -> Iterator[Found]:
    if "kind" in value or not {"schemaVersion", "windowSeconds", "incidents"} & value.keys():
        kind = value.get("kind", "another document")
        text = f"is no dataset, but {kind if isinstance(kind, str) else 'another document'} with {_fields(value)}"
        yield Found("E-SCHEMA", (), text, "name the file that holds the incidents")
        return
    given = {**value, "incidents": [_ONE]} if isinstance(rows, list) else dict(value)
    try:
        GroundTruth.model_validate(given, by_alias=True, by_name=False)
    except ValidationError as error:
        yield from _all((), error)


def _fields(value: Mapping[str, Any]) -> str:
    names = [shown(name, 20) for name in list(value)[:4]]
    return f"the fields {', '.join(names)}" if names else "no field"


def _incident(position: int, row: Any) -> tuple[Incident | None, list[Found]]:
    try:
        return Incident.model_validate(row, by_alias=True, by_name=False), []
    except ValidationError as error:
        return None, list(_all(at(position), error))


def _all(prefix: Path, error: ValidationError) -> Iterator[Found]:
    seen: Counter[tuple[Any, ...]] = Counter()
    last: dict[tuple[Any, ...], Found] = {}
    for problem in error.errors(include_url=False):
        if problem.get("input") is BROKEN:
            continue  # told where the text was read
        where = (*prefix, *(part for part in problem["loc"] if not str(part).startswith("<")))
        one = _found(where, problem)
        kind = (one.code, problem["type"], *("" if isinstance(part, int) else part for part in where))
        seen[kind] += 1
        if seen[kind] <= SAME_SHOWN:
            yield one
        last[kind] = one
    for kind, count in seen.items():
        if count > SAME_SHOWN:
            one = last[kind]
            text = f"has {count - SAME_SHOWN} more such places, the last at {path(one.path)}"
            yield Found(one.code, one.path, text, one.fix)


def _found(where: Path, problem: Mapping[str, Any]) -> Found:
    name, value = path(where), problem.get("input")
    error = (problem.get("ctx") or {}).get("error")
    if isinstance(error, EpochError):
        if error.seconds is not None:
            text = f"{name} is {value}, which {str(error).partition(';')[0]}"
            return Found("E-EPOCH", where, text, f"write {error.seconds}, whole seconds")
        text = f"{name} is {value}, which is no time from 2000 to 2100"
        return Found("E-EPOCH", where, text, "write whole Unix seconds, UTC, e.g. 1700000000")
    is_time = where[-1:] != () and (where[-1] in _TIMES or (where[-3:-2] == ("samples",) and where[-1] == 0))
    if is_time and problem["type"] == "int_type":
        text = f"{name} is {shown(value)}, which is no time in whole seconds"
        return Found("E-EPOCH", where, text, "write whole Unix seconds, UTC, e.g. 1700000000")
    if problem["type"] == "extra_forbidden":
        return Found("E-SCHEMA", where, f"the field {name} is unknown", _meant(where))
    text = finding(name, problem)
    for split, word in ((", but must ", "it must "), ("; ", "")):
        if split in text:
            message, _, fix = text.partition(split)
            return Found("E-SCHEMA", where, message, word + fix)
    short = problem["type"] in ("too_short", "string_too_short")
    return Found("E-SCHEMA", where, text, "add what is missing" if short else "correct it")


def _meant(where: Path) -> str:
    """`remove it`, or the field that was probably meant."""
    parents = [part for part in where[:-1] if isinstance(part, str) and part in _MODELS]
    known = [
        field.alias or name
        for model in _MODELS[parents[-1] if parents else ""]
        for name, field in model.model_fields.items()
    ]
    close = get_close_matches(
        str(where[-1]).replace("_", "").lower(), [name.lower() for name in known], n=1, cutoff=0.7
    )
    meant = next((name for name in known if close and name.lower() == close[0]), None)
    return f"did you mean {meant}?" if meant else f"remove it; known are {', '.join(sorted(set(known)))}"


def _same_ids(rows: list[Any]) -> Iterator[Found]:
    first: dict[str, int] = {}
    for position, row in enumerate(rows):
        name = row.get("id") if isinstance(row, dict) else None
        if not isinstance(name, str):
            continue
        if name in first:
            text, fix = f"the id {shown(name)} is there twice", "give each incident an id of its own"
            yield Found("E-DUPLICATE-ID", at(position, "id"), text, fix, at(first[name], "id"))
        first.setdefault(name, position)
