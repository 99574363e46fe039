"""A hundred thousand damaged inputs, here and in `tests/unit/core/test_fuzz_observed.py`: none crashes, none passes.

Each begins as a valid document. What is refused is refused by a `ContractError` of one line; what is accepted of a scorecard is
the very scorecard that was announced. `RCA_FUZZ` multiplies the number of inputs.
"""

from __future__ import annotations

import base64
import json
import os
import random
import socket
import sys
import tracemalloc
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rca_testing import evidence, mutations

from rca_eval.contract import (
    ContractError,
    canonical,
    encode_frame,
    pack,
    parse_predictions,
    parse_scorecard,
    read_scorecard,
    sha256,
    unpack,
)
from rca_eval.contract.errors import Reason
from rca_eval.job.files import read_predictions

TIMES = int(os.environ.get("RCA_FUZZ", "1"))
ANSWER = {
    "variant": "With",
    "arm": "LivePath",
    "case": "case-00000000",
    "candidates": [
        {"entity": "cause", "score": "0.9", "terms": {"errors": 0.5}},
        {"entity": "trap", "score": 0.25},
    ],
    "seconds": 0.5,
    "decision": "verified",
    "evidence": ["cause: errors"],
    "wouldBe": {"A.Mode": ["cause"]},
}
OTHER = {
    "variant": "AllShadow",
    "arm": "LivePath",
    "case": "case-00000001",
    "seconds": 1,
    "error": "KeyError",
}
PREDICTIONS = {"protocol": 1, "engine": {"name": "e", "version": "1"}, "predictions": [ANSWER, OTHER]}
CARD = evidence.scorecard("a" * 64)


class Tally:
    """What became of the inputs. Shown at the end, so that a run says how many there were."""

    def __init__(self, what: str) -> None:
        self._what = what
        self.outcomes: Counter[str] = Counter()

    def refused(self, error: ContractError, *allowed: Reason) -> None:
        assert error.reason in allowed, f"{error.reason}: {error.message}"
        assert "\n" not in error.message
        assert 0 < len(error.message) <= 600
        self.outcomes[error.reason] += 1

    def accepted(self) -> None:
        self.outcomes["accepted"] += 1

    def show(self, capsys: pytest.CaptureFixture[str]) -> None:
        with capsys.disabled():
            sys.stdout.write(
                f"\n{self.outcomes.total()} x {self._what}: {dict(self.outcomes.most_common())}\n"
            )


def damaged(chance: random.Random, value: Any) -> bytes:
    """A document, damaged in one of three ways."""
    way = chance.random()
    if way < 0.4:
        return json.dumps(mutations.value_of(chance, value)).encode()
    if way < 0.7:
        return mutations.text_of(chance, value)
    return mutations.bytes_of(chance, json.dumps(value).encode())


def test_damaged_predictions_are_refused_or_mean_what_they_say(capsys: pytest.CaptureFixture[str]) -> None:
    tally, chance = Tally("predictions.json"), random.Random(1)
    for _ in range(30_000 * TIMES):
        data = damaged(chance, PREDICTIONS)
        try:
            found = parse_predictions(data)
        except ContractError as error:
            tally.refused(error, Reason.PREDICTIONS_INVALID)
            continue
        assert {one.case for one in found.predictions} <= {
            one.get("case") for one in json.loads(data)["predictions"]
        }
        tally.accepted()
    tally.show(capsys)


def test_no_damage_to_a_log_makes_another_scorecard_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    frame, document = encode_frame(CARD), canonical(CARD)
    other = encode_frame(evidence.scorecard("a" * 64, lost=("GT-01-incident",)))
    logs = (
        frame.text.encode(),
        b"starting\n" + frame.text.replace("\n", "\r\n").encode() + b"done\n",
        (other.text + frame.text).encode(),
        (frame.text + other.text).encode(),
    )
    tally, chance = Tally("logs with a scorecard"), random.Random(2)
    for _ in range(12_000 * TIMES):
        log = mutations.bytes_of(chance, chance.choice(logs))
        try:
            found = read_scorecard(log, expected_sha256=frame.sha256)[1]
        except ContractError as error:
            tally.refused(
                error,
                Reason.SCORECARD_MISSING,
                Reason.SCORECARD_TRUNCATED,
                Reason.SCORECARD_TOO_LARGE,
                Reason.SCORECARD_INVALID,
                Reason.DIGEST_MISMATCH,
            )
            continue
        assert found == document
        tally.accepted()
    assert tally.outcomes["accepted"] > 100  # noise around a frame does no harm
    tally.show(capsys)


def test_a_damaged_scorecard_that_its_own_container_announced_is_refused_or_whole(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The frame is right and the digest is, too: what is inside was written by a container that lies or is broken."""
    whole = json.loads(canonical(CARD))
    tally, chance = Tally("scorecards"), random.Random(3)
    for _ in range(8_000 * TIMES):
        data = damaged(chance, whole)
        try:
            found = parse_scorecard(data, source="the scorecard")
        except ContractError as error:
            tally.refused(error, Reason.SCORECARD_INVALID)
            continue
        assert parse_scorecard(canonical(found), source="again") == found
        tally.accepted()
    tally.show(capsys)


def test_damaged_gzip_gives_the_document_or_a_reason(capsys: pytest.CaptureFixture[str]) -> None:
    document = canonical(CARD)
    packed = pack(document)
    tally, chance = Tally("compressed scorecards"), random.Random(4)
    for _ in range(8_000 * TIMES):
        data = mutations.bytes_of(chance, packed)
        try:
            found = unpack(data)
        except ContractError as error:
            tally.refused(
                error, Reason.SCORECARD_INVALID, Reason.SCORECARD_TRUNCATED, Reason.SCORECARD_TOO_LARGE
            )
            continue
        # The check sum of gzip catches nearly all damage, the digest the rest: another document has another one.
        assert found == document or sha256(found) != sha256(document)
        tally.accepted()
    tally.show(capsys)


@pytest.mark.parametrize("level", [1, 9])
@pytest.mark.parametrize("shape", ["zeros", "nested bombs", "many members"])
def test_no_bomb_fills_the_memory(level: int, shape: str) -> None:
    mib = 1024 * 1024
    machine = zlib.compressobj(level, zlib.DEFLATED, 31)
    packed = b"".join(machine.compress(bytes(mib)) for _ in range(200)) + machine.flush()
    if shape == "nested bombs":
        packed = pack(packed)
    if shape == "many members":
        packed = pack(b"{}") * 2000 + packed
    text = base64.b64encode(packed[: 700 * 1024]).decode()
    lines = [text[at : at + 1024] for at in range(0, len(text), 1024)]
    size = len(packed[: 700 * 1024])
    log = "\n".join(
        [
            f"RCA-SCORECARD-BEGIN v1 sha256={'2' * 64} bytes={size} lines={len(lines)}",
            *lines,
            "RCA-SCORECARD-END",
        ]
    )
    tracemalloc.start()
    try:
        with pytest.raises(ContractError):
            read_scorecard(log.encode(), expected_sha256="2" * 64)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64 * mib


@pytest.mark.parametrize("opening", ["[", '{"a":', '{"predictions":['])
def test_no_depth_of_nesting_ends_in_a_traceback(opening: str) -> None:
    for depth in (10, 900, 1100, 5_000, 100_000, 1_000_000):
        for closing in ("", "]" if opening[-1] == "[" else "0}"):
            data = (opening * depth + closing * depth)[: 8 * 1024 * 1024].encode()
            with pytest.raises(ContractError):
                parse_predictions(data)


def _regular(path: Path) -> None:
    path.write_text(json.dumps(PREDICTIONS))


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _link(path: Path) -> None:
    secret = path.parent / "labels.json"
    secret.write_text(json.dumps(PREDICTIONS))
    path.symlink_to(secret)


def _broken_link(path: Path) -> None:
    path.symlink_to(path.parent / "nothing")


def _loop(path: Path) -> None:
    path.symlink_to(path)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def _hole(path: Path) -> None:
    """Sixteen GiB that take no room on the disk."""
    with path.open("wb") as file:
        file.truncate(16 * 1024**3)


@pytest.mark.parametrize(
    "make",
    [_pipe, _link, _broken_link, _loop, _device, _socket, _hole, Path.mkdir],
    ids=lambda make: make.__name__,
)
def test_what_is_no_plain_file_is_refused_without_being_read(make: Any, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    make(folder / "predictions.json")
    tracemalloc.start()
    try:
        with pytest.raises(ContractError) as caught:
            read_predictions(folder)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert caught.value.reason in (Reason.PREDICTIONS_INVALID, Reason.PREDICTIONS_TOO_LARGE)
    assert peak < 32 * 1024 * 1024
    assert "labels.json" not in caught.value.message


def test_a_plain_file_is_read(tmp_path: Path) -> None:
    _regular(tmp_path / "predictions.json")
    assert parse_predictions(read_predictions(tmp_path)).predictions
