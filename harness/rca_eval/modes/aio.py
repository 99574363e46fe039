"""`AsyncShadowRunner`: the same for coroutines, on one event loop.

What runs on the caller's loop can be contained less well than a thread. The candidate's SystemExit ends there like any
exception. KeyboardInterrupt passes: on the loop's thread a real one may land in the candidate. A cancellation from
outside passes too; one that the candidate raises by itself is an error of its own. A candidate that
blocks blocks the loop: give such a one to `ShadowRunner` in a thread.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from rca_eval.modes.decisions import Outcome, described
from rca_eval.modes.file import ModeFile
from rca_eval.modes.runner import PLACES, Runner
from rca_eval.modes.value import Mode


@dataclass
class _Ended[T]:
    value: list[T]  # empty when it failed
    failure: tuple[Outcome, str] | None
    seconds: float


class AsyncShadowRunner(Runner):
    """For coroutine functions. At most `places` candidates run at a time, those that ignore their end included."""

    def __init__(self, component: str, modes: ModeFile, *, places: int = PLACES, **options: Any) -> None:
        super().__init__(component, modes, **options)
        self._places = places
        self._candidates: set[asyncio.Task[Any]] = set()
        self._judges: set[asyncio.Task[None]] = set()

    async def run[In, Out](
        self,
        legacy: Callable[[In], Awaitable[Out]],
        candidate: Callable[[In], Awaitable[Out]],
        argument: In,
        *,
        incident: str | None = None,
    ) -> Out:
        """The governing result. Raises what `legacy` raises, and nothing of the candidate's."""
        mode = self.mode()
        try:
            own = self._copy(argument)
        except Exception as error:
            result = await legacy(argument)
            text = f"no copy of the argument: {described(error)}"
            self.tell(mode, incident, self.governing(result), failure=(Outcome.ERROR, text))
            return result
        if mode is Mode.ACTIVE:
            return await self._active(legacy, candidate, argument, own, incident)
        result = await legacy(argument)
        self._shadow(candidate, own, self.governing(result), incident)
        return result

    async def drain(self, seconds: float) -> bool:
        """Wait for decisions that are not told yet; whether all were."""
        if not self._judges:
            return True
        return not (await asyncio.wait(set(self._judges), timeout=seconds))[1]

    async def _active[In, Out](
        self,
        legacy: Callable[[In], Awaitable[Out]],
        candidate: Callable[[In], Awaitable[Out]],
        argument: In,
        own: In,
        incident: str | None,
    ) -> Out:
        ended = await self._attempt(lambda: candidate(own))
        if ended.value:
            return ended.value[0]
        shown: list[str] | None = None
        try:
            result = await legacy(argument)
            shown = self.governing(result)
            return result
        finally:
            self.tell(Mode.ACTIVE, incident, shown, failure=ended.failure, seconds=ended.seconds)

    def _shadow[In, Out](
        self,
        candidate: Callable[[In], Awaitable[Out]],
        own: In,
        governing: list[str] | None,
        incident: str | None,
    ) -> None:
        async def shown() -> list[str]:
            return self.shown(await candidate(own))

        async def judge() -> None:
            ended = await self._attempt(shown)
            failure = ended.failure
            if governing is None:
                failure = failure or (Outcome.ERROR, "the governing result cannot be shown")
            would_be = ended.value[0] if ended.value and failure is None else None
            self.tell(
                Mode.SHADOW, incident, governing, would_be=would_be, failure=failure, seconds=ended.seconds
            )

        task = asyncio.get_running_loop().create_task(judge(), name="rca-shadow")
        self._judges.add(task)
        task.add_done_callback(self._judges.discard)

    async def _attempt[T](self, call: Callable[[], Awaitable[T]]) -> _Ended[T]:
        """The candidate in a task of its own: it is waited for `seconds` and no longer, whatever it does."""
        if len(self._candidates) >= self._places:
            return _Ended([], (Outcome.ERROR, "not run: as many candidates as may are still running"), 0.0)
        began = time.perf_counter()
        task = asyncio.get_running_loop().create_task(_contained(call), name="rca-candidate")
        self._candidates.add(task)
        task.add_done_callback(self._candidates.discard)
        try:
            await asyncio.wait({task}, timeout=self.seconds)
        finally:
            task.cancel()  # no effect when it is done; when we are cancelled, it goes with us
        spent = time.perf_counter() - began
        if not task.done():
            return _Ended([], self.late(), spent)
        if task.cancelled():
            return _Ended([], (Outcome.ERROR, "CancelledError: the candidate was cancelled"), spent)
        value, error = task.result()
        return _Ended(value, (Outcome.ERROR, error) if error is not None else None, spent)


async def _contained[T](call: Callable[[], Awaitable[T]]) -> tuple[list[T], str | None]:
    """The value or the error as data: a task whose exception nobody fetches would be complained about."""
    try:
        return [await call()], None
    except (asyncio.CancelledError, KeyboardInterrupt):
        raise
    except BaseException as error:
        return [], described(error)
