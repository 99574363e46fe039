"""An operator process on a bad wire to a real API server: the whole road, to Active and back by a regression.

Aspects: every kind of fault, alone and mixed by chance; recovery without a restart, or an exit that names its reason;
Retry-After; no storm of requests; never two Jobs for an attempt, never Active without evidence (`rca_testing.api_audit`
looks at everything that was sent, in every test).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial

import pytest
from aiohttp import web
from rca_testing.api_audit import violations
from rca_testing.api_world import ApiWorld
from rca_testing.supervisor import Supervisor
from rca_testing.wire import Sent
from rca_testing.wire_faults import (
    Answer,
    Fault,
    HalfOpen,
    Lagging,
    Matches,
    ResetAfter,
    ResetBefore,
    Rule,
    Silence,
    SilenceAfter,
    Slow,
    Spoilt,
    expired,
)
from rca_testing.worlds import Worlds

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("crds"), pytest.mark.timeout(600)]

ALWAYS = 10**9


def some(share: float, of: Matches, seed: int = 7) -> Matches:
    """By chance, the same in every run of the test; a fixed step would always hit the same request of a retry."""
    chance = random.Random(seed)
    return lambda sent: of(sent) and chance.random() < share


def working(sent: Sent) -> bool:
    """What the reconcilers ask, and not who leads."""
    return bool(sent.resource) and sent.verb not in ("watch", "list") and not sent.about_the_lease


def writing(sent: Sent) -> bool:
    return working(sent) and sent.writes


def watching(sent: Sent) -> bool:
    return sent.verb == "watch"


def status(sent: Sent) -> bool:
    return sent.resource.endswith("/status") and sent.writes


@dataclass(frozen=True)
class Trouble:
    """`restarts`: the process may end over it, if it says why in these words."""

    rules: Callable[[], list[Rule]]
    within: float = 150
    restarts: str = ""


def _rule(matches: Matches, fault: Fault, times: int = ALWAYS, skip: int = 0) -> Callable[[], list[Rule]]:
    return lambda: [Rule(matches, fault, times, skip)]


class _Html(Fault):
    async def before(self, sent: Sent) -> web.Response:
        return web.Response(status=200, text="<html>Welcome to the proxy</html>", content_type="text/html")


class _AlreadyThere(Fault):
    """Done, and the answer is that of a second try."""

    async def after(self, sent: Sent) -> None:
        if 200 <= sent.status < 300:
            sent.replaced = await Answer(409, "AlreadyExists", "it is there already").before(sent)


TROUBLES: Mapping[str, Trouble] = {
    "every third status write conflicts": Trouble(
        lambda: [Rule(some(0.33, status), Answer(409, "Conflict", "the object has been modified"), ALWAYS)]
    ),
    "creations are answered AlreadyExists": Trouble(
        lambda: [
            Rule(
                some(0.3, lambda sent: sent.verb == "create" and writing(sent)),
                _AlreadyThere(),
                ALWAYS,
            )
        ]
    ),
    "watches are older than the server's memory": Trouble(
        _rule(some(0.5, watching), Spoilt(1, expired()), 40)
    ),
    "a watch is answered 410 before it begins": Trouble(
        _rule(watching, Answer(410, "Expired", "too old resource version"), 3, skip=4)
    ),
    "a list is answered 410": Trouble(
        _rule(
            lambda sent: sent.verb == "list",
            Answer(410, "Expired", "the continue token is too old"),
            3,
            skip=9,
        )
    ),
    "status writes are refused as invalid for a while": Trouble(
        _rule(status, Answer(422, "Invalid", "status.phase: Unsupported value"), 6, skip=4)
    ),
    "every sixth request is one too many": Trouble(
        _rule(some(0.16, working), Answer(429, "TooManyRequests", "try later", retry_after=1), 30)
    ),
    "every fifth request fails": Trouble(
        lambda: [
            Rule(some(0.1, working, 1), Answer(500, "InternalError", "etcd is away"), ALWAYS),
            Rule(some(0.1, working, 2), Answer(503, "ServiceUnavailable", "no backends"), ALWAYS),
            Rule(some(0.3, watching, 3), Answer(503, "ServiceUnavailable", "no backends"), 12),
        ]
    ),
    "requests are never answered": Trouble(_rule(some(0.04, working), Silence(), 4)),
    "writes are done and never answered": Trouble(_rule(some(0.1, writing), SilenceAfter(), 4)),
    "connections break before the request": Trouble(_rule(some(0.2, working), ResetBefore())),
    "connections break before the answer": Trouble(_rule(some(0.3, writing), ResetAfter())),
    "a watch stands and is silent": Trouble(
        _rule(lambda sent: watching(sent) and sent.resource == "jobs", HalfOpen(), 1), within=240
    ),
    "a line of a watch is cut in two": Trouble(
        _rule(some(0.5, watching), Spoilt(2), 6), restarts="the watch"
    ),
    "a line of a watch is no JSON": Trouble(
        _rule(some(0.5, watching), Spoilt(2, b"<html>504 Gateway Time-out</html>\n"), 6), restarts="the watch"
    ),
    "answers are no JSON": Trouble(lambda: [Rule(some(0.1, working), _Html(), 25)]),
    "everything takes a second": Trouble(_rule(working, Slow(1.0)), within=240),
    "watches are four seconds late": Trouble(_rule(watching, Lagging(4.0)), within=240),
}


@dataclass
class Journey:
    """How a road went."""

    exits: list[tuple[int, str]]
    sent: list[Sent]
    seconds: float
    wrong: list[str] = field(default_factory=list)


def journey(world: ApiWorld, trouble: Trouble) -> Journey:
    """To Active and back, in trouble all the way."""
    supervisor = Supervisor(world, may_end=bool(trouble.restarts))
    world.wire.rules.extend(trouble.rules())
    begun = time.monotonic()
    world.everything()
    supervisor.until(lambda world: world.status().get("phase") == "Active", trouble.within)
    world.lost = ("GT-01", "GT-04")
    world.place.spec("RcaComponent", "live", guard={"interval": "1s"})
    supervisor.until(
        lambda world: world.status().get("phase") == "Blocked" and world.mode() == "Shadow", trouble.within
    )
    took = time.monotonic() - begun
    world.wire.rules.clear()
    supervisor.quiet(2.0)
    return Journey(supervisor.exits, list(world.wire.sent), took, list(violations(world)))


@pytest.fixture(scope="module")
def journeys(worlds: Worlds, request: pytest.FixtureRequest) -> dict[str, Future[Journey]]:
    """All that are asked for begin at once."""
    asked = [
        item.callspec.params["name"]
        for item in request.session.items
        if item.path == request.path
        and getattr(item, "originalname", "") == "test_the_road_is_gone_in_trouble"
    ]
    return {name: worlds.play(partial(journey, trouble=TROUBLES[name])) for name in asked}


@pytest.mark.parametrize("name", TROUBLES)
def test_the_road_is_gone_in_trouble(
    journeys: dict[str, Future[Journey]], name: str, figure: Callable[[str], None]
) -> None:
    gone = journeys[name].result()
    figure(f"{name}: {gone.seconds:.0f} s, {len(gone.sent)} requests, {len(gone.exits)} restarts")
    assert gone.wrong == []
    for status, log in gone.exits:
        assert status == 1
        assert TROUBLES[name].restarts in log, log
        assert "Traceback" not in log, log
