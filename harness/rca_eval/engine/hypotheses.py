"""Hypotheses: what to look at next, and when to stop. A state machine outside any model; it drives the investigation.

The first H = 5 candidates, best first, are hypotheses: "this service is the cause".

    Proposed -> Tested       the first question about it was answered
    Tested   -> Refuted      a contradiction holds; the next hypothesis is looked at
    Tested   -> Supported    no contradiction holds and a kind of hard evidence does; all is Concluded
    Tested                   stays so when all questions were answered, and none of them decided
The whole is Exhausted when no hypothesis is left. Questions about one hypothesis come in a fixed order, contradictions
first, and each is asked once: at most 7 * 5 questions, whatever the answers are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rca_eval.engine.evidence import CONTRADICTIONS, HARD, Contradiction, Evidence, HardKind

LIMIT = 5
QUESTIONS: tuple[Contradiction | HardKind, ...] = (*CONTRADICTIONS, *HARD)
MAX_QUESTIONS = LIMIT * len(QUESTIONS)

Status = Literal["Proposed", "Tested", "Supported", "Refuted"]
End = Literal["Open", "Concluded", "Exhausted"]


@dataclass(frozen=True)
class Hypothesis:
    service: str
    status: Status = "Proposed"


@dataclass(frozen=True)
class Question:
    """Does this kind of evidence hold for the service?"""

    service: str
    kind: Contradiction | HardKind


@dataclass(frozen=True)
class Transition:
    """One line of the log: after so many answers, a hypothesis changed its status because of a kind of evidence.
    The last line is of the whole: `service` is None.
    """

    answers: int
    service: str | None
    before: Status | End
    after: Status | End
    because: str


@dataclass(frozen=True)
class Hypotheses:
    """The state of the whole. `at` and `kind` are the places of the pending question."""

    each: tuple[Hypothesis, ...]
    end: End = "Open"
    at: int = 0
    kind: int = 0
    answers: int = 0
    log: tuple[Transition, ...] = ()

    @property
    def refuted(self) -> frozenset[str]:
        return frozenset(one.service for one in self.each if one.status == "Refuted")

    @property
    def sentence(self) -> str:
        """For people, without the name of a service: in ScorerOnly names are not what they are."""
        tested = sum(one.status != "Proposed" for one in self.each)
        return (
            f"hypotheses {self.end} after {self.answers} questions: {tested} of {len(self.each)} tested, "
            f"{len(self.refuted)} refuted"
        )


def propose(ranking: Sequence[str]) -> Hypotheses:
    """The machine at its start."""
    each = tuple(Hypothesis(service) for service in ranking[:LIMIT])
    return Hypotheses(each) if each else _ended(Hypotheses(each), "Exhausted", "no candidate")


def pending(state: Hypotheses) -> Question | None:
    """What to look at next, or None when it is over."""
    if state.end != "Open":
        return None
    return Question(state.each[state.at].service, QUESTIONS[state.kind])


def observe(state: Hypotheses, holds: bool) -> Hypotheses:
    """The state after the answer to the pending question. Pure; after the end it stays."""
    question = pending(state)
    if question is None:
        return state
    state = replace(state, answers=state.answers + 1)
    if state.each[state.at].status == "Proposed":
        state = _moved(state, "Tested", question.kind)
    if holds and question.kind in HARD:
        return _ended(_moved(state, "Supported", question.kind), "Concluded", question.kind)
    if holds:
        return _next(_moved(state, "Refuted", question.kind))
    if state.kind + 1 < len(QUESTIONS):
        return replace(state, kind=state.kind + 1)
    return _next(state)


def investigate(ranking: Sequence[str], evidence: Evidence) -> Hypotheses:
    """Run the machine: gather what it asks for, until it is over. Without telemetry there is nothing to ask."""
    state = propose(() if evidence.blind else ranking)
    while (question := pending(state)) is not None:
        state = observe(state, _holds(question, evidence))
    return state


def _holds(question: Question, evidence: Evidence) -> bool:
    match question.kind:
        case "E1" | "E2" | "E3" | "E4":
            return bool(evidence.hard(question.service, question.kind))
        case _:
            return evidence.contradicts(question.service, question.kind)


def _moved(state: Hypotheses, status: Status, because: str) -> Hypotheses:
    one = state.each[state.at]
    line = Transition(state.answers, one.service, one.status, status, because)
    each = (*state.each[: state.at], replace(one, status=status), *state.each[state.at + 1 :])
    return replace(state, each=each, log=(*state.log, line))


def _next(state: Hypotheses) -> Hypotheses:
    if state.at + 1 < len(state.each):
        return replace(state, at=state.at + 1, kind=0)
    return _ended(state, "Exhausted", "no hypothesis left")


def _ended(state: Hypotheses, end: End, because: str) -> Hypotheses:
    line = Transition(state.answers, None, state.end, end, because)
    return replace(state, end=end, log=(*state.log, line))
