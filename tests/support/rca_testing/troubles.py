"""The catalogue of troubles between an operator and its API server, each with what it may cost."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aiohttp import web

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
    within: float = 500
    restarts: str = ""


def _rule(matches: Matches, fault: Fault, times: int = ALWAYS, skip: int = 0) -> Callable[[], list[Rule]]:
    return lambda: [Rule(matches, fault, times, skip)]


class Html(Fault):
    async def before(self, sent: Sent) -> web.Response:
        return web.Response(status=200, text="<html>Welcome to the proxy</html>", content_type="text/html")


class AlreadyThere(Fault):
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
                AlreadyThere(),
                ALWAYS,
            )
        ]
    ),
    "watches are older than the server's memory": Trouble(
        _rule(some(0.5, watching), Spoilt(1, expired()), 40)
    ),
    "a watch is answered 410 before it begins": Trouble(
        _rule(watching, Answer(410, "Expired", "too old resource version"), 1, skip=6),
        restarts="stopped: the watch",
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
            Rule(some(0.1, working, 1), Answer(500, "InternalError", "etcd is away"), 25),
            Rule(some(0.1, working, 2), Answer(503, "ServiceUnavailable", "no backends"), 25),
            Rule(some(0.3, watching, 3), Answer(503, "ServiceUnavailable", "no backends"), 12),
        ]
    ),
    "requests are never answered": Trouble(_rule(some(0.04, working), Silence(), 4)),
    "writes are done and never answered": Trouble(_rule(some(0.1, writing), SilenceAfter(), 4)),
    "connections break before the request": Trouble(_rule(some(0.2, working), ResetBefore())),
    "connections break before the answer": Trouble(_rule(some(0.3, writing), ResetAfter())),
    "a watch stands and is silent": Trouble(
        _rule(lambda sent: watching(sent) and sent.resource == "jobs", HalfOpen(), 1)
    ),
    "a line of a watch is cut in two": Trouble(
        _rule(some(0.5, watching), Spoilt(2), 6), restarts="stopped: the watch"
    ),
    "a line of a watch is no JSON": Trouble(
        _rule(some(0.5, watching), Spoilt(2, b"<html>504 Gateway Time-out</html>\n"), 6),
        restarts="stopped: the watch",
    ),
    "answers are no JSON": Trouble(lambda: [Rule(some(0.1, working), Html(), 25)]),
    "everything takes its time": Trouble(_rule(working, Slow(0.4))),
    "watches are four seconds late": Trouble(_rule(watching, Lagging(4.0))),
}


def mixed(seed: int) -> Trouble:
    """Many faults by chance; they end, and the road must be gone within `within` seconds."""
    chance = random.Random(seed)
    kinds: list[tuple[Matches, Fault, float]] = [
        (working, Answer(500, "InternalError", "etcd is away"), 0.05),
        (working, Answer(429, "TooManyRequests", "try later", retry_after=1), 0.04),
        (status, Answer(409, "Conflict", "the object has been modified"), 0.2),
        (status, Answer(422, "Invalid", "status.phase: Unsupported value"), 0.05),
        (working, ResetBefore(), 0.05),
        (writing, ResetAfter(), 0.15),
        (working, Slow(0.5), 0.1),
        (working, Html(), 0.03),
        (writing, SilenceAfter(), 0.02),
        (watching, Lagging(2.0), 0.3),
        (watching, Spoilt(1, expired()), 0.3),
        (watching, Spoilt(1, b""), 0.3),
        (watching, Spoilt(1), 0.05),
    ]
    chosen = chance.sample(kinds, 7)

    def rules() -> list[Rule]:
        return [
            Rule(some(share, matches, seed + number), fault, 15)
            for number, (matches, fault, share) in enumerate(chosen)
        ]

    return Trouble(rules, restarts="stopped: the watch")
