"""Carrying a scorecard through a container log, and getting it back out of whatever else is in there.

    RCA-SCORECARD-BEGIN v1 sha256=<hex> bytes=<n> lines=<n>
    <base64 of gzip, lines of 1024 characters>
    RCA-SCORECARD-END

`sha256` is over the canonical document, `bytes` counts the compressed bytes, so that the length of every line
is known and lines of others in between can be told apart.
"""

import base64
import binascii
import gzip
import re
import zlib
from dataclasses import dataclass

from rca_eval.contract.canonical import canonical, sha256
from rca_eval.contract.errors import ContractError, Reason
from rca_eval.contract.model import MIB
from rca_eval.contract.part import ScorecardPart, parse_part
from rca_eval.contract.scorecard import Scorecard, parse_scorecard

COMPRESSED_LIMIT = 700 * 1024
DOCUMENT_LIMIT = 16 * MIB
LINE = 1024
FRAME_BEGIN = "RCA-SCORECARD-BEGIN"
END = "RCA-SCORECARD-END"
_BEGIN = re.compile(FRAME_BEGIN + r" v1 sha256=([0-9a-f]{64}) bytes=([0-9]{1,9}) lines=([0-9]{1,6})$")
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}$")


@dataclass(frozen=True)
class Frame:
    """`text` is what goes to stdout; the rest is what goes into the termination message."""

    text: str
    sha256: str
    compressed_bytes: int


@dataclass(frozen=True)
class _Header:
    sha256: str
    size: int
    lines: int
    position: int

    def length(self, index: int) -> int:
        total = 4 * ((self.size + 2) // 3)
        return min(LINE, total - index * LINE)

    def consistent(self) -> bool:
        return 0 < self.size <= COMPRESSED_LIMIT and self.lines == -(-4 * ((self.size + 2) // 3) // LINE)


def encode_frame(scorecard: Scorecard | ScorecardPart) -> Frame:
    """Frame the canonical form of a scorecard or a part of one. Raises `ContractError(ScorecardTooLarge)` above 700 KiB compressed or 16 MiB
    plain.
    """
    document = canonical(scorecard)
    packed = gzip.compress(document, 9, mtime=0)  # without a time in it, equal documents give equal frames
    if len(packed) > COMPRESSED_LIMIT or len(document) > DOCUMENT_LIMIT:
        raise ContractError(
            Reason.SCORECARD_TOO_LARGE,
            f"the scorecard has {len(packed)} bytes compressed; at most {COMPRESSED_LIMIT} fit: "
            "return fewer candidates or terms, or deal the incidents out to more shards.",
        )
    text = base64.b64encode(packed).decode()
    lines = [text[at : at + LINE] for at in range(0, len(text), LINE)]
    name = sha256(document)
    head = f"RCA-SCORECARD-BEGIN v1 sha256={name} bytes={len(packed)} lines={len(lines)}"
    return Frame("\n".join([head, *lines, END, ""]), name, len(packed))


def decode_frame(log: bytes, *, expected_sha256: str | None = None) -> bytes:
    """The canonical document in a log that may hold anything else too. As `decode_packed`, without the packed form."""
    return decode_packed(log, expected_sha256=expected_sha256)[0]


def decode_packed(log: bytes, *, expected_sha256: str | None = None) -> tuple[bytes, str]:
    """The document in a log, and its packed form as it came: base64 of gzip, for who keeps it.

    With several frames the one named by `expected_sha256` counts, without it the last whole one. Raises
    `ContractError`: ScorecardMissing, ScorecardTruncated, ScorecardTooLarge, ScorecardInvalid or
    DigestMismatch.
    """
    lines = [line.rstrip("\r") for line in log.decode("utf-8", errors="replace").split("\n")]
    headers = [_header(match, at) for at, line in enumerate(lines) if (match := _BEGIN.match(line))]
    if not headers:
        raise ContractError(
            Reason.SCORECARD_MISSING,
            "the log holds no scorecard frame; see the log for what the container did instead.",
        )
    wanted = [header for header in headers if expected_sha256 in (None, header.sha256)]
    if not wanted:
        raise ContractError(
            Reason.DIGEST_MISMATCH,
            f"the log frames a scorecard {headers[-1].sha256[:12]}…, but "
            f"{str(expected_sha256)[:12]}… was announced; run it again.",
        )
    failure: ContractError | None = None
    for header in reversed(wanted):
        try:
            return _unpack(header, lines)
        except ContractError as error:
            failure = failure or error  # the last frame's trouble is the one to tell
    assert failure is not None  # noqa: S101  (wanted is not empty)
    raise failure


def read_scorecard(log: bytes, *, expected_sha256: str | None = None) -> tuple[Scorecard, bytes]:
    """The validated scorecard in a log, and its canonical bytes. Raises `ContractError`."""
    document = decode_frame(log, expected_sha256=expected_sha256)
    return parse_scorecard(document, source="the scorecard in the log"), document


def read_part(log: bytes, *, expected_sha256: str | None = None) -> tuple[ScorecardPart, bytes]:
    """As `read_scorecard`, for what a shard prints. Raises `ContractError`."""
    document = decode_frame(log, expected_sha256=expected_sha256)
    return parse_part(document, source="the part in the log"), document


def pack(document: bytes) -> bytes:
    """gzip without a time in it, for storing a scorecard; `unpack` is its bounded inverse."""
    return gzip.compress(document, 9, mtime=0)


def unpack(packed: bytes) -> bytes:
    """At most 16 MiB come out, whatever the input claims. Raises `ContractError`."""
    machine = zlib.decompressobj(wbits=31)
    try:
        document = machine.decompress(packed, DOCUMENT_LIMIT + 1)
    except zlib.error:
        raise ContractError(
            Reason.SCORECARD_INVALID, "the scorecard is not gzip data; it was damaged on its way."
        ) from None
    if len(document) > DOCUMENT_LIMIT:
        raise ContractError(
            Reason.SCORECARD_TOO_LARGE, f"the scorecard unpacks to more than {DOCUMENT_LIMIT} bytes; refused."
        )
    if not machine.eof:
        raise ContractError(
            Reason.SCORECARD_TRUNCATED, "the scorecard ends in the middle; its log was cut off."
        )
    return document


def _header(match: re.Match[str], position: int) -> _Header:
    return _Header(match[1], int(match[2]), int(match[3]), position)


def _unpack(header: _Header, lines: list[str]) -> tuple[bytes, str]:
    if header.size > COMPRESSED_LIMIT:
        raise ContractError(
            Reason.SCORECARD_TOO_LARGE,
            f"the scorecard claims {header.size} compressed bytes; at most {COMPRESSED_LIMIT} are read.",
        )
    if not header.consistent():
        raise ContractError(
            Reason.SCORECARD_INVALID, "the scorecard's header contradicts itself; it was damaged on its way."
        )
    body: list[str] = []
    for line in lines[header.position + 1 :]:
        if len(body) == header.lines or line == END or _BEGIN.match(line):
            break
        if len(line) == header.length(len(body)) and _BASE64.match(line):
            body.append(line)  # anything of another length was printed in between by somebody else
    if len(body) < header.lines:
        raise ContractError(
            Reason.SCORECARD_TRUNCATED,
            f"the scorecard has {len(body)} of {header.lines} lines; its log was cut off.",
        )
    try:
        packed = "".join(body)
        document = unpack(base64.b64decode(packed, validate=True))
    except binascii.Error:
        raise ContractError(
            Reason.SCORECARD_INVALID, "the scorecard is not base64; it was damaged on its way."
        ) from None
    if sha256(document) != header.sha256:
        raise ContractError(
            Reason.DIGEST_MISMATCH,
            f"the scorecard's sha256 is {sha256(document)[:12]}…, its header says "
            f"{header.sha256[:12]}…; run it again.",
        )
    return document, packed
