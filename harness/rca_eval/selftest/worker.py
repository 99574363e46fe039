"""One process that imports a copy of the package and answers incidents with the engine in it.

`python -P -m rca_eval.selftest.worker TASKS`, with the copy first on PYTHONPATH. TASKS is a JSON file:
`{"package": "…", "prepare": [environment, …], "engine": [environment, …]}`; the environments are those that the containers of an
eval Job get, and the commands are those that these containers run. Exit status 3 says that another copy was imported.
"""

import json
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


if __name__ == "__main__":
    sys.exit(main(json.loads(Path(sys.argv[1]).read_bytes())))
