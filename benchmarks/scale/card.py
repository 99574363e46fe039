"""The scorecards that the Pods of the benchmark give: what the real harness made once for the modes of a suite here, each with
times of its own. No two runs take equally long, so no two documents are alike, and nobody gets by with having read one.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from rca_eval.contract import Scorecard, encode_frame, read_scorecard
from rca_eval.contract.numbers import nine
from rca_eval.contract.scorecard import ShadowDecisionRow, WouldBeRow
from rca_eval.contract.timing import mttr_of
from rca_eval.data import Profile, baseline_bytes, ground_truth_bytes
from rca_eval.replay.run import Plan, replay
from rca_eval.replay.variants import variants

KEY = "RcaLiveActivation.Mode"
REVISION = "r1"
_PROFILE: Profile = "graded"
_SLOWER = (50, 200)  # per cent of the time that was measured here


@dataclass(frozen=True)
class Card:
    """`log` is what the container `scorecard` prints, `words` its termination message; `seconds` is what a repeat took,
    rounded up."""

    log: bytes
    words: str
    seconds: int


def key_of(component: int) -> str:
    """The mode key of a component of the suite; the first is the reference engine's own."""
    return f"Component{component}.Mode" if component else KEY


def make() -> Scorecard:
    """Replays the graded incidents with the reference engine, in seconds. Raises `ContractError`."""
    plan = Plan(
        dataset=ground_truth_bytes(_PROFILE),
        variants=variants(KEY, {}),
        source="the graded incidents",
        revision=REVISION,
    )
    # As it is read from a log: the container's, and not a person's.
    return read_scorecard(encode_frame(replay(plan)).text.encode())[0]


def deal(made: Scorecard, runs: int, components: int) -> Sequence[Card]:
    """One for each run, the same ones every time. Run `n` is of component `n % components`."""
    rolled = random.Random(runs)
    own = [_of_component(made, number, components) for number in range(components)]
    return [_card(_timed(own[number % components], rolled)) for number in range(runs)]


def _of_component(made: Scorecard, component: int, components: int) -> Scorecard:
    """The same answers, under the modes of another component of a suite that has so many."""
    key, shadow = key_of(component), {key_of(number): "Shadow" for number in range(components)}
    measured = tuple(
        one.model_copy(update={"modes": {**shadow, key: one.modes[KEY]}})
        for one in made.deterministic.variants
    )

    def owned[R: (WouldBeRow, ShadowDecisionRow)](rows: tuple[R, ...]) -> tuple[R, ...]:
        return tuple(
            row.model_copy(update={"component": key}) if row.component == KEY else row for row in rows
        )

    beside = {
        "would_be": owned(made.measured.would_be),
        "shadow_decisions": owned(made.measured.shadow_decisions),
    }
    return made.model_copy(
        update={
            "deterministic": made.deterministic.model_copy(update={"variants": measured}),
            "measured": made.measured.model_copy(update=beside),
        }
    )


def _timed(card: Scorecard, rolled: random.Random) -> Scorecard:
    measured = card.measured

    def slower(value: str | None) -> str | None:
        return None if value is None else nine(Fraction(value) * rolled.randint(*_SLOWER) / 100)

    seconds = tuple(
        row.model_copy(update={"values": tuple(slower(value) for value in row.values)})
        for row in measured.seconds
    )
    mttr = tuple(
        row.model_copy(
            update={"value": mttr_of(s for s in seconds if (s.variant, s.arm) == (row.variant, row.arm))}
        )
        for row in measured.mttr_seconds
    )
    times = {"seconds": seconds, "mttr_seconds": mttr}
    return card.model_copy(update={"measured": measured.model_copy(update=times)})


def _card(card: Scorecard) -> Card:
    frame = encode_frame(card)
    words = {
        "sha256": frame.sha256,
        "deterministicSha256": card.deterministic_sha256(),
        "bytes": frame.compressed_bytes,
    }
    longest = max(float(value) for value in card.measured.total_seconds)
    return Card(frame.text.encode(), json.dumps(words), 2 * int(longest) + 2)


def files() -> dict[str, str]:
    """The dataset and its baseline, by the keys under which users put them into a ConfigMap."""
    return {
        "ground-truth.json": ground_truth_bytes(_PROFILE).decode(),
        "baseline.json": baseline_bytes(_PROFILE).decode(),
    }
