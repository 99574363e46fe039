"""A scorecard survives the log of a container, whatever else is in that log, or its loss has a name."""

import base64
import random
import tracemalloc
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rca_eval.contract import (
    ContractError,
    canonical,
    decode_frame,
    encode_frame,
    parse_scorecard,
    read_scorecard,
    sha256,
    unpack,
)

MIB = 1024 * 1024


@pytest.fixture(scope="session")
def framed(make_scorecard):
    card = make_scorecard()
    return card, encode_frame(card)


def reason(log: bytes, **kwargs) -> str:
    with pytest.raises(ContractError) as caught:
        decode_frame(log, **kwargs)
    assert "\n" not in caught.value.message
    return caught.value.reason


def test_a_frame_gives_back_the_canonical_bytes(framed):
    card, frame = framed
    assert decode_frame(frame.text.encode(), expected_sha256=frame.sha256) == canonical(card)
    assert read_scorecard(frame.text.encode())[0] == card
    assert frame.sha256 == sha256(canonical(card))


def test_equal_scorecards_give_equal_frames(framed, make_scorecard):
    assert encode_frame(make_scorecard()).text == framed[1].text


@settings(max_examples=30)
@given(st.data())
def test_lines_of_others_in_between_do_not_hurt(framed, data):
    card, frame = framed
    noise = st.sampled_from(["", "INFO something", "QUJD", "\xff\x00", "x" * 1000, "RCA-SCORECARD", "{}"])
    lines = ["starting"]
    for line in frame.text.split("\n"):
        lines += [line, *data.draw(st.lists(noise, max_size=2))]
    assert decode_frame("\r\n".join(lines).encode()) == canonical(card)


def test_a_frame_that_was_cut_off_is_truncated_and_never_half_a_scorecard(framed):
    _, frame = framed
    lines = frame.text.split("\n")
    for keep in range(1, len(lines) - 2):
        assert reason("\n".join(lines[:keep]).encode()) == "ScorecardTruncated"


def test_a_log_without_a_frame_says_so():
    for log in (b"", b"junk\n", b"\x00\xff" * 100, b"RCA-SCORECARD-BEGIN v9"):
        assert reason(log) == "ScorecardMissing"


def test_another_digest_than_announced_is_refused(framed):
    assert reason(framed[1].text.encode(), expected_sha256="0" * 64) == "DigestMismatch"


def test_a_frame_whose_content_is_not_what_its_header_says_is_refused(framed):
    _, frame = framed
    forged = frame.text.replace(frame.sha256, "1" * 64)
    assert reason(forged.encode()) == "DigestMismatch"


def test_the_announced_frame_is_found_among_several(framed, make_scorecard):
    card, frame = framed
    other = encode_frame(make_scorecard(lost=("GT-01",)))
    log = (frame.text + other.text).encode()
    assert decode_frame(log, expected_sha256=frame.sha256) == canonical(card)
    assert sha256(decode_frame(log)) == other.sha256


def test_a_bomb_is_refused_before_it_fills_the_memory():
    machine = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = b"".join(machine.compress(bytes(MIB)) for _ in range(100)) + machine.flush()
    text = base64.b64encode(packed).decode()
    lines = [text[at : at + 1024] for at in range(0, len(text), 1024)]
    head = f"RCA-SCORECARD-BEGIN v1 sha256={'2' * 64} bytes={len(packed)} lines={len(lines)}"
    log = "\n".join([head, *lines, "RCA-SCORECARD-END"]).encode()
    tracemalloc.start()
    try:
        assert reason(log) == "ScorecardTooLarge"
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 48 * MIB  # of the 100 MiB inside


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ("bytes=999999999 lines=1", "ScorecardTooLarge"),
        ("bytes=3 lines=7", "ScorecardInvalid"),
        ("bytes=3 lines=1", "ScorecardInvalid"),
    ],
)
def test_headers_that_lie_about_sizes_are_refused(sizes, expected):
    log = f"RCA-SCORECARD-BEGIN v1 sha256={'3' * 64} {sizes}\nQUJD\nRCA-SCORECARD-END\n"
    assert reason(log.encode()) == expected


def test_a_scorecard_too_large_for_the_log_is_refused_where_it_is_written(make_scorecard):
    card = make_scorecard()
    rng = random.Random(1)
    junk = tuple(rng.randbytes(100).hex() for _ in range(12000))
    live = card.deterministic.variants[2].arms[1]
    big = live.incidents[0].model_copy(update={"evidence": junk})
    arm = live.model_copy(update={"incidents": (big, *live.incidents[1:])})
    variant = card.deterministic.variants[2].model_copy(update={"arms": (arm,)})
    variants = (*card.deterministic.variants[:2], variant)
    huge = card.model_copy(
        update={"deterministic": card.deterministic.model_copy(update={"variants": variants})}
    )
    with pytest.raises(ContractError) as caught:
        encode_frame(huge)
    assert caught.value.reason == "ScorecardTooLarge"


@given(st.binary(max_size=400))
def test_no_bytes_at_all_make_the_readers_raise_anything_but_a_contract_error(data):
    for read in (decode_frame, unpack, parse_scorecard):
        with pytest.raises(ContractError):
            read(data)
