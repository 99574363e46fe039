"""Hold a request to stop back for a moment, while a server process exists that nobody could end yet."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@contextmanager
def undisturbed() -> Iterator[None]:
    """SIGTERM, SIGINT and SIGHUP that arrive inside are delivered at its end; in other threads than the main one
    nothing changes.

    Handlers, not a signal mask: a mask would be inherited by the server that is started inside.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    before = {number: signal.signal(number, lambda got, _: arrived.append(got)) for number in STOPPING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for late in dict.fromkeys(arrived):
            os.kill(os.getpid(), late)
