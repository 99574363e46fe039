"""Each mutant lives and dies in a process of its own, forked from one that has imported everything already."""

import contextlib
import gc
import os
import resource
import signal
import time
from collections.abc import Callable

STILLBORN = 9
"""The exit code of a mutant that Python refuses to compile: no fault that anybody could make."""
MEMORY = 8 << 30
WALL_FACTOR = 20


class BrokenError(Exception):
    """The measurement itself went wrong, so it says nothing; the text says what to do."""


def forked(work: Callable[[], int], *, cpu_seconds: int, silent: bool = True) -> int:
    """The exit code of `work` in a forked child, or minus the signal that ended it.

    The limit is on the processor's time, which does not depend on what else the machine does. One that waits
    instead of working raises `BrokenError`: nothing that is tested here waits.
    """
    gc.freeze()  # what the collector never looks at again stays shared between parent and child
    child = os.fork()
    if child == 0:
        code = 70
        with contextlib.suppress(BaseException):
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            if silent:
                null = os.open(os.devnull, os.O_RDWR)
                for stream in (0, 1, 2):
                    os.dup2(null, stream)
            code = work()
        os._exit(code)
    until, pause = time.monotonic() + 60 + WALL_FACTOR * cpu_seconds, 0.001
    while time.monotonic() < until:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(pause)
        pause = min(2 * pause, 0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise BrokenError("a mutant waits without working; run again, and look which test waits")
