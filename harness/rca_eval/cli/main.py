"""Entry point: exit status 0 for a pass, 1 for a regression, 2 for everything that allows no verdict. Never a
traceback.
"""

import contextlib
import os
import signal
import sys
from types import FrameType
from typing import TextIO

from typer.exceptions import Abort, Exit, TyperException
from typer.main import get_command

from rca_eval.cli.app import app
from rca_eval.cli.output import say
from rca_eval.contract import ContractError, one_line

INVALID = 2
INTERRUPTED = 130


def main() -> None:
    """Run the command line and end the process."""
    # A stream that the caller closed is None; the exit status can be told all the same.
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    signal.signal(signal.SIGTERM, _terminated)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup asks to go on
        signal.signal(signal.SIGHUP, _terminated)
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command line; returns the exit status."""
    try:
        return _invoke(arguments)
    except ContractError as error:
        say(f"{error.reason}: {error.message}")
        return INVALID
    except TyperException as error:
        text = error.format_message() if hasattr(error, "format_message") else str(error)
        asked_nothing = text.startswith("Usage:")  # a group without a command: its whole help is the message
        say(text if asked_nothing else f"Usage: {text or 'see rca-eval --help'}")
        return INVALID
    except BrokenPipeError:
        _discard(sys.stdout)
        return INVALID
    except (Abort, KeyboardInterrupt):
        say("interrupted")
        return INTERRUPTED
    except OSError as error:
        if os.environ.get("RCA_EVAL_DEBUG"):
            raise
        _discard(sys.stdout)
        where = one_line(str(error.filename)) if error.filename else "the output"
        say(
            f"FileUnreadable: {where} cannot be used ({error.strerror or type(error).__name__}); check its disk and rights."
        )
        return INVALID
    except Exception as error:
        if os.environ.get("RCA_EVAL_DEBUG"):
            raise
        say(
            f"InternalError: {type(error).__name__}: {' '.join(str(error).split())[:300]}; "
            "RCA_EVAL_DEBUG=1 shows where."
        )
        return INVALID


def _invoke(arguments: list[str]) -> int:
    """Not typer's `main`: there, a reader that went away ends with status 1, which is a regression here."""
    command = get_command(app)
    try:
        with command.make_context("rca-eval", list(arguments)) as context:
            command.invoke(context)
        status = 0
    except Exit as error:
        status = int(error.exit_code)
    sys.stdout.flush()
    return status


def _discard(stream: TextIO) -> None:
    """What could not be written is not tried again: Python would print a traceback while it flushes at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _terminated(number: int, _frame: FrameType | None) -> None:
    # As an exception, so that the embedded store is stopped and its graphs are dropped on the way out.
    raise SystemExit(128 + number)


if __name__ == "__main__":
    main()
