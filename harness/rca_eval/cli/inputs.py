"""Files that people name on the command line."""

import re
import sys
from pathlib import Path

from rca_eval.contract import (
    Baseline,
    ContractError,
    Reason,
    Scorecard,
    parse_baseline,
    parse_ground_truth,
    parse_scorecard,
    read_scorecard,
    split_confirmed,
    unpack,
)
from rca_eval.contract.confirmed import named
from rca_eval.contract.groundtruth import DATASET_LIMIT
from rca_eval.contract.packed import GZIP, plain
from rca_eval.contract.scorecard import SCORECARD_LIMIT
from rca_eval.data import ALL_PROFILES, Profile, ground_truth_bytes
from rca_eval.gate import GatePolicy, parse_policy
from rca_eval.job.files import read_bytes

STDIN = "-"
FRAME = re.compile(rb"^RCA-SCORECARD-BEGIN ", re.MULTILINE)  # in a line's middle it is somebody's word


def dataset(profile: str, path: Path | None) -> tuple[bytes, str]:
    """The dataset's bytes, unpacked where the file is packed with gzip, and its name for messages."""
    if path is not None:
        data = read_bytes(path, what="the dataset", limit=DATASET_LIMIT)
        return (
            plain(data, source=str(path), reason=Reason.DATASET_INVALID, limit=DATASET_LIMIT),
            str(path),
        )
    return ground_truth_bytes(known_profile(profile)), f"the bundled profile {profile}"


def left_out(data: bytes, source: str) -> str:
    """What `--skip-drafts` leaves out, for stderr: a smaller set must not pass for the whole one."""
    truth = parse_ground_truth(data, source=source)
    _, doubtful = split_confirmed(truth)
    names = f": {named(doubtful)}" if doubtful else ""
    return (
        f"{len(doubtful)} of {len(truth.incidents)} incidents left out, their labels are not confirmed{names}"
    )


def known_profile(name: str) -> Profile:
    for profile in ALL_PROFILES:
        if profile == name:
            return profile
    raise ContractError(
        Reason.USAGE, f"--profile is {name}; the bundled profiles are {', '.join(ALL_PROFILES)}."
    )


def scorecard(path: Path) -> Scorecard:
    """A scorecard file, `-` for standard input: the JSON, or the log of a scorecard container with its
    frames.
    """
    if str(path) == STDIN:
        data, path = sys.stdin.buffer.read(SCORECARD_LIMIT + 1), Path("standard input")
    else:
        data = read_bytes(path, what="the scorecard", limit=SCORECARD_LIMIT)
    if data.startswith(GZIP):
        data = unpack(data)
    if FRAME.search(data):
        return read_scorecard(data)[0]
    return parse_scorecard(data, source=str(path))


def baseline(path: Path) -> Baseline:
    data = read_bytes(path, what="the baseline", limit=SCORECARD_LIMIT)
    whole = plain(data, source=str(path), reason=Reason.BASELINE_INVALID, limit=SCORECARD_LIMIT)
    return parse_baseline(whole, source=str(path))


def policy(path: Path | None) -> GatePolicy:
    if path is None:
        return GatePolicy()
    return parse_policy(read_bytes(path, what="the policy", limit=1024 * 1024), source=str(path))
