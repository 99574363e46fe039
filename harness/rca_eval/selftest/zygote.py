"""A process that has imported what every engine needs of others, and forks a worker for each copy of ours.

A mutant's run is short, and most of it would be imports. This file is started by its path and imports nothing of the
package: what is forked finds the package in the copy that it is told. The contract, most of whose import is the making of its models, is imported before from the copy without a
fault, and again by those few workers whose mutant is in it. The hash seed, locale and time zone are those
of this process. One request a line on standard input: `{"tree": …, "folder": …, "log": …, "tasks": …, "edited": [modules]}`; two lines
come back, the worker's process id at once and its exit status at the end.
"""

import contextlib
import importlib
import json
import os
import sys
import traceback
from typing import Any

CRASHED = 1
CONTRACT = "rca_eval.contract"
THEIRS = ("falkordb", "pydantic", "redis.asyncio", "rfc8785")


def main() -> None:
    """Serve requests until standard input ends. The argument is the folder of the copy without a fault."""
    for name in THEIRS:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    sys.path.insert(0, sys.argv[1])
    importlib.import_module(CONTRACT)
    sys.path.pop(0)
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            os._exit(_work(request))
        _say(child)
        _say(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def _say(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def _work(request: dict[str, Any]) -> int:
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.chdir(request["folder"])
    keep = not any(module.startswith("contract/") for module in request["edited"])
    for name in [name for name in sys.modules if name.partition(".")[0] == "rca_eval"]:
        if not (keep and name.startswith(CONTRACT)):
            del sys.modules[name]
    sys.path.insert(0, request["tree"])
    status = CRASHED
    try:
        worker = importlib.import_module("rca_eval.selftest.worker")
        status = int(worker.main(json.loads(request["tasks"])))
    except BaseException:  # whatever a mutant raises is its answer
        traceback.print_exc()
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    return status


if __name__ == "__main__":
    main()
