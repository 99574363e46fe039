"""A function of somebody else, run in a thread of its own: whatever it does, its caller goes on."""

import contextvars
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Attempt[T]:
    """A call under way or done. Read `value`, `error` and `seconds` only after `wait` said True."""

    value: T | None = None
    error: BaseException | None = None
    seconds: float = 0.0
    _done: threading.Event = field(default_factory=threading.Event)

    def wait(self, seconds: float) -> bool:
        """Whether it ended in time."""
        return self._done.wait(seconds)


class Workers:
    """At most `limit` calls at a time. A thread cannot be stopped, so one that hangs keeps its place; when all
    places are taken there is no attempt, and the answer is None.
    """

    def __init__(self, limit: int) -> None:
        self._places = threading.BoundedSemaphore(limit)

    def start[T](
        self, call: Callable[[], T], then: Callable[[Attempt[T]], None] | None = None
    ) -> Attempt[T] | None:
        """Run `call` beside, then `then`, in one thread. A daemon: it never keeps a process from ending."""
        if not self._places.acquire(blocking=False):
            return None
        attempt: Attempt[T] = Attempt()
        context = contextvars.copy_context()

        def run() -> None:
            began = time.perf_counter()
            try:
                attempt.value = context.run(call)
            except BaseException as error:  # SystemExit too: in this thread nobody else raises it
                attempt.error = error
            attempt.seconds = time.perf_counter() - began
            attempt._done.set()
            try:
                if then is not None:
                    then(attempt)
            finally:
                self._places.release()

        try:
            threading.Thread(target=run, name="rca-candidate", daemon=True).start()
        except RuntimeError:  # no more threads
            self._places.release()
            return None
        return attempt
