"""The kubelet of an operator process: whatever ends is started again, and how it ended is written down."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from rca_testing.api_world import ApiWorld
from rca_testing.wire import Sent

_WATCHED = 6  # kinds that an operator watches: its own three, Jobs, Pods, ConfigMaps
_PAUSE = 1.0  # seconds before a container starts again; the kubelet begins with 10


@dataclass
class Supervisor:
    """`may_end`: a process that ends by itself is no failure of the test."""

    world: ApiWorld
    may_end: bool = False
    exits: list[tuple[int, str]] = field(default_factory=list)
    """Exit status and last lines of each process that ended by itself."""

    def look(self) -> None:
        process = self.world.process
        if process is not None and process.alive:
            return
        if process is not None and (status := process.ended(5)) != -signal.SIGKILL:
            last = "\n".join(process.log().splitlines()[-12:])
            self.exits.append((status, last))
            assert self.may_end, f"it ended with {status}\n{process.log()[-6000:]}"
            time.sleep(_PAUSE)
        self.world.start()

    def until(self, arrived: Callable[[ApiWorld], object], within: float = 400) -> float:
        """Seconds that it took."""
        begun = time.monotonic()
        while True:
            self.look()
            if arrived(self.world):
                return time.monotonic() - begun
            assert time.monotonic() < begun + within, self.world.story()
            time.sleep(0.2)

    def quiet(self, seconds: float) -> None:
        """The process that runs leads and watches everything, and has had nothing to do for so long since."""

        def calm(world: ApiWorld) -> bool:
            since = [sent for sent in list(world.wire.sent) if sent.at > world.started_at]
            watched = {sent.resource: sent.at for sent in reversed(since) if sent.verb == "watch"}
            led = [
                sent.at for sent in since if sent.about_the_lease and sent.writes and 0 < sent.status < 300
            ]
            if not led or len(watched) < _WATCHED:
                return False
            last = max([led[0], *watched.values(), *(sent.at for sent in since if works(sent))])
            return time.monotonic() - last > seconds

        self.until(calm)


def works(sent: Sent) -> bool:
    """What a reconciler asks."""
    return (sent.writes and not sent.about_the_lease) or sent.what in ("get rcacomponents", "get evalruns")
