"""Entry point: exit status 0 for a pass, 1 for a regression, 2 for everything that allows no verdict. Never a
traceback.
"""

import os
import signal
import sys
from types import FrameType

from typer.exceptions import Abort, Exit, TyperException
from typer.main import get_command

from rca_eval.cli.app import app
from rca_eval.cli.output import say
from rca_eval.contract import ContractError

INVALID = 2
INTERRUPTED = 130


def main() -> None:
    """Run the command line and end the process."""
    signal.signal(signal.SIGTERM, _terminated)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup asks to go on
        signal.signal(signal.SIGHUP, _terminated)
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command line; returns the exit status."""
    try:
        status = get_command(app).main(args=arguments, prog_name="rca-eval", standalone_mode=False)
        sys.stdout.flush()
    except ContractError as error:
        say(f"{error.reason}: {error.message}")
        return INVALID
    except TyperException as error:
        text = error.format_message() if hasattr(error, "format_message") else str(error)
        asked_nothing = text.startswith("Usage:")  # a group without a command: its whole help is the message
        say(text if asked_nothing else f"Usage: {text or 'see rca-eval --help'}")
        return INVALID
    except Exit as error:
        return int(error.exit_code)
    except BrokenPipeError:
        # The reader of a pipe went away; without this, Python prints a traceback while it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INVALID
    except (Abort, KeyboardInterrupt):
        say("interrupted")
        return INTERRUPTED
    except Exception as error:
        if os.environ.get("RCA_EVAL_DEBUG"):
            raise
        say(
            f"InternalError: {type(error).__name__}: {' '.join(str(error).split())[:300]}; "
            "RCA_EVAL_DEBUG=1 shows where."
        )
        return INVALID
    return status if isinstance(status, int) else 0


def _terminated(number: int, _frame: FrameType | None) -> None:
    # As an exception, so that the embedded store is stopped and its graphs are dropped on the way out.
    raise SystemExit(128 + number)


if __name__ == "__main__":
    main()
