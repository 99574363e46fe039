"""A part of a scorecard: what one shard of an evaluation measured.

It has a kind of its own, so that no reader of scorecards takes it for one. `contract.merge` puts the parts of one
evaluation together.
"""

from typing import Annotated, Literal

from pydantic import Field

from rca_eval.contract.dealing import MAX_SHARDS
from rca_eval.contract.errors import ContractError, Reason
from rca_eval.contract.jsontext import load_json
from rca_eval.contract.model import Int, Model, Name, One, Sha256
from rca_eval.contract.protocol import Arm
from rca_eval.contract.scorecard import SCORECARD_LIMIT, Deterministic, Measured

Place = Annotated[Int, Field(ge=0)]


class ShardArm(Model):
    """The rows of one arm: `places[n]` is where row n stands in the dataset's file (from 0), `total` how many rows the
    whole arm has.
    """

    arm: Arm
    total: Place
    places: tuple[Place, ...]


class Shard(Model):
    """Which part of which evaluation this is.

    `run` names the evaluation and its attempt (the Job's name). `incidents` and `incidentsSha256` are of the whole
    dataset: how many there are, and the digest of the canonical list of their ids.
    """

    index: Annotated[Int, Field(ge=0, lt=MAX_SHARDS)]
    count: Annotated[Int, Field(ge=2, le=MAX_SHARDS)]
    run: Name
    incidents: Place
    incidents_sha256: Sha256
    arms: Annotated[tuple[ShardArm, ...], Field(max_length=2)]

    @property
    def name(self) -> str:
        return f"shard {self.index + 1} of {self.count}"


class ScorecardPart(Model):
    """As a scorecard, about the cases of one shard; `deterministic.dataset.incidents` lists the incidents that are in it
    in any arm. The control ran over the same cases.
    """

    schema_version: One = 1
    kind: Literal["ScorecardPart"] = "ScorecardPart"
    provenance: Literal["Scored", "SelfReported"]
    shard: Shard
    deterministic: Deterministic
    measured: Measured


def parse_part(data: bytes, *, source: str = "the part") -> ScorecardPart:
    """Raises `ContractError`: ShardMismatch for a whole scorecard, else ScorecardInvalid."""
    value = load_json(data, source=source, reason=Reason.SCORECARD_INVALID, limit=SCORECARD_LIMIT)
    if isinstance(value, dict) and value.get("kind") == "Scorecard":
        raise ContractError(
            Reason.SHARD_MISMATCH,
            f"{source} is a whole scorecard, not a part of one; merge the parts of one evaluation only.",
        )
    return ScorecardPart.read(value, source=source, reason=Reason.SCORECARD_INVALID)
