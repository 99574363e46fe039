"""A whole evaluation on one machine, with the steps, the processes and the files of the Job.

prepare -> the engine, once per repeat, each in a process of its own with another PYTHONHASHSEED and another
order -> scorecard. Any command that speaks protocol 1 can be the engine; it gets the redacted incidents only.

That is for measuring one's own engine, no wall against a hostile one: here it runs as whoever starts the replay, and may
read what they may read, the labels too. The wall is the Job's, where the labels are not mounted into its container.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rca_eval.contract import (
    ContractError,
    GroundTruth,
    Predictions,
    Reason,
    Scorecard,
    Variant,
    parse_ground_truth,
    parse_predictions,
    require_confirmed,
    sha256,
    shown,
    split_confirmed,
)
from rca_eval.contract.dealing import WHOLE, Share
from rca_eval.contract.merge import merge
from rca_eval.graph import EMBEDDED, open_store
from rca_eval.job.commands import TERMINATION_LIMIT
from rca_eval.job.control import run_known_bad
from rca_eval.job.files import read_bytes, read_predictions
from rca_eval.job.parts import part_of
from rca_eval.job.prepare import prepare
from rca_eval.job.scoring import score
from rca_eval.job.series_files import with_files

REFERENCE_ENGINE = (sys.executable, "-m", "rca_eval.job", "engine")
TAIL = 400
PATIENCE_SECONDS = 5


@dataclass(frozen=True)
class Plan:
    """What to replay. `only` holds incident ids or their beginnings; `settings` is extra environment for the
    engine; `folder` is where the dataset lies, for its series files; `skip_drafts` leaves out incidents whose label
    is not confirmed, which are refused otherwise; `shards` replays the incidents in so many parts, one after the other,
    and merges them, as an Indexed Job does.
    """

    dataset: bytes
    variants: tuple[Variant, ...]
    source: str = "the dataset"
    revision: str = "local"
    engine: Sequence[str] = REFERENCE_ENGINE
    settings: dict[str, str] = field(default_factory=dict)
    repeats: int = 2
    store: str = EMBEDDED
    only: Sequence[str] = ()
    timeout_seconds: int = 600
    folder: Path | None = None
    skip_drafts: bool = False
    shards: int = 1


def replay(plan: Plan, on_step: Callable[[str], None] = lambda _: None) -> Scorecard:
    """The scorecard of a plan. `on_step` hears what is being done. Raises `ContractError`."""
    truth = _dataset(plan, on_step)
    # One incident alone must be answered as among all of them, so its past does not depend on `only`.
    whole = parse_ground_truth(plan.dataset, source=plan.source)
    memory = whole if tuple(plan.engine) == REFERENCE_ENGINE else None
    digest = sha256(plan.dataset)
    shares = [Share(index, plan.shards) for index in range(plan.shards)]
    if len(shares) == 1:
        return _measure(plan, truth, digest, memory, share=WHOLE, on_step=on_step)
    parts = []
    for share in shares:
        on_step(str(share))
        card = _measure(plan, truth, digest, memory, share=share, on_step=on_step)
        parts.append(part_of(card, truth, share, run="local"))
    return merge(parts)


def _measure(
    plan: Plan,
    truth: GroundTruth,
    digest: str,
    memory: GroundTruth | None,
    *,
    share: Share,
    on_step: Callable[[str], None],
) -> Scorecard:
    with tempfile.TemporaryDirectory(prefix="rca-eval-") as folder:
        incidents = Path(folder, "incidents")
        on_step(f"preparing {len(truth.incidents)} incidents without their labels")
        prepare(
            truth,
            digest,
            plan.variants,
            revision=plan.revision,
            repeats=plan.repeats,
            folder=incidents,
            memory=memory,
            share=share,
        )
        answers = []
        for repeat in range(1, plan.repeats + 1):
            on_step(f"engine, repeat {repeat} of {plan.repeats}")
            answers.append(
                _run_engine(plan, incidents / str(repeat), Path(folder, "output", str(repeat)), repeat)
            )
    on_step("the known-bad control")
    with open_store(plan.store) as store:
        control = run_known_bad(truth, digest, store, share)
    return score(truth, digest, plan.variants, answers, revision=plan.revision, control=control, share=share)


def _dataset(plan: Plan, on_step: Callable[[str], None]) -> GroundTruth:
    truth = select(parse_ground_truth(plan.dataset, source=plan.source), plan.only)
    kept, doubtful = split_confirmed(truth)
    if plan.skip_drafts and kept and doubtful:
        on_step(
            f"without {len(doubtful)} of {len(truth.incidents)} incidents, whose labels are not confirmed"
        )
        truth = truth.model_copy(update={"incidents": kept})
    truth = require_confirmed(truth, source=plan.source)
    return with_files(truth, plan.folder, source=plan.source)


def select(truth: GroundTruth, only: Sequence[str]) -> GroundTruth:
    """The incidents whose id is, or begins with, one of `only`; all of them if it is empty."""
    if not only:
        return truth
    for wanted in only:
        if not any(_matches(incident.id, wanted) for incident in truth.incidents):
            known = ", ".join(incident.id for incident in truth.incidents[:9])
            raise ContractError(
                Reason.USAGE, f"--only {shown(wanted)} matches no incident; there are {known}."
            )
    kept = tuple(i for i in truth.incidents if any(_matches(i.id, wanted) for wanted in only))
    return truth.model_copy(update={"incidents": kept})


def _matches(name: str, wanted: str) -> bool:
    return bool(wanted) and (name == wanted or name.startswith((f"{wanted}-", f"{wanted}_", f"{wanted}.")))


def _run_engine(plan: Plan, incidents: Path, output: Path, repeat: int) -> Predictions:
    output.mkdir(parents=True)
    env = {
        # Of the caller's own RCA_EVAL_ settings none may reach an engine: one of them could name the labels.
        **{name: value for name, value in os.environ.items() if not name.startswith("RCA_EVAL_")},
        **plan.settings,
        # An address may hold a password, and what lies in a store is not for a foreign engine.
        **({"RCA_ENGINE_STORE": plan.store} if tuple(plan.engine) == REFERENCE_ENGINE else {}),
        "RCA_EVAL_INCIDENTS": str(incidents),
        "RCA_EVAL_OUTPUT": str(output),
        "RCA_EVAL_REVISION": plan.revision,
        "RCA_EVAL_REPEAT": str(repeat),
        "RCA_EVAL_TERMINATION_LOG": str(output.parent / f"termination-{repeat}"),
        "PYTHONHASHSEED": str(repeat),
    }
    with tempfile.TemporaryFile() as log:
        _call(plan, env, log.fileno(), repeat, lambda: _tail(log.fileno()))
    return parse_predictions(read_predictions(output), source=f"predictions.json of repeat {repeat}")


def _call(plan: Plan, env: dict[str, str], log: int, repeat: int, tail: Callable[[], str]) -> None:
    try:
        process = subprocess.Popen(
            list(plan.engine),
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        text = getattr(error, "strerror", None) or str(error)
        raise ContractError(
            Reason.ENGINE_FAILED,
            f"the engine {shown(' '.join(plan.engine))} cannot be started ({text}); check the command.",
        ) from None
    try:
        status = process.wait(timeout=plan.timeout_seconds)
    except subprocess.TimeoutExpired:
        raise ContractError(
            Reason.ENGINE_FAILED,
            f"the engine did not end within {plan.timeout_seconds} s in repeat {repeat}; make it "
            "faster or give it longer "
            "with --timeout.",
        ) from None
    finally:
        _end(process)
    if status != 0:
        _raise_named(Path(env["RCA_EVAL_TERMINATION_LOG"]))
        raise ContractError(
            Reason.ENGINE_FAILED,
            f"the engine ended with status {status} in repeat {repeat}: {tail() or 'it printed nothing'}",
        )


def _raise_named(termination: Path) -> None:
    """An engine that follows the Job's conventions has said itself what went wrong; its word is better than a
    status.
    """
    try:  # a pipe in its place would be waited for, a device be read for ever
        data = read_bytes(termination, what="the termination message", limit=TERMINATION_LIMIT)
        error = json.loads(data)["error"]
        reason, message = Reason(error["reason"]), str(error["message"])
    except (ContractError, ValueError, TypeError, LookupError, RecursionError):
        return
    raise ContractError(reason, message)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stop an engine that still runs: politely, so that it can drop its graphs, then for good.

    Whatever it started ends with it: a process that it left behind could still write while others are graded.
    """
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)  # its own session
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=PATIENCE_SECONDS)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=PATIENCE_SECONDS)


def _tail(log: int) -> str:
    size = os.lseek(log, 0, os.SEEK_END)
    data = os.pread(log, TAIL, max(0, size - TAIL))
    lines = [line for line in data.decode("utf-8", errors="replace").splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""
