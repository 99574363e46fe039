"""Asks about one incident after the other, until the tokens or the time are used up."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from rca_eval.contract import ContractError, IncidentResult, Scorecard, canonical, nine, one_line, sha256
from rca_eval.contract.judgement import JudgedIncident, Judgement, Skipped
from rca_eval.contract.protocol import Arm, VariantName
from rca_eval.judge.answer import content_of, parse_answer
from rca_eval.judge.client import Client, Endpoint, Reply
from rca_eval.judge.question import ANSWER_TOKENS, messages, most_tokens

TRIES = 3
_FRUITLESS = 3  # incidents in a row without an answer: the endpoint is not there, and each costs time


@dataclass(frozen=True)
class Limits:
    """For a whole scorecard: tokens, and seconds."""

    tokens: int = 50_000
    seconds: float = 300.0


class _Account:
    """What is left. Before a question its most is held against it, so the limit is never passed by what is asked."""

    def __init__(self, limits: Limits, clock: Callable[[], float]) -> None:
        self.limits, self._clock = limits, clock
        self._ends = clock() + limits.seconds
        self.tokens = 0

    @property
    def seconds(self) -> float:
        return self._ends - self._clock()

    def refuses(self, most: int) -> Skipped | None:
        if self.tokens + most > self.limits.tokens:
            return "BudgetUsedUp"
        return "TimeUsedUp" if self.seconds <= 0 else None


def judge(
    card: Scorecard,
    endpoint: Endpoint,
    limits: Limits,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    salt: str | None = None,
) -> Judgement:
    """The opinion on every incident of the live path that was ranked, under With (or else Without, or AllShadow).

    Raises `ContractError(Usage)` for an endpoint that cannot be one; whatever goes wrong with it later is written down.
    """
    variant, arm, rows = _rows(card)
    account, found, problem = _Account(limits, clock), [], None
    fruitless = 0
    secret = salt if salt is not None else os.urandom(16).hex()
    with Client(endpoint) as client:
        for row in rows:
            if fruitless >= _FRUITLESS:
                found.append(JudgedIncident(incident=row.id, skipped="NoAnswer"))
                continue
            one, said, fatal = _ask(client, row, account, sleep, secret)
            problem = said or problem
            fruitless = _FRUITLESS if fatal else fruitless + 1 if one.skipped == "NoAnswer" else 0
            found.append(one)
    scores = [Fraction(one.score) for one in found if one.score is not None]
    return Judgement(
        model=endpoint.model,
        scorecard_sha256=sha256(canonical(card)),
        variant=variant,
        arm=arm,
        incidents=tuple(found),
        tokens=account.tokens,
        token_limit=limits.tokens,
        mean_score=nine(sum(scores, Fraction(0)) / len(scores)) if scores else None,
        message=problem,
    )


def _ask(
    client: Client, row: IncidentResult, account: _Account, sleep: Callable[[float], None], salt: str
) -> tuple[JudgedIncident, str | None, bool]:
    body = client.body(messages(row, salt), ANSWER_TOKENS)
    most, before, reply = most_tokens(body), account.tokens, Reply(problem="it was not asked")
    for _ in range(TRIES):
        if refused := account.refuses(most):
            return _skipped(row, refused, account.tokens - before), None, False
        reply = client.ask(body, seconds=account.seconds)
        text, tokens = content_of(reply.value)
        # Whoever does not say what it took is taken to have taken all that it could.
        account.tokens += tokens if tokens is not None else most if reply.spent else 0
        if reply.problem is None:
            return (*_opinion(row, text, account.tokens - before), False)
        if reply.again_after is None:
            break
        if reply.again_after >= account.seconds:
            return _skipped(row, "TimeUsedUp", account.tokens - before), _said(reply.problem), False
        sleep(reply.again_after)
    return _skipped(row, "NoAnswer", account.tokens - before), _said(reply.problem), reply.fatal


def _opinion(row: IncidentResult, text: str | None, tokens: int) -> tuple[JudgedIncident, str | None]:
    if text is None:
        return _skipped(row, "AnswerInvalid", tokens), "the judge's response has no message with a text"
    try:
        answer = parse_answer(text)
    except ContractError as error:
        return _skipped(row, "AnswerInvalid", tokens), error.message
    return (
        JudgedIncident(
            incident=row.id,
            score=nine(Fraction(answer.score)),
            opinion=answer.opinion,
            reason=one_line(answer.reason)[:600],
            tokens=tokens,
        ),
        None,
    )


def _skipped(row: IncidentResult, why: Skipped, tokens: int) -> JudgedIncident:
    return JudgedIncident(incident=row.id, skipped=why, tokens=tokens)


def _said(problem: str | None) -> str:
    return one_line(f"the judge gave no answer: {problem}")[:600]


def _rows(card: Scorecard) -> tuple[VariantName, Arm, list[IncidentResult]]:
    names: tuple[VariantName, ...] = ("With", "Without", "AllShadow")
    for name in names:
        for arm in card.deterministic.arms_of(name) or ():
            if arm.arm == "LivePath":
                return name, arm.arm, [row for row in arm.incidents if row.status == "Ranked"]
    return "With", "LivePath", []
