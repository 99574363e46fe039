"""A road that a component goes, and processes that die on it: at some of their writes, each followed by a new one.

What stands at the end is made comparable: the same whoever died where.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from rca_testing.api_world import ApiWorld
from rca_testing.supervisor import Supervisor
from rca_testing.wire import Sent
from rca_testing.wire_faults import Kill, Rule

_TIMES = frozenset({"at", "since", "lastTransitionTime", "uid", "deadline"})
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
# The UID of the run is in the name of its Job.
_JOB = re.compile(r"(-\d+)-[0-9a-f]{8}(-\d+)")


@dataclass(frozen=True)
class Step:
    """What somebody does, and what the world looks like when the operator has followed."""

    act: Callable[[ApiWorld], object]
    arrived: Callable[[ApiWorld], object]


@dataclass(frozen=True)
class Road:
    """`steps[:armed]` are gone without a death."""

    name: str
    steps: tuple[Step, ...]
    armed: int = 0


@dataclass
class Deaths:
    """Every `stride`-th write of the road kills, beginning with number `first`, before it is forwarded or `late`."""

    first: int
    stride: int
    late: bool
    counted: list[str] = field(default_factory=list)
    """The writes of the road, in order."""
    points: list[str] = field(default_factory=list)
    """The writes that killed."""

    def is_one(self, sent: Sent) -> bool:
        if not sent.writes or sent.about_the_lease:
            return False
        number = len(self.counted)
        self.counted.append(sent.what)
        hit = number >= self.first and (number - self.first) % self.stride == 0
        if hit:
            self.points.append(sent.what)
        return hit


def go(world: ApiWorld, road: Road, deaths: Deaths | None = None) -> dict[str, Any]:
    """Goes the road with these deaths, and returns what stands at its end."""
    supervisor = Supervisor(world)
    for number, step in enumerate(road.steps):
        if number == road.armed and deaths is not None:
            if number:
                supervisor.quiet(1.5)
            killing = Kill(lambda: world.process.shoot() if world.process else None, late=deaths.late)
            world.wire.rules.append(Rule(deaths.is_one, killing, times=10_000))
        step.act(world)
        supervisor.until(step.arrived)
    supervisor.quiet(3.0)
    world.wire.rules.clear()
    supervisor.quiet(3.0)
    return end_of(world)


def end_of(world: ApiWorld) -> dict[str, Any]:
    """What stands, less times and UIDs."""
    place = world.place
    runs, jobs = place.list("EvalRun"), place.list("Job")
    done = [sent for sent in world.wire.writes() if 0 < sent.status < 300]
    stored = [cm for cm in place.list("ConfigMap") if cm["metadata"]["name"].startswith("live-")]
    return {
        "key": world.mode(),
        "component": {
            body["metadata"]["name"]: plain(
                {
                    "status": body.get("status") or {},
                    "finalizers": body["metadata"].get("finalizers") or [],
                    "annotations": body["metadata"].get("annotations") or {},
                }
            )
            for body in place.list("RcaComponent")
        },
        "runs": {run["metadata"]["name"]: plain(run.get("status") or {}) for run in runs},
        "jobs": sorted(_JOB.sub(r"\1\2", job["metadata"]["name"]) for job in jobs),
        "jobs made": sorted(
            _JOB.sub(r"\1\2", str(sent.written.get("metadata", {}).get("name")))
            for sent in done
            if sent.what == "create jobs"
        ),
        "scorecards": sorted((cm["metadata"]["name"], sorted(cm.get("data") or {})) for cm in stored),
        "key writes": [_value(sent) for sent in done if sent.what == "patch configmaps"],
        # Not how often: an intent that was too old when somebody came to it is issued anew, and told anew.
        "events": {
            f"{kind}/{event['involvedObject']['name']} {event['reason']}: {_text(event['message'])}": "told"
            for kind in ("RcaComponent", "EvalRun")
            for event in world.events(kind)
        },
    }


def plain(value: Any) -> Any:
    """Without what no two worlds have in common."""
    if isinstance(value, dict):
        return {
            key: plain(each) for key, each in value.items() if key not in _TIMES and not key.endswith("At")
        }
    if isinstance(value, list) and all(isinstance(each, dict) and "type" in each for each in value):
        return {each["type"]: plain(each) for each in value}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return _text(value) if isinstance(value, str) else value


def _text(text: str) -> str:
    return _MOMENT.sub("TIME", _UUID.sub("UID", _JOB.sub(r"\1\2", text)))


def _value(sent: Sent) -> object:
    return next((each.get("value") for each in sent.written if each.get("op") != "test"), None)


def differences(expected: Any, found: Any, path: str = "") -> Iterable[str]:
    """Where two ends differ, a line each."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in sorted({*expected, *found}):
            yield from differences(expected.get(key), found.get(key), f"{path}/{key}")
    elif expected != found:
        yield f"{path}: {expected!r} became {found!r}"
