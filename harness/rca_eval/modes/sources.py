"""Where modes come from: the folder of a mounted ConfigMap, one file, or a mapping such as the environment.

Everything is read anew for every look. A value is a few bytes, so this costs tens of microseconds, and there is
no cache that could be wrong: `Active` and `Shadow` have six letters each, and a file that is rewritten within
one tick of the file system's clock looks unchanged to `stat`.
"""

import contextlib
import errno
import json
import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from rca_eval.modes.value import VALUE_LIMIT, Cause, Found, is_key, text_of

DOCUMENT_LIMIT = 1024 * 1024  # a ConfigMap holds no more
DATA = "..data"  # the link that the kubelet swaps
SWAPS = (
    5  # a folder that is swapped more often than this between two system calls is not one of the kubelet's
)
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
FILE_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe that nobody writes to is not waited for


class Source(Protocol):
    """Never raises: what cannot be read is a `Found` with its cause."""

    @property
    def name(self) -> str: ...
    def look(self, keys: Iterable[str]) -> dict[str, Found]:
        """All keys, of one moment: never some before and some after a change of the whole."""
        ...


class FolderOrFile:
    """A path that may be a folder (one file a key), or a document; decided at every look, as a volume may be
    mounted late.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self.name = str(path)

    def look(self, keys: Iterable[str]) -> dict[str, Found]:
        asked = list(keys)
        try:
            is_folder = stat.S_ISDIR(os.stat(self._path).st_mode)
            return _folder(self._path, asked) if is_folder else _document(self._path, asked)
        except (OSError, ValueError) as error:
            return dict.fromkeys(asked, _why_not(error))


class Values:
    """A mapping, such as `os.environ`: it is what it was at the start, a change needs a new process.

    A shell cannot name a variable with dots, so `RcaMemory.Mode` is also looked for as `RcaMemory_Mode`.
    """

    def __init__(self, values: Mapping[str, str], name: str = "environment") -> None:
        self._values = values
        self.name = name

    def look(self, keys: Iterable[str]) -> dict[str, Found]:
        return {key: self._one(key) for key in keys}

    def _one(self, key: str) -> Found:
        names = dict.fromkeys((key, re.sub(r"[^A-Za-z0-9_]", "_", key)))
        found = {self._values[name] for name in names if name in self._values}
        if len(found) > 1:
            return Found(None, Cause.AMBIGUOUS)
        return _text(found.pop()) if found else Found(None, Cause.MISSING)


def _folder(path: Path, keys: list[str]) -> dict[str, Found]:
    """Read below one descriptor, so that all values are of one version; begin again if it was swapped away."""
    for _ in range(SWAPS):
        with contextlib.closing(_Folder(path)) as folder:
            found = {key: folder.read(key) for key in keys}
            if not folder.is_stale():
                return found
    return dict.fromkeys(keys, Found(None, Cause.UNREADABLE))


class _Folder:
    """The folder behind `..data`, or a plain folder when there is no such link."""

    def __init__(self, path: Path) -> None:
        self._link = path / DATA
        try:
            self._version: str | None = os.readlink(self._link)  # the text is what counts
            self._handle = os.open(path / self._version, FOLDER_FLAGS)
        except OSError as error:
            if error.errno not in {errno.ENOENT, errno.EINVAL}:
                raise
            self._version = None
            self._handle = os.open(path, FOLDER_FLAGS)

    def read(self, key: str) -> Found:
        if not is_key(key):
            return Found(None, Cause.BAD_KEY)
        try:
            data = _bytes(key, VALUE_LIMIT, self._handle)
        except (OSError, ValueError) as error:
            return _why_not(error)
        return text_of(data)

    def is_stale(self) -> bool:
        """Whether the kubelet put another version in place while this one was read."""
        try:
            return os.readlink(self._link) != self._version
        except OSError:
            return self._version is not None

    def close(self) -> None:
        os.close(self._handle)


def _bytes(path: str | Path, limit: int, folder: int | None = None) -> bytes:
    """At most `limit` + 1 bytes of a regular file. Raises `OSError`."""
    handle = os.open(path, FILE_FLAGS, dir_fd=folder)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        return file.read(limit + 1)


def _document(path: Path, keys: list[str]) -> dict[str, Found]:
    data = _bytes(path, DOCUMENT_LIMIT)
    if len(data) > DOCUMENT_LIMIT:
        return dict.fromkeys(keys, Found(None, Cause.TOO_LARGE))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return dict.fromkeys(keys, Found(None, Cause.NOT_TEXT))
    try:
        pairs = _json_pairs(text) if text.lstrip().startswith("{") else _line_pairs(text)
    except (ValueError, RecursionError):
        return dict.fromkeys(keys, Found(None, Cause.UNREADABLE))
    return {key: _of_pairs(pairs, key) for key in keys}


def _of_pairs(pairs: list[tuple[str, Any]], key: str) -> Found:
    values = [value for name, value in pairs if name == key]
    if len(values) > 1:
        return Found(None, Cause.AMBIGUOUS)
    if not values:
        return Found(None, Cause.MISSING)
    return _text(values[0]) if isinstance(values[0], str) else Found(None, Cause.UNKNOWN)


def _json_pairs(text: str) -> list[tuple[str, Any]]:
    """The pairs of the outermost object, in order, equal keys included."""

    # Objects inside come out as lists of pairs: values that are no strings, and so no modes.
    return list(json.loads(text, object_pairs_hook=list))


def _line_pairs(text: str) -> list[tuple[str, Any]]:
    """`key=value` lines; empty ones and those that begin with # are passed over, any other is an error."""
    pairs = []
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        key, equals, value = line.partition("=")
        if not equals:
            raise ValueError("a line without =")
        pairs.append((key.strip(), value))
    return pairs


def _text(value: str) -> Found:
    return Found(value) if len(value) <= VALUE_LIMIT else Found(None, Cause.TOO_LARGE)


def _why_not(error: OSError | ValueError) -> Found:
    gone = isinstance(error, OSError) and error.errno in {errno.ENOENT, errno.ENOTDIR}
    return Found(None, Cause.MISSING if gone else Cause.UNREADABLE)
