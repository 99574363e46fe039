"""`ModeFile`: the modes of a process, read where they are mounted, whenever they are asked for."""

import logging
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime

from rca_eval.modes.sources import FolderOrFile, Source, Values
from rca_eval.modes.value import Cause, Found, Mode, Reading, decide, is_key, shortened

REMEMBERED = 1024  # keys whose time of loading is kept; an agent has a handful


class ModeFile:
    """Modes of a mounted folder (one file a key), a JSON or `key=value` file, or `ModeFile.of(os.environ)`.

    `revision` is the consumer's own, for values such as `Active@2026.11.30`. Nothing raises: every doubt is
    Shadow, at once. There is no period of grace for a file that cannot be read any more; the volume of a
    ConfigMap is swapped as a whole, so a file is never missing "just for a moment". Safe to use from threads.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        revision: str | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._begin(FolderOrFile(path), revision, clock)

    @classmethod
    def of(
        cls, values: Mapping[str, str], *, name: str = "environment", revision: str | None = None
    ) -> "ModeFile":
        """Modes of a mapping, such as the environment."""
        modes = cls.__new__(cls)
        modes._begin(Values(values, name), revision, lambda: datetime.now(UTC))
        return modes

    def _begin(self, source: Source, revision: str | None, clock: Callable[[], datetime]) -> None:
        self._source = source
        self._clock = clock
        self.revision = revision
        self._seen: dict[str, tuple[Found, datetime]] = {}
        self._lock = threading.Lock()

    @property
    def source(self) -> str:
        """Where the values come from, for people."""
        return self._source.name

    def read(self, key: str, revision: str | None = None) -> Mode:
        """The mode of a key now; `revision` if it is another than that of the whole."""
        return self.look([key], revision)[0].mode

    def look(self, keys: Iterable[str], revision: str | None = None) -> list[Reading]:
        """Several keys of one moment, in the order asked: of one version of a folder that is being swapped."""
        asked = list(keys)
        own = self.revision if revision is None else revision
        found = self._source.look([key for key in asked if is_key(key)])
        return [self._reading(key, found.get(key, Found(None, Cause.BAD_KEY)), own) for key in asked]

    def _reading(self, key: str, found: Found, revision: str | None) -> Reading:
        mode, cause = decide(found, revision)
        return Reading(
            component=key,
            mode=mode,
            reason=cause,
            value=shortened(found.text),
            revision=revision,
            source=self.source,
            loaded_at=self._since(key, found),
        )

    def _since(self, key: str, found: Found) -> datetime:
        """When this process first saw what it sees now."""
        with self._lock:
            known = self._seen.get(key)
            if known is not None and known[0] == found:
                return known[1]
            if len(self._seen) >= REMEMBERED:
                self._seen.clear()
            now = self._clock()
            self._seen[key] = (found, now)
            return now


def watch(
    modes: ModeFile,
    keys: Iterable[str],
    on_change: Callable[[Reading], None],
    *,
    seconds: float = 1.0,
    stop: threading.Event | None = None,
) -> threading.Event:
    """Call `on_change` from a thread of its own for each key now, and again when its mode or value changes.

    Returns the event that ends it. An error of `on_change` ends no watching. Not needed to read right values:
    only for what must happen at the moment of a change.
    """
    ended = stop or threading.Event()
    asked = list(keys)

    def run() -> None:
        last: dict[str, tuple[Mode, str | None]] = {}
        while not ended.is_set():
            for reading in modes.look(asked):
                now = (reading.mode, reading.value)
                if last.get(reading.component) != now:
                    last[reading.component] = now
                    _quietly(on_change, reading)
            ended.wait(seconds)

    threading.Thread(target=run, name="rca-modes", daemon=True).start()
    return ended


def _quietly(callback: Callable[[Reading], None], reading: Reading) -> None:
    try:
        callback(reading)
    except Exception as error:
        logging.getLogger("rca_eval.modes").warning("a watcher of %s failed: %r", reading.component, error)
