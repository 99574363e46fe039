"""Hit or miss: what the agent ranked, held against the label, which it has never seen. Pure."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from rca_eval.contract import ContractError, Incident, Reason, one_line, pessimistic_rank
from rca_eval.contract.model import sentence

SCORES = r"^-?[0-9]{1,30}(\.[0-9]{1,30})?$"


def _text(value: Any) -> Any:
    return (
        format(Decimal(value), "f")
        if isinstance(value, (int, Decimal)) and not isinstance(value, bool)
        else value
    )


class _Foreign(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Candidate(_Foreign):
    entity: Annotated[str, StringConstraints(min_length=1, max_length=253)]
    score: Annotated[Annotated[str, StringConstraints(pattern=SCORES)] | None, BeforeValidator(_text)] = None


class Answer(_Foreign):
    """The part of an investigation that is read; other agents may tell less."""

    candidates: Annotated[tuple[Candidate, ...], Field(max_length=2000)]
    table: str | None = None
    decision: str | None = None
    components: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Simulated:
    """`rank` is the cause's place, ties counted against it; None if it was not ranked, or nothing was asked for."""

    incident: str
    incident_id: str
    expected: tuple[str, ...]
    outcome: str
    answer: Answer | None
    rank: int | None
    lifecycle: str | None

    @property
    def is_hit(self) -> bool:
        return self.rank == 1

    def plain(self) -> dict[str, Any]:
        return {
            "incident": self.incident,
            "incidentId": self.incident_id,
            "outcome": self.outcome,
            "expected": list(self.expected),
            "hit": self.is_hit if self.answer else None,
            "rank": self.rank,
            "lifecycle": self.lifecycle,
            "answer": self.answer.model_dump(mode="json") if self.answer else None,
        }


def judge(incident: Incident, told: dict[str, Any]) -> Simulated:
    """What the agent said of the alert. Raises `ContractError(AgentUnavailable)` where it has no answer."""
    outcome, id = told.get("outcome"), told.get("incidentId")
    if not isinstance(outcome, str) or not isinstance(id, str):
        raise _unusable(
            "the agent's answer has no `outcome` and `incidentId`; is it an agent of this protocol?"
        )
    if outcome in {"Unknown", "Failed"}:
        raise _unusable(f"the agent has no answer ({outcome}): {one_line(str(told.get('reason')))}")
    answer, rank = None, None
    if outcome != "Resolved":
        try:
            answer = Answer.model_validate(told.get("investigation"))
        except ValidationError as error:
            raise _unusable(f"the agent's investigation cannot be read: {sentence(error)}") from None
        ranked = [(one.entity, one.score) for one in answer.candidates]
        rank = pessimistic_rank(ranked, incident.expected_root_cause)
    lifecycle = told.get("lifecycle")
    return Simulated(
        incident=incident.id,
        incident_id=id,
        expected=incident.expected_root_cause,
        outcome=outcome,
        answer=answer,
        rank=rank,
        lifecycle=lifecycle if isinstance(lifecycle, str) else None,
    )


def _unusable(text: str) -> ContractError:
    return ContractError(Reason.AGENT_UNAVAILABLE, text)
