"""The scorecard that every Pod of the benchmark gives: made once, by the real harness, for the modes of a suite here."""

from __future__ import annotations

import json
from dataclasses import dataclass

from rca_eval.contract import encode_frame
from rca_eval.data import Profile, baseline_bytes, ground_truth_bytes
from rca_eval.replay.run import Plan, replay
from rca_eval.replay.variants import variants

KEY = "RcaLiveActivation.Mode"
REVISION = "r1"
_PROFILE: Profile = "graded"


@dataclass(frozen=True)
class Card:
    """`log` is what the container `scorecard` prints, `words` its termination message; `seconds` is what a repeat took,
    rounded up."""

    log: bytes
    words: str
    seconds: int


def make() -> Card:
    """Replays the graded incidents with the reference engine, in seconds. Raises `ContractError`."""
    plan = Plan(
        dataset=ground_truth_bytes(_PROFILE),
        variants=variants(KEY, {}),
        source="the graded incidents",
        revision=REVISION,
    )
    card = replay(plan)
    frame = encode_frame(card)
    words = {
        "sha256": frame.sha256,
        "deterministicSha256": card.deterministic_sha256(),
        "bytes": frame.compressed_bytes,
    }
    longest = max(float(value) for value in card.measured.total_seconds)
    return Card(frame.text.encode(), json.dumps(words), int(longest) + 1)


def files() -> dict[str, str]:
    """The dataset and its baseline, by the keys under which users put them into a ConfigMap."""
    return {
        "ground-truth.json": ground_truth_bytes(_PROFILE).decode(),
        "baseline.json": baseline_bytes(_PROFILE).decode(),
    }
