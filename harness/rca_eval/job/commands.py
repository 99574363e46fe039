"""The commands of the Job's containers. Everything comes from the environment; errors go to stderr and the
termination message.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rca_eval.contract import (
    ContractError,
    GroundTruth,
    Reason,
    Scorecard,
    Variant,
    canonical,
    encode_frame,
    parse_ground_truth,
    parse_predictions,
    parse_variants,
    require_confirmed,
    sha256,
    shown,
)
from rca_eval.contract.dealing import Share, parse_share
from rca_eval.contract.groundtruth import DATASET_LIMIT
from rca_eval.contract.packed import plain
from rca_eval.contract.part import ScorecardPart
from rca_eval.engine import Blend, parse_blend, parse_without
from rca_eval.graph import EMBEDDED, open_store
from rca_eval.job.control import run_known_bad
from rca_eval.job.engine import run_engine
from rca_eval.job.files import read_bytes, read_predictions
from rca_eval.job.parts import part_of
from rca_eval.job.prepare import prepare
from rca_eval.job.scoring import score
from rca_eval.job.series_files import with_files

Environment = Mapping[str, str]
TERMINATION_LOG = "/dev/termination-log"
TERMINATION_LIMIT = 4096
MAX_REPEATS = 20


@dataclass(frozen=True)
class Assignment:
    """What `prepare` and `scorecard` have in common."""

    truth: GroundTruth
    dataset_sha256: str
    variants: tuple[Variant, ...]
    repeats: int
    revision: str
    share: Share


def assignment(env: Environment) -> Assignment:
    """Read dataset and settings. Raises `ContractError`: EnvironmentInvalid, DatasetInvalid or
    DatasetChanged.
    """
    path = Path(_needed(env, "RCA_EVAL_DATASET"))
    data = plain(
        read_bytes(path, what="the dataset", limit=DATASET_LIMIT, reason=Reason.DATASET_INVALID),
        source=f"the dataset {path}",
        reason=Reason.DATASET_INVALID,
        limit=DATASET_LIMIT,
    )
    digest, expected = sha256(data), env.get("RCA_EVAL_DATASET_SHA256")
    if expected and expected != digest:
        raise ContractError(
            Reason.DATASET_CHANGED,
            f"the dataset {path} has sha256 {digest[:12]}, but {shown(expected[:12])} was planned; "
            "it changed since, run it again.",
        )
    return Assignment(
        truth=_dataset(data, path),
        dataset_sha256=digest,
        variants=parse_variants(_needed(env, "RCA_EVAL_VARIANTS")),
        repeats=_repeats(env.get("RCA_EVAL_REPEATS", "2")),
        revision=env.get("RCA_EVAL_REVISION", ""),
        share=parse_share(env),
    )


def _dataset(data: bytes, path: Path) -> GroundTruth:
    """Only confirmed labels, and the samples of series files, which lie beside the dataset."""
    truth = require_confirmed(parse_ground_truth(data, source=str(path)), source=str(path))
    return with_files(truth, path.parent, source=str(path))


def prepare_command(env: Environment) -> dict[str, object]:
    """Write the redacted incidents below `RCA_EVAL_INCIDENTS`."""
    job = assignment(env)
    folder = Path(_needed(env, "RCA_EVAL_INCIDENTS"))
    try:
        runs = prepare(
            job.truth,
            job.dataset_sha256,
            job.variants,
            revision=job.revision,
            repeats=job.repeats,
            folder=folder,
            memory=job.truth if _remembers(env) else None,
            share=job.share,
        )
    except OSError as error:
        raise ContractError(
            Reason.ENVIRONMENT_INVALID,
            f"{folder} cannot be written ({error.strerror}); check RCA_EVAL_INCIDENTS.",
        ) from None
    return {"runs": runs, "repeats": job.repeats, "datasetSha256": job.dataset_sha256}


def engine_command(env: Environment) -> dict[str, object]:
    """Answer the manifest in `RCA_EVAL_INCIDENTS` into `RCA_EVAL_OUTPUT` with the reference engine.

    `RCA_ENGINE_STORE` (embedded, or a URL), `RCA_ENGINE_BLEND` and `RCA_ENGINE_WITHOUT` are the engine's own
    settings.
    """
    count = run_engine(
        Path(_needed(env, "RCA_EVAL_INCIDENTS")),
        Path(_needed(env, "RCA_EVAL_OUTPUT")),
        blend=_blend(env),
        store=env.get("RCA_ENGINE_STORE", EMBEDDED),
    )
    return {"answers": count}


def scorecard_command(env: Environment) -> dict[str, object]:
    """Grade `RCA_EVAL_OUTPUT`/N/predictions.json, print the framed scorecard, return what the termination
    message says. A shard prints a part, which says that it is one.
    """
    job = assignment(env)
    folder = Path(_needed(env, "RCA_EVAL_OUTPUT"))
    answers = [
        parse_predictions(read_predictions(folder / str(n)), source=f"predictions.json of repeat {n}")
        for n in range(1, job.repeats + 1)
    ]
    with open_store(env.get("RCA_ENGINE_STORE", EMBEDDED)) as store:
        control = run_known_bad(job.truth, job.dataset_sha256, store, job.share)
    card: Scorecard | ScorecardPart = score(
        job.truth,
        job.dataset_sha256,
        job.variants,
        answers,
        revision=job.revision,
        control=control,
        share=job.share,
    )
    if isinstance(card, Scorecard) and not job.share.whole:
        card = part_of(card, job.truth, job.share, run=_needed(env, "RCA_EVAL_RUN"))
    _leave_for_the_judge(card, env)
    frame = encode_frame(card)
    sys.stdout.write(frame.text)
    sys.stdout.flush()
    return {
        "sha256": frame.sha256,
        "deterministicSha256": sha256(canonical(card.deterministic)),
        "bytes": frame.compressed_bytes,
    }


def _leave_for_the_judge(card: Scorecard | ScorecardPart, env: Environment) -> None:
    """A file for the step behind this one. Without it there is no opinion; the scorecard is the same."""
    path = env.get("RCA_EVAL_SCORECARD_FILE")
    if path and isinstance(card, Scorecard):
        try:
            Path(path).write_bytes(canonical(card))
        except OSError as error:
            sys.stderr.write(f"the scorecard is not left for the judge at {path} ({error.strerror})\n")


def run_command(command: Callable[[Environment], dict[str, object]], env: Environment = os.environ) -> int:
    """Run one container's command: exit status 0 or 2, the termination message written, never a traceback."""
    try:
        said = command(env)
    except ContractError as error:
        said = {"error": {"reason": str(error.reason), "message": error.message}}
        sys.stderr.write(f"{error.reason}: {error.message}\n")
    terminate(said, env)
    return 2 if "error" in said else 0


def terminate(said: Mapping[str, object], env: Environment) -> None:
    """Write the termination message. A folder that cannot be written to is no reason to fail: the log has it
    all.
    """
    text = json.dumps(said, sort_keys=True)
    path = env.get("RCA_EVAL_TERMINATION_LOG") or TERMINATION_LOG
    try:
        if path == TERMINATION_LOG and not os.path.exists(path):
            return
        Path(path).write_text(text[:TERMINATION_LIMIT], encoding="utf-8")
    except OSError as error:
        sys.stderr.write(f"the termination message cannot be written to {path} ({error.strerror}): {text}\n")


def _blend(env: Environment) -> Blend:
    if text := env.get("RCA_ENGINE_BLEND"):
        return parse_blend(text, source="RCA_ENGINE_BLEND")
    if text := env.get("RCA_ENGINE_WITHOUT"):
        return parse_without(text, source="RCA_ENGINE_WITHOUT")
    return Blend()


def _needed(env: Environment, name: str) -> str:
    value = env.get(name)
    if not value:
        raise ContractError(
            Reason.ENVIRONMENT_INVALID, f"the environment variable {name} is not set; the Job must set it."
        )
    return value


def _remembers(env: Environment) -> bool:
    value = env.get("RCA_EVAL_MEMORY", "")
    if value in ("", "Off"):
        return False
    if value == "Prequential":
        return True
    raise ContractError(
        Reason.ENVIRONMENT_INVALID,
        f"RCA_EVAL_MEMORY is {shown(value)}; it must be Prequential or Off.",
    )


def _repeats(text: str) -> int:
    if text.isascii() and text.isdigit() and 1 <= int(text[:4]) <= MAX_REPEATS:
        return int(text)
    raise ContractError(
        Reason.ENVIRONMENT_INVALID,
        f"RCA_EVAL_REPEATS is {shown(text)}; it must be a whole number from 1 to {MAX_REPEATS}.",
    )
