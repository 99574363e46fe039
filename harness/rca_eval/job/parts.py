"""From the scorecard of a shard to the part that it prints, and back from a file."""

from pathlib import Path

from rca_eval.contract import ARMS, GroundTruth, Scorecard, unpack
from rca_eval.contract.canonical import digest
from rca_eval.contract.dealing import Share
from rca_eval.contract.frames import DOCUMENT_LIMIT, FRAME_BEGIN, read_part
from rca_eval.contract.part import ScorecardPart, Shard, ShardArm, parse_part
from rca_eval.job.files import read_bytes
from rca_eval.job.project import has_arm


def part_of(card: Scorecard, truth: GroundTruth, share: Share, *, run: str) -> ScorecardPart:
    """The part that `card`, scored with this share, is of the evaluation `run`."""
    ran = next(variant.arms for variant in card.deterministic.variants if variant.same_as is None)
    held = {arm.arm: {row.id for row in arm.incidents} for arm in ran}
    arms = []
    for arm in ARMS:
        ids = [incident.id for incident in truth.incidents if has_arm(incident, arm)]
        if ids:
            mine = held.get(arm, set())
            places = tuple(at for at, one in enumerate(truth.incidents) if one.id in mine)
            arms.append(ShardArm(arm=arm, total=len(ids), places=places))
    return ScorecardPart(
        provenance=card.provenance,
        shard=Shard(
            index=share.index,
            count=share.count,
            run=run,
            incidents=len(truth.incidents),
            incidents_sha256=digest([incident.id for incident in truth.incidents]),
            arms=tuple(arms),
        ),
        deterministic=card.deterministic,
        measured=card.measured,
    )


def read_part_file(path: Path) -> ScorecardPart:
    """A part in a file: as JSON, packed as the operator stores it, or framed in a log. Raises `ContractError`."""
    data = read_bytes(path, what="the part", limit=DOCUMENT_LIMIT)
    if data.startswith(b"\x1f\x8b"):
        return parse_part(unpack(data), source=str(path))
    if data.lstrip().startswith(b"{") or FRAME_BEGIN.encode() not in data:
        return parse_part(data, source=str(path))
    return read_part(data)[0]
