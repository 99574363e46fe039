"""Where output goes: results to stdout, everything else to stderr."""

import contextlib
import json
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from rca_eval.contract import ContractError, Reason
from rca_eval.report.render import json_text, plain_text


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"


def say(text: str) -> None:
    """One line to stderr. If that cannot be written, the exit status still says it."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{text}\n")


def show(renderable: RenderableType) -> None:
    """A table on stdout; 80 columns when it is not a terminal."""
    console = _console()
    if console.is_terminal:
        console.print(renderable)
    else:
        out(plain_text(renderable))


def out(text: str) -> None:
    """Text to stdout, also under a locale that has no word for some of it."""
    try:
        sys.stdout.write(text)
    except UnicodeEncodeError:
        code = sys.stdout.encoding or "ascii"
        sys.stdout.write(text.encode(code, "backslashreplace").decode(code))


def out_json(text: str) -> None:
    """A JSON document to stdout; what the locale has no word for is written as an escape that JSON has."""
    try:
        sys.stdout.write(text)
    except UnicodeEncodeError:
        sys.stdout.write("".join(c if c.isascii() else json.dumps(c)[1:-1] for c in text))


def _console(**more: Any) -> Console:
    # Text of others is text: no markup, no emoji codes, no highlighting in it.
    return Console(markup=False, emoji=False, highlight=False, **more)


def show_json(value: Any) -> None:
    """Strict JSON on stdout: no NaN, keys sorted."""
    out_json(json_text(value))


def check_output(path: Path) -> None:
    """Before a long run: that its result can be written. Raises `ContractError(FileUnreadable)`."""
    if path.is_dir():
        raise _unwritable(path, "it is a folder")
    # A file is replaced by its successor, so its folder counts; a pipe or a device is written to.
    target = path if _special(path) else _target(path).parent
    if not os.access(target, os.W_OK):
        raise _unwritable(path, "its folder does not exist or may not be written to")
    if path.exists() and not os.access(path, os.W_OK):
        raise _unwritable(path, "it may not be written to")


def write_text(path: Path, text: str) -> None:
    """Write a result file whole or not at all: readers see the old one or the new one. Raises
    `ContractError(FileUnreadable)`.
    """
    try:
        if _special(path):
            path.write_text(text, encoding="utf-8")
        else:
            _replace(_target(path), text)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise _unwritable(path, why) from None


def _special(path: Path) -> bool:
    return path.exists() and not path.is_file()


def _target(path: Path) -> Path:
    """The file itself where the path is a link to one: a link stays a link."""
    return path.resolve() if path.is_symlink() else path


def _replace(path: Path, text: str) -> None:
    beside = path.with_name(f".{path.name[:200]}.{os.getpid()}.tmp")
    try:
        # The permissions that the user's umask gives a new file, or those that the old one has.
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            if path.exists():
                os.fchmod(handle, stat.S_IMODE(path.stat().st_mode))
            file.write(text)
            file.flush()
            os.fsync(handle)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _unwritable(path: Path, why: str) -> ContractError:
    return ContractError(Reason.FILE_UNREADABLE, f"{path} cannot be written ({why}); check the path.")


@contextmanager
def progress() -> Iterator[Any]:
    """A function that shows the current step on a terminal's stderr, and nothing elsewhere."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(Text("starting")) as status:
        yield lambda step: status.update(Text(str(step)))
