"""Reading files that somebody else wrote: no link is followed, no pipe is waited for, no more is read than
allowed.
"""

import os
import stat
from pathlib import Path

from rca_eval.contract import PREDICTIONS_LIMIT, ContractError, Reason


def read_bytes(path: Path, *, what: str, limit: int, reason: Reason = Reason.FILE_UNREADABLE) -> bytes:
    """The bytes of a file that a person named (links are followed). Raises `ContractError` in one sentence."""
    try:
        # Without NONBLOCK a pipe that nobody writes to would be waited for, for ever.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ContractError(reason, f"{what} {path} is not a regular file; name a file.")
            data = file.read(limit + 1)
    except FileNotFoundError:
        raise ContractError(reason, f"{what} {path} does not exist; check the path.") from None
    except IsADirectoryError:
        raise ContractError(reason, f"{what} {path} is a folder; name a file in it.") from None
    except (OSError, ValueError) as error:
        text = getattr(error, "strerror", None) or str(error)
        raise ContractError(
            reason, f"{what} {path} cannot be read ({text}); check its permissions."
        ) from None
    if len(data) > limit:
        raise ContractError(
            reason, f"{what} {path} is larger than the {limit} bytes that are read; make it smaller."
        )
    return data


def read_predictions(folder: Path) -> bytes:
    """`predictions.json` in an output folder, written by code that is not trusted.

    Raises `ContractError`: PredictionsMissing, PredictionsInvalid (link, folder, pipe, unreadable) or
    PredictionsTooLarge.
    """
    path = folder / "predictions.json"
    try:
        # NOFOLLOW: a link could point at the labels. NONBLOCK: opening a pipe would wait for a writer for
        # ever.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise ContractError(
            Reason.PREDICTIONS_MISSING,
            f"the engine wrote no {path}; it must write predictions.json into $RCA_EVAL_OUTPUT.",
        ) from None
    except OSError as error:
        raise ContractError(
            Reason.PREDICTIONS_INVALID,
            f"{path} cannot be read ({error.strerror}); it must be a regular file, not a link.",
        ) from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise ContractError(Reason.PREDICTIONS_INVALID, f"{path} is not a regular file; write a plain file.")
    with os.fdopen(handle, "rb") as file:
        data = file.read(PREDICTIONS_LIMIT + 1)
    if len(data) > PREDICTIONS_LIMIT:
        raise ContractError(
            Reason.PREDICTIONS_TOO_LARGE,
            f"{path} is larger than {PREDICTIONS_LIMIT} bytes; return fewer candidates or terms.",
        )
    return data
