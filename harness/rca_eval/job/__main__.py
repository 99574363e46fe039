"""`python -m rca_eval.job engine`: a step of an eval Job without the rest of the command line, which takes longer to
import than the bundled incidents take to answer. Status and messages are those of `rca-eval job`.
"""

import os
import signal
import sys
from types import FrameType

from rca_eval.job.commands import engine_command, prepare_command, run_command, scorecard_command

STEPS = {"prepare": prepare_command, "engine": engine_command, "scorecard": scorecard_command}
INVALID = 2


def main(arguments: list[str]) -> int:
    """Run the step that is named; returns the exit status."""
    if len(arguments) != 1 or arguments[0] not in STEPS:
        sys.stderr.write(f"Usage: name one step of {', '.join(STEPS)}; options are for `rca-eval job`\n")
        return INVALID
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _terminated)
    try:
        return run_command(STEPS[arguments[0]])
    except Exception as error:
        if os.environ.get("RCA_EVAL_DEBUG"):
            raise
        text = " ".join(str(error).split())[:300]
        sys.stderr.write(f"InternalError: {type(error).__name__}: {text}; RCA_EVAL_DEBUG=1 shows where.\n")
        return INVALID


def _terminated(number: int, _frame: FrameType | None) -> None:
    # As an exception, so that the embedded store is stopped and its graphs are dropped on the way out.
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
