"""Where output goes: results to stdout, everything else to stderr."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from rca_eval.contract import ContractError, Reason

PLAIN_WIDTH = 80


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"


def say(text: str) -> None:
    """One line to stderr."""
    sys.stderr.write(f"{text}\n")


def show(renderable: RenderableType) -> None:
    """A table on stdout; 80 columns when it is not a terminal."""
    console = _console()
    if not console.is_terminal:
        console = _console(width=PLAIN_WIDTH, no_color=True)
    console.print(renderable)


def _console(**more: Any) -> Console:
    # Text of others is text: no markup, no emoji codes, no highlighting in it.
    return Console(markup=False, emoji=False, highlight=False, **more)


def show_json(value: Any) -> None:
    """Strict JSON on stdout: no NaN, keys sorted."""
    sys.stdout.write(json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n")


def check_output(path: Path) -> None:
    """Before a long run: that its result can be written. Raises `ContractError(FileUnreadable)`."""
    if path.is_dir():
        raise _unwritable(path, "it is a folder")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise _unwritable(path, "its folder does not exist or may not be written to")


def write_text(path: Path, text: str) -> None:
    """Write a result file. Raises `ContractError(FileUnreadable)`."""
    try:
        path.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise _unwritable(path, why) from None


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
