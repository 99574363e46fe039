"""An operator process on a bad wire to a real API server: the whole road, to Active and back by a regression.

Aspects: every kind of fault (`rca_testing.troubles`), alone and mixed by chance; recovery without a restart, or an exit
that names its reason; Retry-After; a minute without a server, and no storm of requests; a right that is missing; never
two Jobs for an attempt, never Active without evidence (`rca_testing.api_audit` looks at everything that was sent).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial

import pytest
from rca_testing.api_audit import violations
from rca_testing.api_world import ApiWorld
from rca_testing.supervisor import Supervisor
from rca_testing.troubles import ALWAYS, TROUBLES, Trouble, mixed
from rca_testing.wire import Sent
from rca_testing.wire_faults import Answer, Forbidden, Rule, is_
from rca_testing.worlds import Worlds

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("crds"), pytest.mark.timeout(1500)]

# By chance and the same in every run; RCA_TEST_SEEDS=100 looks further.
SEEDS = range(int(os.environ.get("RCA_TEST_SEEDS", "4")))


@dataclass
class Journey:
    """How a road went."""

    exits: list[tuple[int, str]]
    sent: list[Sent]
    seconds: float
    wrong: list[str] = field(default_factory=list)
    told: str = ""


def regress(world: ApiWorld) -> None:
    world.lost = ("GT-01", "GT-04")
    world.place.spec("RcaComponent", "live", guard={"interval": "1s"})


def active(world: ApiWorld) -> bool:
    return bool(world.status().get("phase") == "Active")


def back(world: ApiWorld) -> bool:
    return world.status().get("phase") == "Blocked" and world.mode() == "Shadow"


def journey(world: ApiWorld, trouble: Trouble) -> Journey:
    """To Active and back, in trouble all the way."""
    supervisor = Supervisor(world, may_end=bool(trouble.restarts))
    world.wire.rules.extend(trouble.rules())
    begun = time.monotonic()
    world.everything()
    supervisor.until(active, trouble.within)
    regress(world)
    supervisor.until(back, trouble.within)
    took = time.monotonic() - begun
    world.wire.rules.clear()
    supervisor.quiet(2.0)
    return Journey(supervisor.exits, list(world.wire.sent), took, list(violations(world)))


def outage(world: ApiWorld, *, refused: bool) -> Journey:
    """A minute without a server, in the middle of an evaluation that goes on meanwhile."""
    supervisor = Supervisor(world, may_end=True)
    world.held = True
    world.everything()
    supervisor.until(
        lambda world: any((j.get("status") or {}).get("active") for j in world.place.list("Job"))
    )
    away = Rule(lambda sent: True, Answer(503, "ServiceUnavailable", "the server is away"), ALWAYS)
    begun = time.monotonic()
    if refused:
        world.wire.rules.append(away)
        world.wire.break_all()
    else:
        world.wire.cut()
    supervisor.until(lambda world: time.monotonic() > begun + 60)
    during = [sent for sent in list(world.wire.sent) if sent.at > begun]
    world.wire.rules.clear()
    world.wire.mend()
    world.held = False
    world.lost = ()
    [pod] = world.place.list("Pod")
    world.end(pod)
    took = supervisor.until(active)
    supervisor.quiet(2.0)
    return Journey(supervisor.exits, during, took, list(violations(world)))


# Rights of one verb each: (verb, resource), and whether a person's `mode: Shadow` is carried out without it.
RIGHTS = {
    ("create", "evalruns"): True,
    ("create", "jobs"): True,
    ("update", "evalruns/status"): True,
    ("create", "configmaps"): True,
    ("get", "pods/log"): True,
    ("create", "events"): True,
    ("get", "evalsuites"): True,
    ("patch", "configmaps"): False,
    ("update", "rcacomponents/status"): False,
}


def forbidden(world: ApiWorld, right: tuple[str, str]) -> Journey:
    """A right is taken away from an Active component's operator, and given back."""
    supervisor = Supervisor(world)
    world.everything()
    supervisor.until(active)
    rule = Rule(is_(*right), Forbidden(), ALWAYS)
    world.wire.rules.append(rule)
    regress(world)
    if right == ("patch", "configmaps") or not RIGHTS[right]:
        world.place.spec("RcaComponent", "live", mode="Shadow")
    supervisor.until(lambda world: rule.hits >= 2)
    told = str([world.status(), world.events(), [r.get("status") for r in world.place.list("EvalRun")]])
    begun = time.monotonic()
    if RIGHTS[right]:
        world.place.spec("RcaComponent", "live", mode="Shadow")
        supervisor.until(lambda world: world.mode() == "Shadow")
    world.wire.rules.clear()
    supervisor.until(lambda world: world.mode() == "Shadow" and "intent" not in world.status())
    took = time.monotonic() - begun
    return Journey(supervisor.exits, list(world.wire.sent), took, list(violations(world)), told + world.log())


def blind(world: ApiWorld, resource: str) -> Journey:
    """No right to watch a kind: what it needs not is done, and the process says why it ends."""
    supervisor = Supervisor(world, may_end=True)
    world.everything()
    supervisor.until(active)
    world.wire.rules.append(Rule(is_("watch", resource), Forbidden(), ALWAYS))
    world.wire.break_all()
    begun = time.monotonic()
    supervisor.until(lambda world: bool(supervisor.exits))
    world.place.spec("RcaComponent", "live", mode="Shadow")
    supervisor.until(lambda world: world.mode() == "Shadow")
    return Journey(supervisor.exits, list(world.wire.sent), time.monotonic() - begun, list(violations(world)))


def patient(world: ApiWorld) -> Journey:
    """Told to come again in four seconds, three times."""
    supervisor = Supervisor(world)
    later = Answer(429, "TooManyRequests", "try later", retry_after=4)
    world.wire.rules.append(Rule(is_("update", "rcacomponents/status"), later, 3, skip=2))
    begun = time.monotonic()
    world.everything()
    supervisor.until(active)
    return Journey(supervisor.exits, list(world.wire.sent), time.monotonic() - begun, list(violations(world)))


PARTS: dict[str, Callable[[ApiWorld], Journey]] = {
    "a minute of silence": partial(outage, refused=False),
    "a minute of 503": partial(outage, refused=True),
    "blind": partial(blind, resource="pods"),
    **{name: partial(journey, trouble=trouble) for name, trouble in TROUBLES.items()},
    **{f"seed {seed}": partial(journey, trouble=mixed(seed)) for seed in SEEDS},
    **{
        f"no right to {verb} {resource}": partial(forbidden, right=(verb, resource))
        for verb, resource in RIGHTS
    },
    "patient": patient,
}


@pytest.fixture(scope="module")
def journeys(worlds: Worlds, request: pytest.FixtureRequest) -> dict[str, Future[Journey]]:
    """All that are asked for begin at once, the longest first."""
    items = [item for item in request.session.items if item.path == request.path]
    asked = {item.callspec.params["name"] for item in items if hasattr(item, "callspec")}
    return {name: worlds.play(part) for name, part in PARTS.items() if name in asked}


def _arrived(journeys: dict[str, Future[Journey]], name: str, figure: Callable[[str], None]) -> Journey:
    gone = journeys[name].result()
    figure(f"{name}: {gone.seconds:.0f} s, {len(gone.sent)} requests, {len(gone.exits)} restarts")
    assert gone.wrong == []
    return gone


@pytest.mark.parametrize("name", [*TROUBLES, *(f"seed {seed}" for seed in SEEDS)])
def test_the_road_is_gone_in_trouble(
    journeys: dict[str, Future[Journey]], name: str, figure: Callable[[str], None]
) -> None:
    gone = _arrived(journeys, name, figure)
    trouble = TROUBLES.get(name) or mixed(0)
    assert all(code == 1 and trouble.restarts in log for code, log in gone.exits), gone.exits
    jobs = [sent for sent in gone.sent if sent.what == "create jobs"]
    assert len(jobs) <= 30, "no storm"


@pytest.mark.parametrize("name", ["a minute of silence", "a minute of 503"])
def test_a_minute_without_a_server_is_waited_for_without_a_storm(
    journeys: dict[str, Future[Journey]], name: str, figure: Callable[[str], None]
) -> None:
    """Who leads must end, for it cannot know any more; who comes next waits, and goes on where that one was."""
    gone = _arrived(journeys, name, figure)
    assert [log for code, log in gone.exits if code != 1] == []
    assert gone.exits
    assert all("stopped: " in log for _, log in gone.exits), gone.exits
    # Five watches and a Lease, each tried again every second or more seldom.
    assert len(gone.sent) < 60 * 6
    assert len([sent for sent in gone.sent if sent.writes and not sent.about_the_lease]) < 20
    assert gone.seconds < 240, "the longest pause is a minute"


@pytest.mark.parametrize("name", [f"no right to {verb} {resource}" for verb, resource in RIGHTS])
def test_a_right_that_is_missing_is_told_by_name_and_stops_nothing_else(
    journeys: dict[str, Future[Journey]], name: str, figure: Callable[[str], None]
) -> None:
    gone = _arrived(journeys, name, figure)
    assert gone.exits == []
    verb, resource = name.removeprefix("no right to ").split()
    assert f'cannot {verb} resource "{resource}"' in gone.told


@pytest.mark.parametrize("name", ["blind"])
def test_who_may_not_watch_ends_with_the_name_of_what_it_does_not_see(
    journeys: dict[str, Future[Journey]], name: str, figure: Callable[[str], None]
) -> None:
    gone = _arrived(journeys, name, figure)
    assert all(code == 1 for code, _ in gone.exits)
    assert all("stopped: the watch" in log and 'cannot watch resource "pods"' in log for _, log in gone.exits)


@pytest.mark.parametrize("name", ["patient"])
def test_who_is_told_to_come_again_later_does_so(
    journeys: dict[str, Future[Journey]], name: str, figure: Callable[[str], None]
) -> None:
    gone = _arrived(journeys, name, figure)
    about = [sent for sent in gone.sent if sent.resource.startswith("rcacomponents") and sent.name == "live"]
    told = [sent for sent in about if sent.status == 429]
    assert len(told) == 3
    for sent in told:
        again = min(each.at for each in about if each.at > sent.at and each.what == sent.what)
        assert again - sent.at >= 3.9
