"""What the judge answers, read as strictly as any document of others."""

from typing import Annotated

from pydantic import Field, StringConstraints

from rca_eval.contract import ContractError, Reason, load_json
from rca_eval.contract.judgement import Opinion
from rca_eval.contract.model import Model
from rca_eval.contract.numbers import Number

_LIMIT = 16 * 1024
_WHAT = "the judge's answer"


class Answer(Model):
    score: Annotated[Number, Field(ge=0, le=1)]
    opinion: Opinion
    reason: Annotated[str, StringConstraints(max_length=4000)]


def parse_answer(text: str) -> Answer:
    """Raises `ContractError(JudgementInvalid)` for anything but the one JSON object that was asked for."""
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise ContractError(Reason.JUDGEMENT_INVALID, f"{_WHAT} is no text.") from None
    value = load_json(data, source=_WHAT, reason=Reason.JUDGEMENT_INVALID, limit=_LIMIT)
    return Answer.read(value, source=_WHAT, reason=Reason.JUDGEMENT_INVALID)


def content_of(value: object) -> tuple[str | None, int | None]:
    """The text and the number of tokens in a response of /chat/completions; None for what is not there."""
    if not isinstance(value, dict):
        return None, None
    usage = value.get("usage")
    total = usage.get("total_tokens") if isinstance(usage, dict) else None
    tokens = total if isinstance(total, int) and not isinstance(total, bool) and 0 <= total <= 10**9 else None
    choices = value.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    text = message.get("content") if isinstance(message, dict) else None
    return (text if isinstance(text, str) else None), tokens
