"""What runs in a copy of the package: the commands of an eval Job's containers, with the engine that the copy holds.

Tasks are `{"package": "…", "prepare": [environment, …], "engine": [environment, …]}`; the environments are those that the
containers get. Exit status 3 says that another copy was imported.
"""

import os
import sys
from pathlib import Path
from typing import Any

import rca_eval
from rca_eval.contract import ContractError
from rca_eval.job.commands import engine_command, prepare_command

WRONG_COPY = 3
INVALID = 2


def main(tasks: dict[str, Any]) -> int:
    """Run the tasks in order; the first that cannot be done ends the process."""
    if Path(rca_eval.__file__ or "").parent != Path(tasks["package"]):
        sys.stderr.write(f"imported {rca_eval.__file__} instead of {tasks['package']}\n")
        return WRONG_COPY
    try:
        for more in tasks["prepare"]:
            prepare_command({**os.environ, **more})
        for more in tasks["engine"]:
            engine_command({**os.environ, **more})
    except ContractError as error:
        sys.stderr.write(f"{error.reason}: {error.message}\n")
        return INVALID
    return 0
