"""Names that lead nowhere, are there twice, or mean two things; and causes that no engine can reach."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches

from rca_eval.contract import Incident
from rca_eval.lint.finding import Found, Path, Subject, at
from rca_eval.lint.pods import workload

HOPS = 3  # what the engine's query returns: services within so many calls of the one that alerts


def incomplete(subject: Subject) -> Iterator[Found]:
    for position, one in subject.incidents:
        absent = [name for name in ("alert", "topology", "telemetry") if getattr(one, name) is None]
        if absent:
            text = f"has no {', '.join(absent)}, so it is not in LivePath"
            yield Found("E-INCOMPLETE", at(position), text, "add them, or take the incident out")


def dangling(subject: Subject) -> Iterator[Found]:
    """Every name of a service that its topology does not have, the causes among them."""
    for position, one in subject.incidents:
        if one.topology is None:
            continue
        known = set(one.topology.keys)
        for where, key in _named(one):
            if key not in known:
                what, code = (
                    ("its cause ", "E-UNKNOWN-CAUSE")
                    if where[0] == "expectedRootCause"
                    else ("", "E-DANGLING")
                )
                text = f"{what}{key} is no service of its topology ({_field(where)})"
                yield Found(code, at(position, *where), text, _hint(key, one, subject))


def twice(subject: Subject) -> Iterator[Found]:
    """A service, a call, a change or a metric that is there two times."""
    for position, one in subject.incidents:
        for where, key, what, code in _rows(one):
            for nth, first in _repeats(key):
                path, before = at(position, *where, nth), at(position, *where, first)
                yield Found(
                    code, path, f"{what} {_text(key[nth])} is there twice", "keep one of the two", before
                )


def calls_itself(subject: Subject) -> Iterator[Found]:
    for position, one in subject.incidents:
        for nth, (caller, callee) in enumerate(one.topology.calls if one.topology else ()):
            if caller == callee:
                path = at(position, "topology", "calls", nth)
                yield Found(
                    "W-SELF-CALL", path, f"{caller} calls itself, which says nothing", "remove the call"
                )


def unreachable(subject: Subject) -> Iterator[Found]:
    for position, one in subject.incidents:
        if one.topology is None or one.alert is None or one.alert.service not in one.topology.keys:
            continue
        start, hops = one.alert.service, distances(one.topology.calls, one.alert.service)
        back = distances(((callee, caller) for caller, callee in one.topology.calls), start)
        for cause in one.expected_root_cause:
            if cause not in one.topology.keys or hops.get(cause, HOPS + 1) <= HOPS:
                continue
            text = f"its cause {cause} is not reached from {start} in {HOPS} calls, so it is no candidate"
            if cause in hops:
                text, fix = (
                    f"{text}: it is {hops[cause]} calls away",
                    "add the calls that are missing between them",
                )
            elif cause in back:
                fix = f"it reaches {start}: turn the calls around if they are [callee, caller]"
            else:
                fix = "add the calls between them, [caller, callee]"
            yield Found("E-UNREACHABLE-CAUSE", at(position, "expectedRootCause"), text, fix)


def many_causes(subject: Subject) -> Iterator[Found]:
    """Each of several causes is a hit: if they are most of the services, so is a guess."""
    for position, one in subject.incidents:
        causes, services = len(one.expected_root_cause), len(one.topology.keys) if one.topology else 0
        if causes > 1 and 2 * causes >= services > 0:
            text = f"{causes} of its {services} services are its causes: a guess is right that often"
            yield Found("W-MANY-CAUSES", at(position, "expectedRootCause"), text, "keep the cause alone")


def symptom_is_not_the_alert(subject: Subject) -> Iterator[Found]:
    for position, one in subject.incidents:
        if one.symptom and one.alert and one.symptom != one.alert.service:
            text = f"its symptom is {one.symptom}, but its alert is of {one.alert.service}"
            yield Found("E-SYMPTOM", at(position, "symptom"), text, "give both the service that alerted")


def distractor_is_the_cause(subject: Subject) -> Iterator[Found]:
    for position, one in subject.incidents:
        for nth, mark in enumerate(one.distractors):
            if mark.service in one.expected_root_cause:
                text = f"{mark.service} is its cause and a {mark.kind} at once"
                yield Found("E-DISTRACTOR", at(position, "distractors", nth), text, "correct one of the two")


def aliases_clash(subject: Subject) -> Iterator[Found]:
    """An alias stands for one service, and is no other service's key."""
    keys = {key for _, one in subject.incidents for key in (one.topology.keys if one.topology else ())}
    for alias, target in subject.aliases.items():
        path: Path = ("aliases", alias)
        if keys and target not in keys:
            text = f"the alias {alias} stands for {target}, which is no service of any topology"
            yield Found("E-ALIAS", path, text, "correct the service, or remove the alias")
        if alias in keys and alias != target:
            text = f"the alias {alias} of {target} is also a service: its answers would count for {target}"
            yield Found("E-ALIAS", path, text, "remove the alias")
    for position, one in subject.incidents:
        owner: dict[str, str] = dict(subject.aliases)
        for nth, service in enumerate(one.topology.services if one.topology else ()):
            for number, alias in enumerate(service.aliases):
                path = at(position, "topology", "services", nth, "aliases", number)
                if alias != service.key and one.topology and alias in one.topology.keys:
                    yield Found(
                        "E-ALIAS", path, f"the alias {alias} of {service.key} is also a service", "remove it"
                    )
                elif owner.setdefault(alias, service.key) != service.key:
                    text = f"the alias {alias} stands for {owner[alias]} and for {service.key}"
                    yield Found("E-ALIAS", path, text, "keep it at one service")


def distances(calls: Iterable[tuple[str, str]], start: str) -> dict[str, int]:
    """Services by the number of calls from `start`, itself with 0."""
    edges = defaultdict(set)
    for caller, callee in calls:
        edges[caller].add(callee)
    found, front = {start: 0}, [start]
    while front:
        front = [key for caller in front for key in sorted(edges[caller]) if key not in found]
        step = max(found.values()) + 1
        for key in front:
            found.setdefault(key, step)
        front = list(dict.fromkeys(front))
    return found


def _named(one: Incident) -> Iterator[tuple[Path, str]]:
    for nth, cause in enumerate(one.expected_root_cause):
        yield ("expectedRootCause", nth), cause
    for nth, call in enumerate(one.topology.calls if one.topology else ()):
        yield from ((("topology", "calls", nth, end), key) for end, key in enumerate(call))
    yield from ((("changes", nth, "service"), change.service) for nth, change in enumerate(one.changes))
    for key in one.telemetry.services if one.telemetry else ():
        yield ("telemetry", "services", key), key
    if one.alert:
        yield ("alert", "service"), one.alert.service
    if one.symptom:
        yield ("symptom",), one.symptom
    yield from ((("distractors", nth, "service"), mark.service) for nth, mark in enumerate(one.distractors))


def _rows(one: Incident) -> Iterator[tuple[Path, Sequence[tuple[object, ...]], str, str]]:
    if one.topology:
        keys = [(service.key,) for service in one.topology.services]
        yield ("topology", "services"), keys, "the service", "E-DUPLICATE-SERVICE"
        yield ("topology", "calls"), list(one.topology.calls), "the call", "W-DUPLICATE-CALL"
    changes = [(change.kind, change.service, change.at) for change in one.changes]
    yield ("changes",), changes, "the change", "W-DUPLICATE-CHANGE"
    for key, row in one.telemetry.services.items() if one.telemetry else ():
        where: Path = ("telemetry", "services", key, "series")
        yield where, [(key, series.metric) for series in row.series], "the metric", "E-DUPLICATE-METRIC"


def _repeats(rows: Sequence[tuple[object, ...]]) -> Iterator[tuple[int, int]]:
    first: dict[tuple[object, ...], int] = {}
    for nth, row in enumerate(rows):
        if row in first:
            yield nth, first[row]
        first.setdefault(row, nth)


def _text(row: tuple[object, ...]) -> str:
    return " ".join(map(str, row))


def _field(where: Path) -> str:
    return ".".join([step for step in where if isinstance(step, str)][:2])


def _hint(key: str, one: Incident, subject: Subject) -> str:
    keys = one.topology.keys if one.topology else ()
    services = one.topology.services if one.topology else ()
    owner = next((row.key for row in services if key in row.aliases), subject.aliases.get(key))
    if owner in keys:
        return f"it is an alias of {owner}: write {owner}"
    if (of := workload(key, keys)) is not None:
        return f"it looks like a Pod of {of}: write {of}"
    if close := get_close_matches(key, keys, n=1, cutoff=0.75):
        return f"did you mean {close[0]}? else add it to topology.services"
    return "add it to topology.services, or correct the name"
