"""`ShadowRunner`: the legacy path and a candidate behind one key, so that the candidate can only help.

    Shadow   legacy answers; the candidate runs afterwards, in a thread of its own, and its ranking is told
    Active   the candidate answers; if it fails or takes too long, that is told, and legacy answers
The candidate gets a copy of the argument, its exceptions (SystemExit and KeyboardInterrupt among them: in a thread
of its own they are nobody else's) end there, and one that never returns keeps one of a few places, nothing more.
"""

import copy
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from rca_eval.modes.decisions import Decision, DecisionLog, Outcome, as_ranking, described
from rca_eval.modes.file import ModeFile
from rca_eval.modes.threads import Attempt, Workers
from rca_eval.modes.value import Mode

SECONDS = 10.0
PLACES = 4

Show = Callable[[Any], Sequence[str]]
Copy = Callable[[Any], Any]


def shared(argument: Any) -> Any:
    """For `copy=`: the candidate gets the caller's own object. Only for arguments that nothing can change."""
    return argument


class Runner:
    """What the two runners have in common: a key, how results are shown, where decisions are told."""

    def __init__(
        self,
        component: str,
        modes: ModeFile,
        *,
        log: DecisionLog | None = None,
        revision: str | None = None,
        seconds: float = SECONDS,
        show: Show = as_ranking,
        copy: Copy = copy.deepcopy,
    ) -> None:
        self.component = component
        self.seconds = seconds
        self._modes = modes
        self._revision = revision
        self._log = log or DecisionLog()
        self._show = show
        self._copy = copy

    def mode(self) -> Mode:
        """The mode now."""
        return self._modes.read(self.component, self._revision)

    def shown(self, result: Any) -> list[str]:
        """A result in the form that is compared: an error of `show` is the caller's to contain."""
        return [str(entry) for entry in self._show(result)]

    def tell(
        self,
        mode: Mode,
        incident: str | None,
        governing: list[str] | None,
        *,
        would_be: list[str] | None = None,
        failure: tuple[Outcome, str] | None = None,
        seconds: float = 0.0,
    ) -> None:
        agreed = Outcome.AGREE if would_be == governing else Outcome.DISAGREE
        outcome, error = failure or (agreed, None)
        self._log.tell(
            Decision(
                self.component, mode, outcome, governing, would_be, seconds, incident=incident, error=error
            )
        )

    def governing(self, result: Any) -> list[str] | None:
        """The governing result for a line; None if it cannot be shown."""
        try:
            return self.shown(result)
        except Exception:
            return None

    def late(self) -> tuple[Outcome, str]:
        return Outcome.TIMEOUT, f"no answer within {self.seconds:g} s"


class ShadowRunner(Runner):
    """For functions. `seconds` is the candidate's limit; at most `places` candidates run at a time."""

    def __init__(self, component: str, modes: ModeFile, *, places: int = PLACES, **options: Any) -> None:
        super().__init__(component, modes, **options)
        self._workers = Workers(places)
        self._judges: set[threading.Thread] = set()
        self._lock = threading.Lock()

    def run[In, Out](
        self,
        legacy: Callable[[In], Out],
        candidate: Callable[[In], Out],
        argument: In,
        *,
        incident: str | None = None,
    ) -> Out:
        """The governing result. Raises what `legacy` raises, and nothing of the candidate's."""
        mode = self.mode()
        try:
            own = self._copy(argument)
        except Exception as error:
            return self._alone(
                mode, legacy, argument, incident, f"no copy of the argument: {described(error)}"
            )
        if mode is Mode.ACTIVE:
            return self._active(legacy, candidate, argument, own, incident)
        result = legacy(argument)
        self._shadow(candidate, own, self.governing(result), incident)
        return result

    def drain(self, seconds: float) -> bool:
        """Wait for decisions that are not told yet, e.g. before the process ends; whether all were."""
        ends = time.monotonic() + seconds
        with self._lock:
            judges = list(self._judges)
        for judge in judges:
            judge.join(max(0.0, ends - time.monotonic()))
        return not any(judge.is_alive() for judge in judges)

    def _alone[In, Out](
        self, mode: Mode, legacy: Callable[[In], Out], argument: In, incident: str | None, error: str
    ) -> Out:
        result = legacy(argument)
        self.tell(mode, incident, self.governing(result), failure=(Outcome.ERROR, error))
        return result

    def _active[In, Out](
        self,
        legacy: Callable[[In], Out],
        candidate: Callable[[In], Out],
        argument: In,
        own: In,
        incident: str | None,
    ) -> Out:
        attempt = self._workers.start(lambda: [candidate(own)])
        failure = self._failure(attempt)
        if failure is None and attempt is not None and attempt.value is not None:
            return attempt.value[0]
        shown: list[str] | None = None
        try:
            result = legacy(argument)
            shown = self.governing(result)
            return result
        finally:
            spent = attempt.seconds if attempt is not None else 0.0
            self.tell(Mode.ACTIVE, incident, shown, failure=failure, seconds=spent)

    def _shadow[In, Out](
        self, candidate: Callable[[In], Out], own: In, governing: list[str] | None, incident: str | None
    ) -> None:
        # Shown in the candidate's thread: also what a result does while it is looked at is the candidate's.
        attempt = self._workers.start(lambda: self.shown(candidate(own)))

        def judge() -> None:
            try:
                failure = self._failure(attempt)
                if governing is None:
                    failure = failure or (Outcome.ERROR, "the governing result cannot be shown")
                would_be = attempt.value if attempt is not None and failure is None else None
                spent = attempt.seconds if attempt is not None else 0.0
                self.tell(Mode.SHADOW, incident, governing, would_be=would_be, failure=failure, seconds=spent)
            finally:
                with self._lock:
                    self._judges.discard(threading.current_thread())

        thread = threading.Thread(target=judge, name="rca-shadow", daemon=True)
        with self._lock:
            self._judges.add(thread)
        try:
            thread.start()
        except RuntimeError:  # no more threads: the decision is lost, the answer is not
            with self._lock:
                self._judges.discard(thread)

    def _failure(self, attempt: Attempt[Any] | None) -> tuple[Outcome, str] | None:
        """Waits for the attempt; why it is of no use, or None."""
        if attempt is None:
            return Outcome.ERROR, "not run: as many candidates as may are still running"
        if not attempt.wait(self.seconds):
            return self.late()
        return (Outcome.ERROR, described(attempt.error)) if attempt.error is not None else None
