"""The opinion of a language model on a scorecard. A document of its own: no verdict, figure or baseline depends on it."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from rca_eval.contract.errors import Reason
from rca_eval.contract.model import MIB, Int, Model, Name, One, Sha256
from rca_eval.contract.numbers import Figure
from rca_eval.contract.protocol import Arm, VariantName

JUDGEMENT_LIMIT = MIB

Opinion = Literal["Supported", "Doubtful", "Unsupported"]
Skipped = Literal["BudgetUsedUp", "TimeUsedUp", "NoAnswer", "AnswerInvalid"]
Count = Annotated[Int, Field(ge=0)]


class JudgedIncident(Model):
    """Whether the evidence that was given supports the ranking, from 0 (not at all) to 1, or why that was not asked."""

    incident: Name
    score: Figure | None = None
    opinion: Opinion | None = None
    reason: Annotated[str, StringConstraints(max_length=600)] | None = None
    skipped: Skipped | None = None
    tokens: Count = 0


class Judgement(Model):
    """`tokens` counts what was sent and what came back, as the endpoint says it; where it does not, the most it can
    have been.
    """

    schema_version: One = 1
    kind: Literal["Judgement"] = "Judgement"
    advisory: Literal[True] = True
    model: Name
    scorecard_sha256: Sha256
    variant: VariantName
    arm: Arm
    incidents: Annotated[tuple[JudgedIncident, ...], Field(max_length=5000)]
    tokens: Count
    token_limit: Count
    mean_score: Figure | None = None
    message: Annotated[str, StringConstraints(max_length=600)] | None = None

    @property
    def judged(self) -> int:
        return sum(one.score is not None for one in self.incidents)

    def summary(self) -> dict[str, object]:
        """What fits into a termination message."""
        return {
            "model": self.model,
            "judged": self.judged,
            "skipped": len(self.incidents) - self.judged,
            "meanScore": self.mean_score,
            "tokens": self.tokens,
            "message": self.message,
        }


def parse_judgement(data: bytes, *, source: str = "the judgement") -> Judgement:
    """Raises `ContractError(JudgementInvalid)`."""
    return Judgement.parse(data, source=source, reason=Reason.JUDGEMENT_INVALID, limit=JUDGEMENT_LIMIT)
